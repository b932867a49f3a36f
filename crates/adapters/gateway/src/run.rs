//! The loop: polls the host and the kernel's WebSocket, and does what the conversation and the state of the connection say.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use stead_host_side::{HostGone, HostSide, SessionInput, TakenInput, WaitList};
use stead_jupyter::{KernelOwner, KernelTalk, TalkAction, TalkInput, TransferFile, host_input};
use stead_protocol::Obstacle;
use stead_protocol::bridge::BridgeEvent;

use crate::api::KernelApi;
use crate::begin::{BegunKernel, KernelCustody, deleted_by, remove};
use crate::errand::{ErrandResult, Errands};
use crate::fate;
use crate::link::{LinkAction, LinkInput, LinkState};
use crate::socket::{KernelWebSocket, UnsentMessage};
use crate::trouble::ServerTrouble;

/// How often a kernel is greeted: one that has just been started may not hear the first greeting.
const GREET_EVERY: Duration = Duration::from_secs(2);
/// After so many cuts in the middle of the same message the message is not sent again.
const MOST_TORN: u32 = 3;

/// Why the loop is over.
pub(crate) enum LoopEnd {
    /// The host is gone, or wanted it so.
    Asked,
    /// The kernel cannot be reached any more, or is gone.
    Ended { reason: String },
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
    input: SessionInput,
    /// What is saved or loaded, where the kernel has other files.
    file: TransferFile,
    /// When the conversation wants to be woken.
    due: Option<Instant>,
    /// When to greet the kernel again; none once it has answered.
    greeting: Option<KernelGreeting>,
    /// There may be messages that have come and were not looked at.
    more: bool,
    /// How often the connection was cut in the middle of the same message.
    torn: u32,
}

/// When a kernel that has not answered is greeted again, and by when it has to answer.
struct KernelGreeting {
    next: Instant,
    by: Instant,
    within: Duration,
}

impl GatewayLoop {
    /// The loop around a kernel whose connection is open.
    pub(crate) fn new(host: HostSide, begun: BegunKernel) -> io::Result<GatewayLoop> {
        let BegunKernel { api, id, session, custody, socket, answers_within } = begun;
        let now = Instant::now();
        Ok(GatewayLoop {
            host,
            // A kernel at a server is never a child of this process, no matter who started it.
            talk: KernelTalk::new(
                KernelOwner::Others,
                &session,
                &format!("{}api/kernels/{id}", api.url),
            ),
            errands: Errands::new(api.clone(), &id, &session)?,
            api,
            kernel: id,
            custody,
            link: LinkState::open(now),
            socket: Some(socket),
            outbox: VecDeque::new(),
            input: SessionInput::default(),
            file: TransferFile::default(),
            due: None,
            greeting: Some(KernelGreeting {
                next: now,
                by: now + answers_within,
                within: answers_within,
            }),
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
        if let LoopEnd::Ended { reason } = &end {
            match self.talk.is_ready() {
                true => {
                    let reason = Some(reason.clone());
                    self.host.tell(&BridgeEvent::Exiting { code: 1, reason });
                }
                false => {
                    let message = format!("{reason} ({}api/kernels/{})", self.api.url, self.kernel);
                    self.host.not_ready("gateway", message, Obstacle::Died);
                }
            }
        }
        // The kernel is deleted before the host has taken everything, since its output does not matter any more.
        if let KernelCustody::Ours(note) = self.custody {
            self.socket = None;
            if let Err(text) = remove(&self.api, &self.kernel, note, deleted_by()) {
                self.host.tell(&BridgeEvent::Log { text });
            }
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
                TalkAction::Listen(listens) => self.input.listen(listens),
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

    /// Greets the kernel again until it has answered.
    fn greet(&mut self) -> Result<(), LoopEnd> {
        let Some(greeting) = &mut self.greeting else { return Ok(()) };
        let now = Instant::now();
        if self.talk.is_ready() {
            self.greeting = None;
        } else if greeting.by <= now {
            let seconds = greeting.within.as_secs();
            return Err(LoopEnd::Ended {
                reason: format!("the kernel did not answer in {seconds} s"),
            });
        } else if greeting.next <= now {
            greeting.next = now + GREET_EVERY;
            let actions = self.talk.greet();
            self.act(actions)?;
        }
        Ok(())
    }

    /// Sends what the connection takes. A cut of the connection is noticed when it is read.
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
            self.talk.missed(&format!("output may be missing: the server sent {text}"));
            self.host.tell(&BridgeEvent::Log { text });
        }
        for (channel, message) in incoming.messages {
            if let Some(reason) = fate::end_told(channel, &message) {
                // What the kernel said before its end counts.
                self.act(std::mem::take(actions))?;
                return Err(LoopEnd::Ended { reason: reason.to_owned() });
            }
            actions.extend(self.talk.step(TalkInput::Kernel(channel, &message)));
        }
        if incoming.heard {
            self.linked(LinkInput::Heard)?;
        }
        if let Some(reason) = incoming.cut {
            // Messages that came before the cut are told before the cut.
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
            for event in action.told(&self.api.url.authority()) {
                self.host.tell(&event);
            }
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
                    // A message that is cut each time is too long for the server, which hangs up.
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
                LinkAction::TellLost { .. } => {}
                LinkAction::TellFound => {
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
                // No other result of a look counts: the connection tells whether the server lives.
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
        let talk = &mut self.talk;
        let read = self.host.each_command(|command| actions.extend(talk.step(host_input(command))));
        read.map_err(|HostGone| LoopEnd::Asked)
    }

    fn read_line(&mut self, actions: &mut Vec<TalkAction>) {
        match self.input.take() {
            TakenInput::Line(line) => actions.extend(self.talk.step(TalkInput::Line(line))),
            TakenInput::Part => actions.extend(self.talk.step(TalkInput::PartOfLine)),
            TakenInput::Nothing => {}
        }
    }

    /// Polls; what can be read or written.
    fn wait(&mut self) -> io::Result<Vec<GatewaySource>> {
        let greets = self.greeting.as_ref().map(|greeting| greeting.by.min(greeting.next));
        let until = match self.more {
            true => Some(Instant::now()),
            false => [self.due, self.link.due(), greets].into_iter().flatten().min(),
        };
        if let Some(socket) = &mut self.socket {
            socket.acknowledge_quickly();
        }
        let mut list = WaitList::new(&self.host, GatewaySource::Host, GatewaySource::HostStream);
        list.add(GatewaySource::Errands, self.errands.as_fd(), PollFlags::IN);
        if let Some(socket) = &self.socket {
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, socket.wants_to_write());
            list.add(GatewaySource::Socket, socket.as_fd(), flags);
        }
        if self.input.listens() {
            list.add(GatewaySource::Stdin, rustix::stdio::stdin(), PollFlags::IN);
        }
        list.wait(until)
    }
}
