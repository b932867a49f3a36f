//! Starts an interpreter with its standard descriptors, its control channel and nothing else of ours.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use stead_config::Control;
use thiserror::Error;

use crate::process::cores;
use crate::process::mark::{Mark, Role};
use crate::sys;

/// What to start.
pub struct StartCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment; the control descriptor's variable is added.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// What its control channel is.
    pub control: Control,
}

/// A running interpreter and our ends of its descriptors, all close-on-exec.
#[derive(Debug)]
pub struct Child {
    /// Its process id, valid until it is waited for.
    pub pid: u32,
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
}

/// Why an interpreter could not be started.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// Its directory is not there.
    #[error("the working directory `{}` does not exist", cwd.display())]
    Cwd {
        /// The directory.
        cwd: PathBuf,
    },
    /// The system refused.
    #[error("could not start `{}`: {source}", program.display())]
    Start {
        /// The executable.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Starts the interpreter in a session of its own, to be killed with the calling thread.
pub fn spawn(command: &StartCommand) -> Result<Child, SpawnError> {
    if !command.cwd.is_dir() {
        return Err(SpawnError::Cwd { cwd: command.cwd.clone() });
    }
    start(command).map_err(|source| SpawnError::Start { program: command.program.clone(), source })
}

/// Descriptors that only reserve their numbers: in the interpreter the control channel has these numbers.
static SLOTS: OnceLock<[OwnedFd; 2]> = OnceLock::new();

/// Takes low numbers for the control channels of interpreters to come. Node closes inherited
/// descriptors in its children up to number 15 only, so a process that opens many calls this first.
pub fn reserve_control() -> io::Result<()> {
    slots().map(drop)
}

fn slots() -> io::Result<[RawFd; 2]> {
    if SLOTS.get().is_none() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let open = || rustix::fs::open("/dev/null", flags, Mode::empty());
        // If another thread was first, these descriptors are closed again.
        let _ = SLOTS.set([open()?, open()?]);
    }
    Ok(SLOTS.get().map_or([-1; 2], |slots| [slots[0].as_raw_fd(), slots[1].as_raw_fd()]))
}

/// Both ends of a control channel: ours to read and to write, theirs likewise.
struct Ends {
    control: OwnedFd,
    commands: OwnedFd,
    theirs: [Option<OwnedFd>; 2],
}

impl Ends {
    fn open(kind: Control) -> io::Result<Ends> {
        let ends = match kind {
            Control::Socket => {
                let flags = SocketFlags::CLOEXEC;
                let (control, theirs) =
                    socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                Ends { commands: control.try_clone()?, control, theirs: [Some(theirs), None] }
            }
            Control::Pipes => {
                let (control, says) = pipe_with(PipeFlags::CLOEXEC)?;
                let (hears, commands) = pipe_with(PipeFlags::CLOEXEC)?;
                Ends { control, commands, theirs: [Some(hears), Some(says)] }
            }
        };
        for fd in [&ends.control, &ends.commands] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        Ok(ends)
    }
}

fn start(command: &StartCommand) -> io::Result<Child> {
    let (stdin_read, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stdout, stdout_write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_write) = pipe_with(PipeFlags::CLOEXEC)?;
    let Ends { control, commands, theirs } = Ends::open(command.control)?;
    for fd in [&stdin, &stdout, &stderr] {
        rustix::io::ioctl_fionbio(fd, true)?;
    }
    // Opened anew and not duplicated: non-blocking reads of ours must not make the interpreter's
    // end non-blocking, which a duplicate would.
    let path = format!("/proc/self/fd/{}", stdin_read.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let own_read = rustix::fs::open(path, flags, Mode::empty())?;
    let slots = slots()?;
    let given = [0, 1].map(|at| theirs[at].as_ref().map(|fd| (fd.as_raw_fd(), slots[at])));
    let parent = std::process::id();
    let mark = Mark::own().map(|(mark, _)| mark);
    let mut std_command = std::process::Command::new(&command.program);
    std_command
        .args(&command.arguments)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .env("STEAD_BRIDGE_FD", slots[0].to_string())
        .current_dir(&command.cwd)
        .stdin(Stdio::from(stdin_read))
        .stdout(Stdio::from(stdout_write))
        .stderr(Stdio::from(stderr_write));
    if command.control == Control::Pipes {
        std_command.env("STEAD_BRIDGE_OUT", slots[1].to_string());
    }
    sys::before_exec(&mut std_command, move || in_child(given, parent, mark));
    let pid = std_command.spawn()?.id();
    Ok(Child { pid, stdin, stdin_read: own_read, stdout, stderr, control, commands })
}

/// Runs in the new process just before exec.
fn in_child(given: [Option<(RawFd, RawFd)>; 2], parent: u32, mark: Option<Mark>) -> io::Result<()> {
    if let Some(mark) = mark {
        mark.take(Role::Family)?;
    }
    cores::restore();
    // Without a terminal no program can read or type there past the session's input.
    rustix::process::setsid()?;
    // With a blocked or ignored SIGINT, inherited from a terminal's command or `nohup`, no interrupt would
    // stop code.
    sys::standard_signals();
    sys::die_with(parent)?;
    // Only the listed descriptors are passed on: all others close at exec, whoever opened them.
    sys::close_at_exec_from(3);
    for (fd, slot) in given.into_iter().flatten() {
        sys::put_at(fd, slot)?;
    }
    Ok(())
}
