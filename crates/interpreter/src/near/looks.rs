//! While the interpreter is looked for. Some programs know where it is, poetry and version managers, and some interpreters
//! have to show that they start. The loop does not wait for those programs: one is asked at a time, and when it has answered
//! the search begins anew with all answers that there are.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::WaitStatus;
use stead_launch::{AskedProgram, NotSaid, ProgramQuestion, ProgramSaid, Programs};
use stead_protocol::{SessionName, Settings};

use super::life::Life;
use super::{Near, NearReady, Source, Tell};
use crate::prepare::prepare;
use crate::told::Told;

/// A search that waits for the answer of a program.
pub(super) struct Looks {
    search: Looking,
    question: ProgramQuestion,
    program: AskedProgram,
}

/// What is looked for, and what programs have said so far.
struct Looking {
    settings: Box<Settings>,
    name: SessionName,
    heard: Heard,
}

/// The answers that are known. A question without one is kept, so that its program can be asked.
#[derive(Default)]
struct Heard {
    known: Vec<(ProgramQuestion, Result<ProgramSaid, NotSaid>)>,
    next: RefCell<Option<ProgramQuestion>>,
}

impl Programs for Heard {
    fn ask(&self, question: &ProgramQuestion) -> Result<ProgramSaid, NotSaid> {
        let known = self.known.iter().find(|(known, _)| known == question);
        known.map(|(_, said)| said.clone()).unwrap_or_else(|| {
            self.next.borrow_mut().get_or_insert_with(|| question.clone());
            Err(NotSaid::NotYet)
        })
    }
}

impl Looks {
    pub(super) fn interests(
        &self,
    ) -> impl Iterator<Item = (Source, BorrowedFd<'_>, PollFlags)> + use<'_> {
        self.program.fds().map(|fd| (Source::Asked, fd, PollFlags::IN))
    }

    pub(super) fn deadline(&self) -> Instant {
        self.program.deadline()
    }
}

impl Life {
    pub(super) fn looks(&self) -> Option<&Looks> {
        match self {
            Life::Looks(looks) => Some(looks),
            Life::None | Life::Prepared(_) | Life::Lives(_) | Life::Sweeps(_) | Life::Wakes(_) => {
                None
            }
        }
    }
}

impl Near {
    /// Looks for an interpreter with these settings. `prepared` or `refused` is told, at once if no program has to be asked.
    pub(super) fn prepare(&mut self, settings: Box<Settings>, name: SessionName, tell: Tell<'_>) {
        match &self.life {
            Life::None | Life::Prepared(_) => {}
            // What was looked for before is not wanted any more.
            Life::Looks(looks) => looks.program.kill(),
            Life::Lives(_) | Life::Sweeps(_) | Life::Wakes(_) => {
                let message = "there is an interpreter already".to_owned();
                return tell(Told::Refused { message, trouble: None });
            }
        }
        self.look(Looking { settings, name, heard: Heard::default() }, tell);
    }

    /// Looks with the answers that there are, until one more is needed that takes time.
    fn look(&mut self, mut search: Looking, tell: Tell<'_>) {
        loop {
            let Looking { settings, name, heard } = &mut search;
            let prepared = prepare(settings, name, &self.duty.tag, &self.cache, heard);
            let Some(question) = heard.next.take() else {
                self.life = Life::None;
                return match prepared {
                    Ok(prepared) => {
                        let found = prepared.found.clone();
                        self.life = Life::Prepared(Box::new(prepared));
                        tell(Told::Prepared { found });
                    }
                    Err(error) => {
                        let trouble = error.trouble(&settings.engine.language).map(Box::new);
                        tell(Told::Refused { message: crate::with_causes(&error), trouble });
                    }
                };
            };
            match AskedProgram::begin(&question) {
                Ok(program) => {
                    // It may start further processes, which only the end of an interpreter or the guard sweeps.
                    self.duty.left = true;
                    self.life = Life::Looks(Box::new(Looks { search, question, program }));
                    return;
                }
                Err(why) => heard.known.push((question, Err(why))),
            }
        }
    }

    /// The program that is asked has written something, or takes too long.
    pub(super) fn go_on_looking(&mut self, wrote: bool, tell: Tell<'_>) {
        let Life::Looks(looks) = &mut self.life else { return };
        let heard = if wrote { looks.program.hear() } else { Ok(()) };
        let late = Instant::now() >= looks.deadline();
        let failed = heard.err().or_else(|| late.then_some(NotSaid::TooLong));
        if let Some(why) = failed {
            // Its process is collected as any other child that ends.
            looks.program.kill();
            self.answered(|_| Err(why), tell);
        }
    }

    /// A child has ended, and was collected.
    pub(super) fn hear_asked(&mut self, pid: u32, status: WaitStatus, tell: Tell<'_>) {
        if self.life.looks().is_some_and(|looks| looks.program.pid() == pid) {
            let status = ExitStatus::from_raw(status.as_raw());
            self.answered(|program| program.ended(status), tell);
        }
    }

    fn answered(
        &mut self,
        said: impl FnOnce(AskedProgram) -> Result<ProgramSaid, NotSaid>,
        tell: Tell<'_>,
    ) {
        let Life::Looks(looks) = std::mem::replace(&mut self.life, Life::None) else { return };
        let Looks { mut search, question, program } = *looks;
        search.heard.known.push((question, said(program)));
        self.look(search, tell);
    }

    /// Nobody needs the interpreter any more.
    pub(super) fn stop_looking(&mut self, tell: Tell<'_>) {
        let Life::Looks(looks) = &self.life else { return };
        looks.program.kill();
        let asked = looks.question.program().display();
        let message = format!("it was ended while `{asked}` was asked for the interpreter");
        self.life = Life::None;
        tell(Told::Refused { message, trouble: None });
    }

    /// Waits until the interpreter is found, or none is. For a host that has no loop yet: nobody but the client that
    /// starts it waits with it.
    pub fn wait_for_programs(&mut self, tell: Tell<'_>) {
        while let Some(looks) = self.life.looks() {
            let left = looks.deadline().saturating_duration_since(Instant::now());
            let left =
                Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
            let mut ready = NearReady::default();
            let (sources, mut fds): (Vec<_>, Vec<_>) = self
                .interests()
                .map(|(source, fd, flags)| (source, PollFd::from_borrowed_fd(fd, flags)))
                .unzip();
            // Where waiting fails, for lack of memory, the turn looks at the time all the same.
            let _ = poll(&mut fds, Some(&left));
            for (source, fd) in sources.into_iter().zip(&fds) {
                if !fd.revents().is_empty() {
                    ready.note(source);
                }
            }
            self.turn(ready, tell);
        }
    }
}
