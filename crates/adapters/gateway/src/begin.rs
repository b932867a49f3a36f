//! From what is wanted to a kernel with an open WebSocket. A cluster may take minutes to make a kernel, so that is done beside the
//! loop that hears the host.

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use stead_host_side::{HostGone, HostSide, WaitList};
use stead_launch::sys;
use stead_protocol::bridge::{BridgeEvent, Command};
use stead_protocol::{GatewayKernel, GatewayTarget};

use crate::BeginError;
use crate::api::{CREATED_WITHIN, KernelApi, KernelRemoval, QUICK, is_id};
use crate::left::{LeftError, REMOVED_WITHIN, remove_all};
use crate::note::{KernelNote, KnownOfKernel, clock, session_dir};
use crate::socket::KernelWebSocket;
use crate::trace::KernelTrace;
use crate::trouble::{ReachedServer, ServerTrouble};

/// How long a new kernel may take until it answers, once the server has made it.
const STARTED_ANSWERS: Duration = Duration::from_secs(40);
/// How long a kernel that runs already may take until it answers.
const ATTACHED_ANSWERS: Duration = Duration::from_secs(15);
/// How long the server may take to delete the kernel at the end: the host waits for half a second. A kernel
/// whose end is not confirmed in that time is deleted later by a process that reads its note.
const DELETED_WITHIN: Duration = Duration::from_millis(400);

/// What is done with a kernel at the end.
pub(crate) enum KernelCustody {
    /// The kernel is deleted, and so is its note.
    Ours(Option<KernelNote>),
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

/// What `beside` waits for while its work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BeginSource {
    Host,
    HostStream,
    Work,
}

/// How far the work has come that is done beside the loop; the host may want to end at any moment of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MakingStage {
    /// The server has not been asked for anything that stays.
    Before,
    /// It is asked for a kernel.
    Asked,
    /// The kernel is not wanted any more, so the server is not asked for it.
    GivenUp,
}

impl MakingStage {
    /// The kernel is asked for now, unless nobody wants it any more.
    fn ask(&mut self) -> bool {
        match self {
            MakingStage::Before | MakingStage::Asked => {
                *self = MakingStage::Asked;
                true
            }
            MakingStage::GivenUp => false,
        }
    }

    /// Notes that the kernel is not wanted any more; says whether the server was never asked for it.
    fn give_up(&mut self) -> bool {
        match self {
            MakingStage::Before | MakingStage::GivenUp => {
                *self = MakingStage::GivenUp;
                true
            }
            MakingStage::Asked => false,
        }
    }
}

/// A kernel that the server has, before it is known whether it is still wanted.
struct FoundKernel {
    api: Arc<KernelApi>,
    id: String,
    custody: KernelCustody,
    socket: KernelWebSocket,
}

/// Creates or finds the kernel and opens its WebSocket.
pub(crate) fn begin(
    host: &mut HostSide,
    wanted: &GatewayKernel,
) -> Result<BegunKernel, BeginError> {
    let session = format!("{:016x}", sys::random().map_err(BeginError::Io)?);
    let answers_within = match &wanted.wanted {
        GatewayTarget::Started { .. } => {
            let longest = REMOVED_WITHIN * 2 + QUICK * 5 + CREATED_WITHIN + STARTED_ANSWERS;
            host.tell(&BridgeEvent::Starting { within_ms: longest.as_millis() as u64 });
            STARTED_ANSWERS
        }
        GatewayTarget::Attached { .. } => ATTACHED_ANSWERS,
        GatewayTarget::Unknown => return Err(BeginError::Newer),
    };
    let stage = Arc::new(Mutex::new(MakingStage::Before));
    let (server, name, seen) = (wanted.clone(), session.clone(), stage.clone());
    let (done, left) = beside(host, &stage, move || {
        let left = session_dir().map(|dir| remove_all(&dir)).unwrap_or_default();
        (find(&server, &name, &seen), left)
    })?;
    // An earlier kernel that could not be deleted is no reason not to start another.
    for error in left {
        host.tell(&BridgeEvent::Log { text: error.to_string() });
    }
    let FoundKernel { api, id, custody, socket } = done?;
    Ok(BegunKernel { api, id, session, custody, socket, answers_within })
}

/// Asks the server for the kernel, all that may take its time.
fn find(
    wanted: &GatewayKernel,
    session: &str,
    stage: &Mutex<MakingStage>,
) -> Result<FoundKernel, BeginError> {
    let api = Arc::new(KernelApi::new(wanted)?);
    match &wanted.wanted {
        GatewayTarget::Started { kernel } => make(api, wanted, kernel.as_deref(), session, stage),
        GatewayTarget::Attached { id } if is_id(id) => {
            api.look(id)?;
            let socket = api.open(id, session)?;
            Ok(FoundKernel { api, id: id.clone(), custody: KernelCustody::Others, socket })
        }
        GatewayTarget::Attached { id } => {
            let (url, id) = (api.url.to_string(), id.escape_debug().to_string());
            Err(ServerTrouble::NoSuchId { url, id }.into())
        }
        GatewayTarget::Unknown => Err(BeginError::Newer),
    }
}

/// Has the server make a kernel. Whatever happens meanwhile, a note says what has to be looked for.
fn make(
    api: Arc<KernelApi>,
    wanted: &GatewayKernel,
    kernel: Option<&str>,
    session: &str,
    stage: &Mutex<MakingStage>,
) -> Result<FoundKernel, BeginError> {
    // That there is no Jupyter server, or none that lets us in, is found out in seconds, however long a kernel takes.
    api.greet()?;
    let mut trace = api.trace()?;
    let id = new_id()?;
    if !stage.lock().is_ok_and(|mut stage| stage.ask()) {
        return Err(BeginError::HostGone);
    }
    // The kernel is noted before it exists, since this process may be killed while the server makes it.
    let mut note = KernelNote::begin(wanted, &id, trace).map_err(BeginError::Io)?;
    let mut made = api.create(kernel, &id, trace);
    if trace == KernelTrace::Session && made.as_ref().is_err_and(ServerTrouble::is_not_offered) {
        learn(&mut note, KnownOfKernel::Refused { trace })?;
        trace = api.trace_without_sessions()?;
        learn(&mut note, KnownOfKernel::Asked { at: clock(), trace })?;
        made = api.create(kernel, &id, trace);
    }
    let made = match made {
        Ok(made) => made,
        Err(trouble) => {
            match trouble.reached() {
                ReachedServer::No => forget(note),
                ReachedServer::Answered => {
                    learn(&mut note, KnownOfKernel::Refused { trace })?;
                    forget_if_gone(&api, note);
                }
                ReachedServer::Perhaps => {}
            }
            return Err(trouble.into());
        }
    };
    let noted = learn(&mut note, KnownOfKernel::Made { id: made.clone() });
    match noted.and_then(|()| Ok(api.open(&made, session)?)) {
        Ok(socket) => Ok(FoundKernel { api, id: made, custody: KernelCustody::Ours(note), socket }),
        Err(error) => {
            if let Err(text) = remove(&api, &made, note, Instant::now() + DELETED_WITHIN) {
                eprintln!("{text}");
            }
            Err(error)
        }
    }
}

fn learn(note: &mut Option<KernelNote>, known: KnownOfKernel) -> Result<(), BeginError> {
    note.as_mut().map_or(Ok(()), |note| note.learn(known)).map_err(BeginError::Io)
}

/// A server may have made a kernel and failed after that, so the kernel is looked for and deleted. The note
/// is removed only if the kernel is gone.
fn forget_if_gone(api: &KernelApi, note: Option<KernelNote>) {
    if let Some(note) = note
        && note.left().delete_at_once(api).unwrap_or(false)
    {
        note.forget();
    }
}

fn forget(note: Option<KernelNote>) {
    if let Some(note) = note {
        note.forget();
    }
}

/// What came of the work that is done beside the loop, and kernels of earlier starts that could not be removed.
type BegunWork = (Result<FoundKernel, BeginError>, Vec<LeftError>);

/// Does `work` in a thread and hears the host meanwhile, since the host may want to end before the work is done.
fn beside(
    host: &mut HostSide,
    stage: &Mutex<MakingStage>,
    work: impl FnOnce() -> BegunWork + Send + 'static,
) -> Result<BegunWork, BeginError> {
    let (done, finished) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| BeginError::Io(error.into()))?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // If the loop is gone, nobody wants the result.
        let _ = sender.send(work());
        // Closing this end of the pipe wakes the loop, which polls the other end.
        drop(finished);
    });
    loop {
        host.flush().map_err(|HostGone| end_early(stage, &receiver))?;
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
                return Err(end_early(stage, &receiver));
            }
        }
    }
}

/// The host does not want the kernel any more. If the server was asked for one, its answer says which kernel
/// has to be deleted. A kernel that takes longer is deleted later by a process that reads its note.
fn end_early(stage: &Mutex<MakingStage>, work: &Receiver<BegunWork>) -> BeginError {
    let by = Instant::now() + DELETED_WITHIN;
    let nothing = stage.lock().is_ok_and(|mut stage| stage.give_up());
    if !nothing
        && let Ok((Ok(FoundKernel { api, id, custody, socket }), _)) =
            work.recv_timeout(DELETED_WITHIN)
        && let KernelCustody::Ours(note) = custody
    {
        drop(socket);
        let _ = remove(&api, &id, note, by);
    }
    BeginError::HostGone
}

/// The id that a new kernel is to have. Some servers take it (`takes_ids`); others choose an id themselves.
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

/// Deletes a kernel that was started for the session. If its end is not confirmed, its note stays, and the
/// error says why.
pub(crate) fn remove(
    api: &KernelApi,
    kernel: &str,
    note: Option<KernelNote>,
    by: Instant,
) -> Result<(), String> {
    match api.delete(kernel, by.saturating_duration_since(Instant::now())) {
        Ok(KernelRemoval::Gone | KernelRemoval::NotThere) => {
            forget(note);
            Ok(())
        }
        Ok(KernelRemoval::Asked) => Ok(()),
        Err(error) => Err(format!("the kernel `{kernel}` was not deleted: {error}")),
    }
}

/// By when a kernel is to be deleted at the end.
pub(crate) fn deleted_by() -> Instant {
    Instant::now() + DELETED_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_s9_a_kernel_that_nobody_wants_any_more_is_not_asked_for() {
        use MakingStage::{Asked, Before, GivenUp};
        for (mut stage, may_ask, then) in
            [(Before, true, Asked), (Asked, true, Asked), (GivenUp, false, GivenUp)]
        {
            assert_eq!((stage.ask(), stage), (may_ask, then));
        }
        for (mut stage, nothing_there, then) in
            [(Before, true, GivenUp), (Asked, false, Asked), (GivenUp, true, GivenUp)]
        {
            assert_eq!((stage.give_up(), stage), (nothing_there, then));
        }
    }

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
