//! Whether the running eval waits for input, or may be waiting (SPEC E-8).

use std::time::Instant;

use stead_launch::stdin_wait::{InputReader, InputSession, WaitAnswer, is_visible, judge, readers};
use stead_protocol::Capability;
use stead_protocol::EvalId;
use stead_protocol::client::Listens;

use super::Tell;
use super::editor::Among;
use super::interpreter::Interpreter;
use super::probe::Finding;
use crate::clock::Clock;
use crate::told::Told;

/// What was last told of the running eval's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToldListening {
    No,
    May,
    Waits,
}

/// What the bridge has said about the running eval's input.
#[derive(Debug, Default)]
pub(super) struct BridgeWord {
    /// The eval waits.
    pub(super) waits: bool,
    /// The user has set no timer.
    pub(super) no_timers: bool,
    /// The awaited input is a secret, which should not be shown; holds until the input is given.
    pub(super) secret: bool,
    /// The eval waits until this thread, which an earlier eval left behind, has read.
    pub(super) behind: Option<u32>,
}

impl Interpreter {
    /// The bridge says that a thread is about to read from an empty stdin.
    pub(super) fn told_of_wait(
        &mut self,
        tid: u32,
        eval: Option<&str>,
        word: BridgeWord,
        tell: Tell<'_>,
    ) {
        let is_main = Some(tid) == self.main_tid();
        let Some(run) = &mut self.run else { return };
        // The eval can end while a thread other than the main one waits, so such a thread must be found
        // waiting for a while.
        if !is_main {
            run.word.secret = word.secret;
            run.word.no_timers = word.no_timers;
            return run.probe.restart();
        }
        let owner = eval.and_then(|id| id.parse::<EvalId>().ok());
        if owner.is_some_and(|owner| owner != run.eval) {
            return;
        }
        run.word = word;
        if self.is_visible() {
            // One look in this turn has to confirm the bridge's word.
            if let Some(run) = &mut self.run {
                run.probe.announce();
            }
        } else {
            // The interpreter's threads cannot be looked at, so the bridge's word is enough.
            self.waits(None, tell);
        }
    }

    /// The bridge says that code which runs elsewhere waits for input; only the bridge can know.
    pub(super) fn waits_by_word(
        &mut self,
        prompt: Option<String>,
        secret: bool,
        eval: Option<&str>,
        tell: Tell<'_>,
    ) {
        let Some(run) = &mut self.run else { return };
        if eval.is_some_and(|eval| eval != run.eval.to_string()) {
            return;
        }
        run.listening = ToldListening::Waits;
        tell(Told::Waits { prompt, editor: None, secret });
    }

    /// The running eval waits for input; all it wrote before has been told.
    pub(super) fn waits(&mut self, prompt: Option<String>, tell: Tell<'_>) {
        self.drain(tell);
        if self.run.is_none() {
            return;
        }
        let editor = self.editor(Among::Young);
        if let Some(editor) = &editor {
            self.show_editor(editor, tell);
        }
        let mut secret = false;
        if let Some(run) = &mut self.run {
            run.listening = ToldListening::Waits;
            run.probe.restart();
            secret = run.word.secret && editor.is_none();
        }
        let editor = editor.map(|editor| editor.file.to_string_lossy().into_owned());
        tell(Told::Waits { prompt, editor, secret });
    }

    /// The running eval reads its input and may be waiting, or no longer does.
    pub(super) fn listens(&mut self, listens: Listens, tell: Tell<'_>) {
        let Some(run) = &mut self.run else { return };
        let known = run.listening;
        if listens == Listens::No && known == ToldListening::Waits {
            run.word.secret = false;
        }
        run.listening = match listens {
            Listens::No => ToldListening::No,
            Listens::Yes | Listens::Alone => ToldListening::May,
        };
        // `Alone` is told each time, because a client that waits should look at the eval.
        if known != run.listening || listens == Listens::Alone {
            tell(Told::Listens { listens });
        }
    }

    /// When it is time, looks whether the running eval is blocked on its input.
    pub(super) fn look_for_readers(&mut self, clock: &Clock, tell: Tell<'_>) {
        let began = Instant::now();
        let Some(run) = &self.run else { return };
        // A bridge with `OwnWaits` reads the stdin pipe at all times, so a look at its threads tells nothing.
        if self.can(Capability::OwnWaits) {
            return;
        }
        if clock.is_paused() || began < run.probe.next() {
            return;
        }
        let waiting = run.listening == ToldListening::Waits;
        let found = self.reader();
        let visible = self.is_visible();
        let family = self.family.clone();
        let Some(run) = &mut self.run else { return };
        if waiting {
            let still = matches!(found, Some((_, WaitAnswer::Waits))) || !visible;
            if run.probe.is_gone(still) {
                run.probe.restart();
                self.listens(Listens::No, tell);
            }
            if let Some(run) = &mut self.run {
                run.probe.later(began);
            }
            return;
        }
        let finding = run.probe.found(found, clock.now(), || super::figures::cpu_ms(&family));
        run.probe.later(began);
        match finding {
            Finding::Unclear => {}
            Finding::No => self.listens(Listens::No, tell),
            Finding::May { alone: true } => {
                self.drain(tell);
                self.listens(Listens::Alone, tell);
            }
            Finding::May { alone: false } => self.listens(Listens::Yes, tell),
            Finding::Waits => self.waits(None, tell),
        }
    }

    /// Whether a look at the interpreter's threads can tell whether it reads.
    fn is_visible(&self) -> bool {
        is_visible(self.core())
    }

    /// The thread of the running eval that reads its input; of several, the one that waits most certainly.
    fn reader(&self) -> Option<(InputReader, WaitAnswer)> {
        let word = &self.run.as_ref()?.word;
        let main = self.core();
        // If the main thread polls, a bridge that announces waits decides whether this eval reads its input.
        let told = word.waits || !self.can(Capability::Waits);
        // A thread from before this eval belongs to an earlier one, unless this eval waits until that thread has read.
        let stands_in = |reader: &InputReader| Some(reader.tid) == word.behind;
        let counts = |reader: &InputReader| match reader.tid == main {
            true => told || !reader.polls,
            false => stands_in(reader) || !self.is_elder(reader.tid),
        };
        let found = self.listeners(word.no_timers, counts).into_iter();
        found
            .map(|(reader, answer)| {
                (reader, if stands_in(&reader) { WaitAnswer::Waits } else { answer })
            })
            .max_by_key(|(_, answer)| *answer)
    }

    /// The threads reading this session's stdin that count, each with whether it waits. `no_timers` says that
    /// the main thread's event loop has no timer of the user's.
    fn listeners(
        &self,
        no_timers: bool,
        counts: impl Fn(&InputReader) -> bool,
    ) -> Vec<(InputReader, WaitAnswer)> {
        if self.stdin_unread() > 0 {
            return Vec::new();
        }
        let pids = self.family.members();
        let mut readers = readers(pids.iter().copied(), self.pipe);
        readers.retain(counts);
        if readers.is_empty() {
            return Vec::new();
        }
        let session = InputSession {
            family: &self.family,
            interpreter: self.core(),
            pipe: self.pipe,
            no_timers,
        };
        judge(session, &pids, &readers, |tid| self.is_elder(tid))
    }
}
