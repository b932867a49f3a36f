//! Where the connection stands, as an enum and one pure step: when it is dialled, when it counts as lost, when it is given up.

use std::time::{Duration, Instant};

use stead_protocol::bridge::BridgeEvent;

/// After this time without a byte the server is asked for a sign of life.
const PING_AFTER: Duration = Duration::from_secs(5);
/// After this time without a byte the connection is half open, and so is lost.
const SILENT_AFTER: Duration = Duration::from_secs(15);
/// How often is looked whether the kernel is still there: a server that removes it does not close the connection.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Between two tries, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(5);
/// How long a lost server is tried.
pub(crate) const GIVE_UP_AFTER: Duration = Duration::from_secs(3600);

/// Where the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// It is there.
    Open { heard: Instant, pinged: bool, looked: Instant },
    /// It is lost, and a try is under way.
    Dialing { lost: Instant, tries: u32 },
    /// It is lost, and the next try comes later.
    Resting { lost: Instant, tries: u32, until: Instant },
    /// It does not come back.
    Over,
}

/// What can happen to it.
#[derive(Debug)]
pub(crate) enum LinkInput {
    /// Something came from the server.
    Heard,
    /// It is cut.
    Cut { reason: String },
    /// A try succeeded.
    Opened,
    /// A try failed. `last`: there is no use in another.
    Failed { reason: String, last: bool },
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    /// Try to connect.
    Dial,
    /// Close what is half open.
    Drop,
    /// Ask for a sign of life.
    Ping,
    /// Look whether the kernel is there.
    Look,
    /// Say that it is lost.
    TellLost { reason: String },
    /// Say that it is back.
    TellFound,
    /// End the session.
    GiveUp { reason: String },
}

impl LinkAction {
    /// What the host is told of it; `server` is where the connection leads.
    pub(crate) fn told(&self, server: &str) -> Vec<BridgeEvent> {
        match self {
            LinkAction::TellLost { reason } => {
                vec![BridgeEvent::Lost { reason: format!("{reason} ({server})") }]
            }
            // Servers confirm nothing: messages that were under way in either direction are lost, and nobody
            // knows how many. Output that comes from now on must not be shown before this event.
            LinkAction::TellFound => {
                vec![BridgeEvent::Found { reason: None, gap: true }, BridgeEvent::Sync {}]
            }
            LinkAction::Dial
            | LinkAction::Drop
            | LinkAction::Ping
            | LinkAction::Look
            | LinkAction::GiveUp { .. } => vec![],
        }
    }
}

impl LinkState {
    /// A connection that has just been made.
    pub(crate) fn open(now: Instant) -> LinkState {
        LinkState::Open { heard: now, pinged: false, looked: now }
    }

    /// When `Tick` has something to do.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            LinkState::Open { heard, pinged, looked } => {
                let silent = *heard + if *pinged { SILENT_AFTER } else { PING_AFTER };
                Some(silent.min(*looked + LOOK_EVERY))
            }
            LinkState::Resting { until, .. } => Some(*until),
            LinkState::Dialing { .. } | LinkState::Over => None,
        }
    }

    /// The one place where the state changes.
    pub(crate) fn step(self, input: LinkInput, now: Instant) -> (LinkState, Vec<LinkAction>) {
        match (self, input) {
            (LinkState::Open { looked, .. }, LinkInput::Heard) => {
                (LinkState::Open { heard: now, pinged: false, looked }, vec![])
            }
            (LinkState::Open { .. }, LinkInput::Cut { reason }) => lost(reason, now),
            (LinkState::Open { heard, .. }, LinkInput::Tick) if heard + SILENT_AFTER <= now => {
                let seconds = SILENT_AFTER.as_secs();
                lost(format!("the server has said nothing for {seconds} s"), now)
            }
            (LinkState::Open { heard, pinged, looked }, LinkInput::Tick) => {
                let mut actions = Vec::new();
                let ping = !pinged && heard + PING_AFTER <= now;
                if ping {
                    actions.push(LinkAction::Ping);
                }
                let look = looked + LOOK_EVERY <= now;
                if look {
                    actions.push(LinkAction::Look);
                }
                let looked = if look { now } else { looked };
                (LinkState::Open { heard, pinged: pinged || ping, looked }, actions)
            }
            (LinkState::Dialing { .. }, LinkInput::Opened) => {
                (LinkState::open(now), vec![LinkAction::TellFound])
            }
            (LinkState::Dialing { .. }, LinkInput::Failed { reason, last: true }) => {
                (LinkState::Over, vec![LinkAction::GiveUp { reason }])
            }
            (LinkState::Dialing { lost, tries }, LinkInput::Failed { reason, last: false }) => {
                if lost + GIVE_UP_AFTER <= now {
                    return (LinkState::Over, vec![LinkAction::GiveUp { reason }]);
                }
                let rest = FIRST_REST.saturating_mul(1 << tries.min(10)).min(LONGEST_REST);
                (LinkState::Resting { lost, tries: tries + 1, until: now + rest }, vec![])
            }
            (LinkState::Resting { lost, tries, until }, LinkInput::Tick) if until <= now => {
                (LinkState::Dialing { lost, tries }, vec![LinkAction::Dial])
            }
            // These inputs come from a connection or a try that is over, or too early, and change nothing.
            (state @ LinkState::Open { .. }, LinkInput::Opened | LinkInput::Failed { .. })
            | (
                state @ (LinkState::Dialing { .. } | LinkState::Resting { .. }),
                LinkInput::Heard | LinkInput::Cut { .. } | LinkInput::Tick,
            )
            | (state @ LinkState::Resting { .. }, LinkInput::Opened | LinkInput::Failed { .. })
            | (state @ LinkState::Over, _) => (state, vec![]),
        }
    }
}

fn lost(reason: String, now: Instant) -> (LinkState, Vec<LinkAction>) {
    let state = LinkState::Dialing { lost: now, tries: 0 };
    (state, vec![LinkAction::Drop, LinkAction::TellLost { reason }, LinkAction::Dial])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(why: &str) -> LinkInput {
        LinkInput::Cut { reason: why.to_owned() }
    }

    fn failed(last: bool) -> LinkInput {
        LinkInput::Failed { reason: "no".to_owned(), last }
    }

    #[test]
    fn k2_a_cut_is_told_once_and_dialled_until_it_is_back() {
        let now = Instant::now();
        let (state, actions) = LinkState::open(now).step(cut("the server hung up"), now);
        let told = LinkAction::TellLost { reason: "the server hung up".to_owned() };
        assert_eq!(actions, [LinkAction::Drop, told, LinkAction::Dial]);
        let (state, actions) = state.step(cut("again"), now);
        assert_eq!(actions, []);
        let (state, actions) = state.step(failed(false), now);
        assert_eq!((state.due(), actions), (Some(now + FIRST_REST), vec![]));
        let (state, actions) = state.step(LinkInput::Tick, now);
        assert_eq!(actions, []);
        let (state, actions) = state.step(LinkInput::Tick, now + FIRST_REST);
        assert_eq!(actions, [LinkAction::Dial]);
        let (state, actions) = state.step(LinkInput::Opened, now);
        assert_eq!((state, actions), (LinkState::open(now), vec![LinkAction::TellFound]));
    }

    #[test]
    fn k2_a_silent_server_is_asked_and_then_counts_as_lost() {
        let now = Instant::now();
        let state = LinkState::open(now);
        assert_eq!(state.due(), Some(now + PING_AFTER));
        let (state, actions) = state.step(LinkInput::Tick, now + PING_AFTER);
        assert_eq!(actions, [LinkAction::Ping]);
        // One that answers is asked again later, and its kernel is looked at.
        let (heard, _) = state.clone().step(LinkInput::Heard, now + PING_AFTER);
        let (_, actions) = heard.step(LinkInput::Tick, now + LOOK_EVERY);
        assert_eq!(actions, [LinkAction::Ping, LinkAction::Look]);
        let (state, actions) = state.step(LinkInput::Tick, now + SILENT_AFTER);
        assert!(matches!(state, LinkState::Dialing { .. }));
        assert!(matches!(&actions[1], LinkAction::TellLost { reason } if reason.contains("15 s")));
    }

    #[test]
    fn k2_tries_become_rarer_and_end() {
        let begun = Instant::now();
        let (mut state, mut now, mut tries) =
            (LinkState::Dialing { lost: begun, tries: 0 }, begun, 0);
        let reason = loop {
            let (next, actions) = state.step(failed(false), now);
            if let [LinkAction::GiveUp { reason }] = actions.as_slice() {
                break reason.clone();
            }
            assert!(next.due().unwrap() - now <= LONGEST_REST);
            now = next.due().unwrap();
            let (dials, actions) = next.step(LinkInput::Tick, now);
            assert_eq!(actions, [LinkAction::Dial]);
            (state, tries) = (dials, tries + 1);
        };
        assert_eq!(reason, "no");
        assert!(now - begun >= GIVE_UP_AFTER && tries > 700, "{tries}");
        let (state, actions) =
            LinkState::Dialing { lost: begun, tries: 0 }.step(failed(true), begun);
        assert!(state == LinkState::Over && matches!(actions[0], LinkAction::GiveUp { .. }));
    }
}
