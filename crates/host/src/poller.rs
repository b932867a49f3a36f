//! Waits for descriptors. The kernel keeps the list of those that are waited for, because to hand it the list anew
//! costs more than most of what a turn does; what has changed since the last wait is told before the next.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How many descriptors are told of at once; the others come with the next wait.
const AT_ONCE: usize = 64;
/// The kernel counts the time of such a wait in milliseconds; below this, that is not exact enough.
const SHORT: Duration = Duration::from_millis(2);
/// And no more of them than this: it is asked again then.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// When one that the kernel would not take is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// The list of those who are waited for, each known by a `T` that no other ever had: the number of a descriptor
/// is used again.
pub(crate) struct Poller<T> {
    epoll: OwnedFd,
    known: Vec<Interest<T>>,
    events: Vec<epoll::Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interest<T> {
    fd: RawFd,
    flags: EventFlags,
    what: T,
}

/// Those who are to be waited for this time.
#[derive(Debug)]
pub(crate) struct Wanted<'a, T>(Vec<(BorrowedFd<'a>, PollFlags, T)>);

impl<'a, T> Wanted<'a, T> {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Wanted(Vec::with_capacity(count))
    }

    pub(crate) fn add(&mut self, fd: &'a impl AsFd, flags: PollFlags, what: T) {
        self.0.push((fd.as_fd(), flags, what));
    }

    pub(crate) fn add_fd(&mut self, fd: BorrowedFd<'a>, flags: PollFlags, what: T) {
        self.0.push((fd, flags, what));
    }
}

impl<T: Copy + PartialEq> Poller<T> {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Poller { epoll, known: Vec::new(), events: Vec::with_capacity(AT_ONCE) })
    }

    /// Waits until one of them is ready or the time is over; says who is.
    pub(crate) fn wait(&mut self, wanted: &Wanted<'_, T>, timeout: Option<Duration>) -> Vec<T> {
        self.update(wanted);
        self.events.clear();
        let most = if self.known.len() < wanted.0.len() { AGAIN } else { LONGEST };
        let mut timeout = timeout.map_or(most, |timeout| timeout.min(most));
        if timeout < SHORT {
            let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
            if !poll(&mut fds, Some(&timespec(timeout))).is_ok_and(|ready| ready > 0) {
                return Vec::new();
            }
            timeout = Duration::ZERO;
        }
        let events = spare_capacity(&mut self.events);
        if epoll::wait(&self.epoll, events, Some(&timespec(timeout))).is_err() {
            return Vec::new();
        }
        let find = |event: &epoll::Event| {
            let fd = event.data.u64() as RawFd;
            self.known.iter().find(|known| known.fd == fd).map(|known| known.what)
        };
        self.events.iter().filter_map(find).collect()
    }

    /// Tells the kernel what is not as it was.
    fn update(&mut self, wanted: &Wanted<'_, T>) {
        let is_same =
            |(known, (fd, flags, what)): (&Interest<T>, &(BorrowedFd<'_>, PollFlags, T))| {
                *known == Interest { fd: fd.as_raw_fd(), flags: events_of(*flags), what: *what }
            };
        if self.known.len() == wanted.0.len() && self.known.iter().zip(&wanted.0).all(is_same) {
            return;
        }
        // Those who are gone go first: their numbers may be others' by now.
        let mut known = std::mem::take(&mut self.known);
        known.retain(|known| {
            let stays = |(fd, _, what): &(BorrowedFd<'_>, PollFlags, T)| {
                fd.as_raw_fd() == known.fd && *what == known.what
            };
            let stays = wanted.0.iter().any(stays);
            if !stays {
                forget(&self.epoll, known.fd);
            }
            stays
        });
        for (fd, flags, what) in &wanted.0 {
            let interest = Interest { fd: fd.as_raw_fd(), flags: events_of(*flags), what: *what };
            if known.contains(&interest) || register(&self.epoll, *fd, interest.flags).is_ok() {
                self.known.push(interest);
            }
        }
    }
}

fn register(epoll: &OwnedFd, fd: BorrowedFd<'_>, flags: EventFlags) -> rustix::io::Result<()> {
    let data = EventData::new_u64(fd.as_raw_fd() as u64);
    match epoll::add(epoll, fd, data, flags) {
        Err(Errno::EXIST) => epoll::modify(epoll, fd, data, flags),
        added => added,
    }
}

/// One that is closed by now is forgotten by itself.
fn forget(epoll: &OwnedFd, fd: RawFd) {
    // SAFETY: the number is only handed to the kernel, which refuses one that is not open or not in the list.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let _ = epoll::delete(epoll, fd);
}

fn events_of(flags: PollFlags) -> EventFlags {
    let mut events = EventFlags::empty();
    events.set(EventFlags::IN, flags.contains(PollFlags::IN));
    events.set(EventFlags::OUT, flags.contains(PollFlags::OUT));
    events
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(60));
    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn wait<'a>(
        poller: &mut Poller<char>,
        timeout: Option<Duration>,
        wanted: impl IntoIterator<Item = (&'a UnixStream, PollFlags, char)>,
    ) -> String {
        let mut list = Wanted::with_capacity(4);
        wanted.into_iter().for_each(|(fd, flags, what)| list.add(fd, flags, what));
        let mut ready = poller.wait(&list, timeout);
        ready.sort_unstable();
        ready.into_iter().collect()
    }

    fn pair() -> (UnixStream, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"x").unwrap();
        (ours, theirs)
    }

    #[test]
    fn h2_those_who_are_ready_are_told_for_as_long_as_they_are() {
        let mut poller = Poller::new().unwrap();
        let ((a, _a), (b, _b)) = (pair(), UnixStream::pair().unwrap());
        for _ in 0..3 {
            let both = [(&a, PollFlags::IN, 'a'), (&b, PollFlags::IN, 'b')];
            assert_eq!(wait(&mut poller, LONG, both), "a");
        }
        let flags = PollFlags::IN | PollFlags::OUT;
        assert_eq!(wait(&mut poller, LONG, [(&a, flags, 'a'), (&b, flags, 'b')]), "ab");
        assert_eq!(wait(&mut poller, LONG, [(&b, flags, 'b'), (&a, flags, 'a')]), "ab");
        assert_eq!(wait(&mut poller, LONG, [(&b, flags, 'b')]), "b");
        assert_eq!(wait(&mut poller, NOW, [(&b, PollFlags::IN, 'b')]), "");
        assert_eq!(wait(&mut poller, NOW, [] as [_; 0]), "");
        assert_eq!(wait(&mut poller, LONG, [(&a, PollFlags::IN, 'a')]), "a");
    }

    #[test]
    fn h2_a_descriptor_that_has_the_number_of_a_closed_one_is_another() {
        let mut poller = Poller::new().unwrap();
        for what in 'a'..='z' {
            // Nothing else runs in between that would take the number: then the test shows less, and no harm.
            let (ours, theirs) = pair();
            assert_eq!(wait(&mut poller, LONG, [(&ours, PollFlags::IN, what)]), what.to_string());
            drop((ours, theirs));
        }
        // Closed and made anew between two waits, both with the same flags.
        let (first, theirs) = pair();
        let number = first.as_raw_fd();
        assert_eq!(wait(&mut poller, LONG, [(&first, PollFlags::IN, '1')]), "1");
        drop((first, theirs));
        let (second, _theirs) = pair();
        assert_eq!(wait(&mut poller, LONG, [(&second, PollFlags::IN, '2')]), "2", "{number}");
    }

    #[test]
    fn h2_who_hangs_up_is_ready() {
        let mut poller = Poller::new().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert_eq!(wait(&mut poller, NOW, [(&ours, PollFlags::IN, 'a')]), "");
        drop(theirs);
        assert_eq!(wait(&mut poller, LONG, [(&ours, PollFlags::IN, 'a')]), "a");
    }
}
