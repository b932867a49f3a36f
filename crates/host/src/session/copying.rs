//! Checkpoints and rollbacks: what the state asks for about copies is ordered, and what came of it is recorded.

use std::path::PathBuf;

use serde_json::{Value, json};
use stead_interpreter::{Copied, Order, Restored};
use stead_protocol::{
    Capability, ChunkKind, DEFAULT_LABEL, EndReason, EvalSeq, Refusal, ReportInfo, Work, WorkKind,
};
use stead_spool::SessionDir;

use crate::host::{Host, Launch};
use crate::life::wall_clock::wall_ms;
use crate::record::ledger::{Beginning, EvalClosing};
use crate::session::copies::{Effects, KeptCopy, MOST_CHECKPOINTS, MadeCopy, changes_state};
use crate::session::copy_phase::{Copying, GoingBack, RollbackTarget};
use crate::session::from_text::{TextStage, unsaved};
use crate::session::state::{Action, Eval, Input, Phase, RollingBack};
use crate::with_causes;

/// How many evals that were undone are named.
const UNDONE_NAMED: usize = 50;
/// How much the texts of all checkpoints may take on the disk.
const MOST_TEXT: u64 = 1 << 30;
const TOO_MUCH_TEXT: &str = "the texts of this session's checkpoints would take more than 1 GiB: \
    drop some that are not needed any more";

impl Host {
    /// Why this work about copies cannot be done now, if that is known.
    pub(crate) fn cannot_copy(&self, work: &Work) -> Option<Refusal> {
        match work {
            Work::Checkpoint { label } => {
                let label = label.as_deref().unwrap_or(DEFAULT_LABEL);
                let full = self.copies.is_full_for(label);
                full.then_some(Refusal::TooManyCheckpoints { most: MOST_CHECKPOINTS })
            }
            Work::Rollback { label } => match self.copies.find(label.as_deref()) {
                Some(_) => None,
                None => Some(self.no_checkpoint(label.clone())),
            },
            Work::Undo { eval } => self.undo_target(*eval).err(),
            _ => None,
        }
    }

    /// Whether no copies can be made of this interpreter, by fork or as a text.
    pub(crate) fn cannot_copy_at_all(&self) -> bool {
        self.cannot_do(&Capability::Checkpoint) && self.cannot_do(&Capability::SavesAll)
    }

    pub(crate) fn no_checkpoint(&self, label: Option<String>) -> Refusal {
        Refusal::NoCheckpoint { label, labels: self.copies.labels() }
    }

    /// Whether this work does not wait for its turn, but ends the running eval (SPEC ST-5).
    pub(crate) fn cuts_short(&self, work: &Work) -> bool {
        let Phase::Running(run) = &self.state.phase else { return false };
        let running = self.pending.get(&run.eval).map(|pending| pending.kind).unwrap_or_default();
        matches!(work.kind(), WorkKind::Rollback | WorkKind::Undo)
            && !matches!(running, WorkKind::Checkpoint | WorkKind::Rollback | WorkKind::Undo)
    }

    /// A checkpoint is about to be made; returns what is asked of the bridge for it. Where the state is text, that
    /// is saved.
    pub(crate) fn begin_checkpoint(
        &mut self,
        eval: EvalSeq,
        label: Option<&str>,
    ) -> (WorkKind, String) {
        let label = label.unwrap_or(DEFAULT_LABEL).to_owned();
        let text = match self.facts.can.has(&Capability::Checkpoint) {
            true => None,
            false => Some(self.checkpoints_dir().join(format!("{}.stead", eval.0))),
        };
        let made = text.clone().map(|text| MadeCopy { number: eval.0 as u32, text: Some(text) });
        self.copying = Copying::Checkpoint { label: label.clone(), made };
        match text {
            None => (WorkKind::Checkpoint, label),
            Some(path) => (WorkKind::Save, format!("{}\ncheckpoint", path.display())),
        }
    }

    pub(crate) fn checkpoints_dir(&self) -> PathBuf {
        SessionDir::new(&self.spec.dir).checkpoints()
    }

    /// Copies of an interpreter are gone with it, and with them whatever was being done about one.
    pub(crate) fn forget_copies(&mut self) {
        self.copies.begin_anew();
        self.copying = Copying::default();
        self.state.falls_back = false;
        let _ = std::fs::remove_dir_all(self.checkpoints_dir());
    }

    /// The turn of a rollback, or of an undo, has come.
    pub(crate) fn begin_going_back(&mut self, seq: EvalSeq, work: &Work) -> Result<(), Refusal> {
        let copy = self.aim(seq, work)?;
        self.step(Input::RollBack { copy });
        Ok(())
    }

    /// A rollback, or an undo, ends the running eval.
    pub(crate) fn cut_short(&mut self, eval: Eval) {
        let work = self.pending.get(&eval.seq).and_then(|pending| pending.work.clone());
        match self.aim(eval.seq, &work.unwrap_or(Work::Unknown)) {
            Ok(copy) => self.step(Input::CutShort { work: eval, copy }),
            // Another interpreter may not be started now. The work is tried again, and told why it fails, when the
            // running eval has ended.
            Err(_) => self.step(Input::Submit(eval)),
        }
    }

    fn aim(&mut self, work: EvalSeq, what: &Work) -> Result<u32, Refusal> {
        let (copy, cause) = match what {
            Work::Undo { eval } => {
                let (eval, copy) = self.undo_target(*eval)?;
                (copy, GoingBack::Undo { work, eval })
            }
            Work::Rollback { label } => {
                let found = self.copies.find(label.as_deref()).cloned();
                let found = found.ok_or_else(|| self.no_checkpoint(label.clone()))?;
                let label = found.label().unwrap_or_default().to_owned();
                (found, GoingBack::Rollback { work, label })
            }
            other => return Err(self.cannot(other.kind().as_str())),
        };
        let KeptCopy { number: copy, text, .. } = copy;
        // A text is loaded by another interpreter. If that may not be started, this one goes on.
        if text.is_some() {
            self.meet_trust()?;
        }
        let text = text.map(TextStage::Ends);
        self.copying = Copying::GoesBack(RollbackTarget { copy, cause, text });
        Ok(copy)
    }

    /// Who asked for the rollback that is under way.
    pub(crate) fn rolled_back_by(&self) -> Option<&stead_protocol::By> {
        let work = self.copying.cause()?.work()?;
        self.pending.get(&work).map(|pending| &pending.by)
    }

    /// The lower half has a copy. A copy that is woken makes another of itself with the same number, which is known here
    /// already.
    pub(crate) fn copied(&mut self, copied: &Copied) {
        if !self.copies.has(copied.copy) {
            self.copies.unclaimed.push(copied.copy);
            self.drop_unclaimed();
        }
    }

    /// Drops copies that no checkpoint or undo is waiting for any more.
    pub(crate) fn drop_unclaimed(&mut self) {
        let is_awaited = matches!(self.copying, Copying::Checkpoint { .. }) || self.takes_copy();
        if !is_awaited {
            for copy in std::mem::take(&mut self.copies.unclaimed) {
                self.drop_copy(copy, None);
            }
        }
    }

    /// The bridge says that the checkpoint is made, or not; returns what is wrong if it is not there.
    pub(crate) fn end_checkpoint(&mut self, eval: EvalSeq, ok: bool) -> Option<&'static str> {
        let Copying::Checkpoint { label, made } = std::mem::take(&mut self.copying) else {
            return None;
        };
        let made = made.or_else(|| self.copies.claim(None));
        self.drop_unclaimed();
        match (made, ok) {
            (Some(made), true) if made.text.is_some() && self.text_bytes() > MOST_TEXT => {
                self.drop_copy(made.number, made.text);
                Some(TOO_MUCH_TEXT)
            }
            (Some(made), true) => {
                let before = self.copies.keep(made, label, eval, wall_ms());
                before.into_iter().for_each(|before| self.drop_copy(before.number, before.text));
                self.set_fallback();
                None
            }
            (Some(made), false) => {
                self.drop_copy(made.number, made.text);
                None
            }
            (None, true) => Some("the interpreter has told of no copy"),
            (None, false) => None,
        }
    }

    /// What the texts of checkpoints take, with the one that was just made.
    fn text_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.checkpoints_dir()).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    }

    pub(crate) fn drop_copy(&mut self, copy: u32, text: Option<PathBuf>) {
        match text {
            Some(text) => drop(std::fs::remove_file(text)),
            None => self.orders.push_back(Order::Drop { copies: vec![copy] }),
        }
    }

    /// The rollback or undo that is on its way to this checkpoint; until it is over the checkpoint must not be dropped.
    pub(crate) fn goes_back_to(&self, label: &str) -> Option<EvalSeq> {
        let rolls_back = matches!(self.state.phase, Phase::RollingBack(_));
        let target = self.copying.target().filter(|_| rolls_back)?;
        match &target.cause {
            GoingBack::Rollback { work, label: aimed } => (aimed == label).then_some(*work),
            GoingBack::Undo { work, .. } => {
                let is_it =
                    self.copies.find(Some(label)).is_some_and(|it| it.number == target.copy);
                is_it.then_some(*work)
            }
            GoingBack::Ended(_) => None,
        }
    }

    /// Drops a checkpoint; whether there was one.
    pub(crate) fn drop_checkpoint(&mut self, label: &str) -> bool {
        let Some(copy) = self.copies.take(label) else { return false };
        self.drop_copy(copy.number, copy.text);
        self.set_fallback();
        // The checkpoint may have been the only copy of the state as it is now.
        self.state_changed();
        true
    }

    /// Has the copy take the place of the interpreter. A copy that is text is loaded by a new interpreter, when the
    /// old one is gone.
    pub(crate) fn order_rollback(&mut self, copy: u32) {
        let text = self.copying.target().is_some_and(|target| target.text.is_some());
        self.orders.push_back(if text { Order::Kill } else { Order::Rollback { copy } });
    }

    /// A copy has ended by itself, or there was none to go back to.
    pub(crate) fn copy_lost(&mut self, copy: u32) {
        if let Some(lost) = self.copies.lose(copy) {
            stead_interpreter::log_warn!(
                "a copy has ended: {}",
                lost.label().unwrap_or("one for undo")
            );
        }
        self.set_fallback();
        let aimed = self.copying.lose(copy);
        let Some(target) = aimed.filter(|_| matches!(self.state.phase, Phase::RollingBack(_)))
        else {
            return;
        };
        let message = match &target.cause {
            GoingBack::Rollback { label, .. } => {
                format!("the copy of checkpoint `{label}` has ended")
            }
            GoingBack::Undo { eval, .. } => {
                format!("the copy from before `{}` has ended", self.eval_id(*eval))
            }
            GoingBack::Ended(_) => return,
        };
        let Some(work) = target.cause.work() else { return };
        let is_current = self.ledger.is_current(work);
        if let (false, Some(pending)) = (is_current, self.pending.get_mut(&work)) {
            pending.notice = Some(message.clone());
        }
        self.step(Input::NotRolledBack);
        if is_current {
            self.fail_work(target.cause.kind().error_name(), message);
        }
    }

    /// A copy has taken the place of the interpreter.
    pub(crate) fn restored(&mut self, restored: Box<Restored>) {
        self.leave_old_interpreter();
        self.facts.variables = restored.variables.or(self.facts.variables);
        let reason = crate::told::end_reason(&restored.exit);
        let mut effects = self.copies.restored(restored.copy);
        if let Phase::RollingBack(RollingBack { cut: Some(run), .. }) = &self.state.phase
            && self.pending.get(&run.eval).is_some_and(|pending| changes_state(pending.kind))
        {
            self.copies.cut(run.eval, &mut effects);
        }
        let other = self.copies.forget_other_branches();
        self.drop_copies(other);
        self.set_fallback();
        self.state_is_kept();
        if matches!(self.state.phase, Phase::Ending { .. }) {
            self.tell_restored(&restored, &effects);
        }
        if let Err(error) = stead_spool::write_undone(&self.spec.dir, self.copies.undone()) {
            let why = with_causes(&error);
            let notice = format!("which evals were undone could not be recorded: {why}");
            stead_interpreter::log_warn!("{notice}");
            let work = self.copying.cause().and_then(GoingBack::work);
            if let Some(pending) = work.and_then(|work| self.pending.get_mut(&work)) {
                pending.notice = Some(notice);
            }
        }
        self.copying.went_back(restored, effects);
        self.step(Input::Restored(reason));
    }

    /// Says with the eval that ended the interpreter that the session goes on, and from where.
    fn tell_restored(&mut self, restored: &Restored, effects: &Effects) {
        self.closing.restored = Some(self.copies.holds().last().unwrap_or_default());
        let running = self.state.running().map(|run| run.eval);
        if let Some(first) = effects.undone.first().copied().or(running) {
            let undone = match effects.undone.len() {
                0 => String::new(),
                1 => ", which is undone too".to_owned(),
                more => format!(", which is undone too, with {} after it", more - 1),
            };
            self.closing.note(format!("restored to before {}{undone}", self.eval_id(first)));
        }
        if !restored.lost.is_empty() {
            self.closing.note(format!("not restored: {}", restored.lost.join("; ")));
        }
    }

    /// Says with an eval that did not run, because the interpreter had just ended, where the session goes on from.
    pub(crate) fn tell_set_back(&self, reason: &EndReason, closing: &mut EvalClosing) {
        let Copying::WentBack { effects, .. } = &self.copying else { return };
        if matches!(reason, EndReason::RolledBack { .. }) {
            return;
        }
        let after = self.copies.holds().last();
        closing.restored = Some(after.unwrap_or_default());
        let to =
            after.map_or("at its start".to_owned(), |eval| format!("after {}", self.eval_id(eval)));
        let undone = self.ids(&effects.undone);
        let more = effects.undone.len() - undone.len();
        let undone = match (undone.join(", "), more) {
            (named, _) if named.is_empty() => String::new(),
            (named, 0) => format!("; without effect now: {named}"),
            (named, more) => format!("; without effect now: {named} and {more} before"),
        };
        closing.note(format!("the session went back to the state {to}{undone}"));
    }

    /// Ids of the last evals of a list.
    fn ids(&self, evals: &[EvalSeq]) -> Vec<String> {
        let last = &evals[evals.len().saturating_sub(UNDONE_NAMED)..];
        last.iter().map(|eval| self.eval_id(*eval).to_string()).collect()
    }

    /// Records what came of a rollback. If the rollback cut an eval short, its start is recorded only now.
    pub(crate) fn record_rollback(&mut self, work: EvalSeq) {
        if !self.ledger.is_current(work) {
            if let Err(error) = self.ledger.start(work, self.clock.now()) {
                stead_interpreter::log_warn!(
                    "the start of a rollback could not be recorded: {}",
                    with_causes(&error)
                );
            }
            self.introduce_start(work);
        }
        let Copying::WentBack { cause, restored, effects } = std::mem::take(&mut self.copying)
        else {
            return;
        };
        let mut data = json!({
            "undone": self.ids(&effects.undone),
            "undone_count": effects.undone.len(),
            "lost": restored.lost,
        });
        let kind = cause.as_ref().map_or(WorkKind::Rollback, GoingBack::kind);
        match cause {
            Some(GoingBack::Rollback { label, .. }) => data["label"] = label.into(),
            Some(GoingBack::Undo { eval, .. }) => {
                data["eval"] = self.eval_id(eval).to_string().into();
            }
            Some(GoingBack::Ended(_)) | None => {}
        }
        if !effects.back.is_empty() {
            data["back"] = self.ids(&effects.back).into();
        }
        self.keep(ChunkKind::Report, &ReportInfo { work: kind, data });
    }

    /// A copy goes on by itself in the place of an interpreter that has ended: the record has another interpreter
    /// from here on.
    pub(crate) fn go_on(&mut self) {
        let undone = match std::mem::take(&mut self.copying) {
            Copying::WentBack { effects, .. } => effects.undone,
            Copying::Nothing | Copying::Checkpoint { .. } | Copying::GoesBack(_) => Vec::new(),
        };
        // If no client has heard of the end, the next eval tells of it, or is refused if the state lacks something that
        // the eval may need.
        if !std::mem::take(&mut self.ending.reported) {
            let after = self.copies.holds().last();
            if undone.is_empty() {
                let after = after.map(|eval| self.eval_id(eval));
                let to = after.map_or("the start".to_owned(), |eval| format!("after {eval}"));
                let notice =
                    format!("the interpreter had ended, and was restored to the state {to}");
                self.news.fresh = Some(notice);
            } else {
                self.news.set_back = Some(Refusal::StateSetBack { after, undone });
            }
        }
        if let Err(error) = self.ledger.open_generation(Beginning::Copy) {
            let why = with_causes(&error);
            let why = format!("that it goes on from a copy could not be recorded: {why}");
            self.launch = Launch::Useless { why, trouble: None };
            self.act(Action::Kill);
        }
    }

    /// Says with the report of a checkpoint what it is called.
    pub(crate) fn name_checkpoint(&mut self, data: &mut Value) {
        let Copying::Checkpoint { label, made } = &mut self.copying else { return };
        if let (None, Some(number)) = (&made, data["copy"].as_u64()) {
            *made = self.copies.claim(Some(number));
        }
        if made.as_ref().is_some_and(|made| made.text.is_some()) {
            *data = json!({"names": data["count"], "lost": unsaved(data)});
        }
        if let Value::Object(fields) = data {
            fields.insert("label".to_owned(), label.as_str().into());
        }
    }
}
