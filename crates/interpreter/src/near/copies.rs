//! Copies of the interpreter that its bridge has made by fork. Each stands still, blocked on a socket of its own whose
//! other end is here: a packet wakes it, and the end of the socket ends it.
//!
//! Copies are processes of the session, but of no eval: interrupts, pauses, looks at who reads, and figures spare
//! them. Only the sweep of an end, and the guard's, do not.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use serde::Deserialize;
use serde_json::Value;
use stead_launch::packets::{self, Packet};
use stead_launch::tree;
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, DoneStatus};

use super::Tell;
use super::elders::ticks_since_boot;
use super::interpreter::Interpreter;
use super::limit::HardLimit;
use super::waking::Succession;
use crate::clock::Millis;
use crate::order::SavedCopy;
use crate::told::{Copied, Told};

/// Stands for the channel on which copies are told, where a number stands for a copy.
const NEST: u64 = u64::MAX;
/// A shell writes about a megabyte of its state in a second, and evals wait meanwhile: a shell that has grown
/// by more than this gets no automatic copy.
const MOST_TEXT: u64 = 1 << 20;
/// How long a copy may hold up the hard timeout of an eval behind it.
const COPY_PATIENCE: Millis = 5_000;
/// How many copies that ended at the same time are noticed in one turn.
const MOST_EVENTS: usize = 16;

/// All copies of one interpreter and of those whose place it took.
#[derive(Debug, Default)]
pub(super) struct FrozenCopies {
    /// Readable when a copy was made or has ended; none until there is a channel for it.
    ready: Option<OwnedFd>,
    kept: BTreeMap<u32, Frozen>,
    /// Processes of copies that were dropped or have ended, until they are gone.
    leaving: Vec<CopyProcess>,
    /// No copy has had this number or a higher one.
    next: u32,
    /// The copy that takes the place of an interpreter which a signal ends.
    pub(super) fallback: Option<u32>,
    /// A copy may have been made by the time that the running request is answered.
    pub(super) expected: bool,
    /// A copy that is a file, while the bridge saves it.
    saving: Option<SavingCopy>,
    /// Memory of the interpreter when it was ready, where copies are files.
    began_with: u64,
    /// The request for a copy that the bridge has not answered.
    asked: Option<AskedCopy>,
    /// The hard timeout of an eval that was sent behind the copy; its time begins when the eval can begin.
    limit_behind: Option<Millis>,
}

/// A request for an automatic copy, which no user has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AskedCopy {
    seq: u64,
    /// When an eval behind the copy counts as running, even if the bridge has not answered.
    at_last: Millis,
    /// When it was sent, in clock ticks since boot.
    sent: u64,
}

/// A copy that is a file and is still being written. Until the bridge says that this work is done, its
/// reports and errors are about the copy.
#[derive(Debug)]
struct SavingCopy {
    seq: u64,
    eval: EvalId,
    report: Option<Value>,
    error: Option<String>,
    /// Commands that have come meanwhile: a bridge takes the next one when its work is done.
    held: Vec<u8>,
    /// The eval behind the copy is to be interrupted as soon as it can be.
    interrupted: bool,
}

/// A copy.
#[derive(Debug)]
pub(super) struct Frozen {
    process: CopyProcess,
    /// Wakes it, or ends it by being closed.
    pub(super) wake: OwnedFd,
}

/// A process that cannot be taken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CopyProcess {
    pid: u32,
    /// When it began, in clock ticks since boot.
    began: u64,
}

/// What the bridge says with the socket of a copy.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NestPacket {
    copy: u32,
    pid: u32,
    ms: f64,
    threads: u64,
    lost: Vec<String>,
}

impl CopyProcess {
    fn of(pid: u32) -> Option<CopyProcess> {
        tree::look(pid).map(|found| CopyProcess { pid, began: found.start_ticks })
    }

    fn is_there(self) -> bool {
        CopyProcess::of(self.pid) == Some(self)
    }
}

impl FrozenCopies {
    /// Readable when a copy was made or has ended.
    pub(super) fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.ready.as_ref().map(AsFd::as_fd)
    }

    /// Watches the channel on which the interpreter's bridge tells of copies.
    pub(super) fn watch(&mut self, nest: Option<&OwnedFd>) {
        let Some(nest) = nest else { return };
        if self.ready.is_none() {
            self.ready = epoll::create(CreateFlags::CLOEXEC).ok();
        }
        if let Some(ready) = &self.ready {
            let _ = epoll::add(ready, nest, EventData::new_u64(NEST), EventFlags::IN);
        }
    }

    /// Whether there is such a copy.
    pub(super) fn has(&self, copy: u32) -> bool {
        self.kept.contains_key(&copy)
    }

    /// The number of the next copy.
    pub(super) fn next(&self) -> u32 {
        self.next.max(1)
    }

    /// The processes of copies that are kept.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.kept.values().map(|frozen| frozen.process.pid).collect()
    }

    fn keep(&mut self, copy: u32, frozen: Frozen) {
        if let Some(ready) = &self.ready {
            // Nothing is read from a copy's socket: it is watched only to notice that the copy has ended.
            let data = EventData::new_u64(copy.into());
            let _ = epoll::add(ready, &frozen.wake, data, EventFlags::RDHUP);
        }
        self.next = self.next.max(copy.saturating_add(1));
        self.kept.insert(copy, frozen);
    }

    /// Ends a copy by closing its socket; says whether there was one.
    fn release(&mut self, copy: u32) -> bool {
        let frozen = self.kept.remove(&copy);
        self.leaving.extend(frozen.as_ref().map(|frozen| frozen.process));
        frozen.is_some()
    }

    /// Ends all.
    pub(super) fn release_all(&mut self) {
        self.leaving.extend(self.kept.values().map(|frozen| frozen.process));
        self.kept.clear();
    }

    /// Forgets the copy that was asked for, because the interpreter has ended and will not answer.
    pub(super) fn forget_asked(&mut self) {
        self.asked = None;
        self.limit_behind = None;
        self.saving = None;
    }

    /// Takes a copy out, to be woken. `None` if the copy has ended, or is not a child of this process: only a
    /// child can be waited for as an interpreter.
    pub(super) fn take(&mut self, copy: u32) -> Option<(u32, Frozen)> {
        let frozen = self.kept.remove(&copy)?;
        if let Some(ready) = &self.ready {
            // A copy closes its end of the socket when it wakes, and that must not count as its end.
            let _ = epoll::delete(ready, &frozen.wake);
        }
        let found = tree::look(frozen.process.pid)?;
        let is_ours = found.start_ticks == frozen.process.began
            && found.parent == std::process::id()
            && !matches!(found.state, b'Z' | b'X');
        is_ours.then_some((frozen.process.pid, frozen))
    }

    /// What has happened since the last time: the channel is gone, or copies have ended.
    fn ended(&self) -> Vec<u64> {
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [none; MOST_EVENTS];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Some(ready) = &self.ready else { return Vec::new() };
        let told = epoll::wait(ready, &mut events, Some(&at_once)).unwrap_or(0);
        let is_over = |event: &&Event| {
            let flags = event.flags;
            flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP)
        };
        events[..told].iter().filter(is_over).map(|event| event.data.u64()).collect()
    }
}

impl Interpreter {
    /// Has the bridge copy its interpreter, behind whatever it does now.
    pub(super) fn copy(&mut self, seq: u64, save: Option<SavedCopy>, now: Millis, tell: Tell<'_>) {
        let asked = AskedCopy { seq, at_last: now + COPY_PATIENCE, sent: ticks_since_boot() };
        let Some(SavedCopy { eval, path }) = save else {
            self.copies.expected = true;
            self.copies.asked = Some(asked);
            return self.send(&Command::Copy { seq }.encode());
        };
        let grown = self.resident().saturating_sub(self.copies.began_with);
        if grown > MOST_TEXT {
            let megabytes = grown as f64 / 1e6;
            let error = format!(
                "the shell has grown by {megabytes:.1} MB, and its state may take long to write"
            );
            return tell(Told::Answer { seq, data: None, error: Some(error) });
        }
        let argument = format!("{path}\ncheckpoint");
        self.send(&Command::Work { id: &eval, what: "save", argument: &argument }.encode());
        self.copies.asked = Some(asked);
        let held = Vec::new();
        self.copies.saving =
            Some(SavingCopy { seq, eval, report: None, error: None, held, interrupted: false });
    }

    /// The hard timeout of an eval that is sent now. If the eval waits for a copy first, its time begins later.
    pub(super) fn limit_of_next(&mut self, limit: Option<Millis>, now: Millis) -> HardLimit {
        self.copies.limit_behind = limit.filter(|_| self.copies.asked.is_some());
        match self.copies.limit_behind {
            Some(_) => HardLimit::Off,
            None => HardLimit::after(limit, now),
        }
    }

    /// When the time of an eval behind a copy begins at the latest.
    pub(super) fn limit_begins(&self) -> Option<Millis> {
        let waits = self.copies.limit_behind.and(self.copies.asked);
        waits.map(|asked| asked.at_last)
    }

    /// Lets the hard timeout of the eval behind a copy begin, if the copy is there or takes too long.
    pub(super) fn begin_limit(&mut self, now: Millis) {
        if self.limit_begins().is_none_or(|at_last| at_last <= now)
            && let Some(limit) = self.copies.limit_behind.take()
        {
            self.limit = HardLimit::after(Some(limit), now);
        }
    }

    /// Switches the hard timeout off, because the eval or the clearing that it was for has ended.
    pub(super) fn forget_limit(&mut self) {
        self.copies.limit_behind = None;
        self.limit = HardLimit::Off;
    }

    /// The bridge has answered a request, which may have been for a copy.
    pub(super) fn answered(&mut self, seq: u64) {
        self.copies.asked.take_if(|asked| asked.seq == seq);
    }

    /// Takes note of the interpreter's memory before it has run anything.
    pub(super) fn note_memory(&mut self) {
        self.copies.began_with = self.resident();
    }

    fn resident(&self) -> u64 {
        let pages = tree::look(self.core()).map_or(0, |process| process.resident_pages);
        pages * rustix::param::page_size() as u64
    }

    /// Whether a process is a copy that is being made and is not told yet, or helps to make one: the interpreter's
    /// child from which it descends was born since the copy was asked for, while no code runs that could have
    /// started it. A shell writes its state by subshells of subshells.
    pub(super) fn is_becoming_copy(&self, pid: u32) -> bool {
        let Some(asked) = self.copies.asked.filter(|_| self.run.is_none()) else { return false };
        let line = std::iter::once(pid).chain(tree::ancestors(pid));
        let mut line = line.map_while(tree::look);
        let child = line.find(|process| process.parent == self.core());
        child.is_some_and(|child| child.start_ticks >= asked.sent)
    }

    /// Notes that the eval behind a copy which is being saved is to be interrupted.
    pub(super) fn interrupt_behind_copy(&mut self) {
        if let Some(saving) = &mut self.copies.saving {
            saving.interrupted = true;
        }
    }

    /// Keeps a command back while a copy is being saved; whether it does.
    pub(super) fn holds_back(&mut self, command: &[u8]) -> bool {
        let held = self.copies.saving.as_mut().map(|saving| saving.held.extend_from_slice(command));
        held.is_some()
    }

    /// Takes an event that is about a copy which is being saved; gives back any other.
    pub(super) fn hear_of_saving(
        &mut self,
        event: BridgeEvent,
        tell: Tell<'_>,
    ) -> Option<BridgeEvent> {
        let Some(saving) = &mut self.copies.saving else { return Some(event) };
        match event {
            BridgeEvent::Report { data } => saving.report = Some(data),
            BridgeEvent::Error { message, .. } => saving.error = Some(message),
            BridgeEvent::Done(done) if done.eval == saving.eval.to_string() => {
                let failed =
                    (done.status != DoneStatus::Ok).then(|| "it was interrupted".to_owned());
                let SavingCopy { seq, report, error, held, interrupted, .. } =
                    self.copies.saving.take()?;
                if !held.is_empty() {
                    self.send(&held);
                }
                // The first signal has only ended the save of the copy, so the eval behind it is interrupted now.
                if interrupted && self.run.is_some() {
                    self.interrupt();
                }
                self.answered(seq);
                tell(Told::Answer { seq, data: report, error: error.or(failed) });
            }
            other => return Some(other),
        }
        None
    }

    /// Takes note of copies that were made and of those that have ended.
    pub(super) fn hear_of_copies(&mut self, tell: Tell<'_>) {
        while let Some(packet) = self.child.ends.nest.as_ref().and_then(packets::receive) {
            match self.copied(packet) {
                Ok(copied) => tell(Told::Copied(copied)),
                Err(problem) => {
                    crate::log_warn!("a copy of the interpreter is not taken: {problem}")
                }
            }
        }
        for over in self.copies.ended() {
            match u32::try_from(over) {
                Ok(copy) if self.copies.release(copy) => {
                    // If the interpreter was killed for a copy that cannot be woken, the interpreter's end tells that.
                    if self.succession != Succession::Wake(copy) {
                        tell(Told::CopyLost { copy });
                    }
                }
                Ok(_) => {}
                // The bridge has closed the channel on which it tells of copies.
                Err(_) => self.child.ends.nest = None,
            }
        }
        self.spare_copies();
    }

    fn copied(&mut self, packet: Packet) -> Result<Copied, String> {
        let said: NestPacket =
            serde_json::from_slice(&packet.bytes).map_err(|error| error.to_string())?;
        let NestPacket { copy, pid, ms, threads, lost } = said;
        let [wake] = <[OwnedFd; 1]>::try_from(packet.descriptors)
            .map_err(|got| format!("{} descriptors came with it", got.len()))?;
        let parent = tree::look(pid).map(|process| process.parent);
        let process = CopyProcess::of(pid).filter(|_| parent == Some(self.core()));
        let process = process.ok_or_else(|| format!("{pid} is no child of the interpreter"))?;
        if copy == 0 || copy == u32::MAX {
            return Err(format!("{copy} is no number of a copy"));
        }
        self.copies.release(copy);
        self.copies.keep(copy, Frozen { process, wake });
        Ok(Copied { copy, pid, ms, threads, lost })
    }

    /// Ends these copies.
    pub(super) fn drop_copies(&mut self, copies: &[u32]) {
        for copy in copies {
            // The copy that is about to be woken is still needed.
            if self.succession != Succession::Wake(*copy) {
                self.copies.release(*copy);
            }
        }
        self.spare_copies();
    }

    /// Makes everything that walks the family leave out the copies, also those that are about to be gone: a
    /// copy that was dropped may stay for a while as an ended child of the interpreter.
    pub(super) fn spare_copies(&mut self) {
        self.copies.leaving.retain(|process| process.is_there());
        let FrozenCopies { kept, leaving, .. } = &self.copies;
        let kept = kept.values().map(|frozen| frozen.process.pid);
        self.family.spare(kept.chain(leaving.iter().map(|process| process.pid)));
    }

    /// Looks whether copies that were dropped are gone by now, so that no later process with the same number is
    /// spared.
    pub(super) fn forget_gone_copies(&mut self) {
        if !self.copies.leaving.is_empty() {
            self.spare_copies();
        }
    }
}
