//! The mark that every process of a session inherits and cannot shed by accident.
//!
//! It is a resource limit. Limits outlive exec, setsid, a double fork and an empty environment, and
//! whoever is not root can only lower them. The one that carries the mark, RLIMIT_RTTIME, bounds how
//! long a real-time process may compute, in microseconds; it is unlimited everywhere, and a value
//! of a hundred thousand years is as good as that. So there is room for numbers that are never drawn twice, also by
//! sessions that know nothing of each other, and no program misses anything.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use crate::process::tree;
use crate::sys::{self, Resource, ResourceLimits};

/// Marks lie above `LOWEST` and below `HIGHEST`; no other program sets such limits.
const LOWEST: u64 = 1 << 61;
const HIGHEST: u64 = 1 << 62;
/// How far below the inherited limit a session draws its mark: room for 2^42 marks, and for more sessions
/// inside sessions than anybody starts.
const SPAN: u64 = 1 << 44;
/// Numbers that belong to one mark: one for each role, and one unused.
const ROLES: u64 = 4;

/// How long a killed host may take to be gone.
const DYING_SECONDS: i64 = 2;

/// What the processes of one run of a session have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u64);

/// What a marked process is in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The interpreter, or anything that came from it.
    Family,
    /// The guard.
    Guard,
    /// The host.
    Host,
}

impl Mark {
    /// Draws a mark for a session whose host this process is about to be. `None` if the limit is used for its
    /// real purpose: then a mark could not be told from that.
    pub fn draw() -> Option<Mark> {
        let inherited = limits(0).ok()?.hard;
        let top = match inherited {
            libc::RLIM_INFINITY => HIGHEST,
            other if (LOWEST..=HIGHEST).contains(&other) => other,
            _ => return None,
        };
        let below = sys::random().ok()? % SPAN;
        let mark = (top - 2 * ROLES - below) / ROLES * ROLES;
        (mark > LOWEST).then_some(Mark(mark))
    }

    /// Marks this process and all that it starts. Makes only a system call, so it may be called between fork
    /// and exec.
    pub fn take(self, role: Role) -> io::Result<()> {
        let value = self.0 + role as u64;
        let soft = limits(0)?.soft.min(value);
        sys::set_limits(Resource::RealTime, ResourceLimits { soft, hard: value })
    }

    /// The mark of a process, if it has one and is there.
    pub fn of(pid: u32) -> Option<(Mark, Role)> {
        let value = match limits(pid) {
            Ok(limits) => limits.hard,
            // The process has changed its user or group; the file in `/proc` can be read by everyone.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => limit_in_file(pid)?,
            Err(_) => return None,
        };
        if !(LOWEST..HIGHEST).contains(&value) {
            return None;
        }
        let role = match value % ROLES {
            0 => Role::Family,
            1 => Role::Guard,
            2 => Role::Host,
            _ => return None,
        };
        Some((Mark(value / ROLES * ROLES), role))
    }

    /// The mark of this process.
    pub fn own() -> Option<(Mark, Role)> {
        Mark::of(std::process::id())
    }

    /// Whether that process is this session's host and lives: its number alone may be another
    /// program's by now.
    pub fn has_host(self, pid: u32) -> bool {
        Mark::of(pid) == Some((self, Role::Host)) && !has_ended(pid)
    }
}

/// Whether a process has ended, even if its parent has not collected it. A process that was killed and is
/// still dying is waited for: on a busy machine that can take longer than a command.
fn has_ended(pid: u32) -> bool {
    // Most hosts live, and this one look is enough to see that.
    match tree::look(pid) {
        None => return true,
        Some(process) if !process.is_dying() && !matches!(process.state, b'Z' | b'X') => {
            return false;
        }
        Some(_) => {}
    }
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Some(process) = Pid::from_raw(pid as i32) else { return true };
    let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else { return true };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    let time = Timespec { tv_sec: DYING_SECONDS, tv_nsec: 0 };
    poll(&mut fds, Some(&time)).is_ok_and(|ready| ready > 0)
}

fn limits(pid: u32) -> io::Result<ResourceLimits> {
    sys::limits(pid, Resource::RealTime)
}

fn limit_in_file(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// A text that is not a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMark;

impl FromStr for Mark {
    type Err = NoMark;

    fn from_str(text: &str) -> Result<Self, NoMark> {
        let value = u64::from_str_radix(text, 16).map_err(|_| NoMark)?;
        let is_mark = (LOWEST..HIGHEST).contains(&value) && value % ROLES == 0;
        if is_mark { Ok(Mark(value)) } else { Err(NoMark) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn s9_a_mark_survives_exec_setsid_two_forks_and_an_empty_environment() {
        let mark = Mark::draw().unwrap();
        assert_eq!(mark.to_string().parse(), Ok(mark));
        let mut command = Command::new("env");
        command.args([
            "-i",
            "setsid",
            "sh",
            "-c",
            "(exec sh -c 'echo $$; exec sleep 1000') & wait",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        sys::before_exec(&mut command, move || mark.take(Role::Family));
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        assert_eq!(Mark::of(grandchild), Some((mark, Role::Family)));
        assert_eq!(limit_in_file(grandchild), Some(mark.0), "both ways tell the same");
        assert_ne!(Mark::of(std::process::id()).map(|own| own.0), Some(mark));
        assert!(crate::process::tree::signal(grandchild, rustix::process::Signal::KILL));
        child.wait().unwrap();
    }

    #[test]
    fn s9_marks_inside_marks_differ_and_never_run_out() {
        let outer = Mark::draw().unwrap();
        let mut command = Command::new("true");
        sys::before_exec(&mut command, move || {
            let mut last = outer;
            last.take(Role::Family)?;
            for _ in 0..1000 {
                let inner = Mark::draw().ok_or(io::ErrorKind::Other)?;
                if inner.0 + 2 >= last.0 {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                inner.take(Role::Host)?;
                inner.take(Role::Family)?;
                last = inner;
            }
            Ok(())
        });
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn s9_a_process_without_a_mark_and_a_text_that_is_none_are_told() {
        assert_eq!(Mark::of(u32::MAX >> 1), None);
        for text in ["", "12", "ffffffffffffffff", "2000000000000001", "x"] {
            assert_eq!(text.parse::<Mark>(), Err(NoMark), "{text}");
        }
    }
}
