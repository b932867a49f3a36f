//! The loop: waits, lets the lower half and the clients speak, and passes orders on.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use stead_interpreter::{Near, NearReady, Source, pause};

use crate::attention::Attention;
use crate::host::{Host, Launch};
use crate::record::disk;
use crate::session::state::{Input, Phase};

/// Most descriptors that are waited on beside connections: the call signal, the listening socket and seven of
/// the lower half.
const OWN_DESCRIPTORS: usize = 9;

/// Both halves of a session.
pub(crate) struct Session {
    pub(crate) host: Host,
    pub(crate) near: Near,
    pub(crate) attention: Attention,
}

impl Session {
    /// Runs until the session has ended and everyone was told.
    pub(crate) fn run(&mut self) {
        while !self.host.ending.leaves() {
            self.turn();
        }
        self.carry_out();
        self.host.clients.say_goodbye();
        pause::point("leaving");
        disk::give_back(&self.host.spec.dir);
    }

    /// Passes all orders on to the lower half. What it tells meanwhile may add further orders.
    pub(crate) fn carry_out(&mut self) {
        while let Some(order) = self.host.orders.pop_front() {
            self.near.order(order, &mut |told| self.host.told(told));
        }
    }

    /// Waits for something to happen and deals with all of it.
    fn turn(&mut self) {
        let was_idle = self.is_idle();
        let ready = self.wait();
        if !ready.connections.is_empty() {
            self.attention.asked(Instant::now());
        }
        self.near.turn(ready.near, &mut |told| self.host.told(told));
        self.carry_out();
        if ready.calls {
            self.host.clients.answer_calls();
        }
        if ready.door {
            self.host.clients.accept();
        }
        for id in ready.connections {
            // A request that comes too late finds the connection closed, and the session's end on disk.
            if self.host.ending.leaves() {
                break;
            }
            for line in self.host.clients.take_lines(id) {
                self.host.request(id, &line);
                self.carry_out();
            }
        }
        let host = &mut self.host;
        if !host.clock.is_paused() {
            host.tick();
            host.look_after_copies();
        }
        host.catch_up();
        self.carry_out();
        self.notice_refusal();
        let host = &mut self.host;
        host.tell_followers();
        host.tell_growth();
        host.clients.flush();
        // All answers are sent, so work for the next eval is done now, while no client waits.
        let idle = self.is_idle();
        if idle && !was_idle {
            self.attention.answered(Instant::now());
        }
        if idle {
            self.near.look_around();
        }
        self.host.ledger.trim(idle);
    }

    /// Whether code could run at once.
    fn is_idle(&self) -> bool {
        matches!(self.host.state.phase, Phase::Idle { .. })
    }

    /// An interpreter that could not be started again ends the session.
    fn notice_refusal(&mut self) {
        if let Launch::Refused(_) = self.host.launch
            && let Launch::Refused(reason) =
                std::mem::replace(&mut self.host.launch, Launch::Ordered)
        {
            stead_interpreter::log_warn!("after a restart: {reason}");
            self.host.step(Input::Exited(reason));
            self.carry_out();
        }
    }

    fn wait(&mut self) -> ReadyFds {
        let timeout = self.timeout();
        let clients = &mut self.host.clients;
        clients.hear_again();
        let most = OWN_DESCRIPTORS + clients.connections.len();
        let (mut fds, mut what) = (Vec::with_capacity(most), Vec::with_capacity(most));
        fds.push(PollFd::new(&clients.calls, PollFlags::IN));
        what.push(What::Calls);
        if let Some(door) = clients.door() {
            fds.push(PollFd::new(door, PollFlags::IN));
            what.push(What::Door);
        }
        for (source, fd, flags) in self.near.interests() {
            fds.push(PollFd::from_borrowed_fd(fd, flags));
            what.push(What::Near(source));
        }
        for (id, connection) in &clients.connections {
            fds.push(PollFd::from_borrowed_fd(connection.fd(), connection.interest()));
            what.push(What::Connection(*id));
        }
        let mut ready = ReadyFds::default();
        if !self.attention.wait(&mut fds, timeout) {
            return ready;
        }
        for (fd, what) in fds.iter().zip(what) {
            if fd.revents().is_empty() {
                continue;
            }
            match what {
                What::Calls => ready.calls = true,
                What::Door => ready.door = true,
                What::Near(source) => ready.near.note(source),
                What::Connection(id) => ready.connections.push(id),
            }
        }
        if ready.door || !ready.connections.is_empty() {
            ready.near.note_clients();
        }
        ready
    }

    /// How long the loop may sleep if nothing happens.
    fn timeout(&self) -> Option<Duration> {
        let (host, now) = (&self.host, Instant::now());
        let clock = host.clock.now();
        let deadlines = [host.state.next_deadline(host.is_attached()), host.next_copying()];
        let state = deadlines.into_iter().flatten().min().filter(|_| !host.clock.is_paused());
        let state = state.map(|at| Duration::from_millis(at.saturating_sub(clock)));
        let instants = [host.clients.next_deadline(), host.next_catch_up(), self.near.next()];
        let instants = instants.into_iter().flatten().min();
        let instants = instants.map(|at| at.saturating_duration_since(now));
        // One millisecond is added because the state's clock counts whole milliseconds.
        state.map(|left| left + Duration::from_millis(1)).into_iter().chain(instants).min()
    }
}

/// What a polled descriptor belongs to.
enum What {
    Calls,
    Door,
    Near(Source),
    Connection(u64),
}

/// Which descriptors are ready.
#[derive(Default)]
struct ReadyFds {
    calls: bool,
    door: bool,
    near: NearReady,
    connections: Vec<u64>,
}
