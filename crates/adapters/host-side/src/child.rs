//! A process that an adapter starts and speaks to: a kernel or a server.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, PidfdFlags, Signal};
use stead_launch::cores;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::bridge::Stream;

/// How much of a process's own output is read at once; the rest stays in the pipe, and the process waits. A
/// process that never stops writing would otherwise be read for ever.
const PIECE: usize = 256 << 10;

/// A child process of an adapter. It ends with the adapter, and its output is read only when the adapter asks for it.
#[derive(Debug)]
pub struct AdapterChild {
    child: Child,
    ended: OwnedFd,
}

impl AdapterChild {
    /// Starts it in a group of its own: it may send signals to its group, which must not be ours, and a launcher and all that
    /// it starts can be ended together.
    pub fn start(mut command: Command) -> io::Result<AdapterChild> {
        let parent = std::process::id();
        command.env_remove("STEAD_BRIDGE_FD");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::before_exec(&mut command, move || {
            rustix::process::setsid()?;
            sys::die_with(parent)?;
            sys::on_signal(Signal::PIPE, OnSignal::Default);
            sys::on_signal(Signal::INT, OnSignal::Default);
            cores::restore();
            Ok(())
        });
        let mut child = command.spawn()?;
        let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::NotFound)?;
        let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .inspect_err(|_| drop(child.kill()))?;
        for fd in [child.stdout.as_ref().map(AsFd::as_fd), child.stderr.as_ref().map(AsFd::as_fd)] {
            ioctl_fionbio(fd.ok_or(io::ErrorKind::NotFound)?, true)?;
        }
        Ok(AdapterChild { child, ended })
    }

    /// Its process id, which is also that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Readable when it has ended.
    pub fn ended_fd(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Where what the process itself writes can be read; none once it was closed.
    pub fn stream_fd(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        match stream {
            Stream::Out => self.child.stdout.as_ref().map(AsFd::as_fd),
            Stream::Err => self.child.stderr.as_ref().map(AsFd::as_fd),
        }
    }

    /// What the process itself has written to a stream until now; of much, the first part.
    pub fn read(&mut self, stream: Stream) -> Vec<u8> {
        let (stdout, stderr) = (&mut self.child.stdout, &mut self.child.stderr);
        let mut bytes = Vec::new();
        let mut take = |file: &mut dyn Read| file.take(PIECE as u64).read_to_end(&mut bytes);
        let read = match stream {
            Stream::Out => stdout.as_mut().map(|file| take(file)),
            Stream::Err => stderr.as_mut().map(|file| take(file)),
        };
        // An error means that there is no more at the moment. Less than `PIECE` means that the stream was closed.
        if matches!(read, Some(Ok(count)) if count < PIECE) {
            match stream {
                Stream::Out => *stdout = None,
                Stream::Err => *stderr = None,
            }
        }
        bytes
    }

    /// How it ended; none while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal to it and its group.
    pub fn signal_group(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    /// Kills it and its group, and waits for its end.
    pub fn kill(&mut self) {
        // A process group outlives its first process, and its number is not used again until the whole group is gone.
        self.signal_group(Signal::KILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    /// Waits until a stream can be read, or is closed.
    fn readable(child: &AdapterChild, stream: Stream) {
        let fd = child.stream_fd(stream).expect("the stream is open");
        poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], None).unwrap();
    }

    #[test]
    fn h2_a_process_that_never_stops_writing_is_read_in_parts() {
        let mut child = AdapterChild::start(Command::new("yes")).unwrap();
        for _ in 0..20 {
            readable(&child, Stream::Out);
            let bytes = child.read(Stream::Out);
            assert!(!bytes.is_empty() && bytes.len() <= PIECE, "{}", bytes.len());
        }
        child.kill();
        assert!(child.status().is_some());
    }

    #[test]
    fn o1_what_a_process_wrote_is_whole_and_its_end_is_seen() {
        let mut command = Command::new("sh");
        command.args(["-c", "printf out; printf err >&2; exit 3"]);
        let mut child = AdapterChild::start(command).unwrap();
        for (stream, wanted) in [(Stream::Out, "out"), (Stream::Err, "err")] {
            let mut written = Vec::new();
            while child.stream_fd(stream).is_some() {
                readable(&child, stream);
                written.extend(child.read(stream));
            }
            assert_eq!(written, wanted.as_bytes());
        }
        poll(&mut [PollFd::from_borrowed_fd(child.ended_fd(), PollFlags::IN)], None).unwrap();
        assert_eq!(child.status().and_then(|status| status.code()), Some(3));
    }
}
