//! How the loop waits for the next request: awake for a moment while requests follow at once on answers, else asleep.
//!
//! A processor that goes to sleep takes longer to wake than most evals take. And the kernel lets a client that is woken
//! run on the processor where it ran last if that one sleeps, so a client that once shared the processor of host and
//! interpreter goes on to, and each of them has to be woken for each step. A host that is awake lets the client move
//! to the processor of its server, and finds the next request there at once.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};

/// How soon after an answer a request comes that follows at once, and so how long the loop stays awake for it.
const AWAKE: Duration = Duration::from_micros(150);
/// If other programs kept the processor for longer than this, staying awake is of no use.
const CROWDED: Duration = Duration::from_micros(50);

/// What is expected of clients.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// When the last answer was given that no request has followed yet.
    answered: Option<Instant>,
    /// Whether the last request followed at once on an answer; the next one is then likely to do so too.
    brisk: bool,
    /// Whether clients have a processor while the loop uses one; `None` until that matters.
    has_room: Option<bool>,
}

impl Attention {
    /// An eval is over and its client was told.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.answered = Some(now);
    }

    /// A client has sent something.
    pub(crate) fn asked(&mut self, now: Instant) {
        let follows = |at: Instant| now.saturating_duration_since(at) <= AWAKE;
        self.brisk = self.answered.take().is_some_and(follows);
    }

    /// Until when the loop stays awake; `None` if it sleeps.
    fn awake_until(&mut self, now: Instant) -> Option<Instant> {
        let until = self.answered.filter(|_| self.brisk)? + AWAKE;
        (until > now && self.has_room()).then_some(until)
    }

    fn has_room(&mut self) -> bool {
        let count = || std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        *self.has_room.get_or_insert_with(count)
    }

    /// Waits until a descriptor is ready or the time is over. Returns whether one is ready.
    pub(crate) fn wait(&mut self, fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> bool {
        let now = Instant::now();
        if let Some(until) = self.awake_until(now) {
            let until = timeout.map_or(until, |left| until.min(now + left));
            if look_until(fds, until, now) {
                return true;
            }
        }
        let left = timeout.map(|left| left.saturating_sub(now.elapsed()));
        is_ready(fds, left)
    }
}

/// Looks again and again whether a descriptor is ready. Any other program that wants this processor gets it at once.
fn look_until(fds: &mut [PollFd<'_>], until: Instant, mut now: Instant) -> bool {
    while now < until {
        if is_ready(fds, Some(Duration::ZERO)) {
            return true;
        }
        std::thread::yield_now();
        let before = std::mem::replace(&mut now, Instant::now());
        if now > before + CROWDED {
            return false;
        }
    }
    false
}

fn is_ready(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> bool {
    let timeout = timeout
        .map(|left| Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ });
    poll(fds, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use rustix::event::PollFlags;
    use rustix::pipe::pipe;

    use super::*;

    const LATER: Duration = Duration::from_millis(1);

    fn roomy() -> Attention {
        Attention { has_room: Some(true), ..Attention::default() }
    }

    #[test]
    fn p1_the_loop_stays_awake_only_while_requests_follow_at_once() {
        let mut at = Instant::now();
        let mut attention = roomy();
        // The first request of all, and the first after a pause, tell nothing of the next one.
        attention.asked(at);
        attention.answered(at);
        assert_eq!(attention.awake_until(at), None);
        attention.asked(at + AWAKE);
        at += LATER;
        attention.answered(at);
        assert_eq!(attention.awake_until(at), Some(at + AWAKE));
        assert_eq!(attention.awake_until(at + AWAKE), None);
        attention.asked(at + LATER);
        attention.answered(at + LATER);
        assert_eq!(attention.awake_until(at + LATER), None);
    }

    #[test]
    fn p1_the_loop_sleeps_while_an_eval_runs_and_where_there_is_one_processor() {
        let at = Instant::now();
        let mut attention = roomy();
        attention.answered(at);
        attention.asked(at);
        assert_eq!(attention.awake_until(at), None);
        let mut attention = Attention { has_room: Some(false), brisk: true, answered: Some(at) };
        assert_eq!(attention.awake_until(at), None);
    }

    #[test]
    fn p1_who_stays_awake_sees_what_is_ready_and_keeps_to_the_time() {
        let (reads, writes) = pipe().unwrap();
        let mut awake = Attention { brisk: true, answered: Some(Instant::now()), ..roomy() };
        let mut fds = [PollFd::new(&reads, PollFlags::IN)];
        assert!(!awake.wait(&mut fds, Some(Duration::ZERO)));
        rustix::io::write(&writes, b"x").unwrap();
        assert!(awake.wait(&mut fds, None));
        assert_eq!(fds[0].revents(), PollFlags::IN);
    }
}
