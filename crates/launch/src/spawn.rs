//! Starts an interpreter with its standard descriptors, its control channel and nothing else of ours.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use stead_config::Control;
use thiserror::Error;

use crate::channels::{Channels, open_channels};
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
    /// Whether its bridge may make copies of it.
    pub nests: bool,
}

/// A running interpreter.
#[derive(Debug)]
pub struct Child {
    /// Its process id, valid until it is waited for.
    pub pid: u32,
    /// Our ends of its descriptors.
    pub ends: Channels,
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
    #[error("could not start `{}`", program.display())]
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

/// Descriptors that only reserve their numbers: in the interpreter the control channel has the first two, the
/// channel for copies the third.
static SLOTS: OnceLock<[OwnedFd; 3]> = OnceLock::new();

/// Takes low numbers for the control channels of interpreters to come. Node closes inherited
/// descriptors in its children up to number 15 only, so a process that opens many calls this first.
pub fn reserve_control() -> io::Result<()> {
    slots().map(drop)
}

fn slots() -> io::Result<[RawFd; 3]> {
    if SLOTS.get().is_none() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let open = || rustix::fs::open("/dev/null", flags, Mode::empty());
        // If another thread was first, these descriptors are closed again.
        let _ = SLOTS.set([open()?, open()?, open()?]);
    }
    Ok(SLOTS.get().map_or([-1; 3], |slots| [0, 1, 2].map(|at| slots[at].as_raw_fd())))
}

fn start(command: &StartCommand) -> io::Result<Child> {
    let (ends, theirs) = open_channels(command.control, command.nests)?;
    let slots = slots()?;
    let given = [Some(&theirs.control), theirs.report.as_ref(), theirs.nest.as_ref()];
    let given = [0, 1, 2].map(|at| given[at].map(|fd| (fd.as_raw_fd(), slots[at])));
    let parent = std::process::id();
    let mark = Mark::own().map(|(mark, _)| mark);
    let mut std_command = std::process::Command::new(&command.program);
    std_command
        .args(&command.arguments)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .env("STEAD_BRIDGE_FD", slots[0].to_string())
        .current_dir(&command.cwd);
    if theirs.report.is_some() {
        std_command.env("STEAD_BRIDGE_OUT", slots[1].to_string());
    }
    if theirs.nest.is_some() {
        std_command.env("STEAD_NEST_FD", slots[2].to_string());
    }
    std_command
        .stdin(Stdio::from(theirs.stdin))
        .stdout(Stdio::from(theirs.stdout))
        .stderr(Stdio::from(theirs.stderr));
    sys::before_exec(&mut std_command, move || in_child(given, parent, mark));
    // The interpreter's ends of the control channels must stay open until `spawn` has returned; then they are closed.
    let pid = std_command.spawn()?.id();
    Ok(Child { pid, ends })
}

/// Runs in the new process just before exec.
fn in_child(given: [Option<(RawFd, RawFd)>; 3], parent: u32, mark: Option<Mark>) -> io::Result<()> {
    if let Some(mark) = mark {
        mark.take(Role::Family)?;
    }
    cores::restore();
    // Without a controlling terminal no program can read from a terminal, or type into it, past the session's input.
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
