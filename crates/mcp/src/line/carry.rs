//! Carries out calls: the one waiting machine. `state` decides, this does.
//!
//! A call that its host was sent is first waited for by the loop alone, if nothing else is to be done, then by being
//! woken. Both take no thread. What takes longer, and whatever is no eval on a connection that is open already, goes on
//! on a thread, which may block.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stead_client::{Begun, Stage};
use stead_protocol::{ErrorCode, WireError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::closing::Closing;
use super::outbox::Unread;
use super::state::{CallInput, CallState, Ending, NotBegun};
use super::turns::{Turn, Turns};
use super::watch::{CallWatch, TellProgress, Wish, Wishes};
use crate::place::{Here, Place};
use crate::server::{LONGEST_CALL, Server};
use crate::sys::watch_begun;
use crate::told_once::ToldOnce;
use crate::{Answer, Call};

/// Calls that may be open at once; more are refused.
const MOST_CALLS: usize = 4096;
/// How long an eval is waited for without a thread.
const WITHOUT_THREAD: Duration = Duration::from_millis(250);
/// The longest time of an eval for which it was worth staying awake.
const QUICK: Duration = Duration::from_millis(1);
/// How much longer a call that does not end in time may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The client that made a call, while the call is under way.
pub(crate) trait Caller: Send {
    /// Whether nothing else is to be done for anybody, so that the loop may attend to this call alone.
    fn is_alone(&self) -> bool;

    /// Where its next words can be waited for without reading them.
    fn next_words(&self) -> Option<BorrowedFd<'_>>;

    /// Whether it wants to hear of progress.
    fn wants_progress(&self) -> bool;

    /// Returns when it has cancelled the call.
    fn cancelled(&mut self) -> impl Future<Output = ()> + Send;

    /// Tells it how far the call has come.
    fn tell(&mut self, message: String) -> impl Future<Output = ()> + Send;
}

/// What all calls of a server share.
#[derive(Debug)]
pub(crate) struct Calls {
    server: Server,
    turns: Turns,
    closing: Arc<Closing>,
    unread: Arc<Unread>,
    /// A permit for each call that may be open.
    open: Arc<Semaphore>,
    /// Whether host and interpreter have a processor while the loop uses one.
    may_stay_awake: bool,
    /// Whether the last eval that was attended to was over within the time for which it is worth staying awake.
    last_was_quick: AtomicBool,
}

impl Calls {
    /// Notes the client's name.
    pub(crate) fn meet(&self, name: &str) {
        self.server.meet(name);
    }

    /// Where the server is.
    pub(crate) fn place(&self) -> &Place {
        self.server.place()
    }

    pub(crate) fn new(server: Server, closing: Arc<Closing>, unread: Arc<Unread>) -> Self {
        let may_stay_awake =
            std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        let open = Arc::new(Semaphore::new(MOST_CALLS));
        Calls {
            server,
            turns: Turns::default(),
            closing,
            unread,
            open,
            may_stay_awake,
            last_was_quick: AtomicBool::new(true),
        }
    }

    /// Whether no call is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.available_permits() == MOST_CALLS
    }

    /// Carries out a call; fails only if this process has no means left to wait for it.
    pub(crate) async fn carry_out(
        &self,
        call: Call,
        caller: &mut impl Caller,
    ) -> Result<Answer, String> {
        let room = call.room();
        let mut here = None;
        let mut answer = self.answer(call, caller, &mut here).await?;
        // A call that switched the place has said so itself, and a call from before does not know the new one.
        let stays = here.is_some_and(|here| Arc::ptr_eq(&here, &self.place().here()));
        if let Some((news, said)) = stays.then(|| self.place().take_news()).flatten() {
            answer.text.insert_str(0, &said);
            answer.once.push(ToldOnce::Place(news));
            answer = answer.bounded(room);
        }
        Ok(answer)
    }

    /// Takes back an answer that nobody reads.
    pub(crate) fn take_back(&self, unread: Answer) {
        self.server.take_back(unread);
    }

    /// Like `carry_out`; `here` becomes the place that the call is made in.
    async fn answer(
        &self,
        call: Call,
        caller: &mut impl Caller,
        here: &mut Option<Arc<Here>>,
    ) -> Result<Answer, String> {
        let Ok(open) = self.open.clone().try_acquire_owned() else { return Ok(too_many()) };
        let expires = Instant::now() + LONGEST_CALL;
        let state = CallState::Waiting;
        let mut turn = tokio::select! {
            biased;
            turn = self.turn(&call) => turn,
            () = caller.cancelled() => return Ok(at_once(state.step(CallInput::Cancelled))),
            () = self.closing.leave() => return Ok(at_once(state.step(CallInput::Left))),
            () = sleep_until(expires) => return Ok(at_once(state.step(CallInput::Expired))),
        };
        let server = self.server.now();
        server.meet("");
        *here = Some(server.here());
        let Some(mut begun) = call.begin(&server, caller.wants_progress()) else {
            let job = Job { server, call, begun: None, turn, open };
            return self.on_thread(state.step(CallInput::NotSent), job, caller, expires).await;
        };
        let mut state = state.step(CallInput::Sent { alone: caller.is_alone() });
        if state == CallState::Alone {
            let stage = self.attend(&mut begun, caller.next_words());
            state = state.step(heard(stage, &mut turn));
        }
        if state == CallState::Polled {
            (state, begun) = self.poll(begun, &mut turn, caller).await;
        }
        if state == CallState::Over(Ending::Told) {
            return Ok(server.finish(call, begun, &mut CallWatch::no_wait()));
        }
        let job = Job { server, call, begun: Some(begun), turn, open };
        self.on_thread(state, job, caller, expires).await
    }

    /// Returns when it is this call's turn, it is known where the server is, and its client has read enough to be
    /// given another answer.
    async fn turn(&self, call: &Call) -> Turn {
        let turn = self.turns.wait(call).await;
        // The place is waited for after the turn, so that evals which wait for the place keep their order.
        self.place().settled().await;
        self.unread.has_room().await;
        turn
    }

    /// Attends to nothing but one eval and the client's next words: first awake, then asleep. This saves a task, a
    /// timer and a turn of the loop, which take longer than most evals. After an eval that took long the next one is
    /// likely to take long too, and to want the processor itself: a Jupyter kernel takes milliseconds for each.
    fn attend(&self, begun: &mut Begun, next_words: Option<BorrowedFd<'_>>) -> Stage {
        let began = Instant::now();
        let awake = self.may_stay_awake && self.last_was_quick.load(Ordering::Relaxed);
        let stage = attend_to(begun, next_words, awake);
        self.last_was_quick.store(began.elapsed() < QUICK, Ordering::Relaxed);
        stage
    }

    /// Waits for an eval that was sent to its host without a thread: the host's messages wake it.
    async fn poll(
        &self,
        begun: Begun,
        turn: &mut Turn,
        caller: &mut impl Caller,
    ) -> (CallState, Begun) {
        let mut state = CallState::Polled;
        let until = sleep_until(patience(&begun));
        tokio::pin!(until);
        let mut watched = match watch_begun(begun) {
            Ok(watched) => watched,
            Err(begun) => return (state.step(CallInput::Tired), *begun),
        };
        // The host may have spoken before the connection was watched.
        let mut input = heard(look(watched.get_mut()), turn);
        loop {
            state = state.step(input);
            if state != CallState::Polled {
                return (state, watched.into_inner());
            }
            input = tokio::select! {
                biased;
                ready = watched.readable_mut() => match ready {
                    Ok(mut ready) => {
                        let heard = heard(look(ready.get_inner_mut()), turn);
                        ready.clear_ready();
                        heard
                    }
                    Err(_) => CallInput::Tired,
                },
                () = caller.cancelled() => CallInput::Cancelled,
                () = self.closing.leave() => CallInput::Left,
                () = &mut until => CallInput::Tired,
            };
        }
    }

    /// Does the rest of a call on a thread, and stays in touch with its client meanwhile.
    async fn on_thread(
        &self,
        mut state: CallState,
        job: Job,
        caller: &mut impl Caller,
        expires: Instant,
    ) -> Result<Answer, String> {
        let wishes = Wishes::new().map_err(|error| error.to_string())?;
        let (sender, mut news) = mpsc::channel(1);
        let tell = caller
            .wants_progress()
            .then(|| -> TellProgress { Box::new(move |message| drop(sender.try_send(message))) });
        let mut thread = spawn_blocking({
            let wishes = wishes.clone();
            move || job.run(wishes, tell)
        });
        let (mut answer, mut said) = (None, None);
        while let CallState::OnThread(told) = state {
            if let Some(wish) = told.filter(|_| told > said) {
                wishes.say(wish);
                said = told;
            }
            let input = tokio::select! {
                done = &mut thread => {
                    answer = Some(done.map_err(|error| error.to_string()));
                    CallInput::Done
                }
                () = caller.cancelled(), if told.is_none() => CallInput::Cancelled,
                () = self.closing.leave(), if told < Some(Wish::Leave) => CallInput::Left,
                () = sleep_until(expires), if told < Some(Wish::Leave) => CallInput::Expired,
                () = sleep_until(expires + LAST_WORDS), if told == Some(Wish::Leave) => CallInput::Overdue,
                Some(message) = news.recv() => {
                    caller.tell(message).await;
                    continue;
                }
            };
            state = state.step(input);
        }
        answer.unwrap_or_else(|| Ok(at_once(state)))
    }
}

/// The rest of a call, for a thread.
struct Job {
    server: Server,
    call: Call,
    /// The eval that was sent to its host; `None` if the call has to be made from the beginning.
    begun: Option<Begun>,
    turn: Turn,
    open: OwnedSemaphorePermit,
}

impl Job {
    fn run(self, wishes: Wishes, tell: Option<TellProgress>) -> Answer {
        let Job { server, call, begun, turn, open } = self;
        let mut watch = CallWatch::new(wishes, tell, turn);
        let answer = match begun {
            Some(begun) => server.finish(call, begun, &mut watch),
            None => server.call(call, &mut watch),
        };
        drop((watch, open));
        answer
    }
}

/// Attends to an eval, `awake` for a moment at first, until it is over, takes long, or its client speaks.
fn attend_to(begun: &mut Begun, next_words: Option<BorrowedFd<'_>>, awake: bool) -> Stage {
    let mut stage = match awake {
        true => begun.stay_awake(),
        false => Stage::Sent,
    };
    let Some(next_words) = next_words else { return stage };
    let until = patience(begun).into_std();
    while matches!(stage, Stage::Sent | Stage::Accepted) {
        match begun.wait(next_words, until) {
            Ok([true, false]) => stage = look(begun),
            // The client has spoken, or the eval takes long: others may have to be attended to.
            Ok([true, true]) => return look(begun),
            Ok([false, _]) | Err(_) => return stage,
        }
    }
    stage
}

/// Until when an eval is waited for without a thread.
fn patience(begun: &Begun) -> Instant {
    let patience = Instant::now() + WITHOUT_THREAD;
    begun.deadline().map_or(patience, |at| patience.min(Instant::from_std(at)))
}

/// How far an eval is by now; why that cannot be seen is for a thread to find out.
fn look(begun: &mut Begun) -> Stage {
    begun.advance().unwrap_or(Stage::Unclear)
}

/// What a host's message means for the call. An eval that the host has accepted lets the next call go.
fn heard(stage: Stage, turn: &mut Turn) -> CallInput {
    if stage == Stage::Accepted {
        turn.pass_on();
    }
    CallInput::Host(stage)
}

/// The answer to a call that ends without a word from its host or its thread.
fn at_once(state: CallState) -> Answer {
    match state {
        CallState::Over(Ending::NotBegun(why)) => not_begun(why),
        CallState::Over(Ending::Told | Ending::Answered | Ending::Overdue)
        | CallState::Waiting
        | CallState::Alone
        | CallState::Polled
        | CallState::OnThread(_) => overdue(),
    }
}

fn not_begun(why: NotBegun) -> Answer {
    let why = match why {
        NotBegun::Cancelled => "the request was cancelled",
        NotBegun::Left => "the connection was closed",
        NotBegun::Crowded => "too many calls on this session wait",
    };
    let message = format!("{why}; this call did nothing");
    Answer::failure(&WireError::new(ErrorCode::SessionBusy, message))
}

fn overdue() -> Answer {
    let message = "this takes longer than a call may; it goes on";
    let error = WireError::new(ErrorCode::Timeout, message);
    Answer::failure(&error.with_hint("call sessions to see how it stands"))
}

fn too_many() -> Answer {
    let message = format!("more than {MOST_CALLS} calls are open");
    let error = WireError::new(ErrorCode::LimitExceeded, message);
    Answer::failure(&error.with_hint("wait for some of them"))
}
