//! One client on a line: what it has asked and was not answered yet, and what is on its way to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::Notify;

use super::carry::{Caller, Calls};
use super::closing::Closing;
use super::meta::Era;
use super::outbox::{Outbox, Unread};
use super::read::CallLine;
use super::requests::{RequestId, Requests};
use super::shape::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, ShapeRefusal};
use super::stdio::{Incoming, Outgoing};
use super::write;
use crate::{Answer, Call, tools};

/// How long a client that has left is still answered.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// What is known of the client of a line.
#[derive(Debug)]
pub(crate) struct Peer {
    requests: Mutex<Requests>,
    outbox: Outbox,
    /// Where its next words can be waited for without reading them.
    words: Option<OwnedFd>,
    closing: Arc<Closing>,
}

impl Peer {
    pub(crate) fn new(
        reader: &Incoming,
        writer: Outgoing,
        unread: Arc<Unread>,
        closing: Arc<Closing>,
    ) -> Arc<Self> {
        let outbox = Outbox::new(writer, unread);
        let words = reader.descriptor();
        Arc::new(Peer { requests: Mutex::default(), outbox, words, closing })
    }

    /// Its open requests.
    pub(crate) fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Takes a call of this many bytes, and answers it, at once or later. `is_last` says that nothing was read
    /// behind it.
    pub(crate) fn take(
        self: &Arc<Self>,
        calls: &Arc<Calls>,
        line: CallLine,
        era: Era,
        bytes: usize,
        is_last: bool,
    ) -> Result<(), ShapeRefusal> {
        let CallLine { id, tool, arguments, meta } = line;
        let refused = |code, message: String| ShapeRefusal::new(Some(id.to_json()), code, message);
        let is_alone =
            is_last && calls.is_idle() && self.outbox.is_idle() && self.requests().is_empty();
        let opened = self.requests().open_call(&id, bytes);
        let (number, cancelled) = opened.map_err(|message| refused(INVALID_REQUEST, message))?;
        let call = match Call::read(&tool, arguments) {
            Some(Ok(call)) => call,
            Some(Err(error)) => {
                let answer = self.clone().answer(number, Ok(Answer::failure(&error)), era);
                self.beside(async move { drop(answer.await) });
                return Ok(());
            }
            None => {
                self.requests().close(number);
                return Err(refused(INVALID_PARAMS, unknown_tool(&tool)));
            }
        };
        let progress = meta.progress_token();
        let mut caller =
            LineCaller { peer: self.clone(), cancelled, progress, told: 0.0, is_alone };
        let (peer, calls) = (self.clone(), calls.clone());
        self.beside(async move {
            let answer = calls.carry_out(call, &mut caller).await;
            if let Some(unread) = peer.answer(number, answer, era).await {
                calls.take_back(unread);
            }
        });
        Ok(())
    }

    /// Answers a call, unless it was cancelled: then nobody reads the answer, which is returned.
    async fn answer(
        self: Arc<Self>,
        number: u64,
        answer: Result<Answer, String>,
        era: Era,
    ) -> Option<Answer> {
        let Some(id) = self.requests().close(number) else { return answer.ok() };
        let line = match answer {
            Ok(answer) => write::answer(&id, &answer, era),
            Err(message) => {
                write::refusal(&ShapeRefusal::new(Some(id.to_json()), INTERNAL_ERROR, message))
            }
        };
        let _ = self.send(line).await;
        None
    }

    /// Tells what is wrong with a message.
    pub(crate) fn refuse(self: &Arc<Self>, refusal: &ShapeRefusal) {
        let sent = self.send(write::refusal(refusal));
        self.beside(async move { drop(sent.await) });
    }

    /// Sends a line; it counts as on its way from now on.
    pub(crate) fn send(
        self: &Arc<Self>,
        line: Vec<u8>,
    ) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let peer = self.clone();
        let line = peer.outbox.take(line);
        async move {
            let written = peer.outbox.write(line).await;
            if written.is_err() {
                peer.closing.lost();
            }
            written
        }
    }

    /// Does at once the part that takes no wait, and the rest as a task: the loop can be dropped at any
    /// await.
    fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = Box::pin(work);
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            tokio::spawn(work);
        }
    }

    /// Returns once the client has read enough to be listened to.
    pub(crate) async fn has_room(&self) {
        self.outbox.has_room().await;
    }

    /// The client will send nothing more.
    pub(crate) fn ended(&self) {
        self.closing.ended();
    }

    /// Returns when every call has its answer, within the time that a client which left is given.
    pub(crate) async fn part(&self) -> io::Result<()> {
        let answered = async {
            loop {
                let written = self.outbox.written();
                if !self.requests().has_calls() && self.outbox.is_idle() {
                    return;
                }
                written.await;
            }
        };
        let _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
        self.outbox.close().await
    }
}

/// The answer to a call of a tool that does not exist.
pub(crate) fn unknown_tool(name: &str) -> String {
    let names: Vec<&str> = tools().iter().map(|spec| spec.name).collect();
    let name: String = name.chars().take(100).collect();
    format!("unknown tool `{name}`; tools: {}", names.join(", "))
}

/// The client of a line, as one of its calls knows it.
struct LineCaller {
    peer: Arc<Peer>,
    cancelled: Arc<Notify>,
    /// The token under which the client wants to hear of progress, if it does.
    progress: Option<RequestId>,
    /// How often progress was told.
    told: f64,
    is_alone: bool,
}

impl Caller for LineCaller {
    fn is_alone(&self) -> bool {
        self.is_alone
    }

    fn next_words(&self) -> Option<BorrowedFd<'_>> {
        self.peer.words.as_ref().map(AsFd::as_fd)
    }

    fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    async fn cancelled(&mut self) {
        self.cancelled.notified().await;
    }

    async fn tell(&mut self, message: String) {
        // A client that does not read can do without messages of progress.
        if let Some(token) = self.progress.as_ref().filter(|_| self.peer.outbox.has_room_now()) {
            self.told += 1.0;
            let sent = self.peer.send(write::progress(token, self.told, &message));
            self.peer.beside(async move { drop(sent.await) });
        }
    }
}
