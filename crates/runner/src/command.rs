//! One shell command.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

/// The longest command that is handed over as an argument; the system's limit is 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Where a command runs.
#[derive(Debug)]
pub(crate) struct Place {
    cwd: Vec<u8>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Place {
    /// The directory, then `NAME=value` for each variable, each ended by a zero byte.
    pub(crate) fn decode(bytes: &[u8]) -> Place {
        let mut parts = bytes.split(|byte| *byte == 0);
        let cwd = parts.next().unwrap_or_default().to_vec();
        let variable = |part: &[u8]| {
            let at = part.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
            Some((part[..at].to_vec(), part[at + 1..].to_vec()))
        };
        Place { cwd, env: parts.filter_map(variable).collect() }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// As shells count.
    pub(crate) fn code(self) -> i32 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(signal) => 128 + signal,
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or(0)),
        }
    }
}

/// Runs a command in a shell of its own, with our standard streams, and waits for that shell.
pub(crate) fn run(shell: &str, code: &str, place: Option<Place>) -> Result<Ended, String> {
    if code.contains('\0') {
        return Err("the command contains a zero byte".to_owned());
    }
    let mut command = Command::new(shell);
    let mut script = None;
    if code.len() <= LONGEST_ARGUMENT {
        command.arg("-c").arg(code);
    } else {
        let file =
            in_memory(code).map_err(|error| format!("could not hold the command: {error}"))?;
        command.arg(format!("/dev/fd/{}", file.as_raw_fd()));
        script = Some(file);
    }
    command.env_remove("STEAD_BRIDGE_FD");
    if let Some(place) = &place {
        command.env_clear();
        let os = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        command.envs(place.env.iter().map(|(name, value)| (os(name), os(value))));
        command.current_dir(OsStr::from_bytes(&place.cwd));
    }
    // What the host knows the session's processes by.
    for name in ["STEAD_SESSION", "STEAD_SESSION_DIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // SAFETY: plain system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(|error| match &place {
        Some(place) if !std::path::Path::new(OsStr::from_bytes(&place.cwd)).is_dir() => {
            format!("the directory `{}` does not exist", String::from_utf8_lossy(&place.cwd))
        }
        _ => format!("could not start `{shell}`: {error}"),
    })?;
    drop(script);
    child.wait().map(Ended::from).map_err(|error| format!("could not wait for `{shell}`: {error}"))
}

/// A script that is too long for an argument, as a file that the shell reads and nobody finds.
fn in_memory(code: &str) -> std::io::Result<OwnedFd> {
    let fd = memfd_create("command", MemfdFlags::empty())?;
    let mut file = File::from(fd);
    file.write_all(code.as_bytes())?;
    file.rewind()?;
    let fd = OwnedFd::from(file);
    fcntl_setfd(&fd, FdFlags::empty())?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j1_a_place_is_a_directory_and_variables() {
        let place = Place::decode(b"/tmp\0A=1\0B=x=y\0=odd\0EMPTY=\0");
        assert_eq!(place.cwd, b"/tmp");
        let names: Vec<&[u8]> = place.env.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, [b"A".as_slice(), b"B", b"EMPTY"]);
        assert_eq!(place.env[1].1, b"x=y");
    }

    #[test]
    fn j1_codes_are_those_of_a_shell() {
        assert_eq!(run("/bin/sh", "exit 3", None), Ok(Ended::Code(3)));
        assert_eq!(run("/bin/sh", "kill -9 $$", None).map(Ended::code), Ok(137));
        assert!(run("/no/such/shell", "true", None).is_err());
        assert!(run("/bin/sh", "a\0b", None).is_err());
    }

    #[test]
    fn j1_a_command_of_any_length_runs() {
        let long = format!("{}\nexit 5", "#".repeat(1 << 20));
        assert_eq!(run("/bin/sh", &long, None), Ok(Ended::Code(5)));
    }
}
