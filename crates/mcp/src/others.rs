//! What others have done in a session since this server last used it (SPEC M-2).
//!
//! Each eval of others is named once, in the reply to this server's next eval of that session. Evals of a session
//! have rising numbers, so it is enough to know the last one: if the next eval has the next number, in the same
//! host, nobody came in between and nothing is read.

use std::fmt::Write;
use std::sync::Mutex;

use stead_client::{
    Client, ClientError, EvalView, RUN_PREFIX, SentEval, Workspace, counted, language,
};
use stead_protocol::{By, EndReason, EvalSeq, Generation, SessionName, WorkKind};

use crate::text::one_line;

/// How many sessions are remembered.
const KEPT: usize = 256;
/// How many evals are named one by one; of more only the first and the last are.
const NAMED: usize = 6;
/// How many senders are named then.
const SENDERS: usize = 3;
/// How many evals are looked at; that there were more is said.
const LOOKED_AT: u64 = 500;

/// What is known of each session that this server has used; the one used last comes last.
#[derive(Debug, Default)]
pub(crate) struct Others {
    known: Mutex<Vec<KnownOthers>>,
    /// What was put into replies that nobody read.
    owed: Mutex<Vec<OwedWords>>,
}

/// What the next reply about a session still has to tell of others.
#[derive(Debug)]
struct OwedWords {
    workspace: Workspace,
    session: SessionName,
    text: String,
}

#[derive(Debug, Clone)]
struct KnownOthers {
    workspace: Workspace,
    name: SessionName,
    /// The process of its host.
    host: Option<u32>,
    /// The number of this server's last eval, or of the last eval of others that was told.
    seen: u64,
    generation: Option<Generation>,
    /// The interpreter whose end this server's client was told of.
    told_end: Option<Generation>,
}

/// Whether others may have used a session before an eval of this server.
enum Advance {
    /// Others cannot have used it, or this server has not used it before: evals before the server's first one are
    /// history, which the number of that first eval shows.
    Nobody,
    /// Others may have used it; this was known of the session before.
    From(KnownOthers),
}

impl KnownOthers {
    fn is_of(&self, other: &KnownOthers) -> bool {
        self.name == other.name && self.workspace == other.workspace
    }
}

impl Others {
    /// What to say, with the reply to an eval that this server has sent, about what others did before it.
    pub(crate) fn before(&self, client: &Client, view: &EvalView) -> Option<String> {
        let (seq, own) = (view.eval?.0, client.by.get()?);
        // If another client has used the same key, the result is that of its eval and not of ours.
        let is_own = view.by.as_ref() == Some(own) && view.host.is_some();
        if !is_own
            || language::is_shell(&view.session)
            || view.session.as_str().starts_with(RUN_PREFIX)
        {
            return None;
        }
        let next = KnownOthers {
            workspace: client.workspace.clone(),
            name: view.session.clone(),
            host: view.host,
            seen: seq,
            generation: view.generation,
            told_end: None,
        };
        let owed = self.take_owed(&next);
        let told = match self.advance(next.clone()) {
            Advance::Nobody => None,
            Advance::From(known) => self.look(client, view, own, known, next),
        };
        match (owed, told) {
            (Some(owed), Some(told)) => Some(owed + &told),
            (owed, told) => owed.or(told),
        }
    }

    /// Reads what others did since `known`.
    fn look(
        &self,
        client: &Client,
        view: &EvalView,
        own: &By,
        known: KnownOthers,
        next: KnownOthers,
    ) -> Option<String> {
        let told = after(client, view, own, &known).and_then(|after| match after {
            Some(after) => meanwhile(client, view, after, own, &known).map(|told| (true, told)),
            None => Ok((false, None)),
        });
        match told {
            Ok((is_new, told)) => {
                if is_new && known.seen >= next.seen {
                    self.replace(next);
                }
                told
            }
            // If the history cannot be read now, it is read again with the next eval.
            Err(_) => {
                self.retreat(known, &next);
                None
            }
        }
    }

    /// Goes back to `known`, because the history could not be read.
    fn retreat(&self, known: KnownOthers, next: &KnownOthers) {
        let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let now = all.iter_mut().rev().find(|now| now.is_of(next));
        if let Some(now) = now
            && (now.seen, now.host) == (next.seen, next.host)
        {
            *now = known;
        }
    }

    /// Keeps a text that nobody has read for the next reply about the session.
    pub(crate) fn owe(&self, workspace: Workspace, session: SessionName, text: String) {
        let mut owed = self.owed.lock().unwrap_or_else(|e| e.into_inner());
        if owed.len() >= KEPT {
            owed.remove(0);
        }
        owed.push(OwedWords { workspace, session, text });
    }

    fn take_owed(&self, next: &KnownOthers) -> Option<String> {
        let mut owed = self.owed.lock().unwrap_or_else(|e| e.into_inner());
        let of = |one: &mut OwedWords| one.session == next.name && one.workspace == next.workspace;
        let texts: String = owed.extract_if(.., of).map(|one| one.text).collect();
        (!texts.is_empty()).then_some(texts)
    }

    /// Takes note of an eval of this server, and says from where on others may have come in between.
    fn advance(&self, next: KnownOthers) -> Advance {
        let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(at) = all.iter().rposition(|known| known.is_of(&next)) {
            let used = all.remove(at);
            all.push(used);
        }
        let Some(known) = all.last_mut().filter(|known| known.is_of(&next)) else {
            if all.len() >= KEPT {
                all.remove(0);
            }
            all.push(next);
            return Advance::Nobody;
        };
        let is_same_host = known.host == next.host;
        // The reply to a later eval may have been made before, and has told all.
        if is_same_host && next.seen <= known.seen {
            return Advance::Nobody;
        }
        if is_same_host && known.generation == next.generation && next.seen == known.seen + 1 {
            known.seen = next.seen;
            return Advance::Nobody;
        }
        let before = known.clone();
        if next.seen > known.seen {
            *known = KnownOthers { told_end: known.told_end, ..next };
        }
        Advance::From(before)
    }

    /// Takes note that under this name there is another session now.
    fn replace(&self, next: KnownOthers) {
        let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
        all.retain(|known| !known.is_of(&next));
        all.push(next);
    }

    /// Notes that the client was told how the interpreter of one of its evals ended; the last end that it was told
    /// before, if this one was news.
    pub(crate) fn told(&self, client: &Client, view: &EvalView) -> Option<Option<Generation>> {
        if !view.outcome.as_ref().is_some_and(|outcome| outcome.tells_end()) {
            return None;
        }
        let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let known = find(&mut all, &client.workspace, &view.session)?;
        let before = known.told_end;
        known.told_end = before.max(view.generation);
        (known.told_end != before).then_some(before)
    }

    /// Takes back that the client was told how an interpreter ended.
    pub(crate) fn not_told(
        &self,
        workspace: &Workspace,
        session: &SessionName,
        before: Option<Generation>,
    ) {
        let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = find(&mut all, workspace, session) {
            known.told_end = before;
        }
    }
}

/// What is known of a session.
fn find<'a>(
    all: &'a mut [KnownOthers],
    workspace: &Workspace,
    session: &SessionName,
) -> Option<&'a mut KnownOthers> {
    let is_it = |known: &&mut KnownOthers| known.name == *session && known.workspace == *workspace;
    all.iter_mut().rev().find(is_it)
}

/// The eval after which others may have come; `None` if this one was dealt with already.
fn after(
    client: &Client,
    view: &EvalView,
    own: &By,
    known: &KnownOthers,
) -> Result<Option<u64>, ClientError> {
    let (seen, seq) = (known.seen, view.eval.map_or(0, |seq| seq.0));
    if known.host == view.host {
        return Ok(Some(seen));
    }
    // Under the same name there may be another session by now, whose numbers began anew.
    let last = client.sent_between(&view.session, seen.saturating_sub(1), seen + 1, 1)?;
    Ok(match last.first() {
        Some(last) if last.by == *own => (seen < seq).then_some(seen),
        Some(_) => Some(0),
        // The record was dropped to make room, or there has never been one.
        None => Some(if seen < seq { seen } else { 0 }),
    })
}

/// What others did between the eval `after` and this one.
fn meanwhile(
    client: &Client,
    view: &EvalView,
    after: u64,
    own: &By,
    known: &KnownOthers,
) -> Result<Option<String>, ClientError> {
    let (name, seq) = (&view.session, view.eval.map_or(0, |seq| seq.0));
    let between = client.sent_between(name, after, seq, LOOKED_AT)?;
    let others: Vec<&SentEval> =
        between.iter().filter(|sent| sent.by != *own && sent.by != By::init()).collect();
    let unseen = (seq - 1).saturating_sub(after).saturating_sub(LOOKED_AT);
    let mut said = tell(name, &others, unseen, own);
    if view.generation > known.generation
        && let Some(now) = view.generation
        && let Some((ended, reason)) = client.end_before(name, now)?
    {
        let is_first = between.iter().all(|sent| sent.generation != view.generation);
        // The reply to a new host's first eval says by itself that the state is gone.
        let is_told = known.told_end >= Some(ended)
            || reason.asker() == Some(own)
            || is_first && known.host != view.host && !matches!(reason, EndReason::Stopped { .. });
        let restored = between.iter().rev().find(|sent| sent.generation == Some(ended));
        let why = one_line(&reason.to_string());
        match restored.and_then(|sent| sent.restored) {
            _ if is_told => {}
            Some(EvalSeq(0)) => {
                let _ = write!(said, "; restored meanwhile to the start: {why}");
            }
            Some(after) => {
                let _ = write!(said, "; restored meanwhile to after {name}:{}: {why}", after.0);
            }
            None => {
                let _ = write!(said, "; state lost meanwhile: {why}");
            }
        }
    }
    Ok((!said.is_empty()).then_some(said))
}

/// The evals of others in few words; `unseen` is how many more there were.
fn tell(name: &SessionName, others: &[&SentEval], unseen: u64, own: &By) -> String {
    let mut senders: Vec<&By> = Vec::new();
    for sent in others {
        if !senders.contains(&&sent.by) {
            senders.push(&sent.by);
        }
    }
    // Servers of the same name are told apart only where there is more than one.
    let label = |by: &By| {
        let twins = senders.iter().filter(|other| other.name() == by.name()).count();
        match own.name() == by.name() || twins > 1 {
            true => one_line(&by.to_string()),
            false => one_line(by.name()),
        }
    };
    let mut text = String::new();
    if others.is_empty() && unseen > 0 {
        let count = counted(unseen, "eval", "evals");
        return format!("; meanwhile {count} of which it is not known here who sent them");
    }
    if let (true, Some(first), Some(last)) =
        (others.len() > NAMED || unseen > 0, others.first(), others.last())
    {
        let about = if unseen > 0 { "over " } else { "" };
        let count = counted(others.len() as u64, "eval", "evals");
        let named: Vec<String> = senders.iter().take(SENDERS).map(|by| label(by)).collect();
        let more = senders.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = write!(
            text,
            "; meanwhile {about}{count} by {}{more}: {name}:{} … {name}:{}",
            named.join(", "),
            first.eval.0,
            last.eval.0
        );
        return text;
    }
    for (i, by) in senders.iter().enumerate() {
        let ids = others.iter().filter(|sent| sent.by == **by).map(|sent| match sent.kind {
            WorkKind::Code => format!("{name}:{}", sent.eval.0),
            other => format!("{name}:{} ({})", sent.eval.0, other.as_str()),
        });
        let ids: Vec<String> = ids.collect();
        let before = if i == 0 { "; meanwhile" } else { ";" };
        let _ = write!(text, "{before} by {}: {}", label(by), ids.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sent: &[(u64, &str)], unseen: u64) -> String {
        let sent: Vec<SentEval> = sent
            .iter()
            .map(|(eval, by)| SentEval {
                eval: EvalSeq(*eval),
                by: By::from(*by),
                kind: WorkKind::Code,
                generation: None,
                restored: None,
            })
            .collect();
        let sent: Vec<&SentEval> = sent.iter().collect();
        tell(&"py".parse().unwrap(), &sent, unseen, &By::from("claude#1"))
    }

    #[test]
    fn m2_few_evals_are_named_and_many_are_counted() {
        assert_eq!(told(&[], 0), "");
        assert_eq!(told(&[(5, "cli"), (6, "cli")], 0), "; meanwhile by cli: py:5, py:6");
        assert_eq!(
            told(&[(5, "cli"), (6, "codex#1"), (7, "cli")], 0),
            "; meanwhile by cli: py:5, py:7; by codex: py:6"
        );
        let many: Vec<(u64, &str)> = (5..17).map(|n| (n, "cli")).collect();
        assert_eq!(told(&many, 0), "; meanwhile 12 evals by cli: py:5 … py:16");
        assert_eq!(told(&many, 9), "; meanwhile over 12 evals by cli: py:5 … py:16");
        assert_eq!(told(&[], 9), "; meanwhile 9 evals of which it is not known here who sent them");
        let five: Vec<(u64, &str)> = (1..9).zip(["a", "b", "c", "d", "e", "a", "b", "c"]).collect();
        assert_eq!(told(&five, 0), "; meanwhile 8 evals by a, b, c and 2 more: py:1 … py:8");
    }

    #[test]
    fn m2_what_nobody_has_read_is_told_with_the_next_reply_about_that_session() {
        let others = Others::default();
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::find(Some(temp.path()), temp.path()).unwrap();
        let known = |name: &str| KnownOthers {
            workspace: workspace.clone(),
            name: name.parse().unwrap(),
            host: None,
            seen: 3,
            generation: None,
            told_end: None,
        };
        for text in ["; meanwhile by cli: py:5", "; meanwhile by cli: py:7"] {
            others.owe(workspace.clone(), "py".parse().unwrap(), text.to_owned());
        }
        assert_eq!(others.take_owed(&known("js")), None);
        let owed = others.take_owed(&known("py")).unwrap();
        assert_eq!(owed, "; meanwhile by cli: py:5; meanwhile by cli: py:7");
        assert_eq!(others.take_owed(&known("py")), None);
        // A look that failed begins again where it began.
        assert!(matches!(others.advance(known("py")), Advance::Nobody));
        let next = KnownOthers { seen: 9, ..known("py") };
        for _ in 0..2 {
            let Advance::From(before) = others.advance(next.clone()) else { panic!("nobody") };
            assert_eq!(before.seen, 3);
            others.retreat(before, &next);
        }
    }

    #[test]
    fn m2_servers_of_one_name_are_told_apart_where_there_are_two() {
        assert_eq!(told(&[(5, "claude#2")], 0), "; meanwhile by claude#2: py:5");
        assert_eq!(told(&[(5, "codex#2")], 0), "; meanwhile by codex: py:5");
        assert_eq!(
            told(&[(5, "codex#2"), (6, "codex#3")], 0),
            "; meanwhile by codex#2: py:5; by codex#3: py:6"
        );
    }
}
