//! The descriptors between us and an interpreter: made for one that is started, and for a copy that wakes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use stead_config::Control;

/// Our ends, all close-on-exec.
#[derive(Debug)]
pub struct Channels {
    /// Writes to its stdin; blocking is off.
    pub stdin: OwnedFd,
    /// Our own reading end of its stdin: to drop unread input, and to open a writing end anew after an end of
    /// file; blocking is off.
    pub stdin_read: OwnedFd,
    /// Its standard output; blocking is off.
    pub stdout: OwnedFd,
    /// Its standard error; blocking is off.
    pub stderr: OwnedFd,
    /// Events of its bridge are read from here; blocking is off.
    pub control: OwnedFd,
    /// Commands to its bridge are written here; blocking is off.
    pub commands: OwnedFd,
    /// Its bridge tells here of copies that it has made of the interpreter; blocking is off.
    pub nest: Option<OwnedFd>,
}

/// The interpreter's ends, all close-on-exec, with blocking on.
#[derive(Debug)]
pub struct TheirEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) control: OwnedFd,
    /// Where events are written, if that is not `control` too.
    pub(crate) report: Option<OwnedFd>,
    pub(crate) nest: Option<OwnedFd>,
}

impl TheirEnds {
    /// What a copy that wakes is given, in this order: stdin, stdout, stderr, where it reads commands, where it
    /// writes events, where it tells of copies.
    pub fn for_a_copy(&self) -> Option<[BorrowedFd<'_>; 6]> {
        let nest = self.nest.as_ref()?.as_fd();
        let report = self.report.as_ref().unwrap_or(&self.control).as_fd();
        let [stdin, stdout, stderr] = [&self.stdin, &self.stdout, &self.stderr].map(AsFd::as_fd);
        Some([stdin, stdout, stderr, self.control.as_fd(), report, nest])
    }
}

/// Opens all channels of an interpreter; `nests` if it can be copied.
pub fn open_channels(control: Control, nests: bool) -> io::Result<(Channels, TheirEnds)> {
    let (their_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let (control, commands, their_control, report) = match control {
        Control::Socket => {
            let (ours, theirs) = pair(SocketType::STREAM)?;
            (ours.try_clone()?, ours, theirs, None)
        }
        Control::Pipes => {
            let (ours, says) = pipe_with(PipeFlags::CLOEXEC)?;
            let (hears, commands) = pipe_with(PipeFlags::CLOEXEC)?;
            (ours, commands, hears, Some(says))
        }
    };
    // Descriptors cannot be passed over a pipe, and packets keep each descriptor with its text.
    let (nest, their_nest) = match nests {
        true => pair(SocketType::SEQPACKET).map(|(ours, theirs)| (Some(ours), Some(theirs)))?,
        false => (None, None),
    };
    // Opened anew and not duplicated: non-blocking reads of ours must not make the interpreter's
    // end non-blocking, which a duplicate would.
    let path = format!("/proc/self/fd/{}", their_stdin.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let stdin_read = rustix::fs::open(path, flags, Mode::empty())?;
    for fd in [&stdin, &stdout, &stderr, &control, &commands].into_iter().chain(&nest) {
        rustix::io::ioctl_fionbio(fd, true)?;
    }
    let ours = Channels { stdin, stdin_read, stdout, stderr, control, commands, nest };
    let theirs = TheirEnds {
        stdin: their_stdin,
        stdout: their_stdout,
        stderr: their_stderr,
        control: their_control,
        report,
        nest: their_nest,
    };
    Ok((ours, theirs))
}

fn pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
}
