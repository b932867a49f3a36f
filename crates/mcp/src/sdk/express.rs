//! The short way for an eval that comes alone: sent to its host, waited for and answered here, without a task,
//! a timer or a turn of the SDK's loop. Most evals are over in less time than those take.
//!
//! Nothing waits for it: as soon as the client says anything more, or the eval takes longer, what was
//! begun is handed to the SDK's loop and goes on as any other call.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use stead_client::Stage;

use super::handler::QUICK_TIME;
use crate::tools::EvalArgs;
use crate::{Answer, Call, Quick, Server, Ties, Work};

/// What is needed to answer an eval at once.
#[derive(Debug)]
pub(super) struct Express {
    server: Arc<Server>,
    /// Calls that are under way elsewhere.
    open: Arc<AtomicUsize>,
    /// Where the client speaks.
    client: OwnedFd,
    /// Whether host and interpreter have a processor while we use ours.
    room: bool,
}

/// A call that was begun before the SDK heard of it; rides along with its request.
#[derive(Debug, Clone)]
pub(super) struct Carried(Arc<Mutex<Option<Work>>>);

impl Carried {
    pub(super) fn new(work: Work) -> Self {
        Carried(Arc::new(Mutex::new(Some(work))))
    }

    pub(super) fn take(&self) -> Option<Work> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }
}

impl Express {
    pub(super) fn new(server: Arc<Server>, open: Arc<AtomicUsize>, client: OwnedFd) -> Self {
        let room = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        Express { server, open, client, room }
    }

    /// Whether nobody waits already, who would go first.
    pub(super) fn is_free(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0
    }

    /// Answers an eval, or says what there is left to do about it. `output` says whether the client wants
    /// to hear of progress.
    pub(super) fn eval(&self, arguments: EvalArgs, output: bool) -> Result<Answer, Box<Work>> {
        match self.server.begin(Call::Eval(arguments), output) {
            Work::Begun(quick) => self.wait(quick),
            call => Err(Box::new(call)),
        }
    }

    fn wait(&self, mut quick: Box<Quick>) -> Result<Answer, Box<Work>> {
        let stage = match self.room {
            true => quick.begun.stay_awake(),
            false => Stage::Sent,
        };
        let stage = match stage {
            Stage::Sent | Stage::Accepted => self.sleep(&mut quick),
            stage => stage,
        };
        match stage {
            Stage::Over => {
                let ties = Ties { line: None, tell: None, accepted: None };
                Ok(self.server.finish(quick, ties))
            }
            Stage::Sent | Stage::Accepted | Stage::Unclear => Err(Box::new(Work::Begun(quick))),
        }
    }

    /// Waits until the eval is over, the client says something, or it has taken too long.
    fn sleep(&self, quick: &mut Quick) -> Stage {
        let patience = Instant::now() + QUICK_TIME;
        let until = quick.begun.deadline().map_or(patience, |at| at.min(patience));
        while let Ok([told, client]) = quick.begun.wait(self.client.as_fd(), until) {
            if told {
                match quick.begun.advance() {
                    Ok(Stage::Sent | Stage::Accepted) => {}
                    Ok(stage) => return stage,
                    Err(_) => break,
                }
            }
            if client || !told {
                break;
            }
        }
        Stage::Unclear
    }
}
