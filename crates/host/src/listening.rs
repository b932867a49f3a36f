//! Whether the running eval waits for input, or may (SPEC E-8): looks at it, and tells.

use std::time::Instant;

use stead_launch::stdin_wait::{Answer, Reader};
use stead_protocol::EvalId;
use stead_protocol::client::{Event, Listens};

use crate::host::Host;
use crate::probe::Finding;
use crate::state::{Input, Listening};

impl Host {
    /// A thread is about to read from an empty stdin, its bridge says.
    pub(crate) fn told_of_wait(
        &mut self,
        tid: u32,
        eval: Option<&str>,
        behind: Option<u32>,
        no_timers: bool,
    ) {
        // A thread that waits does not keep the eval from ending, so others than the main one
        // have to be found waiting for a while.
        if tid != self.facts.main_tid {
            return self.probe.restart();
        }
        let owner = eval.and_then(|id| id.parse::<EvalId>().ok()).map(|id| id.seq);
        let running = self.state.running().map(|run| run.eval);
        if running.is_none() || owner.is_some_and(|owner| Some(owner) != running) {
            return;
        }
        self.told.waits = true;
        self.told.no_timers = no_timers;
        self.told.behind = behind;
        if self.bridge.as_ref().is_some_and(stead_interpreter::Bridge::is_visible) {
            self.probe.announce();
            self.look_for_readers();
        } else {
            // The bridge's word is all there is.
            self.waits();
        }
    }

    /// The running eval waits for input; all it wrote before is in the spool.
    fn waits(&mut self) {
        self.drain();
        let Some(eval) = self.state.running().map(|run| run.eval) else { return };
        let editor = self.editor();
        if let Some(editor) = &editor {
            self.show_editor(editor);
        }
        let editor = editor.map(|editor| editor.file.to_string_lossy().into_owned());
        let prompt = match &editor {
            Some(file) => format!("edit {file}"),
            None => self.ledger.prompt(),
        };
        self.step(Input::Waiting(prompt.clone()));
        self.probe.restart();
        let end = self.ledger.end();
        self.tell(eval, || Event::Waiting {
            eval,
            prompt: prompt.clone(),
            end,
            editor: editor.clone(),
        });
    }

    /// The running eval listens, or no longer does.
    fn listens(&mut self, listens: Listens) {
        let Some(run) = self.state.running() else { return };
        let (eval, known) = (run.eval, run.listening == Listening::May);
        match listens {
            Listens::No if known => self.step(Input::NotWaiting),
            Listens::Yes if !known => self.step(Input::MayWait { alone: false }),
            Listens::Alone => self.step(Input::MayWait { alone: true }),
            Listens::No | Listens::Yes => return,
        }
        let Some(start) = self.ledger.current_start() else { return };
        self.tell(eval, || Event::Started { eval, start, listens });
    }

    /// Looks, when it is time, whether the running eval is blocked on its input.
    pub(crate) fn look_for_readers(&mut self) {
        let Some(run) = self.state.running() else { return };
        let began = Instant::now();
        if self.clock.is_paused() || began < self.probe.next() {
            return;
        }
        let Some(bridge) = &self.bridge else { return };
        let waiting = matches!(run.listening, Listening::Waits { .. });
        let found = self.reader(bridge);
        if waiting {
            let still = matches!(found, Some((_, Answer::Waits))) || !bridge.is_visible();
            if self.probe.is_gone(still) {
                self.step(Input::NotWaiting);
                self.probe.restart();
            }
            return self.probe.later(began);
        }
        let (host, now) = (self.pid, self.clock.now());
        let finding = self.probe.found(found, now, || crate::status::cpu_ms(host));
        self.probe.later(began);
        match finding {
            Finding::Unclear => {}
            Finding::No => self.listens(Listens::No),
            Finding::May { alone: true } => {
                self.drain();
                self.listens(Listens::Alone);
            }
            Finding::May { alone: false } => self.listens(Listens::Yes),
            Finding::Waits => self.waits(),
        }
    }

    /// Whoever of the running eval listens to its input, the one that waits most certainly.
    fn reader(&self, bridge: &stead_interpreter::Bridge) -> Option<(Reader, Answer)> {
        let main = bridge.pid();
        // In an event loop that tells of its waits, the bridge knows whether this eval reads.
        let told = self.told.waits || !self.facts.can.words().any(|can| can == "waits");
        // A reader that was there before belongs to an earlier eval, unless this one waits for it.
        let stands_in = |reader: &Reader| Some(reader.tid) == self.told.behind;
        let counts = |reader: &Reader| match reader.tid == main {
            true => told || !reader.polls,
            false => stands_in(reader) || !bridge.is_elder(reader.tid),
        };
        let found = bridge.listeners(self.pid, self.told.no_timers, counts).into_iter();
        found
            .map(|(reader, answer)| {
                (reader, if stands_in(&reader) { Answer::Waits } else { answer })
            })
            .max_by_key(|(_, answer)| *answer)
    }
}
