//! What follows from what happens to a call. Nothing here does any IO; `carry` does what a state asks for.

use stead_client::Stage;

use super::watch::Wish;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    /// Its turn has not come, or it is about to be begun. Nothing was done yet.
    Waiting,
    /// Its host has it, and the loop attends to nothing else: the loop looks how far the eval is, then sleeps
    /// until the host or the client says something.
    Alone,
    /// Its host has it, and the loop is woken when the host says something.
    Polled,
    /// A thread does the rest, and waits for as long as that takes. The thread was told this wish, if any.
    OnThread(Option<Wish>),
    /// The call is over, or its client no longer waits for it.
    Over(Ending),
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its host has said all that the answer needs.
    Told,
    /// Its thread has answered.
    Answered,
    /// The call did nothing.
    NotBegun(NotBegun),
    /// The call's thread does not come back in time; its work goes on.
    Overdue,
}

/// Why a call did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotBegun {
    /// Its client cancelled it.
    Cancelled,
    /// Its client left.
    Left,
    /// Its turn did not come in time.
    Crowded,
}

/// What can happen to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallInput {
    /// Its turn came, and its host was sent it. `alone` says whether nothing else is to be done meanwhile.
    Sent { alone: bool },
    /// Its turn came, and it is no call that can be sent without a wait.
    NotSent,
    /// This is how far its host has come by now.
    Host(Stage),
    /// The time is over for which a call is waited for without a thread.
    Tired,
    /// Its client cancelled it.
    Cancelled,
    /// Its client has left.
    Left,
    /// The time is over that a call may take (SPEC M-4).
    Expired,
    /// The further time is over that a call may take to say that it did not end in time.
    Overdue,
    /// Its thread is done.
    Done,
}

impl CallState {
    /// The state that follows. What cannot happen in a state changes nothing.
    pub(super) fn step(self, input: CallInput) -> CallState {
        use CallInput::{Cancelled, Done, Expired, Host, Left, NotSent, Overdue, Sent, Tired};
        use CallState::{Alone, OnThread, Over, Polled, Waiting};
        match (self, input) {
            (Waiting, Sent { alone: true }) => Alone,
            (Waiting, Sent { alone: false }) => Polled,
            (Waiting, NotSent) => OnThread(None),
            // Nothing was begun, so nothing is to be stopped.
            (Waiting, Cancelled) => Over(Ending::NotBegun(NotBegun::Cancelled)),
            (Waiting, Left) => Over(Ending::NotBegun(NotBegun::Left)),
            (Waiting, Expired | Overdue) => Over(Ending::NotBegun(NotBegun::Crowded)),

            (Alone | Polled, Host(Stage::Over)) => Over(Ending::Told),
            // Only a thread, which may block, can find out how far the eval is.
            (Alone | Polled, Host(Stage::Unclear)) => OnThread(None),
            // The loop attends to a call alone only once; after that the host's messages wake the loop.
            (Alone, Host(Stage::Sent | Stage::Accepted) | Tired) => Polled,
            (Polled, Host(Stage::Sent | Stage::Accepted)) => Polled,
            (Polled, Tired) => OnThread(None),
            // Stopping an eval takes a wait, so a thread has to do it.
            (Alone | Polled, Cancelled) => OnThread(Some(Wish::Cancel)),
            (Alone | Polled, Left | Expired | Overdue) => OnThread(Some(Wish::Leave)),

            (OnThread(_), Done) => Over(Ending::Answered),
            (OnThread(told), Cancelled) => OnThread(told.max(Some(Wish::Cancel))),
            (OnThread(told), Left | Expired) => OnThread(told.max(Some(Wish::Leave))),
            (OnThread(_), Overdue) => Over(Ending::Overdue),

            (Waiting, Host(_) | Tired | Done)
            | (Alone | Polled, Sent { .. } | NotSent | Done)
            | (OnThread(_), Sent { .. } | NotSent | Host(_) | Tired)
            | (Over(_), _) => self,
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
