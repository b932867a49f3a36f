//! Carries out what the state asks for.

use std::borrow::Cow;

use stead_launch::tree;
use stead_protocol::bridge::Command;
use stead_protocol::client::{Event, FromHost, Reply};
use stead_protocol::{EndReason, EvalSeq, Outcome};
use stead_spool::SessionDir;

use crate::clock::wall_ms;
use crate::host::Host;
use crate::ledger::{Closing, Taken};
use crate::pause;
use crate::probe::Probe;
use crate::state::{Action, Answer, Eval, Input, Ticket};

impl Host {
    /// Moves the state on and carries out what follows.
    pub(crate) fn step(&mut self, input: Input) {
        let actions = self.state.step(input, self.clock.now());
        for action in actions {
            self.act(action);
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Run(eval) => self.begin(eval),
            Action::Interrupt => {
                pause::point("interrupting");
                if self.clock.is_paused() {
                    self.resume();
                }
                let running = self.state.running().map(|run| self.eval_id(run.eval));
                if let Some(bridge) = &mut self.bridge {
                    bridge.interrupt(self.pid, running.as_ref());
                    self.nudges.begin();
                }
            }
            Action::KillChildren => {
                if let Some(bridge) = &mut self.bridge {
                    let killed = bridge.kill_children(self.pid);
                    self.nudges.begin();
                    self.killed(killed);
                }
            }
            Action::AskExit => {
                pause::point("stopping");
                if let Some(bridge) = &mut self.bridge {
                    bridge.send(&Command::Exit.encode());
                }
            }
            Action::Kill => {
                if let Some(bridge) = &self.bridge {
                    tree::signal(bridge.pid(), rustix::process::Signal::KILL);
                }
            }
            Action::Finish { eval, outcome } => self.finish(eval, outcome),
            Action::Answer { ticket, answer } => self.answer(ticket, answer),
            Action::End { reason, asked } => self.end(reason, asked),
            Action::Start => {
                pause::point("restarting");
                if let Err(error) = self.start_interpreter() {
                    eprintln!("could not start the interpreter again: {error}");
                    let message = error.message;
                    self.step(Input::Exited(EndReason::LaunchFailed { message }));
                }
            }
            Action::Leave => {
                // From here on clients find nobody and start the next host.
                self.listener = None;
                let _ = std::fs::remove_file(&self.spec.socket);
                // Else the guard tries once more.
                if self.left.is_empty() {
                    self.duty.settle(rustix::process::getpid());
                }
                self.leaving = true;
            }
        }
    }

    /// So many children of the running eval were killed: the state answers with it, the record says it.
    pub(crate) fn killed(&mut self, count: usize) {
        self.killed_children += count;
        self.step(Input::ChildrenKilled(count as u64));
    }

    pub(crate) fn begin(&mut self, eval: EvalSeq) {
        let start = self.ledger.start(eval, self.clock.now());
        pause::point("started");
        self.facts.last_used_ms = wall_ms();
        self.probe = Probe::new();
        self.told_to_wait = false;
        self.nudges.end();
        self.killed_children = 0;
        self.closing = Closing::default();
        let id = self.eval_id(eval);
        let code = self.codes.remove(&eval).unwrap_or_default();
        let place = self.places.remove(&eval);
        let code = self.readable(&code);
        if let Some(bridge) = &mut self.bridge {
            bridge.begin_eval(self.pid);
            if let Some(place) = &place {
                bridge.send(&Command::Place(place).encode());
            }
            bridge.send(&Command::Eval { id: &id, code: &code }.encode());
        }
        pause::point("sent");
        self.tell(eval, || Event::Started { eval, start });
    }

    /// The text as the bridge can read it: a shell drops NULs, which it then could not count.
    pub(crate) fn readable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.contains('\0') && self.facts.can.iter().any(|can| can == "no_nul") {
            return Cow::Owned(text.replace('\0', ""));
        }
        Cow::Borrowed(text)
    }

    pub(crate) fn finish(&mut self, eval: EvalSeq, outcome: Outcome) {
        let mut closing = Closing::default();
        if self.ledger.is_current(eval) {
            if let Some(bridge) = &mut self.bridge {
                self.killed_children += bridge.end_interrupt(self.pid);
            }
            closing = std::mem::take(&mut self.closing);
            let killed = match std::mem::take(&mut self.killed_children) {
                0 => None,
                1 => Some("a process it had started did not stop and was killed".to_owned()),
                more => {
                    Some(format!("{more} processes it had started did not stop and were killed"))
                }
            };
            for notice in killed.into_iter().chain(self.fresh_notice.take()) {
                closing.notice = Some(match closing.notice {
                    Some(other) => format!("{notice}; {other}"),
                    None => notice,
                });
            }
        }
        self.nudges.end();
        self.codes.remove(&eval);
        self.places.remove(&eval);
        let finished = self.ledger.finish(eval, outcome, closing, self.clock.now());
        pause::point("finished");
        self.facts.last_used_ms = wall_ms();
        let told = self.tell(eval, || Event::Finished { eval, finished: finished.clone() });
        self.reported_end |= told && finished.outcome.tells_end();
        for connection in self.connections.values_mut() {
            connection.watches.retain(|watch| watch.eval != eval);
        }
        if let Some(bridge) = &mut self.bridge
            && let Err(error) = bridge.drop_input()
        {
            eprintln!("could not drop unread input: {error}");
        }
    }

    pub(crate) fn end(&mut self, reason: EndReason, asked: bool) {
        let reported = asked || self.reported_end;
        self.ledger.end_generation(reason.clone(), reported);
        pause::point("ended");
        // While something is left the session stays in lists, so that it can be stopped again.
        let over = matches!(reason, EndReason::Stopped) || self.meta.settings.once;
        if over && self.left.is_empty() {
            self.meta = self.meta.clone().into_stopped();
            if let Ok(meta) = serde_json::to_vec_pretty(&self.meta)
                && let Err(error) =
                    stead_spool::write_atomically(&SessionDir::new(&self.spec.dir).meta(), &meta)
            {
                eprintln!("{error}");
            }
        }
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let message = match answer {
            Answer::Done => FromHost::Reply { id: ticket.id, reply: Reply::Done },
            Answer::Interrupt { effect, eval, killed } => {
                FromHost::Reply { id: ticket.id, reply: Reply::Interrupt { effect, eval, killed } }
            }
            Answer::Error(error) => FromHost::Error { id: ticket.id, error },
        };
        self.send(ticket.connection, &message);
    }

    /// Records the code that runs at every start.
    pub(crate) fn accept_init(&mut self) -> Option<Eval> {
        let init = self.meta.settings.init.clone()?;
        let taken = Taken { code: &init, by: "init", key: None, token: None };
        match self.ledger.accept(taken, None) {
            Ok(seq) => {
                self.codes.insert(seq, init);
                Some(Eval { seq, hard_timeout: None })
            }
            Err(error) => {
                eprintln!("the init code was not run: {error}");
                None
            }
        }
    }
}
