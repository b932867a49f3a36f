//! The state of a session that begins with the user's standard library (SPEC ST-4).

use stead_protocol::bridge::DoneStatus;
use stead_protocol::{EndReason, EvalSeq, Outcome, TimeoutStep};

use crate::session::state::{
    Action, Eval, EvalRole, Input, Phase, Question, State, Ticket, TicketAnswer,
};

fn eval(seq: u64, role: EvalRole) -> Eval {
    Eval { role, ..Eval::asked(EvalSeq(seq), None) }
}

/// A session whose library, eval 2, runs, before init code, eval 3, and what a client sent, eval 1.
fn loading() -> State {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(Input::Submit(eval(1, EvalRole::Asked)), 0), []);
    state.step(Input::Ready(READY), 0);
    let first = vec![eval(2, EvalRole::Stdlib), eval(3, EvalRole::Init)];
    assert_eq!(state.step(Input::Hello { first }, 0), [Action::Run(EvalSeq(2))]);
    state
}

const READY: Ticket = Ticket { connection: 1, id: 1 };

fn finish(seq: u64, outcome: Outcome) -> Action {
    Action::Finish { eval: EvalSeq(seq), outcome, killed: 0 }
}

fn ready() -> Action {
    Action::Answer { ticket: READY, answer: TicketAnswer::Done }
}

#[test]
fn st4_the_library_comes_first_then_the_init_code_and_then_the_session_is_ready() {
    let mut state = loading();
    let actions = state.step(Input::Done(DoneStatus::Error), 1);
    assert_eq!(actions, [finish(2, Outcome::Error), Action::Run(EvalSeq(3))]);
    let actions = state.step(Input::Done(DoneStatus::Ok), 2);
    assert_eq!(actions, [finish(3, Outcome::Complete), ready(), Action::Run(EvalSeq(1))]);
}

#[test]
fn st4_a_session_with_two_libraries_is_ready_after_both() {
    let mut state = State::new(0, 0, false);
    state.step(Input::Ready(READY), 0);
    let first = vec![eval(1, EvalRole::Stdlib), eval(2, EvalRole::Stdlib)];
    assert_eq!(state.step(Input::Hello { first }, 0), [Action::Run(EvalSeq(1))]);
    let actions = state.step(Input::Done(DoneStatus::Error), 1);
    assert_eq!(actions, [finish(1, Outcome::Error), Action::Run(EvalSeq(2))]);
    let actions = state.step(Input::Done(DoneStatus::Ok), 2);
    assert_eq!(actions, [finish(2, Outcome::Complete), ready()]);
}

#[test]
fn st4_a_library_that_asks_for_input_is_interrupted() {
    let question = || Question { prompt: "who?".to_owned(), editor: None, secret: false };
    for input in [Input::Waiting(question()), Input::MayWait { alone: true }] {
        let mut state = loading();
        assert_eq!(
            state.step(input, 1),
            [Action::Interrupt],
            "and nobody is told that it is ready"
        );
        let again = state.step(Input::Waiting(question()), 2);
        assert_eq!(again, [Action::Interrupt, Action::KillChildren]);
        let actions = state.step(Input::Done(DoneStatus::Interrupted), 3);
        assert_eq!(actions, [finish(2, Outcome::Interrupted), Action::Run(EvalSeq(3))]);
    }
    // One that only listens, and has other things to do, goes on.
    assert_eq!(loading().step(Input::MayWait { alone: false }, 1), []);
}

#[test]
fn st4_an_interpreter_that_ends_with_the_library_is_started_again_and_loses_nothing() {
    let exit = || EndReason::Exit { code: 3 };
    let inputs: [(Vec<Input>, Outcome); 3] = [
        (vec![], Outcome::Ended { reason: exit() }),
        (vec![Input::Leaving], Outcome::Ended { reason: exit() }),
        (
            vec![Input::Overdue(TimeoutStep::InterpreterKilled)],
            Outcome::Timeout { step: TimeoutStep::InterpreterKilled },
        ),
    ];
    for (before, outcome) in inputs {
        let mut state = loading();
        for input in before {
            state.step(input, 1);
            assert!(state.admit(false).is_ok(), "code that comes now waits");
        }
        let actions = state.step(Input::Exited(exit()), 2);
        let ended = &actions[..2];
        assert_eq!(ended[0], finish(2, outcome));
        assert!(matches!(
            &ended[1],
            Action::Finish { eval: EvalSeq(3), outcome: Outcome::NotRun { .. }, .. }
        ));
        assert!(matches!(actions[2..], [Action::End { .. }, Action::Start]), "{actions:?}");
        assert!(matches!(state.phase, Phase::Starting { .. }));
        // The next interpreter begins without the library; its init code is another eval.
        let actions = state.step(Input::Hello { first: vec![eval(4, EvalRole::Init)] }, 3);
        assert_eq!(actions, [Action::Run(EvalSeq(4))]);
        let actions = state.step(Input::Done(DoneStatus::Ok), 4);
        assert_eq!(actions, [finish(4, Outcome::Complete), ready(), Action::Run(EvalSeq(1))]);
    }
}

#[test]
fn st4_a_stop_meanwhile_is_a_stop() {
    let mut state = loading();
    let stop = Ticket { connection: 2, id: 5 };
    assert_eq!(state.step(Input::Stop(stop), 1), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 2);
    assert!(actions.contains(&Action::Leave) && !actions.contains(&Action::Start), "{actions:?}");
}
