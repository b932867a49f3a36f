//! Runs a client's own command, with an end to waiting for it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::clients::OwnCommand;

/// How long a client's own command may run: some are started by Node and take seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a client's own command in `workspace`; the error is what went wrong, in words.
pub(crate) fn run_own(
    program: &Path,
    command: &OwnCommand,
    workspace: &Path,
) -> Result<(), String> {
    let said = |error: io::Error| format!("`{}` could not be run: {error}", command.shown());
    // The command writes to a file: a pipe would stay open for as long as any process that the command starts.
    let mut output = rustix::fs::memfd_create("stead-install", MemfdFlags::CLOEXEC)
        .map(File::from)
        .map_err(|error| said(error.into()))?;
    let twice = output.try_clone().and_then(|one| Ok((one, output.try_clone()?)));
    let (stdout, stderr) = twice.map_err(said)?;
    let mut child = Command::new(program)
        .args(command.arguments())
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()
        .map_err(said)?;
    let pid = Pid::from_child(&child);
    let ended = pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|handle| {
        let handle = handle.as_fd();
        let mut wanted = [PollFd::new(&handle, PollFlags::IN)];
        let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        poll(&mut wanted, Some(&patience)).is_ok_and(|ready| ready > 0)
    });
    if !ended {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait().map_err(said)?;
    if ended && status.success() {
        return Ok(());
    }
    let mut text = String::new();
    let read = output.rewind().and_then(|()| output.take(64 << 10).read_to_string(&mut text));
    let line = read.ok().and_then(|_| text.lines().rev().find(|line| !line.trim().is_empty()));
    let line = line.map(|line| format!(": {}", line.trim())).unwrap_or_default();
    Err(match ended {
        true => format!("`{}` failed with {status}{line}", command.shown()),
        false => format!("`{}` did not end within {} s{line}", command.shown(), PATIENCE.as_secs()),
    })
}
