//! What `stead wait` shows a person meanwhile: what it waits for, and the last line of that (SPEC C-9).

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_client::{AwaitedEval, Client, HeldUp, WakeOptions};
use stead_protocol::EvalId;

use crate::follow::{id, prompt_text};
use crate::print::{self, Mode};
use crate::signals::CtrlC;
use crate::spinner::Spinner;
use crate::{exit, text, time};

/// How often the last line is read from the disk.
const READ_EVERY: Duration = Duration::from_millis(500);
/// How much of a pattern is shown.
const PATTERN_CHARS: usize = 24;

/// A spinner in a thread of its own: the wait itself sleeps until something happens. Dropping it takes the line away.
#[derive(Debug)]
pub(crate) struct WaitSpinner(Arc<Mutex<SpinnerShown>>);

/// What is shown. Only a thread that holds the lock may write to the terminal.
#[derive(Debug)]
struct SpinnerShown {
    spinner: Spinner,
    /// What is waited for, if it is not the end: `a line like x or input`.
    conditions: Option<String>,
    /// How many evals there are in all.
    of: usize,
    /// The evals that are still waited for, in the order in which they were named.
    evals: Vec<AwaitedEval>,
    last_line: String,
    over: bool,
}

impl WaitSpinner {
    /// Begins to spin, if a person looks on at a terminal that can.
    pub(crate) fn start(mode: Mode, client: &Client, options: &WakeOptions) -> Option<Self> {
        if mode != Mode::Text || !std::io::stderr().is_terminal() || !print::moves_the_cursor() {
            return None;
        }
        let ctrl_c = CtrlC::new()?;
        let shown = Arc::new(Mutex::new(SpinnerShown {
            spinner: Spinner::new(),
            conditions: conditions(options),
            of: 0,
            evals: Vec::new(),
            last_line: String::new(),
            over: false,
        }));
        let (client, seen) = (client.clone(), shown.clone());
        let thread = std::thread::Builder::new().name("spinner".to_owned());
        thread.spawn(move || spin(&seen, &client, ctrl_c)).ok()?;
        Some(WaitSpinner(shown))
    }

    pub(crate) fn stands(&self, eval: AwaitedEval) {
        let mut shown = lock(&self.0);
        shown.of = eval.of;
        match shown.evals.binary_search_by_key(&eval.at, |known| known.at) {
            Ok(place) => shown.evals[place] = eval,
            Err(place) => shown.evals.insert(place, eval),
        }
    }

    /// An eval is no longer waited for; `write` may write a line about it.
    pub(crate) fn woken(&self, at: usize, write: impl FnOnce()) {
        let mut shown = lock(&self.0);
        shown.evals.retain(|known| known.at != at);
        shown.last_line.clear();
        shown.spinner.clear();
        write();
    }
}

impl Drop for WaitSpinner {
    fn drop(&mut self) {
        let mut shown = lock(&self.0);
        shown.over = true;
        shown.spinner.clear();
        // The thread that takes Ctrl-C is about to end, so Ctrl-C has to end the process again.
        CtrlC::let_go();
    }
}

fn lock(shown: &Mutex<SpinnerShown>) -> MutexGuard<'_, SpinnerShown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws until the wait is over. Ctrl-C leaves, and nothing stays on the screen.
fn spin(shown: &Mutex<SpinnerShown>, client: &Client, mut ctrl_c: CtrlC) {
    let mut read_at = Instant::now();
    loop {
        let first = lock(shown).evals.first().and_then(runs);
        if let Some(id) = first
            && read_at <= Instant::now()
        {
            // A line that cannot be read now may be there the next time.
            let line = client.last_line(&id).unwrap_or_default();
            let mut shown = lock(shown);
            if shown.evals.first().and_then(runs) == Some(id) {
                shown.last_line = line;
            }
            read_at = Instant::now() + READ_EVERY;
        }
        let next = {
            let mut shown = lock(shown);
            if shown.over {
                return;
            }
            let said = shown.text();
            shown.spinner.draw(|| said)
        };
        let left = next.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::from_borrowed_fd(ctrl_c.as_fd(), PollFlags::IN)], Some(&left));
        if ctrl_c.take() {
            let mut shown = lock(shown);
            if !shown.over {
                shown.spinner.clear();
            }
            // The process leaves while it holds the lock, so that nothing is drawn any more.
            print::leave(exit::LEFT);
        }
    }
}

/// The id of an eval that runs, as far as is known.
fn runs(eval: &AwaitedEval) -> Option<EvalId> {
    let seq = eval.eval.filter(|_| eval.held.is_none())?;
    Some(EvalId { session: eval.session.clone(), seq })
}

impl SpinnerShown {
    fn text(&self) -> String {
        let Some(first) = self.evals.first() else { return String::new() };
        let name = match first.eval {
            Some(eval) => id(&first.session, eval),
            None => first.session.to_string(),
        };
        let what = match &self.conditions {
            Some(conditions) => format!("{conditions} of "),
            None => String::new(),
        };
        let what = match self.of {
            0 | 1 => format!("{what}{name}"),
            of => format!("{what}{} of {of} evals, {name}", self.evals.len()),
        };
        let detail = match &first.held {
            None if self.last_line.is_empty() => return format!("waits for {what}"),
            None => self.last_line.clone(),
            Some(HeldUp::Queued(Some(behind))) => {
                format!("queued behind {}", id(&first.session, *behind))
            }
            Some(HeldUp::Queued(None)) => "waits for the interpreter".to_owned(),
            Some(HeldUp::Paused) => "the session is paused".to_owned(),
            Some(HeldUp::Input(prompt)) => format!("waits for input{}", prompt_text(prompt)),
            Some(HeldUp::HostSilent) => "its host does not answer".to_owned(),
        };
        format!("waits for {what}: {detail}")
    }
}

/// What is waited for beside the end.
fn conditions(options: &WakeOptions) -> Option<String> {
    let line = options.pattern.as_ref();
    let all = [
        line.map(|pattern| format!("a line like `{}`", text::first_line(pattern, PATTERN_CHARS))),
        options.input.then(|| "input".to_owned()),
        options.idle.map(|time| format!("{} of silence", time::short(time))),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" or "))
}

#[cfg(test)]
mod tests {
    use stead_protocol::EvalSeq;

    use super::*;

    #[test]
    fn c9_a_wait_names_what_it_waits_for() {
        let eval = |at, of, seq, held| {
            let session = "py".parse().unwrap();
            AwaitedEval { at, of, session, eval: Some(EvalSeq(seq)), held }
        };
        let mut shown = SpinnerShown {
            spinner: Spinner::new(),
            conditions: None,
            of: 1,
            evals: vec![eval(0, 1, 4, None)],
            last_line: String::new(),
            over: false,
        };
        assert_eq!(shown.text(), "waits for py:4");
        shown.last_line = "step 2".to_owned();
        assert_eq!(shown.text(), "waits for py:4: step 2");
        let options = WakeOptions {
            pattern: Some("done|fail".to_owned()),
            input: true,
            idle: Some(Duration::from_secs(300)),
            ..WakeOptions::default()
        };
        shown.conditions = conditions(&options);
        shown.evals =
            vec![eval(1, 3, 5, Some(HeldUp::Queued(Some(EvalSeq(4))))), eval(2, 3, 6, None)];
        shown.of = 3;
        assert_eq!(
            shown.text(),
            "waits for a line like `done|fail` or input or 5m00s of silence of 2 of 3 evals, py:5: \
             queued behind py:4"
        );
    }
}
