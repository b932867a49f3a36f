//! The state walked as a table.

use stead_protocol::bridge::DoneStatus;
use stead_protocol::client::InterruptEffect;
use stead_protocol::{Doing, EndReason, ErrorCode, EvalSeq, Outcome, Refusal, TimeoutStep};

use crate::session::state::{
    Action, EXIT_GRACE, Eval, EvalRole, GRACE, Input, LEAVE_GRACE, LONGEST_START, Phase,
    QUEUE_LIMIT, Question, START_LIMIT, State, Ticket, TicketAnswer,
};

const HELLO: Input = Input::Hello { first: vec![] };

pub(super) fn ticket(id: u64) -> Ticket {
    Ticket { connection: 1, id }
}

pub(super) fn submit(seq: u64) -> Input {
    Input::Submit(Eval::asked(EvalSeq(seq), None))
}

pub(super) fn tick() -> Input {
    Input::Tick { attached: true }
}

pub(super) fn idle() -> State {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(HELLO, 0), []);
    state
}

pub(super) fn running(seq: u64) -> State {
    let mut state = idle();
    assert_eq!(state.step(submit(seq), 0), [Action::Run(EvalSeq(seq))]);
    state
}

pub(super) fn finish(seq: u64, outcome: Outcome) -> Action {
    killed(seq, outcome, 0)
}

fn killed(seq: u64, outcome: Outcome, killed: u64) -> Action {
    Action::Finish { eval: EvalSeq(seq), outcome, killed }
}

pub(super) fn waiting(prompt: &str) -> Input {
    Input::Waiting(Question { prompt: prompt.to_owned(), editor: None, secret: false })
}

fn timeout(step: TimeoutStep) -> Outcome {
    Outcome::Timeout { step }
}

pub(super) fn effect(id: u64, effect: InterruptEffect, eval: Option<u64>) -> Action {
    let answer = TicketAnswer::Interrupt { effect, eval: eval.map(EvalSeq), killed: None };
    Action::Answer { ticket: ticket(id), answer }
}

#[test]
fn e1_evals_run_one_at_a_time_in_the_order_they_came() {
    let mut state = running(1);
    assert_eq!(state.admit(false).unwrap(), Some(EvalSeq(1)));
    assert_eq!(state.step(submit(2), 0), []);
    assert_eq!(state.admit(false).unwrap(), Some(EvalSeq(2)));
    assert_eq!(state.admit(true).unwrap_err().code(), ErrorCode::SessionBusy);
    let actions = state.step(Input::Done(DoneStatus::Ok), 5);
    assert_eq!(actions, [finish(1, Outcome::Complete), Action::Run(EvalSeq(2))]);
}

#[test]
fn evals_that_come_before_the_hello_wait_for_it() {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(submit(1), 0), []);
    assert_eq!(state.step(HELLO, 1), [Action::Run(EvalSeq(1))]);
}

#[test]
fn the_queue_has_a_limit() {
    let mut state = running(1);
    for seq in 0..QUEUE_LIMIT as u64 {
        assert!(state.admit(false).is_ok());
        state.step(submit(2 + seq), 0);
    }
    assert_eq!(state.admit(false).unwrap_err().code(), ErrorCode::LimitExceeded);
}

fn limited() -> State {
    let mut state = idle();
    state.step(Input::Submit(Eval::asked(EvalSeq(1), Some(1000))), 0);
    assert_eq!(state.running().and_then(|run| run.limit), Some(1000));
    state
}

#[test]
fn e3_a_hard_timeout_that_had_to_kill_the_interpreter_is_the_outcome() {
    let mut state = limited();
    for step in
        [TimeoutStep::Interrupted, TimeoutStep::ChildrenKilled, TimeoutStep::InterpreterKilled]
    {
        assert_eq!(state.step(Input::Overdue(step), 1000), []);
    }
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 2000);
    assert_eq!(actions[0], finish(1, timeout(TimeoutStep::InterpreterKilled)));
    assert_eq!(actions[1], Action::End { reason: EndReason::HardTimeout, asked: false });
}

#[test]
fn e3_a_hard_timeout_also_ends_an_exit_that_is_held_up() {
    let mut state = limited();
    state.step(Input::Leaving, 10);
    assert_eq!(state.step(Input::Overdue(TimeoutStep::InterpreterKilled), 5000), []);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 6000);
    assert_eq!(actions[0], finish(1, timeout(TimeoutStep::InterpreterKilled)));
    // Somebody who asked for the end is told of that.
    let mut state = limited();
    state.step(Input::Stop(ticket(1)), 10);
    state.step(Input::Overdue(TimeoutStep::InterpreterKilled), 5000);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 6000);
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: EndReason::Stopped { by: None } }));
}

#[test]
fn e3_a_hard_timeout_that_helps_keeps_the_session() {
    let mut state = limited();
    state.step(Input::Overdue(TimeoutStep::Interrupted), 10);
    let actions = state.step(Input::Done(DoneStatus::Interrupted), 12);
    assert_eq!(actions, [finish(1, timeout(TimeoutStep::Interrupted))]);
    assert_eq!(state.phase, Phase::Idle { since: 12 });
}

#[test]
fn e3_a_hard_timeout_tells_whether_children_had_to_be_killed() {
    for (count, step) in [(0, TimeoutStep::Interrupted), (3, TimeoutStep::ChildrenKilled)] {
        let mut state = limited();
        state.step(Input::Overdue(TimeoutStep::Interrupted), 10);
        state.step(Input::ChildrenKilled(count), 20);
        state.step(Input::Overdue(TimeoutStep::ChildrenKilled), 20);
        let actions = state.step(Input::Done(DoneStatus::Interrupted), 30);
        assert_eq!(actions, [killed(1, timeout(step), count)]);
    }
}

#[test]
fn e6_a_second_interrupt_of_the_same_eval_kills_its_children() {
    let mut state = running(1);
    state.step(submit(2), 0);
    let ask = |id| Input::Interrupt { eval: None, ticket: ticket(id) };
    let told = |id, effect, killed| {
        let answer = TicketAnswer::Interrupt { effect, eval: Some(EvalSeq(1)), killed };
        Action::Answer { ticket: ticket(id), answer }
    };
    assert_eq!(state.step(ask(1), 0), [Action::Interrupt]);
    let still = told(1, InterruptEffect::StillRunning, None);
    assert_eq!(state.step(tick(), GRACE), [still]);
    for id in [2, 3] {
        assert_eq!(state.step(ask(id), GRACE), [Action::Interrupt, Action::KillChildren]);
        state.step(Input::ChildrenKilled(1), GRACE);
    }
    let actions = state.step(Input::Done(DoneStatus::Interrupted), GRACE + 1);
    let ended = |id| told(id, InterruptEffect::Interrupted, Some(2));
    let outcome = killed(1, Outcome::Interrupted, 2);
    assert_eq!(actions, [outcome, ended(2), ended(3), Action::Run(EvalSeq(2))]);
    // The next eval begins with an interrupt that is gentle again.
    assert_eq!(state.step(ask(4), GRACE + 2), [Action::Interrupt]);
}

#[test]
fn e6_an_interrupt_is_aimed_at_one_eval() {
    let mut state = running(7);
    let aim = |eval, id| Input::Interrupt { eval: Some(EvalSeq(eval)), ticket: ticket(id) };
    let missed = state.step(aim(6, 1), 0);
    assert_eq!(missed, [effect(1, InterruptEffect::NothingRunning, Some(6))]);
    assert_eq!(state.step(aim(7, 2), 0), [Action::Interrupt]);
    let actions = state.step(Input::Done(DoneStatus::Interrupted), 3);
    let answered = effect(2, InterruptEffect::Interrupted, Some(7));
    assert_eq!(actions, [finish(7, Outcome::Interrupted), answered]);
}

#[test]
fn e6_an_interrupt_that_does_not_help_says_so_after_the_grace_time() {
    let mut state = running(1);
    state.step(Input::Interrupt { eval: None, ticket: ticket(1) }, 0);
    let actions = state.step(tick(), GRACE);
    assert_eq!(actions, [effect(1, InterruptEffect::StillRunning, Some(1))]);
    assert_eq!(state.step(tick(), 10 * GRACE), []);
}

#[test]
fn e6_an_interrupt_takes_a_waiting_eval_out_of_the_queue() {
    let mut state = running(1);
    state.step(submit(2), 0);
    let actions = state.step(Input::Interrupt { eval: Some(EvalSeq(2)), ticket: ticket(1) }, 0);
    let dequeued = effect(1, InterruptEffect::Dequeued, Some(2));
    assert_eq!(actions, [finish(2, Outcome::Interrupted), dequeued]);
    assert_eq!(state.step(Input::Done(DoneStatus::Ok), 0), [finish(1, Outcome::Complete)]);
}

#[test]
fn e8_code_is_refused_while_the_foreground_waits_for_input() {
    let mut state = running(1);
    state.step(waiting("name: "), 0);
    assert_eq!(state.admit(false).unwrap_err().code(), ErrorCode::WaitingInput);
    state.step(Input::NotWaiting, 0);
    assert!(state.admit(false).is_ok());
}

#[test]
fn e8_code_is_queued_behind_an_eval_that_may_wait() {
    let mut state = running(1);
    assert_eq!(state.step(Input::MayWait { alone: false }, 0), []);
    assert_eq!(state.admit(false).unwrap(), Some(EvalSeq(1)));
    // What only input or its own time wakes is not waited for by those who want a quiet moment.
    assert_eq!(state.step(Input::Ready(ticket(1)), 0), []);
    assert_eq!(state.step(Input::MayWait { alone: true }, 0).len(), 1);
    state.step(waiting("name: "), 0);
    assert_eq!(state.admit(false).unwrap_err().code(), ErrorCode::WaitingInput);
}

#[test]
fn s6_the_eval_that_ends_the_session_says_how_and_those_behind_it_do_not_run() {
    let mut state = running(1);
    state.step(submit(2), 0);
    assert_eq!(state.step(Input::Leaving, 0), []);
    assert_eq!(state.admit(false).unwrap_err().code(), ErrorCode::SessionEnded);
    let reason = EndReason::Exit { code: 3 };
    let actions = state.step(Input::Exited(reason.clone()), 0);
    let expected = [
        finish(1, Outcome::Ended { reason: reason.clone() }),
        finish(2, Outcome::NotRun { reason: reason.clone() }),
        Action::End { reason, asked: false },
        Action::Leave,
    ];
    assert_eq!(actions, expected);
}

#[test]
fn s7_stop_lets_an_idle_interpreter_exit_and_then_kills_it() {
    let mut state = idle();
    assert_eq!(state.step(Input::Stop(ticket(1)), 0), [Action::AskExit]);
    assert_eq!(state.step(tick(), EXIT_GRACE), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 501);
    let done = Action::Answer { ticket: ticket(1), answer: TicketAnswer::Done };
    let end = Action::End { reason: EndReason::Stopped { by: None }, asked: true };
    assert_eq!(actions, [end, done, Action::Leave]);
}

#[test]
fn k4_stop_asks_a_bridge_that_leaves_what_runs_elsewhere_and_kills_it_later() {
    let mut state = running(1);
    state.leaves = true;
    assert_eq!(state.step(Input::Stop(ticket(1)), 0), [Action::AskExit]);
    assert_eq!(state.step(tick(), EXIT_GRACE), []);
    assert_eq!(state.step(tick(), LEAVE_GRACE), [Action::Kill]);
    // A second request does not wait.
    let mut state = running(1);
    state.leaves = true;
    state.step(Input::Stop(ticket(1)), 0);
    assert_eq!(state.step(Input::Kill(ticket(2)), 1), [Action::Kill]);
}

#[test]
fn s7_restart_starts_again_when_the_old_interpreter_is_gone() {
    let mut state = running(1);
    assert_eq!(state.step(Input::Restart(ticket(1)), 0), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 1);
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: EndReason::Restarted { by: None } }));
    assert!(actions.contains(&Action::Start));
    assert_eq!(state.phase, Phase::Starting { give_up_at: 1 + START_LIMIT });
}

#[test]
fn a_kill_asks_nobody_and_leaves_the_session_to_be_started_again() {
    let mut state = idle();
    assert_eq!(state.step(Input::Kill(ticket(1)), 0), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 1);
    let done = Action::Answer { ticket: ticket(1), answer: TicketAnswer::Done };
    let end = Action::End { reason: EndReason::Killed { by: None }, asked: true };
    assert_eq!(actions, [end, done, Action::Leave]);
}

#[test]
fn a_stop_wins_over_a_restart_and_both_over_a_kill() {
    let mut state = running(1);
    state.step(Input::Kill(ticket(1)), 0);
    state.step(Input::Restart(ticket(2)), 0);
    state.step(Input::Kill(ticket(3)), 0);
    state.step(Input::Stop(ticket(4)), 0);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 1);
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: EndReason::Stopped { by: None } }));
    let answered = actions.iter().filter(|action| matches!(action, Action::Answer { .. }));
    assert_eq!(answered.count(), 4);
}

#[test]
fn j2_a_session_for_one_eval_ends_with_it() {
    let mut state = State::new(0, 0, true);
    state.step(HELLO, 0);
    state.step(Input::Submit(Eval::asked(EvalSeq(1), None)), 0);
    let actions = state.step(Input::Done(DoneStatus::Error), 5);
    assert_eq!(actions, [finish(1, Outcome::Error), Action::AskExit]);
    assert_eq!(state.step(tick(), 5 + EXIT_GRACE), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Exit { code: 0 }), 600);
    let end = Action::End { reason: EndReason::Stopped { by: None }, asked: true };
    assert_eq!(actions, [end, Action::Leave]);
}

#[test]
fn e6_an_interrupt_while_the_interpreter_starts_takes_out_what_would_run_first() {
    let mut state = State::new(0, 0, false);
    state.step(Input::Submit(Eval::asked(EvalSeq(1), None)), 0);
    state.step(Input::Submit(Eval::asked(EvalSeq(2), None)), 0);
    let actions = state.step(Input::Interrupt { eval: None, ticket: ticket(1) }, 0);
    let effect = InterruptEffect::Dequeued;
    let answer = TicketAnswer::Interrupt { effect, eval: Some(EvalSeq(1)), killed: None };
    assert_eq!(
        actions,
        [finish(1, Outcome::Interrupted), Action::Answer { ticket: ticket(1), answer }]
    );
}

#[test]
fn init_code_that_waits_for_input_keeps_nobody_waiting() {
    let mut state = State::new(0, 0, false);
    state.step(Input::Ready(ticket(1)), 0);
    let init = Eval { role: EvalRole::Init, ..Eval::asked(EvalSeq(1), None) };
    state.step(Input::Hello { first: vec![init] }, 0);
    let actions = state.step(waiting("name? "), 1);
    assert_eq!(actions, [Action::Answer { ticket: ticket(1), answer: TicketAnswer::Done }]);
}

#[test]
fn s8_an_idle_session_ends_unless_a_client_is_attached() {
    let mut state = State::new(0, 100, false);
    state.step(HELLO, 0);
    assert_eq!(state.step(Input::Tick { attached: true }, 500), []);
    // It was in use until then.
    assert_eq!(state.step(Input::Tick { attached: false }, 599), []);
    assert_eq!(state.next_deadline(false), Some(600));
    assert_eq!(state.step(Input::Tick { attached: false }, 600), [Action::AskExit]);
    let actions = state.step(Input::Exited(EndReason::Exit { code: 0 }), 601);
    assert_eq!(actions[0], Action::End { reason: EndReason::Idle { after_ms: 100 }, asked: false });
}

#[test]
fn s8_an_idle_timeout_may_be_longer_than_the_clock_counts() {
    let mut state = State::new(0, u64::MAX, false);
    state.step(HELLO, 5);
    assert_eq!(state.next_deadline(false), Some(u64::MAX));
    assert_eq!(state.step(Input::Tick { attached: false }, 600), []);
}

#[test]
fn code_for_an_interpreter_that_dies_at_its_start_is_told_why() {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(Input::Leaving, 0), []);
    assert_eq!(state.admit(false), Ok(None));
    state.step(submit(1), 0);
    let actions = state.step(Input::Exited(EndReason::Exit { code: 7 }), 1);
    assert!(matches!(
        &actions[0],
        Action::Finish { outcome: Outcome::NotRun { reason: EndReason::LaunchFailed { .. } }, .. }
    ));
}

#[test]
fn an_interpreter_that_never_says_hello_is_given_up() {
    let mut state = State::new(0, 0, false);
    state.step(submit(1), 0);
    assert_eq!(state.step(tick(), START_LIMIT), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), START_LIMIT + 1);
    assert!(matches!(
        &actions[0],
        Action::Finish { outcome: Outcome::NotRun { reason: EndReason::LaunchFailed { .. } }, .. }
    ));
}

#[test]
fn k3_a_bridge_that_says_so_may_take_longer_to_start_but_not_for_ever() {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(Input::Starting { within: 180_000 }, 5), []);
    assert_eq!(state.step(tick(), START_LIMIT), []);
    assert_eq!(state.next_deadline(true), Some(180_005));
    state.step(Input::Starting { within: u64::MAX }, 5);
    assert_eq!(state.step(tick(), 5 + LONGEST_START), [Action::Kill]);
    // Once it is ready, the word means nothing.
    let mut state = running(1);
    assert_eq!(state.step(Input::Starting { within: 1 }, 0), []);
    assert_eq!(state.step(tick(), 1_000_000), []);
}

#[test]
fn k3_what_is_gone_elsewhere_is_the_reason_of_the_end() {
    let mut state = running(1);
    state.step(submit(2), 0);
    assert_eq!(state.step(Input::Gone("the cable".to_owned()), 0), []);
    // A bridge that cannot end itself is killed.
    assert_eq!(state.step(tick(), LEAVE_GRACE - 1), []);
    assert_eq!(state.step(tick(), LEAVE_GRACE), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Exit { code: 1 }), 0);
    let reason = EndReason::Gone { reason: "the cable".to_owned() };
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: reason.clone() }));
    assert_eq!(actions[1], finish(2, Outcome::NotRun { reason: reason.clone() }));
    assert_eq!(actions[2], Action::End { reason, asked: false });
}

#[test]
fn a_broken_bridge_is_killed_and_named() {
    let mut state = running(1);
    assert_eq!(state.step(Input::Broken("garbage".to_owned()), 0), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 0);
    let reason = EndReason::Protocol { message: "garbage".to_owned() };
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason }));
    // One that was never ready could not be started.
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(Input::Broken("garbage".to_owned()), 0), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 0);
    let is_failed_launch = |action: &Action| {
        matches!(action, Action::End { reason: EndReason::LaunchFailed { .. }, asked: false })
    };
    assert!(is_failed_launch(&actions[0]), "{actions:?}");
}

#[test]
fn a_bridge_that_closes_its_channel_and_lives_on_is_ended() {
    let mut state = State::new(0, 0, false);
    state.step(Input::Hello { first: vec![] }, 0);
    state.step(submit(1), 0);
    assert_eq!(state.step(Input::Closed, 10), []);
    assert_eq!(state.next_deadline(true), Some(10 + GRACE));
    assert_eq!(state.step(tick(), 10 + GRACE), [Action::Kill]);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 5000);
    let message = "it closed its control channel and lived on".to_owned();
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason: EndReason::Protocol { message } }));
}

#[test]
fn an_interpreter_that_has_ended_is_not_killed_while_what_it_started_is_swept() {
    let mut state = running(1);
    assert_eq!(state.step(Input::Closed, 10), []);
    assert_eq!(state.step(Input::Leaving, 11), []);
    assert_eq!(state.next_deadline(true), None);
    assert_eq!(state.step(tick(), 11 + 2 * GRACE), []);
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 11 }), 5000);
    let reason = EndReason::Signal { signal: 11 };
    assert_eq!(actions[0], finish(1, Outcome::Ended { reason }));
}

#[test]
fn s7_who_waits_for_a_start_waits_on_when_another_client_restarts() {
    let mut state = State::new(0, 0, false);
    assert_eq!(state.step(Input::Ready(ticket(1)), 0), []);
    assert_eq!(state.step(Input::Restart(ticket(2)), 0), [Action::Kill]);
    let reason = EndReason::Restarted { by: None };
    let answer = |number| Action::Answer { ticket: ticket(number), answer: TicketAnswer::Done };
    let actions = state.step(Input::Exited(EndReason::Signal { signal: 9 }), 0);
    assert_eq!(actions, [Action::End { reason, asked: true }, Action::Start, answer(2)]);
    assert_eq!(state.step(Input::Ready(ticket(3)), 0), []);
    assert_eq!(state.step(Input::Hello { first: vec![] }, 0), [answer(1), answer(3)]);
}

#[test]
fn s7_who_waits_for_a_start_is_told_if_the_restart_fails() {
    let mut state = State::new(0, 0, false);
    state.step(Input::Ready(ticket(1)), 0);
    state.step(Input::Restart(ticket(2)), 0);
    state.step(Input::Exited(EndReason::Signal { signal: 9 }), 0);
    let reason = EndReason::launch_failed("not there".to_owned(), None);
    let actions = state.step(Input::Exited(reason.clone()), 0);
    let answer = TicketAnswer::Refused(reason.into());
    assert!(actions.contains(&Action::Answer { ticket: ticket(1), answer }), "{actions:?}");
}

/// No time passes while a session is paused, so whoever would be answered after some time is answered before.
#[test]
fn e10_a_pause_answers_those_who_wait_for_time_to_pass() {
    let mut state = running(1);
    assert_eq!(
        state.step(Input::Interrupt { eval: None, ticket: ticket(7) }, 0),
        [Action::Interrupt]
    );
    let still = effect(7, InterruptEffect::StillRunning, Some(1));
    assert_eq!(state.step(Input::Paused, 1), [still]);
    assert_eq!(state.step(tick(), GRACE), [], "it is answered once");

    let mut state = idle();
    assert_eq!(state.step(Input::Query(ticket(8)), 0), []);
    let actions = state.step(Input::Paused, 1);
    let paused = Refusal::NamesBusy { doing: Doing::Paused };
    assert_eq!(
        actions,
        [Action::Answer { ticket: ticket(8), answer: TicketAnswer::Refused(paused) }]
    );
    assert_eq!(state.step(Input::QueryAnswered, 2), []);
    assert!(state.is_free());
}

#[test]
fn e10_an_interpreter_that_has_some_time_to_exit_is_not_left_paused() {
    let mut state = idle();
    assert!(!state.ends_in_time());
    assert_eq!(state.step(Input::Stop(ticket(1)), 0), [Action::AskExit]);
    assert!(state.ends_in_time());
    assert_eq!(state.step(Input::Paused, 1), [Action::Resume]);
    // Code that ends its session may be paused while its exit handlers run.
    let mut state = running(1);
    assert_eq!(state.step(Input::Leaving, 0), []);
    assert!(!state.ends_in_time());
    assert_eq!(state.step(Input::Paused, 1), []);
}

#[test]
fn st5_a_state_that_is_loaded_after_a_hard_timeout_has_some_time_for_that() {
    let mut state = running(1);
    assert_eq!(state.step(Input::Overdue(TimeoutStep::InterpreterKilled), 0), []);
    assert_eq!(state.step(Input::FallsBack, 1), []);
    assert_eq!(state.next_deadline(false), Some(1 + START_LIMIT));
    assert_eq!(state.step(tick(), 1 + START_LIMIT), [Action::Kill]);
}
