use super::CallInput::{Cancelled, Done, Expired, Host, Left, NotSent, Overdue, Sent, Tired};
use super::CallState::{Alone, OnThread, Over, Polled, Waiting};
use super::*;

const TOLD: CallState = Over(Ending::Told);
const ANSWERED: CallState = Over(Ending::Answered);

/// What happens to a call, one after the other, and the states it goes through.
#[test]
fn m4_a_call_is_waited_for_alone_then_polled_then_on_a_thread() {
    let told = |wish| OnThread(wish);
    let not_begun = |why| Over(Ending::NotBegun(why));
    let lives: &[&[(CallInput, CallState)]] = &[
        // Most calls.
        &[(Sent { alone: true }, Alone), (Host(Stage::Over), TOLD)],
        // Others are open.
        &[
            (Sent { alone: false }, Polled),
            (Host(Stage::Sent), Polled),
            (Host(Stage::Accepted), Polled),
            (Host(Stage::Over), TOLD),
        ],
        // It takes longer and longer.
        &[
            (Sent { alone: true }, Alone),
            (Host(Stage::Accepted), Polled),
            (Tired, told(None)),
            (Done, ANSWERED),
        ],
        // A prompt, or much output.
        &[(Sent { alone: true }, Alone), (Host(Stage::Unclear), told(None))],
        // Everything that is no eval.
        &[(NotSent, told(None)), (Done, ANSWERED)],
        // Nothing was begun.
        &[
            (Cancelled, not_begun(NotBegun::Cancelled)),
            (Sent { alone: true }, not_begun(NotBegun::Cancelled)),
        ],
        &[(Left, not_begun(NotBegun::Left))],
        &[(Expired, not_begun(NotBegun::Crowded))],
        // Cancelled or left in each way of waiting.
        &[(Sent { alone: false }, Polled), (Cancelled, told(Some(Wish::Cancel))), (Done, ANSWERED)],
        &[(Sent { alone: false }, Polled), (Left, told(Some(Wish::Leave))), (Done, ANSWERED)],
        &[(NotSent, told(None)), (Cancelled, told(Some(Wish::Cancel))), (Done, ANSWERED)],
        // Leaving outranks stopping, whichever comes first.
        &[
            (NotSent, told(None)),
            (Cancelled, told(Some(Wish::Cancel))),
            (Left, told(Some(Wish::Leave))),
            (Cancelled, told(Some(Wish::Leave))),
        ],
        // M-4: no call outlasts its time.
        &[
            (NotSent, told(None)),
            (Expired, told(Some(Wish::Leave))),
            (Overdue, Over(Ending::Overdue)),
        ],
    ];
    for life in lives {
        let mut state = Waiting;
        for (input, next) in *life {
            let before = state;
            state = state.step(*input);
            assert_eq!(state, *next, "{before:?} {input:?}");
        }
    }
}

const STATES: [CallState; 9] = [
    Waiting,
    Alone,
    Polled,
    OnThread(None),
    OnThread(Some(Wish::Cancel)),
    OnThread(Some(Wish::Leave)),
    TOLD,
    ANSWERED,
    Over(Ending::Overdue),
];
const INPUTS: [CallInput; 12] = [
    Sent { alone: true },
    Sent { alone: false },
    NotSent,
    Host(Stage::Sent),
    Host(Stage::Accepted),
    Host(Stage::Over),
    Host(Stage::Unclear),
    Cancelled,
    Left,
    Expired,
    Overdue,
    Done,
];

/// How far a call is on its way.
fn rank(state: CallState) -> (u8, Option<Wish>) {
    match state {
        Waiting => (0, None),
        Alone => (1, None),
        Polled => (2, None),
        OnThread(told) => (3, told),
        Over(_) => (4, None),
    }
}

#[test]
fn m5_nothing_leads_back_and_what_is_over_stays_over() {
    for state in STATES {
        for input in INPUTS {
            let next = state.step(input);
            assert!(rank(next) >= rank(state), "{state:?} {input:?} {next:?}");
            if let Over(_) = state {
                assert_eq!(next, state, "{input:?}");
            }
        }
    }
}

/// A client that cancels or leaves is heard in every state, and what it says is not forgotten.
#[test]
fn m5_a_wish_is_heard_in_every_state() {
    for state in STATES {
        for (input, least) in [(Cancelled, Wish::Cancel), (Left, Wish::Leave)] {
            match state.step(input) {
                OnThread(told) => assert!(told >= Some(least), "{state:?} {input:?}"),
                Over(_) => {}
                deaf => panic!("{state:?} {input:?} {deaf:?}"),
            }
        }
    }
}
