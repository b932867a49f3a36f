//! What may take a while is done by threads, so that the host and the kernel are heard meanwhile: dialling and requests.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::api::KernelApi;
use crate::socket::KernelWebSocket;
use crate::trouble::ServerTrouble;

/// What came of an errand.
pub(crate) enum ErrandResult {
    /// Of dialling.
    Dialled(Result<Box<KernelWebSocket>, ServerTrouble>),
    /// Of looking whether the kernel is there.
    Looked(Result<(), ServerTrouble>),
    /// Of an interrupt.
    Interrupted(Result<(), ServerTrouble>),
}

/// Threads that are under way, and where they report.
pub(crate) struct Errands {
    api: Arc<KernelApi>,
    kernel: String,
    session: String,
    sender: Sender<ErrandResult>,
    receiver: Receiver<ErrandResult>,
    /// The writing end of the pipe stays open for later errands: one byte is written for each result.
    wake: Arc<OwnedFd>,
    woken: OwnedFd,
}

impl Errands {
    pub(crate) fn new(api: Arc<KernelApi>, kernel: &str, session: &str) -> io::Result<Errands> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (sender, receiver) = channel();
        Ok(Errands {
            api,
            kernel: kernel.to_owned(),
            session: session.to_owned(),
            sender,
            receiver,
            wake: Arc::new(wake),
            woken,
        })
    }

    pub(crate) fn dial(&self) {
        let session = self.session.clone();
        self.go(move |api, kernel| {
            ErrandResult::Dialled(open(api, kernel, &session).map(Box::new))
        });
    }

    pub(crate) fn look(&self) {
        self.go(|api, kernel| ErrandResult::Looked(api.look(kernel).map(drop)));
    }

    pub(crate) fn interrupt(&self) {
        self.go(|api, kernel| ErrandResult::Interrupted(api.interrupt(kernel)));
    }

    fn go(&self, errand: impl FnOnce(&KernelApi, &str) -> ErrandResult + Send + 'static) {
        let (api, kernel) = (self.api.clone(), self.kernel.clone());
        let (sender, wake) = (self.sender.clone(), self.wake.clone());
        std::thread::spawn(move || {
            // If the loop is gone, nobody wants the result.
            let _ = sender.send(errand(&api, &kernel));
            let _ = rustix::io::write(&*wake, &[1]);
        });
    }

    /// What has come back.
    pub(crate) fn results(&self) -> Vec<ErrandResult> {
        let mut bytes = [0; 64];
        let _ = rustix::io::read(&self.woken, &mut bytes);
        self.receiver.try_iter().collect()
    }
}

impl AsFd for Errands {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// Opens the kernel's WebSocket. A proxy in between may say that there is none while its server starts, so the server is asked
/// before a kernel counts as gone.
fn open(api: &KernelApi, kernel: &str, session: &str) -> Result<KernelWebSocket, ServerTrouble> {
    match api.open(kernel, session) {
        Err(gone @ ServerTrouble::NoSuchId { .. }) => match api.look(kernel) {
            Err(ServerTrouble::NoSuchId { .. }) => Err(gone),
            Err(trouble) => Err(trouble),
            Ok(_) => Err(ServerTrouble::Status {
                url: api.url.to_string(),
                status: 404,
                said: "it has the kernel and takes no WebSocket for it".to_owned(),
            }),
        },
        opened => opened,
    }
}
