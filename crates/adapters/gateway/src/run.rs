//! The loop: polls the host and the kernel's WebSocket, and does what the conversation and the state of the connection say.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_host_side::{HostGone, HostSide, SessionInput, TakenInput, stream_fd};
use stead_jupyter::{KernelOwner, KernelTalk, TalkAction, TalkInput, TransferFile, host_input};
use stead_launch::sys;
use stead_protocol::bridge::{BridgeEvent, Command};
use stead_protocol::{GatewayKernel, GatewayTarget};

use crate::api::{KernelApi, KernelRemoval, is_id};
use crate::errand::{ErrandResult, Errands};
use crate::left::LeftKernel;
use crate::link::{LinkAction, LinkInput, LinkState};
use crate::socket::{KernelWebSocket, UnsentMessage};
use crate::trouble::ServerTrouble;
use crate::{BeginError, fate};

/// How long a new kernel may take until it answers; the host waits for a minute, and the server was waited for already.
const STARTED_ANSWERS: Duration = Duration::from_secs(50);
/// How long one that runs already may take.
const ATTACHED_ANSWERS: Duration = Duration::from_secs(15);
/// A kernel that has just been started may not hear what comes first.
const GREET_EVERY: Duration = Duration::from_secs(2);
/// How long the server may take to delete the kernel at the end: the host waits for half a second. What it does not
/// confirm in that time is looked after by those who read the note.
const DELETED_WITHIN: Duration = Duration::from_millis(400);

/// After so many cuts in the middle of the same message it is not sent again.
const MOST_TORN: u32 = 3;

/// Why the loop is over.
pub(crate) enum LoopEnd {
    /// The host is gone, or wanted it so.
    Asked,
    /// The kernel cannot be reached any more, or is gone.
    Ended { reason: String },
    /// It never answered.
    Silent { within: Duration },
}

/// What is done with a kernel at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KernelCustody {
    Ours,
    Others,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GatewaySource {
    Host,
    HostStream,
    Socket,
    Errands,
    Stdin,
}

/// The adapter while it runs.
pub(crate) struct GatewayLoop {
    host: HostSide,
    talk: KernelTalk,
    api: Arc<KernelApi>,
    kernel: String,
    custody: KernelCustody,
    link: LinkState,
    socket: Option<KernelWebSocket>,
    /// What could not be sent yet.
    outbox: VecDeque<UnsentMessage>,
    errands: Errands,
    /// A line of the session's input is wanted, and what has come of it.
    input: Option<SessionInput>,
    /// What is saved or loaded, where the kernel has other files.
    file: TransferFile,
    /// When the conversation wants to be woken.
    due: Option<Instant>,
    /// Until the kernel has answered: by when it has to, and when it is greeted again.
    greeting: Option<(Instant, Instant)>,
    /// More has come than was looked at.
    more: bool,
    /// How often the connection was cut in the middle of the same message.
    torn: u32,
}

impl GatewayLoop {
    /// Creates or finds the kernel and opens its WebSocket.
    pub(crate) fn begin(
        control: OwnedFd,
        wanted: &GatewayKernel,
    ) -> Result<GatewayLoop, BeginError> {
        let host = HostSide::new(control).map_err(BeginError::Io)?;
        let session = format!("{:016x}", sys::random().map_err(BeginError::Io)?);
        let api = Arc::new(KernelApi::new(wanted)?);
        let url = api.url.to_string();
        if let Some(left) = LeftKernel::place()
            && let Err(error) = LeftKernel::remove(&left)
        {
            // An earlier kernel is no reason not to start another.
            eprintln!("{error}");
        }
        let (kernel, custody, within) = match &wanted.wanted {
            GatewayTarget::Started { kernel } => {
                let id = api.create(kernel.as_deref())?;
                if let Err(error) = LeftKernel::note(wanted, &id) {
                    eprintln!("could not note which kernel was started: {error}");
                }
                (id, KernelCustody::Ours, STARTED_ANSWERS)
            }
            GatewayTarget::Attached { id } => {
                if !is_id(id) {
                    return Err(
                        ServerTrouble::NoSuchId { url, id: id.escape_debug().to_string() }.into()
                    );
                }
                api.look(id)?;
                (id.clone(), KernelCustody::Others, ATTACHED_ANSWERS)
            }
            GatewayTarget::Unknown => return Err(BeginError::Newer),
        };
        let errands = Errands::new(api.clone(), &kernel, &session).map_err(BeginError::Io)?;
        let opened = api.open(&kernel, &session);
        if opened.is_err() && custody == KernelCustody::Ours {
            remove(&api, &kernel);
        }
        let now = Instant::now();
        Ok(GatewayLoop {
            host,
            // A kernel of a server is never a child of this process, whoever started it.
            talk: KernelTalk::new(
                KernelOwner::Others,
                &session,
                &format!("{url}api/kernels/{kernel}"),
            ),
            api,
            kernel,
            custody,
            link: LinkState::open(now),
            socket: Some(opened?),
            outbox: VecDeque::new(),
            errands,
            input: None,
            file: TransferFile::default(),
            due: None,
            greeting: Some((now + within, now)),
            more: false,
            torn: 0,
        })
    }

    /// Goes on until the session ends.
    pub(crate) fn run(mut self) -> LoopEnd {
        let end = loop {
            match self.turn() {
                Ok(()) => {}
                Err(end) => break end,
            }
        };
        if let LoopEnd::Ended { reason } = &end
            && self.talk.is_ready()
        {
            let event = BridgeEvent::Exiting { code: 1, reason: Some(reason.clone()) };
            self.host.tell(&event);
        }
        // What the kernel does meanwhile does not matter any more, so it goes first.
        if self.custody == KernelCustody::Ours {
            self.socket = None;
            remove(&self.api, &self.kernel);
        }
        self.host.finish();
        end
    }

    /// Waits until something happens, and does what is to be done about it.
    fn turn(&mut self) -> Result<(), LoopEnd> {
        self.greet()?;
        self.send();
        self.host.flush().map_err(|HostGone| LoopEnd::Asked)?;
        let ready = self.wait().map_err(|_| LoopEnd::Asked)?;
        let mut actions = Vec::new();
        for source in ready {
            match source {
                GatewaySource::Host => self.read_host(&mut actions)?,
                GatewaySource::HostStream | GatewaySource::Socket => {}
                GatewaySource::Errands => self.errands_came_back(&mut actions)?,
                GatewaySource::Stdin => self.read_line(&mut actions),
            }
        }
        self.hear(&mut actions)?;
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            actions.extend(self.talk.step(TalkInput::Due));
        }
        self.act(actions)?;
        self.linked(LinkInput::Tick)
    }

    fn act(&mut self, actions: Vec<TalkAction>) -> Result<(), LoopEnd> {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                TalkAction::Tell(event) => self.host.tell(&event),
                TalkAction::Print(stream, text) => self.host.print(stream, text.into_bytes()),
                // The server knows how this kernel is interrupted, and does it while the connection is cut, too.
                TalkAction::Send(_, message) if message.kind() == "interrupt_request" => {
                    self.errands.interrupt();
                }
                TalkAction::Send(channel, message) => self.outbox.push_back((channel, message)),
                TalkAction::Listen(wanted) => self.input = wanted.then(SessionInput::default),
                TalkAction::Transfer(order) => {
                    if let Some(came) = self.file.carry_out(order) {
                        actions.extend(self.talk.step(TalkInput::Transferred(came)));
                    }
                }
                TalkAction::Wake(after) => self.due = Some(Instant::now() + after),
                // Kernels of a server have no process here.
                TalkAction::Signal | TalkAction::SignalChildren => self.errands.interrupt(),
                TalkAction::Leave => return Err(LoopEnd::Asked),
            }
        }
        Ok(())
    }

    /// Until the kernel has answered it is asked again.
    fn greet(&mut self) -> Result<(), LoopEnd> {
        let Some((by, next)) = self.greeting else { return Ok(()) };
        if self.talk.is_ready() {
            self.greeting = None;
            return Ok(());
        }
        let now = Instant::now();
        if by <= now {
            let within = match self.custody {
                KernelCustody::Ours => STARTED_ANSWERS,
                KernelCustody::Others => ATTACHED_ANSWERS,
            };
            return Err(LoopEnd::Silent { within });
        }
        if next <= now {
            self.greeting = Some((by, now + GREET_EVERY));
            let actions = self.talk.greet();
            self.act(actions)?;
        }
        Ok(())
    }

    /// Sends what the connection takes. That it is cut is found when it is read.
    fn send(&mut self) {
        if let Some(socket) = &mut self.socket {
            let _ = socket.write(&mut self.outbox);
        }
    }

    /// Looks at what came from the kernel.
    fn hear(&mut self, actions: &mut Vec<TalkAction>) -> Result<(), LoopEnd> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let incoming = socket.read();
        self.more = incoming.more;
        for text in incoming.odd {
            self.host.tell(&BridgeEvent::Log { text });
        }
        for (channel, message) in incoming.messages {
            if let Some(reason) = fate::end_told(channel, &message) {
                // What it said before counts.
                self.act(std::mem::take(actions))?;
                return Err(LoopEnd::Ended { reason: reason.to_owned() });
            }
            actions.extend(self.talk.step(TalkInput::Kernel(channel, &message)));
        }
        if incoming.heard {
            self.linked(LinkInput::Heard)?;
        }
        if let Some(reason) = incoming.cut {
            // What came before the cut is told before it.
            self.act(std::mem::take(actions))?;
            self.linked(LinkInput::Cut { reason })?;
        }
        Ok(())
    }

    /// One step of the connection's life.
    fn linked(&mut self, input: LinkInput) -> Result<(), LoopEnd> {
        let now = Instant::now();
        let state = std::mem::replace(&mut self.link, LinkState::Over);
        let (state, actions) = state.step(input, now);
        self.link = state;
        for action in actions {
            match action {
                LinkAction::Dial if !self.talk.is_ready() => {
                    let reason = "the connection was cut before the kernel answered".to_owned();
                    return Err(LoopEnd::Ended { reason });
                }
                LinkAction::Dial => self.errands.dial(),
                LinkAction::Drop => {
                    let socket = self.socket.take();
                    let unsent = socket.and_then(|mut socket| socket.unsent());
                    self.torn = if unsent.is_some() { self.torn + 1 } else { 0 };
                    // One that is cut each time is too long for the server, which hangs up.
                    if let Some(message) = unsent.filter(|_| self.torn < MOST_TORN) {
                        self.outbox.push_front(message);
                    }
                    self.more = false;
                }
                LinkAction::Ping => {
                    if let Some(socket) = &mut self.socket {
                        socket.ping();
                    }
                }
                LinkAction::Look => self.errands.look(),
                LinkAction::TellLost { reason } => {
                    let reason = format!("{reason} ({})", self.api.url.authority());
                    self.host.tell(&BridgeEvent::Lost { reason });
                }
                LinkAction::TellFound => {
                    // Servers confirm nothing: what was under way in either direction is lost, and nobody knows how much.
                    self.host.tell(&BridgeEvent::Found { reason: None, gap: true });
                    // What is printed from now on must not come before this.
                    self.host.tell(&BridgeEvent::Sync {});
                    let actions = self.talk.step(TalkInput::Reconnected);
                    self.act(actions)?;
                }
                LinkAction::GiveUp { reason } => return Err(LoopEnd::Ended { reason }),
            }
        }
        Ok(())
    }

    fn errands_came_back(&mut self, actions: &mut Vec<TalkAction>) -> Result<(), LoopEnd> {
        for result in self.errands.results() {
            match result {
                ErrandResult::Dialled(Ok(socket)) => {
                    self.act(std::mem::take(actions))?;
                    self.socket = Some(*socket);
                    self.linked(LinkInput::Opened)?;
                }
                ErrandResult::Dialled(Err(trouble)) => {
                    let (reason, last) = (fate::gone_words(&trouble), trouble.is_final());
                    self.linked(LinkInput::Failed { reason, last })?;
                }
                ErrandResult::Looked(Err(trouble @ ServerTrouble::NoSuchId { .. })) => {
                    return Err(LoopEnd::Ended { reason: fate::gone_words(&trouble) });
                }
                // Whether the server lives is told by its connection.
                ErrandResult::Looked(_) | ErrandResult::Interrupted(Ok(())) => {}
                ErrandResult::Interrupted(Err(trouble)) => {
                    let text = format!("the interrupt could not be passed on: {trouble}");
                    self.host.tell(&BridgeEvent::Log { text });
                }
            }
        }
        Ok(())
    }

    fn read_host(&mut self, actions: &mut Vec<TalkAction>) -> Result<(), LoopEnd> {
        let read = self.host.read();
        while let Some(frame) = self.host.next_command() {
            match frame.command() {
                Some(Command::Ack) => self.host.acknowledged(),
                Some(command) => actions.extend(self.talk.step(host_input(&command))),
                None => {}
            }
        }
        read.map_err(|HostGone| LoopEnd::Asked)
    }

    fn read_line(&mut self, actions: &mut Vec<TalkAction>) {
        let Some(input) = &mut self.input else { return };
        match input.take() {
            TakenInput::Line(line) => {
                self.input = None;
                actions.extend(self.talk.step(TalkInput::Line(line)));
            }
            TakenInput::Part => actions.extend(self.talk.step(TalkInput::PartOfLine)),
            TakenInput::Nothing => {}
        }
    }

    /// Polls; what can be read or written.
    fn wait(&mut self) -> io::Result<Vec<GatewaySource>> {
        let greets = self.greeting.map(|(by, next)| by.min(next));
        let next = [self.due, self.link.due(), greets].into_iter().flatten().min();
        let left = |at: Instant| at.saturating_duration_since(Instant::now());
        let timeout = match self.more {
            true => Some(Duration::ZERO),
            false => next.map(|at| left(at) + Duration::from_millis(1)),
        };
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        if let Some(socket) = &mut self.socket {
            socket.acknowledge_quickly();
        }
        let (control, stream) = self.host.wants();
        let mut sources = vec![GatewaySource::Host, GatewaySource::Errands];
        let mut fds =
            vec![PollFd::new(&self.host, control), PollFd::new(&self.errands, PollFlags::IN)];
        let mut add = |source, fd| {
            sources.push(source);
            fds.push(fd);
        };
        if let Some(stream) = stream {
            let fd = PollFd::from_borrowed_fd(stream_fd(stream), PollFlags::OUT);
            add(GatewaySource::HostStream, fd);
        }
        if let Some(socket) = &self.socket {
            let flags = match socket.wants_to_write() {
                true => PollFlags::IN | PollFlags::OUT,
                false => PollFlags::IN,
            };
            add(GatewaySource::Socket, PollFd::new(socket, flags));
        }
        if self.input.is_some() {
            let stdin = rustix::stdio::stdin();
            add(GatewaySource::Stdin, PollFd::from_borrowed_fd(stdin, PollFlags::IN));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = sources.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(source, _)| source).collect())
    }
}

/// Deletes a kernel that was started for the session. If that is not confirmed, the note of it stays.
fn remove(api: &KernelApi, kernel: &str) {
    match api.delete(kernel, DELETED_WITHIN) {
        Ok(KernelRemoval::Gone) => LeftKernel::forget(),
        Ok(KernelRemoval::Asked) => {}
        Err(error) => eprintln!("the kernel `{kernel}` was not deleted: {error}"),
    }
}
