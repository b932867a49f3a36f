//! From what is wanted to a kernel with an open WebSocket. A cluster may take minutes to make a kernel, so that is done beside the
//! loop that hears the host.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use stead_host_side::{HostGone, HostSide, WaitList};
use stead_launch::sys;
use stead_protocol::bridge::{BridgeEvent, Command};
use stead_protocol::{GatewayKernel, GatewayTarget};

use crate::BeginError;
use crate::api::{CREATED_WITHIN, KernelApi, KernelRemoval, QUICK, is_id};
use crate::left::{LeftKernel, REMOVED_WITHIN};
use crate::socket::KernelWebSocket;
use crate::trouble::ServerTrouble;

/// How long a new kernel may take until it answers, once the server has made it.
const STARTED_ANSWERS: Duration = Duration::from_secs(40);
/// How long one that runs already may take.
const ATTACHED_ANSWERS: Duration = Duration::from_secs(15);
/// How long the server may take to delete the kernel at the end: the host waits for half a second. What it does not
/// confirm in that time is looked after by those who read the note.
const DELETED_WITHIN: Duration = Duration::from_millis(400);

/// What is done with a kernel at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelCustody {
    Ours,
    Others,
}

/// A kernel that the server has, and a connection to it.
pub(crate) struct BegunKernel {
    pub(crate) api: Arc<KernelApi>,
    pub(crate) id: String,
    /// The name of our side, the same on every connection.
    pub(crate) session: String,
    pub(crate) custody: KernelCustody,
    pub(crate) socket: KernelWebSocket,
    /// By when it has to answer.
    pub(crate) answers_within: Duration,
}

/// What is waited for meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeginSource {
    Host,
    HostStream,
    Work,
}

/// Creates or finds the kernel and opens its WebSocket.
pub(crate) fn begin(
    host: &mut HostSide,
    wanted: &GatewayKernel,
) -> Result<BegunKernel, BeginError> {
    let session = format!("{:016x}", sys::random().map_err(BeginError::Io)?);
    let (id, custody, answers_within) = match &wanted.wanted {
        GatewayTarget::Started { .. } => (new_id()?, KernelCustody::Ours, STARTED_ANSWERS),
        GatewayTarget::Attached { id } => (id.clone(), KernelCustody::Others, ATTACHED_ANSWERS),
        GatewayTarget::Unknown => return Err(BeginError::Newer),
    };
    if custody == KernelCustody::Ours {
        let longest = REMOVED_WITHIN + QUICK * 2 + CREATED_WITHIN + STARTED_ANSWERS;
        host.tell(&BridgeEvent::Starting { within_ms: longest.as_millis() as u64 });
    }
    let (server, name) = (wanted.clone(), session.clone());
    let (done, left) = beside(host, move || {
        let left = LeftKernel::place().and_then(|place| LeftKernel::remove(&place).err());
        (open(&server, &id, &name), left)
    })?;
    // An earlier kernel that stays is no reason not to start another.
    if let Some(error) = left {
        host.tell(&BridgeEvent::Log { text: error.to_string() });
    }
    let (api, id, socket) = done?;
    Ok(BegunKernel { api, id, session, custody, socket, answers_within })
}

/// Asks the server for the kernel, all that may take its time.
fn open(
    wanted: &GatewayKernel,
    id: &str,
    session: &str,
) -> Result<(Arc<KernelApi>, String, KernelWebSocket), BeginError> {
    let api = Arc::new(KernelApi::new(wanted)?);
    let GatewayTarget::Started { kernel } = &wanted.wanted else {
        if !is_id(id) {
            let (url, id) = (api.url.to_string(), id.escape_debug().to_string());
            return Err(ServerTrouble::NoSuchId { url, id }.into());
        }
        api.look(id)?;
        let socket = api.open(id, session)?;
        return Ok((api, id.to_owned(), socket));
    };
    // What is no server, or does not let us in, is found out in seconds, however long a kernel may take.
    api.greet()?;
    // Noted before it is there, since this process may be killed while it is being made.
    LeftKernel::note_begun(wanted, id).map_err(BeginError::Io)?;
    let made = match api.create(kernel.as_deref(), id) {
        Ok(made) => made,
        Err(trouble) => {
            if !trouble.may_have_acted() {
                LeftKernel::forget();
            }
            return Err(trouble.into());
        }
    };
    let noted = LeftKernel::note(wanted, &made).map_err(BeginError::Io);
    let opened = noted.and_then(|()| Ok(api.open(&made, session)?));
    if opened.is_err()
        && let Err(error) = remove(&api, &made)
    {
        eprintln!("{error}");
    }
    Ok((api, made, opened?))
}

/// Does something in a thread, and hears the host meanwhile: it may want to end before this is over.
fn beside<T: Send + 'static>(
    host: &mut HostSide,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BeginError> {
    let (done, finished) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| BeginError::Io(error.into()))?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // The loop may be gone: then nobody is interested.
        let _ = sender.send(work());
        // The other end sees that this one is closed.
        drop(finished);
    });
    loop {
        host.flush().map_err(|HostGone| BeginError::HostGone)?;
        let mut list = WaitList::new(host, BeginSource::Host, BeginSource::HostStream);
        list.add(BeginSource::Work, done.as_fd(), PollFlags::IN);
        let ready = list.wait(None).map_err(BeginError::Io)?;
        if ready.contains(&BeginSource::Work) {
            return receiver.try_recv().map_err(|_| BeginError::HostGone);
        }
        if ready.contains(&BeginSource::Host) {
            let mut asked = false;
            let read = host.each_command(|command| asked |= *command == Command::Exit);
            if read.is_err() || asked {
                return Err(BeginError::HostGone);
            }
        }
    }
}

/// The id that a new kernel is to have. Enterprise Gateway takes it; others give one of their own.
fn new_id() -> Result<String, BeginError> {
    let random = || sys::random().map_err(BeginError::Io);
    let (high, low) = (random()?, random()?);
    Ok(format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    ))
}

/// Deletes a kernel that was started for the session. If that is not confirmed, the note of it stays; why, in words.
pub(crate) fn remove(api: &KernelApi, kernel: &str) -> Result<(), String> {
    match api.delete(kernel, DELETED_WITHIN) {
        Ok(KernelRemoval::Gone | KernelRemoval::NotThere) => LeftKernel::forget(),
        Ok(KernelRemoval::Asked) => {}
        Err(error) => return Err(format!("the kernel `{kernel}` was not deleted: {error}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_ids_of_new_kernels_are_such_as_servers_make() {
        let id = new_id().unwrap();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!("89ab".contains(&id[19..20]) && is_id(&id), "{id}");
        assert_ne!(id, new_id().unwrap());
    }
}
