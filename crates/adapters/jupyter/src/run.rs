//! The loop: polls the host, the kernel's sockets and its process, and does what the conversation says.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use stead_host_side::{HostGone, HostSide, SessionInput, TakenInput, WaitList};
use stead_protocol::bridge::{BridgeEvent, Stream};

use crate::kernel::{Kernel, KernelEnd};
use crate::place::host_input;
use crate::sockets::CHANNELS;
use crate::talk::{KernelChannel, KernelTalk, TalkAction, TalkInput};
use crate::transfer::TransferFile;

/// How long the kernel may take to end after it was asked to; the host gives an interpreter half a second.
const SHUTDOWN_WITHIN: Duration = Duration::from_millis(400);
/// How often a kernel that is not our child is asked whether it lives, and how often it may be silent.
const HEARTBEAT: Duration = Duration::from_secs(5);
const MOST_MISSED: u32 = 3;
/// After so many messages the loop reads from the kernel again, which keeps only a thousand unread messages.
const TAKEN_AFTER: u64 = 32;
/// How much of a crash is told.
const MOST_COMPLAINT: usize = 8 << 10;

/// Why the loop is over.
pub(crate) enum RunEnd {
    /// The host is gone, or wanted it so.
    Asked,
    /// The kernel ended.
    Kernel(KernelEnd),
}

/// The adapter while it runs.
pub(crate) struct AdapterLoop {
    host: HostSide,
    kernel: Kernel,
    talk: KernelTalk,
    input: SessionInput,
    /// What is saved or loaded, where the kernel has other files.
    file: TransferFile,
    /// The last text that a kernel which `echoes` wrote to its own stderr. It is not shown as output, and
    /// nothing else tells how such a kernel crashed.
    complaint: Vec<u8>,
    /// The last line that the kernel's process wrote to stderr is one about an interrupt (`grumbles`), and
    /// has no end yet.
    grumbling: bool,
    /// When the conversation wants to be woken.
    due: Option<Instant>,
    /// The code has asked to end the kernel.
    exits: bool,
    /// When the kernel is killed, once it was asked to end.
    leave_by: Option<Instant>,
    next_heartbeat: Instant,
    missed: u32,
    /// How many messages were looked at.
    heard: u64,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopSource {
    Host,
    HostStream,
    Channel(KernelChannel),
    Heartbeat,
    KernelStream(Stream),
    KernelEnded,
    Stdin,
}

impl AdapterLoop {
    /// The loop around a kernel that answers.
    pub(crate) fn new(host: HostSide, kernel: Kernel, talk: KernelTalk) -> AdapterLoop {
        AdapterLoop {
            host,
            kernel,
            talk,
            input: SessionInput::default(),
            file: TransferFile::default(),
            complaint: Vec::new(),
            grumbling: false,
            due: None,
            exits: false,
            leave_by: None,
            next_heartbeat: Instant::now() + HEARTBEAT,
            missed: 0,
            heard: 0,
        }
    }

    /// Does what was said while the kernel was greeted, then goes on until the session ends.
    pub(crate) fn run(mut self) -> RunEnd {
        let mut actions = std::mem::take(&mut self.kernel.first);
        loop {
            if let Err(end) = self.act(actions) {
                return self.end(end);
            }
            actions = match self.turn() {
                Ok(actions) => actions,
                Err(end) => return self.end(end),
            };
        }
    }

    fn act(&mut self, actions: Vec<TalkAction>) -> Result<(), RunEnd> {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                TalkAction::Tell(event) => {
                    if matches!(event, BridgeEvent::Done(_)) {
                        self.own_output();
                        self.complaint.clear();
                    }
                    self.exits |= matches!(event, BridgeEvent::Exiting { .. });
                    self.host.tell(&event);
                }
                TalkAction::Print(stream, text) => self.host.print(stream, text.into_bytes()),
                TalkAction::Send(channel, message) => {
                    let sent = self.kernel.sockets.send(channel, &message);
                    sent.map_err(|error| RunEnd::Kernel(self.kernel.lost(&error.to_string())))?;
                }
                TalkAction::Signal => self.kernel.interrupt(),
                TalkAction::SignalChildren => self.kernel.interrupt_children(),
                TalkAction::Listen(listens) => self.input.listen(listens),
                TalkAction::Transfer(order) => {
                    if let Some(came) = self.file.carry_out(order) {
                        actions.extend(self.talk.step(TalkInput::Transferred(came)));
                    }
                }
                TalkAction::Wake(after) => self.due = Some(Instant::now() + after),
                TalkAction::Leave => {
                    if !self.kernel.is_ours() {
                        return Err(RunEnd::Asked);
                    }
                    // Code that ends its kernel may have exit handlers that take their time, so the kernel is
                    // not killed then.
                    if !self.exits {
                        self.leave_by = Some(Instant::now() + SHUTDOWN_WITHIN);
                    }
                }
            }
        }
        self.host.flush().map_err(|HostGone| RunEnd::Asked)
    }

    /// Reads what the kernel's process itself has written until now: it is output of the code that runs, or
    /// ends just now.
    fn own_output(&mut self) {
        for stream in [Stream::Out, Stream::Err] {
            let bytes = self.kernel.read_stream(stream);
            self.kernel_wrote(stream, bytes, true);
        }
    }

    /// Waits until something happens, and says what is to be done about it.
    fn turn(&mut self) -> Result<Vec<TalkAction>, RunEnd> {
        let ready = self.wait().map_err(|_| RunEnd::Asked)?;
        let mut actions = Vec::new();
        let mut ended = None;
        for source in ready {
            match source {
                LoopSource::Host => self.read_host(&mut actions)?,
                LoopSource::HostStream => {}
                LoopSource::Channel(channel) => {
                    if let Err(error) = self.kernel.sockets.fill(channel) {
                        ended = Some(self.kernel.lost(&error.to_string()));
                    }
                }
                LoopSource::Heartbeat => self.heard_heartbeat(),
                LoopSource::KernelStream(stream) => {
                    let bytes = self.kernel.read_stream(stream);
                    // Output of exit handlers belongs to the eval that has ended the kernel.
                    let runs = self.talk.is_busy() || self.exits;
                    self.kernel_wrote(stream, bytes, runs);
                }
                LoopSource::KernelEnded => ended = Some(self.kernel.ended()),
                LoopSource::Stdin => self.read_line(&mut actions),
            }
        }
        self.hear(&mut actions);
        if let Some(end) = ended {
            self.act(actions)?;
            self.hear_the_rest()?;
            return Err(RunEnd::Kernel(end));
        }
        self.look_at_the_clock(&mut actions)?;
        Ok(actions)
    }

    /// Looks at some of the messages that have come; between them, more are taken from the kernel.
    fn hear(&mut self, actions: &mut Vec<TalkAction>) {
        for _ in 0..TAKEN_AFTER * 8 {
            // A published message may make more output for the host, which has enough to read already.
            if self.host.is_full() {
                return;
            }
            let Some((channel, message)) = self.kernel.sockets.next() else { return };
            match message {
                Ok(message) => actions.extend(self.talk.step(TalkInput::Kernel(channel, &message))),
                Err(text) => {
                    self.talk.missed(&format!("output may be missing: {text}"));
                    self.host.tell(&BridgeEvent::Log { text });
                }
            }
            self.heard += 1;
            if self.heard.is_multiple_of(TAKEN_AFTER) {
                // An error is noticed again when the socket is polled.
                let _ = self.kernel.sockets.fill(KernelChannel::Published);
            }
            let left_out = self.kernel.sockets.take_left_out();
            if left_out > 0 {
                self.talk.missed(&format!(
                    "output is missing: a message of {left_out} bytes is too big to be taken"
                ));
            }
        }
    }

    /// Reads the rest of what the kernel published: the kernel is gone, but its last messages count.
    fn hear_the_rest(&mut self) -> Result<(), RunEnd> {
        loop {
            let closed = self.kernel.sockets.fill(KernelChannel::Published).is_err();
            let came = self.kernel.sockets.has_messages();
            while self.kernel.sockets.has_messages() {
                if self.host.is_full() {
                    self.host.finish();
                }
                let mut actions = Vec::new();
                self.hear(&mut actions);
                self.act(actions)?;
            }
            if closed || !came {
                return Ok(());
            }
        }
    }

    /// While no eval runs, output of the process itself is background output.
    fn kernel_wrote(&mut self, stream: Stream, bytes: Vec<u8>, runs: bool) {
        let bytes = match (stream, self.talk.grumbles()) {
            (Stream::Err, Some(begin)) => without_lines(&bytes, begin, &mut self.grumbling),
            _ => bytes,
        };
        if bytes.is_empty() {
            return;
        }
        if self.talk.echoes() {
            if stream == Stream::Err {
                self.complaint.extend(bytes);
                let most = self.complaint.len().saturating_sub(MOST_COMPLAINT);
                self.complaint.drain(..most);
            }
            return;
        }
        match runs {
            true => self.host.print(stream, bytes),
            false => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.host.tell(&BridgeEvent::Background { eval: None, stream, text });
            }
        }
    }

    fn read_host(&mut self, actions: &mut Vec<TalkAction>) -> Result<(), RunEnd> {
        let talk = &mut self.talk;
        let read = self.host.each_command(|command| actions.extend(talk.step(host_input(command))));
        read.map_err(|HostGone| RunEnd::Asked)
    }

    /// Reads a line of the session's input. The kernel may have ended its question meanwhile; the host drops
    /// the input that is left.
    fn read_line(&mut self, actions: &mut Vec<TalkAction>) {
        match self.input.take() {
            TakenInput::Line(line) => actions.extend(self.talk.step(TalkInput::Line(line))),
            TakenInput::Part => actions.extend(self.talk.step(TalkInput::PartOfLine)),
            TakenInput::Nothing => {}
        }
    }

    fn heard_heartbeat(&mut self) {
        let mut beats = VecDeque::new();
        // If the heartbeat socket is closed, so are the other sockets, whose errors say more.
        let _ = self.kernel.sockets.heartbeat.read(&mut beats);
        if !beats.is_empty() {
            self.missed = 0;
        }
    }

    fn look_at_the_clock(&mut self, actions: &mut Vec<TalkAction>) -> Result<(), RunEnd> {
        let now = Instant::now();
        // A message that seems to be missing may be among those that were not looked at yet.
        if self.due.is_some_and(|due| due <= now) && !self.lags() {
            self.due = None;
            actions.extend(self.talk.step(TalkInput::Due));
        }
        if self.leave_by.is_some_and(|by| by <= now) {
            return Err(RunEnd::Asked);
        }
        if self.next_heartbeat <= now && !self.kernel.is_ours() {
            self.next_heartbeat = now + HEARTBEAT;
            // A kernel without a separate thread for its heartbeat is silent while code runs.
            if self.talk.is_busy() {
                self.missed = 0;
            } else {
                self.missed += 1;
                let _ = self.kernel.sockets.heartbeat.send(&[b"ping".to_vec()]);
            }
            if self.missed > MOST_MISSED {
                return Err(RunEnd::Kernel(
                    self.kernel.lost("the kernel does not answer any more"),
                ));
            }
        }
        Ok(())
    }

    /// Whether messages have come that were not looked at.
    fn lags(&self) -> bool {
        self.kernel.sockets.has_messages() || self.host.is_full()
    }

    /// Polls; what can be read or written.
    fn wait(&mut self) -> io::Result<Vec<LoopSource>> {
        let heartbeat = (!self.kernel.is_ours()).then_some(self.next_heartbeat);
        let next = [self.due.filter(|_| !self.lags()), self.leave_by, heartbeat];
        let (sockets, full) = (&self.kernel.sockets, self.host.is_full());
        let until = match sockets.has_messages() && !full {
            true => Some(Instant::now()),
            false => next.into_iter().flatten().min(),
        };
        let mut list = WaitList::new(&self.host, LoopSource::Host, LoopSource::HostStream);
        let has_room = !full && !sockets.is_full();
        for channel in CHANNELS {
            if channel == KernelChannel::Published && !has_room {
                continue;
            }
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, sockets.at(channel).wants_to_write());
            list.add(LoopSource::Channel(channel), sockets.at(channel).as_fd(), flags);
        }
        if !self.kernel.is_ours() {
            list.add(LoopSource::Heartbeat, sockets.heartbeat.as_fd(), PollFlags::IN);
        }
        for stream in [Stream::Out, Stream::Err] {
            if let Some(fd) = self.kernel.stream_fd(stream).filter(|_| !full) {
                list.add(LoopSource::KernelStream(stream), fd, PollFlags::IN);
            }
        }
        if let Some(fd) = self.kernel.ended_fd() {
            list.add(LoopSource::KernelEnded, fd, PollFlags::IN);
        }
        if self.input.listens() {
            list.add(LoopSource::Stdin, rustix::stdio::stdin(), PollFlags::IN);
        }
        list.wait(until)
    }

    /// Brings what is left to the host, and ends the kernel if it is ours.
    fn end(mut self, end: RunEnd) -> RunEnd {
        self.own_output();
        if matches!(&end, RunEnd::Kernel(KernelEnd::Exited(status)) if status.signal().is_some()) {
            let complaint = std::mem::take(&mut self.complaint);
            self.host.print(Stream::Err, complaint);
        }
        if let RunEnd::Kernel(KernelEnd::Lost { reason }) = &end {
            let event = BridgeEvent::Exiting { code: 1, reason: Some(reason.clone()) };
            self.host.tell(&event);
        }
        self.host.finish();
        self.kernel.finish();
        end
    }
}

/// The text without the lines that begin with `begin`. `within` says whether the text begins inside such a
/// line, and is set to whether it ends inside one.
fn without_lines(text: &[u8], begin: &str, within: &mut bool) -> Vec<u8> {
    let mut kept = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let dropped = std::mem::take(within) || line.starts_with(begin.as_bytes());
        *within = dropped && !line.ends_with(b"\n");
        if !dropped {
            kept.extend_from_slice(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k1_what_a_kernel_says_of_an_interrupt_is_left_out() {
        let parts: [&[u8]; 4] =
            [b"mine\nCDP response", b" is", b" null\nCDP of mine\nno end", b"CDP response\n"];
        let mut within = false;
        let kept = parts.map(|part| without_lines(part, "CDP response", &mut within));
        assert_eq!(kept.concat(), b"mine\nCDP of mine\nno end");
    }
}
