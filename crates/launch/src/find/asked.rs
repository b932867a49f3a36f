//! Asks another program something, for a limited time only, because a host waits for the answer.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// How long a program may take that says where an interpreter is: poetry takes a second, on a busy machine several.
pub(super) const ASK_TIME: Duration = Duration::from_secs(20);
/// More bytes than any answer has.
const MOST: usize = 1 << 20;

/// What a program said before it ended.
#[derive(Debug)]
pub(super) struct ProgramSaid {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs a program and returns what it said. A program that takes longer than `patience` is killed with all
/// that it started in its group, and is an error of the kind `TimedOut`.
pub(super) fn ask(command: &mut Command, patience: Duration) -> io::Result<ProgramSaid> {
    let deadline = Instant::now() + patience;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let heard = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from).and_then(|process| {
        let (mut from_out, mut from_err) = (child.stdout.take(), child.stderr.take());
        // A process that the program left behind may keep its pipes open, so the end of the program itself is
        // what counts.
        loop {
            let [ended, more_out, more_err] = ready(
                [
                    Some(process.as_fd()),
                    from_out.as_ref().map(AsFd::as_fd),
                    from_err.as_ref().map(AsFd::as_fd),
                ],
                deadline,
            )?;
            if more_out {
                take(&mut from_out, &mut out)?;
            }
            if more_err {
                take(&mut from_err, &mut err)?;
            }
            if ended && !more_out && !more_err {
                return Ok(());
            }
        }
    });
    if heard.is_err() {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait()?;
    heard?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ProgramSaid { status, out: text(out), err: text(err) })
}

/// Which of these are readable; an error once the deadline has passed.
fn ready(fds: [Option<BorrowedFd<'_>>; 3], deadline: Instant) -> io::Result<[bool; 3]> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut polled, Some(&left)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut results = polled.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && results.next().unwrap_or(false)))
}

/// Reads what is there; a stream that has ended is dropped.
fn take(from: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<()> {
    let Some(stream) = from else { return Ok(()) };
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => *from = None,
        Ok(count) if into.len() < MOST => into.extend_from_slice(&bytes[..count]),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn s11_a_program_is_heard_until_its_own_end_and_no_longer_than_patience() {
        let said = ask(&mut shell("echo err >&2; sleep 1000 & echo $!; exit 3"), ASK_TIME);
        let said = said.unwrap();
        let left = said.out.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
        assert_eq!(said.err, "err\n");
        assert_eq!(said.status.code(), Some(3));
        let many = ask(
            &mut shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"),
            ASK_TIME,
        );
        assert_eq!(many.unwrap().out.lines().count(), 20000);
        let hangs = ask(&mut shell("echo begun; exec sleep 1000"), Duration::from_millis(50));
        assert_eq!(hangs.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
