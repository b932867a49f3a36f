//! Programs that are asked where an interpreter is, or whether one starts; each for a limited time only.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, waitpid,
};
use thiserror::Error;

/// How long a program may take: poetry takes a second, on a busy machine several.
const ASK_TIME: Duration = Duration::from_secs(20);
/// More bytes than any answer has.
const MOST: usize = 1 << 20;
/// How often `hear` reads from each pipe: what a pipe holds is read at once, and a program that writes without end keeps
/// nobody.
const MOST_READS: usize = 16;

/// What a program is asked: how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramQuestion {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// Its whole environment; with none it has that of this process.
    env: Option<Vec<(OsString, OsString)>>,
    /// Where it runs; with none in the directory of this process.
    cwd: Option<PathBuf>,
}

impl ProgramQuestion {
    pub(super) fn new(program: &Path, arguments: &[&str]) -> ProgramQuestion {
        let arguments = arguments.iter().map(OsString::from).collect();
        ProgramQuestion { program: program.to_owned(), arguments, env: None, cwd: None }
    }

    pub(super) fn with_env(self, env: &[(OsString, OsString)]) -> ProgramQuestion {
        ProgramQuestion { env: Some(env.to_owned()), ..self }
    }

    pub(super) fn in_dir(self, dir: &Path) -> ProgramQuestion {
        ProgramQuestion { cwd: Some(dir.to_owned()), ..self }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if let Some(env) = &self.env {
            command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command
    }

    /// The program that is asked.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// What a program said before it ended.
#[derive(Debug, Clone)]
pub struct ProgramSaid {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) err: String,
}

/// Why a program has said nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotSaid {
    /// It was killed after its time.
    #[error("it did not end in {} s", ASK_TIME.as_secs())]
    TooLong,
    /// The system could not run it.
    #[error("{0}")]
    Failed(String),
    /// Nobody has asked it yet: what a search finds without this answer counts for nothing.
    #[error("it was not asked yet")]
    NotYet,
}

impl From<io::Error> for NotSaid {
    fn from(error: io::Error) -> NotSaid {
        NotSaid::Failed(error.to_string())
    }
}

/// How a search gets answers of programs.
pub trait Programs {
    /// What the program said, if it is known.
    fn ask(&self, question: &ProgramQuestion) -> Result<ProgramSaid, NotSaid>;
}

/// Runs each program and waits for it: for whoever has nothing else to do.
pub struct Patient;

impl Programs for Patient {
    fn ask(&self, question: &ProgramQuestion) -> Result<ProgramSaid, NotSaid> {
        wait_for(AskedProgram::begin(question)?)
    }
}

/// A program that was asked and runs. It is a child of this process, which has to collect it once it has ended.
pub struct AskedProgram {
    pid: Pid,
    deadline: Instant,
    out: Answer<ChildStdout>,
    err: Answer<ChildStderr>,
}

impl AskedProgram {
    /// Starts it.
    pub fn begin(question: &ProgramQuestion) -> Result<AskedProgram, NotSaid> {
        AskedProgram::begin_for(&mut question.command(), ASK_TIME)
    }

    fn begin_for(command: &mut Command, patience: Duration) -> Result<AskedProgram, NotSaid> {
        let deadline = Instant::now() + patience;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        Ok(AskedProgram {
            pid: Pid::from_child(&child),
            deadline,
            out: Answer::new(child.stdout.take()),
            err: Answer::new(child.stderr.take()),
        })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// When it has taken too long.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What is readable when it has written something.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.out.fd().into_iter().chain(self.err.fd())
    }

    /// Reads what it has written. Never waits.
    pub fn hear(&mut self) -> Result<(), NotSaid> {
        self.out.hear()?;
        self.err.hear()
    }

    /// Kills it with all that it has started in its group.
    pub fn kill(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// It has ended, and was collected. A process that it left behind may keep its pipes open, so its own end is what
    /// counts.
    pub fn ended(mut self, status: ExitStatus) -> Result<ProgramSaid, NotSaid> {
        self.hear()?;
        Ok(ProgramSaid { status, out: self.out.text(), err: self.err.text() })
    }
}

/// One of the streams that a program answers on.
struct Answer<S> {
    /// None once it has ended.
    from: Option<S>,
    bytes: Vec<u8>,
}

impl<S: Read + AsFd> Answer<S> {
    fn new(from: Option<S>) -> Answer<S> {
        Answer { from, bytes: Vec::new() }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    fn hear(&mut self) -> Result<(), NotSaid> {
        for _ in 0..MOST_READS {
            let Some(from) = &mut self.from else { return Ok(()) };
            if !ready([from.as_fd()], Instant::now())? {
                return Ok(());
            }
            let mut bytes = [0; 4096];
            match from.read(&mut bytes) {
                Ok(0) => self.from = None,
                Ok(count) if self.bytes.len() < MOST => {
                    self.bytes.extend_from_slice(&bytes[..count]);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Waits for the end of a program, or of its time.
fn wait_for(mut program: AskedProgram) -> Result<ProgramSaid, NotSaid> {
    let heard = hear_to_its_end(&mut program);
    if heard.is_err() {
        program.kill();
    }
    let status = loop {
        match waitpid(Some(program.pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => break ExitStatus::from_raw(status.as_raw()),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    };
    heard?;
    program.ended(status)
}

fn hear_to_its_end(program: &mut AskedProgram) -> Result<(), NotSaid> {
    let process = pidfd_open(program.pid, PidfdFlags::empty()).map_err(io::Error::from)?;
    loop {
        let fds = program.fds().chain([process.as_fd()]);
        if !ready(fds, program.deadline)? {
            return Err(NotSaid::TooLong);
        }
        if ready([process.as_fd()], Instant::now())? {
            return Ok(());
        }
        program.hear()?;
    }
}

/// Waits until one of these is readable; false if none was by then.
fn ready<'fd>(fds: impl IntoIterator<Item = BorrowedFd<'fd>>, by: Instant) -> io::Result<bool> {
    let mut polled: Vec<PollFd<'_>> =
        fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut polled, Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn ask(script: &str, patience: Duration) -> Result<ProgramSaid, NotSaid> {
        wait_for(AskedProgram::begin_for(&mut shell(script), patience)?)
    }

    #[test]
    fn s11_a_program_is_heard_until_its_own_end_and_no_longer_than_patience() {
        let said = ask("echo err >&2; sleep 1000 & echo $!; exit 3", ASK_TIME).unwrap();
        let left = said.out.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
        assert_eq!(said.err, "err\n");
        assert_eq!(said.status.code(), Some(3));
        let lines = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done";
        assert_eq!(ask(lines, ASK_TIME).unwrap().out.lines().count(), 20000);
        let hangs = ask("echo begun; exec sleep 1000", Duration::from_millis(50));
        assert_eq!(hangs.unwrap_err(), NotSaid::TooLong);
    }

    #[test]
    fn s11_what_a_program_leaves_behind_that_writes_without_end_keeps_nobody() {
        let said = ask("yes & echo $! >&2", ASK_TIME).unwrap();
        let left = said.err.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
        let endless = ask("exec yes", Duration::from_millis(50));
        assert_eq!(endless.unwrap_err(), NotSaid::TooLong);
    }
}
