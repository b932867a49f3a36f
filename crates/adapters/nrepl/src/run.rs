//! The loop: polls the host, the server's connection and its process, and does what the conversation says.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::Signal;
use stead_host_side::{HostGone, HostSide, SessionInput, TakenInput, WaitList, ended_how};
use stead_protocol::bridge::{BridgeEvent, Command, Stream};

use crate::message::NreplMessage;
use crate::server::{NreplServer, ServerEnd};
use crate::socket::SocketEnd;
use crate::talk::{NreplAction, NreplInput, NreplTalk, SourceFile};

/// How long a server of ours may take to end after it was asked to, and a server of others to answer that we
/// leave; the host waits a little longer.
const ENDS_WITHIN: Duration = Duration::from_millis(400);

/// How long code at a server of others may take to stop when we leave: some servers die if nobody takes an answer.
const STOPS_WITHIN: Duration = Duration::from_millis(2500);

/// No code may be longer (SPEC E-15).
const MOST_SOURCE: u64 = 16 << 20;

/// Why the loop is over.
pub(crate) enum NreplEnd {
    /// The host is gone, or wanted it so.
    Asked,
    /// The server went away.
    Server(ServerEnd),
}

/// The adapter while it runs.
pub(crate) struct NreplLoop {
    host: HostSide,
    server: NreplServer,
    talk: NreplTalk,
    input: SessionInput,
    /// When the conversation wants to be woken.
    due: Option<Instant>,
    /// When the server is killed, once it was asked to end.
    leave_by: Option<Instant>,
    /// The process that was started has ended, and another one that it has started answers as the server.
    is_orphan: bool,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NreplSource {
    Host,
    HostStream,
    Server,
    ServerStream(Stream),
    ServerEnded,
    Stdin,
}

impl NreplLoop {
    /// The loop around a server that answers.
    pub(crate) fn new(host: HostSide, server: NreplServer, talk: NreplTalk) -> NreplLoop {
        NreplLoop {
            host,
            server,
            talk,
            input: SessionInput::default(),
            due: None,
            leave_by: None,
            is_orphan: false,
        }
    }

    /// Does what was said while the server was greeted, then goes on until the session ends.
    pub(crate) fn run(mut self, first: Vec<NreplAction>) -> NreplEnd {
        let mut actions = first;
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

    fn act(&mut self, actions: Vec<NreplAction>) -> Result<(), NreplEnd> {
        for action in actions {
            match action {
                NreplAction::Tell(event) => {
                    if matches!(event, BridgeEvent::Done(_)) {
                        self.own_output(true);
                    }
                    self.host.tell(&event);
                }
                NreplAction::Print(stream, text) => self.host.print(stream, text.into_bytes()),
                NreplAction::Send(request) => {
                    // A lost connection is noticed when it is read, after the messages that have come on it.
                    let _ = self.server.socket.send(&request);
                }
                NreplAction::Listen(listens) => self.input.listen(listens),
                NreplAction::Wake(after) => self.due = Some(Instant::now() + after),
                NreplAction::Leave { busy } => {
                    if let Some(process) = self.server.process() {
                        // A server that gets SIGTERM removes the file in which it says where it listens.
                        process.signal_group(Signal::TERM);
                    }
                    let waits = busy && !self.server.is_ours();
                    let within = if waits { STOPS_WITHIN } else { ENDS_WITHIN };
                    self.leave_by = Some(Instant::now() + within);
                }
                NreplAction::Left if self.server.is_ours() => {}
                NreplAction::Left => return Err(NreplEnd::Asked),
            }
        }
        self.host.flush().map_err(|HostGone| NreplEnd::Asked)
    }

    /// What the server's process itself has written until now is output of what runs, or ends just now.
    fn own_output(&mut self, runs: bool) {
        for stream in [Stream::Out, Stream::Err] {
            let bytes = self.server.read_stream(stream);
            self.server_wrote(stream, bytes, runs);
        }
    }

    /// While no eval runs, output of the process itself is background output.
    fn server_wrote(&mut self, stream: Stream, bytes: Vec<u8>, runs: bool) {
        if bytes.is_empty() || self.leave_by.is_some() {
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

    /// Waits until something happens, and says what is to be done about it.
    fn turn(&mut self) -> Result<Vec<NreplAction>, NreplEnd> {
        let ready = self.wait().map_err(|_| NreplEnd::Asked)?;
        let mut actions = Vec::new();
        let mut ended = None;
        let mut wrote = Vec::new();
        for source in ready {
            match source {
                NreplSource::Host => self.read_host(&mut actions)?,
                NreplSource::HostStream => {}
                NreplSource::Server => ended = self.read_server().err().or(ended),
                NreplSource::ServerStream(stream) => {
                    let bytes = self.server.read_stream(stream);
                    wrote.push((stream, bytes));
                    // Messages that the server sent before it wrote this text have come by now, and go first.
                    ended = self.read_server().err().or(ended);
                }
                NreplSource::ServerEnded => {
                    if self.leave_by.is_some() {
                        return Err(NreplEnd::Asked);
                    }
                    // The connection of a process that has ended is closed, unless another process holds it, too.
                    self.is_orphan = true;
                    ended = self.read_server().err().or(ended);
                }
                NreplSource::Stdin => self.read_line(&mut actions),
            }
        }
        if !wrote.is_empty() {
            self.hear_output(&mut actions);
            let runs = self.talk.is_busy();
            self.act(std::mem::take(&mut actions))?;
            for (stream, bytes) in wrote {
                self.server_wrote(stream, bytes, runs);
            }
        }
        while let Some(message) = self.server.messages.pop_front() {
            actions.extend(self.talk.step(NreplInput::Server(message)));
        }
        if let Some(end) = ended {
            // The last messages of the server count.
            self.act(actions)?;
            return Err(match self.leave_by {
                Some(_) => NreplEnd::Asked,
                None => NreplEnd::Server(self.server.lost(&end)),
            });
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            actions.extend(self.talk.step(NreplInput::Due));
        }
        if self.leave_by.is_some_and(|by| by <= now) {
            let words = self.talk.last_words();
            self.act(words)?;
            return Err(NreplEnd::Asked);
        }
        Ok(actions)
    }

    /// Takes the output that the server sent, up to the first message of another kind: text that the server's
    /// process wrote goes before a value or an end.
    fn hear_output(&mut self, actions: &mut Vec<NreplAction>) {
        while self.server.messages.front().is_some_and(NreplMessage::is_output)
            && let Some(message) = self.server.messages.pop_front()
        {
            actions.extend(self.talk.step(NreplInput::Server(message)));
        }
    }

    fn read_server(&mut self) -> Result<(), SocketEnd> {
        let sent = self.server.socket.flush();
        self.server.socket.read(&mut self.server.messages).and(sent)
    }

    fn read_host(&mut self, actions: &mut Vec<NreplAction>) -> Result<(), NreplEnd> {
        let talk = &mut self.talk;
        let read = self.host.each_command(|command| {
            let file = match command {
                Command::Eval { id, code } => file_loaded_by(talk, code).map(|file| (*id, file)),
                _ => None,
            };
            actions.extend(match &file {
                Some((id, file)) => talk.step(NreplInput::File(id, file)),
                None => talk.step(NreplInput::Host(command)),
            });
        });
        read.map_err(|HostGone| NreplEnd::Asked)
    }

    fn read_line(&mut self, actions: &mut Vec<NreplAction>) {
        match self.input.take() {
            TakenInput::Line(line) => actions.extend(self.talk.step(NreplInput::Line(line))),
            TakenInput::Part => actions.extend(self.talk.step(NreplInput::PartOfLine)),
            TakenInput::Nothing => {}
        }
    }

    /// Polls; what can be read or written.
    fn wait(&mut self) -> io::Result<Vec<NreplSource>> {
        let until = [self.due, self.leave_by].into_iter().flatten().min();
        self.server.socket.hurry();
        let mut list = WaitList::new(&self.host, NreplSource::Host, NreplSource::HostStream);
        // While the host does not keep up, the server has to wait.
        let full = self.host.is_full();
        let mut flags = if full { PollFlags::empty() } else { PollFlags::IN };
        flags.set(PollFlags::OUT, self.server.socket.wants_to_write());
        if !flags.is_empty() {
            list.add(NreplSource::Server, self.server.socket.as_fd(), flags);
        }
        for stream in [Stream::Out, Stream::Err] {
            if let Some(fd) = self.server.stream_fd(stream).filter(|_| !full) {
                list.add(NreplSource::ServerStream(stream), fd, PollFlags::IN);
            }
        }
        if let Some(fd) = self.server.ended_fd().filter(|_| !self.is_orphan) {
            list.add(NreplSource::ServerEnded, fd, PollFlags::IN);
        }
        if self.input.listens() {
            list.add(NreplSource::Stdin, rustix::stdio::stdin(), PollFlags::IN);
        }
        list.wait(until)
    }

    /// Brings what is left to the host, and ends the server if it is ours.
    fn end(mut self, end: NreplEnd) -> NreplEnd {
        self.own_output(self.talk.is_busy());
        if let NreplEnd::Server(server) = &end {
            let (code, reason) = match server {
                ServerEnd::Exited(status) => {
                    (status.code().unwrap_or(1), format!("the nREPL server {}", ended_how(*status)))
                }
                ServerEnd::Lost { reason } => (1, reason.clone()),
            };
            self.host.tell(&BridgeEvent::Exiting { code, reason: Some(reason) });
        }
        self.host.finish();
        self.server.finish();
        end
    }
}

/// The file that code loads, if the code does nothing else and the file is on this machine. Otherwise the
/// server gets the code as it was written.
fn file_loaded_by(talk: &NreplTalk, code: &str) -> Option<SourceFile> {
    let path = talk.loads(code)?;
    let meta = std::fs::metadata(&path).ok()?;
    let is_source = meta.is_file() && meta.len() <= MOST_SOURCE;
    let text = is_source.then(|| std::fs::read_to_string(&path).ok()).flatten()?;
    let whole = std::path::absolute(&path).ok()?;
    Some(SourceFile { path: whole.to_string_lossy().into_owned(), text })
}
