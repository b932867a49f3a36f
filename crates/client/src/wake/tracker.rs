//! What is known of one eval that is waited for, and when its wait is over. Does no IO.

use std::time::{Duration, Instant};

use stead_protocol::{EvalSeq, Finished, SessionName};

use super::listen::Fact;
use super::{Conditions, HeldUp, MatchedLine};
use crate::eval::wait::RECORD_TIME;
use crate::{Content, EvalStatus, EvalView};

/// One eval.
#[derive(Debug)]
pub(super) struct Tracker {
    conditions: Conditions,
    eval: Option<EvalSeq>,
    standing: TrackedStanding,
    /// Whether all that was known at the beginning has been told.
    known: bool,
    /// Set while the host does not answer: the host's process, if it is known.
    silent_host: Option<Option<u32>>,
    paused: bool,
    /// The wait for it is over.
    over: bool,
}

/// Where the eval stands.
#[derive(Debug)]
enum TrackedStanding {
    Unknown,
    Queued {
        behind: Option<EvalSeq>,
    },
    Running {
        quiet_since: Instant,
    },
    Waiting {
        quiet_since: Instant,
        prompt: String,
        editor: Option<String>,
        secret: bool,
    },
    /// It listens to its input and has been quiet for a while.
    MayWait {
        quiet_since: Instant,
    },
    /// It has ended, and the record is tried again until `until`.
    Unrecorded {
        why: String,
        until: Instant,
    },
    Ended {
        finished: Box<Finished>,
        result: Content,
    },
}

/// How the wait for an eval ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WakeVerdict {
    Ended {
        waited_for: bool,
    },
    Input {
        may: bool,
    },
    Line(MatchedLine),
    Silent(Duration),
    Unrecorded(String),
    /// Its session can no longer be listened to: why.
    Unheard(String),
    TimedOut,
}

impl Tracker {
    pub(super) fn new(conditions: Conditions, eval: Option<EvalSeq>) -> Self {
        Tracker {
            conditions,
            eval,
            standing: TrackedStanding::Unknown,
            known: false,
            silent_host: None,
            paused: false,
            over: false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether it is known where the eval stands.
    pub(super) fn is_known(&self) -> bool {
        self.known || self.over
    }

    /// Takes a fact in; the verdict, if that ends the wait.
    pub(super) fn hear(&mut self, fact: Fact, now: Instant) -> Option<WakeVerdict> {
        if self.over {
            return None;
        }
        let verdict = match fact {
            Fact::Queued { behind } => {
                self.standing = TrackedStanding::Queued { behind };
                None
            }
            Fact::Running { quiet_since } => {
                let quiet_since = self.quiet_since().map_or(quiet_since, |at| at.max(quiet_since));
                self.standing = TrackedStanding::Running { quiet_since };
                None
            }
            Fact::Output => {
                self.standing = TrackedStanding::Running { quiet_since: now };
                None
            }
            Fact::MayWait => {
                let quiet_since = self.quiet_since().unwrap_or(now);
                self.standing = TrackedStanding::MayWait { quiet_since };
                self.conditions.input.then_some(WakeVerdict::Input { may: true })
            }
            Fact::Waiting { prompt, editor, secret } => {
                let quiet_since = self.quiet_since().unwrap_or(now);
                self.standing = TrackedStanding::Waiting { quiet_since, prompt, editor, secret };
                self.conditions.input.then_some(WakeVerdict::Input { may: false })
            }
            Fact::Unrecorded { why } => {
                self.standing = TrackedStanding::Unrecorded { why, until: now + RECORD_TIME };
                None
            }
            Fact::Line { line, over } => {
                if let Some((finished, result)) = over {
                    self.standing = TrackedStanding::Ended { finished, result };
                }
                Some(WakeVerdict::Line(line))
            }
            Fact::Ended { finished, result } => {
                self.standing = TrackedStanding::Ended { finished, result };
                // An eval that has ended is silent, so its end meets a wait for silence too.
                let waited_for = self.conditions.end || self.conditions.idle.is_some();
                Some(WakeVerdict::Ended { waited_for })
            }
            Fact::HostSilent { pid } => {
                (self.silent_host, self.known) = (Some(pid), true);
                None
            }
            Fact::HostAnswers => {
                self.silent_host = None;
                None
            }
            Fact::CaughtUp => {
                (self.silent_host, self.known) = (None, true);
                None
            }
            Fact::Paused(paused) => {
                self.paused = paused;
                None
            }
            Fact::Named(id) => {
                self.eval = Some(id.seq);
                None
            }
            Fact::Failed(error) => Some(WakeVerdict::Unheard(error.message())),
        };
        self.judge(verdict)
    }

    /// Its host was looked at: the process that is stopped by a signal, if it is.
    pub(super) fn see_host(&mut self, stopped: Option<u32>) {
        if stopped.is_some() {
            self.silent_host = Some(stopped);
        }
    }

    /// What keeps the eval from running, if something does.
    pub(super) fn held(&self) -> Option<HeldUp> {
        match &self.standing {
            _ if self.silent_host.is_some() => Some(HeldUp::HostSilent),
            _ if self.paused => Some(HeldUp::Paused),
            TrackedStanding::Queued { behind } => Some(HeldUp::Queued(*behind)),
            TrackedStanding::Waiting { prompt, .. } => Some(HeldUp::Input(prompt.clone())),
            TrackedStanding::Unknown
            | TrackedStanding::Running { .. }
            | TrackedStanding::MayWait { .. }
            | TrackedStanding::Unrecorded { .. }
            | TrackedStanding::Ended { .. } => None,
        }
    }

    /// Sees what the time alone decides.
    pub(super) fn pass_time(&mut self, now: Instant) -> Option<WakeVerdict> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let verdict = match &self.standing {
            TrackedStanding::Unrecorded { why, .. } => Some(WakeVerdict::Unrecorded(why.clone())),
            _ => self.quiet_since().map(|since| WakeVerdict::Silent(now - since)),
        };
        self.judge(verdict)
    }

    /// When `pass_time` will decide, if nothing happens before.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.standing {
            _ if self.over => None,
            TrackedStanding::Unrecorded { until, .. } => Some(*until),
            // The time of the eval's last output may not have been told yet.
            _ if !self.known => None,
            _ => self.quiet_since()?.checked_add(self.conditions.idle?),
        }
    }

    fn judge(&mut self, verdict: Option<WakeVerdict>) -> Option<WakeVerdict> {
        self.over = verdict.is_some();
        verdict
    }

    fn quiet_since(&self) -> Option<Instant> {
        match &self.standing {
            TrackedStanding::Running { quiet_since }
            | TrackedStanding::MayWait { quiet_since }
            | TrackedStanding::Waiting { quiet_since, .. } => Some(*quiet_since),
            TrackedStanding::Unknown
            | TrackedStanding::Queued { .. }
            | TrackedStanding::Unrecorded { .. }
            | TrackedStanding::Ended { .. } => None,
        }
    }

    /// The eval as far as it is known, with its last record if it has ended.
    pub(super) fn take_view(&mut self, session: &SessionName) -> (EvalView, Option<Finished>) {
        self.over = true;
        let view = |status| EvalView::new(session, self.eval, status);
        let mut view = match std::mem::replace(&mut self.standing, TrackedStanding::Unknown) {
            TrackedStanding::Ended { finished, result } => {
                let eval = self.eval.unwrap_or_default();
                let view = EvalView::finished(session, eval, (*finished).clone(), result);
                return (view, Some(*finished));
            }
            TrackedStanding::Queued { behind } => {
                let mut view = view(EvalStatus::Queued);
                view.behind = behind;
                view
            }
            TrackedStanding::Waiting { prompt, editor, secret, .. } => {
                let mut view = view(EvalStatus::WaitingInput);
                (view.prompt, view.editor, view.secret) = (Some(prompt), editor, secret);
                view
            }
            TrackedStanding::MayWait { .. } => {
                let mut view = view(EvalStatus::Running);
                view.listens = true;
                view
            }
            TrackedStanding::Unrecorded { why, .. } => {
                let mut view = view(EvalStatus::Partial);
                view.unrecorded = Some(why);
                view
            }
            TrackedStanding::Running { .. } | TrackedStanding::Unknown => view(EvalStatus::Running),
        };
        if let Some(pid) = self.silent_host {
            let pid = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            view.notices.push(format!("the host of session `{session}`{pid} does not answer"));
        }
        (view, None)
    }
}

#[cfg(test)]
mod tests {
    use stead_protocol::{Generation, Offset, Outcome};

    use super::super::WakeOptions;
    use super::*;

    fn tracker(options: &WakeOptions) -> Tracker {
        Tracker::new(Conditions::from(options), Some(EvalSeq(1)))
    }

    fn ended() -> Fact {
        let finished = Finished::new(Outcome::Complete, Generation(1), Offset(0), Offset(0));
        Fact::Ended { finished: Box::new(finished), result: Content::default() }
    }

    fn waiting() -> Fact {
        Fact::Waiting { prompt: "? ".to_owned(), editor: None, secret: false }
    }

    fn line() -> Fact {
        Fact::Line { line: MatchedLine { number: 1, text: "x".to_owned() }, over: None }
    }

    #[test]
    fn e17_each_condition_ends_the_wait_that_asks_for_it() {
        let now = Instant::now();
        let nothing = WakeOptions::default();
        let input = WakeOptions { input: true, ..WakeOptions::default() };
        let pattern = WakeOptions { pattern: Some("x".to_owned()), ..WakeOptions::default() };
        let idle = WakeOptions { idle: Some(Duration::from_secs(9)), ..WakeOptions::default() };
        let met = |waited_for| Some(WakeVerdict::Ended { waited_for });
        for (options, at_end) in
            [(&nothing, true), (&input, false), (&pattern, false), (&idle, true)]
        {
            assert_eq!(tracker(options).hear(ended(), now), met(at_end), "{options:?}");
        }
        for (options, wakes) in
            [(&nothing, true), (&input, true), (&pattern, false), (&idle, false)]
        {
            assert_eq!(tracker(options).hear(waiting(), now).is_some(), wakes, "{options:?}");
            assert_eq!(tracker(options).hear(Fact::MayWait, now).is_some(), wakes, "{options:?}");
        }
        let mut found = tracker(&pattern);
        assert!(matches!(found.hear(line(), now), Some(WakeVerdict::Line(_))));
        // What comes after the verdict changes nothing.
        assert!(found.is_over() && found.hear(ended(), now).is_none());
    }

    #[test]
    fn e17_silence_counts_from_the_last_output_of_an_eval_that_runs() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let idle = Some(Duration::from_secs(10));
        let mut silent = tracker(&WakeOptions { idle, ..WakeOptions::default() });
        silent.hear(Fact::Queued { behind: None }, began);
        silent.hear(Fact::CaughtUp, began);
        assert_eq!(silent.due(), None);
        silent.hear(Fact::Running { quiet_since: after(5) }, after(6));
        assert_eq!(silent.due(), Some(after(15)));
        silent.hear(Fact::Output, after(12));
        assert_eq!(silent.pass_time(after(15)), None);
        // A wait for input is silence too, and so is a host that says nothing.
        silent.hear(waiting(), after(13));
        silent.hear(Fact::HostSilent { pid: None }, after(14));
        assert_eq!(silent.pass_time(after(23)), Some(WakeVerdict::Silent(Duration::from_secs(11))));
    }

    #[test]
    fn c9_what_holds_an_eval_up_is_known() {
        let now = Instant::now();
        let pattern = Some("x".to_owned());
        let mut held = tracker(&WakeOptions { pattern, ..WakeOptions::default() });
        let behind = Some(EvalSeq(7));
        let steps = [
            (Fact::Queued { behind }, Some(HeldUp::Queued(behind))),
            (Fact::Paused(true), Some(HeldUp::Paused)),
            (Fact::Running { quiet_since: now }, Some(HeldUp::Paused)),
            (Fact::HostSilent { pid: None }, Some(HeldUp::HostSilent)),
            (Fact::HostAnswers, Some(HeldUp::Paused)),
            (Fact::HostSilent { pid: None }, Some(HeldUp::HostSilent)),
            (Fact::CaughtUp, Some(HeldUp::Paused)),
            (Fact::Paused(false), None),
            (waiting(), Some(HeldUp::Input("? ".to_owned()))),
            (Fact::Output, None),
        ];
        for (fact, expected) in steps {
            let said = format!("{fact:?}");
            held.hear(fact, now);
            assert_eq!(held.held(), expected, "{said}");
        }
    }

    #[test]
    fn e11_an_outcome_that_cannot_be_recorded_is_waited_for_a_moment() {
        let now = Instant::now();
        let mut full = tracker(&WakeOptions::default());
        full.hear(Fact::Unrecorded { why: "full".to_owned() }, now);
        assert_eq!(full.pass_time(now), None);
        assert_eq!(
            full.pass_time(now + RECORD_TIME),
            Some(WakeVerdict::Unrecorded("full".to_owned()))
        );
        let mut again = tracker(&WakeOptions::default());
        again.hear(Fact::Unrecorded { why: "full".to_owned() }, now);
        assert_eq!(again.hear(ended(), now), Some(WakeVerdict::Ended { waited_for: true }));
    }
}
