//! Waiting with an end: deadlines, and a pause that is a `poll` of nothing.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of `fds` can be read or `deadline` has passed; tells which are ready.
pub(crate) fn wait_readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    deadline: Option<Instant>,
) -> Result<[bool; N], Errno> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = left.map(timespec);
        match poll(&mut polled, timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    let mut ready = [false; N];
    let mut results = polled.iter();
    for (slot, fd) in ready.iter_mut().zip(&fds) {
        if fd.is_some() {
            *slot = results.next().is_some_and(|fd| !fd.revents().is_empty());
        }
    }
    Ok(ready)
}

/// Waits until something can be written to `fd`; false if `deadline` passed first.
pub(crate) fn wait_writable(fd: BorrowedFd<'_>, deadline: Instant) -> Result<bool, Errno> {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    loop {
        let left = timespec(deadline.saturating_duration_since(Instant::now()));
        match poll(&mut polled, Some(&left)) {
            Err(Errno::INTR) => {}
            ready => return ready.map(|count| count > 0),
        }
    }
}

/// Lets `time` pass, for the few things that cannot be waited on (a lock of another process).
pub(crate) fn pause(time: Duration) {
    let _ = wait_readable([], Some(Instant::now() + time));
}

/// A time as the wires carry it, in milliseconds; the longest they can carry for one that is longer.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().min(1 << 40) as i64, tv_nsec: time.subsec_nanos().into() }
}
