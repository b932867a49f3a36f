//! The screen of `stead watch`: all sessions, drawn from what was told of them (SPEC E-17).

use std::collections::BTreeMap;
use std::time::Duration;

use stead_client::{Client, PastEval, SessionChange, SessionEvent, counted};
use stead_protocol::{By, EvalSeq, Offset};
use stead_screen::{fit, plain};

use crate::follow::{SessionKey, id, outcome, prompt_text};
use crate::paint::{BAD, CARE, FAINT, GOOD, HEAD, PLAIN, Paint};
use crate::records::about;
use crate::redraw::TerminalSize;
use crate::{text, time};

/// All sessions that were told of.
#[derive(Debug, Default)]
pub(crate) struct Board {
    rows: BTreeMap<SessionKey, BoardRow>,
}

/// A session.
#[derive(Debug)]
struct BoardRow {
    standing: BoardState,
    /// Why its host is not heard, if it is not; what it did before is still the best that is known.
    silent: Option<String>,
    paused: bool,
    /// Evals that are not over: who sent them, and their code.
    evals: BTreeMap<EvalSeq, (By, String)>,
    /// The last eval that is over, in words.
    last: Option<LastOutcome>,
}

#[derive(Debug)]
enum BoardState {
    Idle,
    Running { eval: EvalSeq, since_ms: u64, start: Offset, last_line: String },
    Waiting { eval: EvalSeq, since_ms: u64, prompt: String },
    Ended(String),
}

#[derive(Debug)]
struct LastOutcome {
    id: String,
    by: By,
    code: String,
    outcome: String,
    good: bool,
    line: String,
    at_ms: u64,
}

impl LastOutcome {
    fn new(past: &PastEval) -> Self {
        let value = past.view.value().map(|value| value.text.clone());
        let line = value.unwrap_or_else(|| past.last_line.clone());
        LastOutcome {
            id: past.view.id_text().unwrap_or_default(),
            by: past.by.clone(),
            code: about(past.work, &past.code),
            outcome: outcome(past),
            good: past.view.status == stead_client::EvalStatus::Complete,
            line: text::last_line(line),
            at_ms: past.at_ms,
        }
    }
}

impl BoardRow {
    fn new() -> Self {
        let evals = BTreeMap::new();
        BoardRow { standing: BoardState::Idle, silent: None, paused: false, evals, last: None }
    }

    /// The evals that wait for their turn.
    fn queued(&self) -> impl Iterator<Item = EvalSeq> {
        let current = match &self.standing {
            BoardState::Running { eval, .. } | BoardState::Waiting { eval, .. } => Some(*eval),
            BoardState::Idle | BoardState::Ended(_) => None,
        };
        self.evals.keys().copied().filter(move |eval| Some(*eval) != current)
    }

    fn is_over(&self) -> bool {
        matches!(self.standing, BoardState::Ended(_))
    }
}

impl Board {
    /// Takes in what happened.
    pub(crate) fn event(&mut self, event: SessionEvent) {
        let key: SessionKey = (event.workspace.to_string(), event.session);
        if let SessionChange::Gone = event.change {
            self.rows.remove(&key);
            return;
        }
        let row = self.rows.entry(key).or_insert_with(BoardRow::new);
        row.silent = None;
        match event.change {
            SessionChange::Gone | SessionChange::Output { .. } => {}
            SessionChange::Lives { last, .. } => {
                // A session that was silent still runs what it ran; the end of its eval is told by an event.
                if row.is_over() {
                    row.standing = BoardState::Idle;
                }
                row.last = last.as_deref().map(LastOutcome::new).or(row.last.take());
            }
            SessionChange::Silent(why) => row.silent = Some(why),
            SessionChange::Ended { reason, last } => {
                row.standing = BoardState::Ended(reason.to_string());
                row.last = last.as_deref().map(LastOutcome::new).or(row.last.take());
                (row.paused, row.evals) = (false, BTreeMap::new());
            }
            SessionChange::Paused(paused) => row.paused = paused,
            SessionChange::Accepted { eval, by, work, code } => {
                row.evals.insert(eval, (by, about(work, &code)));
            }
            SessionChange::Queued { .. } => {}
            SessionChange::Started { eval, since_ms, start, .. } => {
                row.evals.entry(eval).or_default();
                let last_line = String::new();
                row.standing = BoardState::Running { eval, since_ms, start, last_line };
            }
            SessionChange::Waiting { eval, prompt } => {
                let since_ms = match row.standing {
                    BoardState::Running { since_ms, .. } | BoardState::Waiting { since_ms, .. } => {
                        since_ms
                    }
                    _ => time::now_ms(),
                };
                row.evals.entry(eval).or_default();
                row.standing = BoardState::Waiting { eval, since_ms, prompt };
            }
            SessionChange::Unrecorded { eval, why } => {
                row.evals.remove(&eval);
                row.standing = BoardState::Idle;
                row.silent = Some(stead_client::unrecorded_text(&why));
            }
            SessionChange::Finished(past) => {
                if let Some(eval) = past.view.eval {
                    row.evals.remove(&eval);
                    // An eval that waited for its turn can end while another one runs.
                    let runs = match row.standing {
                        BoardState::Running { eval, .. } | BoardState::Waiting { eval, .. } => {
                            Some(eval)
                        }
                        _ => None,
                    };
                    if runs.is_none_or(|runs| runs == eval) {
                        row.standing = BoardState::Idle;
                    }
                }
                row.last = Some(LastOutcome::new(&past));
            }
        }
    }

    /// Whether something runs, so that the screen changes with time.
    pub(crate) fn is_busy(&self) -> bool {
        let busy = |row: &BoardRow| {
            matches!(row.standing, BoardState::Running { .. } | BoardState::Waiting { .. })
        };
        self.rows.values().any(busy)
    }

    /// Reads the last lines of what runs. The disk is read and no host is asked.
    pub(crate) fn refresh(&mut self, client: &Client) {
        for ((workspace, name), row) in &mut self.rows {
            if let BoardState::Running { start, last_line, .. } = &mut row.standing {
                let there = client.in_workspace(workspace);
                *last_line = there.last_line_since(name, *start).unwrap_or_default();
            }
        }
    }

    /// The lines of the screen, each no wider and all no more than the terminal has room for.
    pub(crate) fn lines(&self, here: &str, size: TerminalSize, paint: Paint) -> Vec<String> {
        let width = size.columns.saturating_sub(1);
        let live = self.rows.values().filter(|row| !row.is_over()).count();
        let ended = self.rows.len() - live;
        let mut head = format!("{here}  {}", counted(live as u64, "session", "sessions"));
        if ended > 0 {
            head.push_str(&format!(", {ended} ended"));
        }
        let mut lines = vec![paint.paint(HEAD, &fit(&head, width)), String::new()];
        if self.rows.is_empty() {
            lines.push("no sessions yet; one begins with `stead eval -n py …`".to_owned());
        }
        let mut rows: Vec<(&SessionKey, &BoardRow)> = self.rows.iter().collect();
        // Live sessions come first, so that ended ones are left out where the screen is too small.
        rows.sort_by_key(|(_, row)| row.is_over());
        let wide = |(key, _): &(&SessionKey, &BoardRow)| label(key, here).chars().count();
        let name_width = rows.iter().map(wide).max().unwrap_or(0).clamp(4, 24);
        let total = rows.len();
        for (at, (key, row)) in rows.into_iter().enumerate() {
            let drawn = draw(key, row, here, name_width, width, paint);
            let rest = total - at;
            let room = size.rows.saturating_sub(lines.len() + usize::from(rest > 1));
            if drawn.len() > room {
                let more =
                    format!("… and {}", counted(rest as u64, "more session", "more sessions"));
                lines.push(paint.paint(FAINT, &fit(&more, width)));
                break;
            }
            lines.extend(drawn);
        }
        lines.truncate(size.rows);
        lines
    }
}

/// A session in one or two lines: what it does, and the last line that was written.
fn draw(
    (workspace, name): &SessionKey,
    row: &BoardRow,
    here: &str,
    name_width: usize,
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let session = fit(&label(&(workspace.clone(), name.clone()), here), name_width);
    let code = |eval: &EvalSeq| {
        let (by, code) = row.evals.get(eval).cloned().unwrap_or_default();
        format!("{} {by}: {}", id(name, *eval), text::first_line(&code, width))
    };
    let (mut state, mut style, what, mut second) = match &row.standing {
        BoardState::Idle => ("idle".to_owned(), PLAIN, String::new(), String::new()),
        BoardState::Running { eval, since_ms, last_line, .. } => {
            (format!("running {}", since(*since_ms)), GOOD, code(eval), last_line.clone())
        }
        BoardState::Waiting { eval, since_ms, prompt } => {
            let asks = format!("waits for input{}", prompt_text(prompt));
            (format!("waiting {}", since(*since_ms)), CARE, code(eval), asks)
        }
        BoardState::Ended(why) => ("ended".to_owned(), FAINT, why.clone(), String::new()),
    };
    if row.paused {
        (state, style) = ("paused".to_owned(), CARE);
    }
    let mut what = what;
    let mut second_style = PLAIN;
    if let Some(why) = &row.silent {
        (state, style) = ("silent".to_owned(), BAD);
        (second, what) = (what, plain(why));
    }
    if let (BoardState::Idle | BoardState::Ended(_), Some(last), None) =
        (&row.standing, &row.last, &row.silent)
    {
        let told = format!("{} {}: {}", last.id, last.by, text::first_line(&last.code, width));
        what = if what.is_empty() { told } else { format!("{what}; last {told}") };
        let line = if last.line.is_empty() || !last.good {
            String::new()
        } else {
            format!("  {}", last.line)
        };
        second = format!("{}, {} ago{line}", last.outcome, since(last.at_ms));
        second_style = if last.good { FAINT } else { BAD };
    }
    let queued: Vec<String> = row.queued().map(|eval| id(name, eval)).collect();
    if !queued.is_empty() {
        let waits = format!("queued: {}", queued.join(", "));
        second = if second.is_empty() { waits } else { format!("{waits}  {second}") };
    }
    // Text is cut to its width before colours are added, because colours take no columns.
    let (session_part, state_part) = (pad(&session, name_width), pad(&state, 14));
    let rest = width.saturating_sub(name_width + 16);
    let first = format!(
        "{} {} {}",
        paint.paint(HEAD, &session_part),
        paint.paint(style, &fit(&state_part, 14)),
        fit(&what, rest)
    );
    let mut lines = vec![first.trim_end().to_owned()];
    if !second.is_empty() {
        let indent = name_width + 1;
        let second = fit(&second, width.saturating_sub(indent));
        lines.push(format!("{:indent$}{}", "", paint.paint(second_style, &second)));
    }
    lines
}

/// How a session is called: with its directory, if that is not the one that is watched.
fn label((workspace, name): &SessionKey, here: &str) -> String {
    match workspace == here {
        true => name.to_string(),
        false => {
            let dir = workspace.rsplit('/').find(|part| !part.is_empty()).unwrap_or(workspace);
            format!("{}/{name}", stead_screen::visible(dir))
        }
    }
}

fn pad(text: &str, width: usize) -> String {
    let short = width.saturating_sub(stead_screen::columns(text));
    format!("{text}{:short$}", "")
}

fn since(at_ms: u64) -> String {
    // Tenths of seconds would change faster than the screen is drawn.
    time::short(Duration::from_secs(time::since(at_ms).as_secs())).replace(".0s", "s")
}
