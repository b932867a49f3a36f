//! Checkpoints and rollbacks: what the state asks for about copies is ordered, and what came of it is recorded.

use serde_json::{Value, json};
use stead_interpreter::{Copied, Order, Restored};
use stead_protocol::{ChunkKind, DEFAULT_LABEL, EvalSeq, Refusal, ReportInfo, Work, WorkKind};

use crate::host::{Host, Launch};
use crate::life::wall_clock::wall_ms;
use crate::session::copies::{Effects, MOST_CHECKPOINTS};
use crate::session::state::{Action, Eval, Input, Phase};
use crate::with_causes;

/// How many evals that were undone are named.
const UNDONE_NAMED: usize = 50;

/// The copy that is made or woken now.
#[derive(Debug, Default)]
pub(crate) struct Copying {
    /// What the checkpoint that is being made will be called.
    label: Option<String>,
    /// The copy that was made for it.
    made: Option<Copied>,
    /// Where the rollback that is under way goes to.
    target: Option<Target>,
    /// What came of it.
    restored: Option<(Box<Restored>, Effects)>,
}

/// Where a rollback goes to.
#[derive(Debug, Clone)]
struct Target {
    work: EvalSeq,
    copy: u32,
    label: String,
}

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
            _ => None,
        }
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

    /// A checkpoint is about to be made.
    pub(crate) fn begin_checkpoint(&mut self, label: Option<String>) {
        let label = label.unwrap_or_else(|| DEFAULT_LABEL.to_owned());
        self.copying = Copying { label: Some(label), ..Copying::default() };
    }

    /// The turn of a rollback has come.
    pub(crate) fn begin_rollback(
        &mut self,
        work: EvalSeq,
        label: Option<&str>,
    ) -> Result<(), Refusal> {
        let copy = self.aim(work, label)?;
        self.step(Input::RollBack { copy });
        Ok(())
    }

    /// A rollback ends the running eval.
    pub(crate) fn cut_short(&mut self, eval: Eval) {
        let work = self.pending.get_mut(&eval.seq).and_then(|pending| pending.work.take());
        let label = match work {
            Some(Work::Rollback { label }) => label,
            _ => None,
        };
        match self.aim(eval.seq, label.as_deref()) {
            Ok(copy) => self.step(Input::CutShort { work: eval, copy }),
            // It was there when the work was admitted, a moment ago.
            Err(_) => self.step(Input::Submit(eval)),
        }
    }

    fn aim(&mut self, work: EvalSeq, label: Option<&str>) -> Result<u32, Refusal> {
        let found = self.copies.find(label).cloned();
        let found = found.ok_or_else(|| self.no_checkpoint(label.map(str::to_owned)))?;
        let target = Target { work, copy: found.number, label: found.label };
        self.copying = Copying { target: Some(target), ..Copying::default() };
        Ok(found.number)
    }

    /// Who asked for the rollback that is under way.
    pub(crate) fn rolled_back_by(&self) -> Option<&stead_protocol::By> {
        let target = self.copying.target.as_ref()?;
        self.pending.get(&target.work).map(|pending| &pending.by)
    }

    /// The lower half has a copy. One that was woken makes another of itself, which is not new here.
    pub(crate) fn copied(&mut self, copied: Copied) {
        if self.copying.label.is_some() {
            self.copying.made = Some(copied);
        }
    }

    /// The bridge says that the checkpoint is made, or not; returns what is wrong if it is not there.
    pub(crate) fn end_checkpoint(&mut self, eval: EvalSeq, ok: bool) -> Option<&'static str> {
        let Copying { label, made, .. } = std::mem::take(&mut self.copying);
        let label = label?;
        match (made, ok) {
            (Some(made), true) => {
                let before = self.copies.keep(made.copy, label, eval, wall_ms());
                self.drop_copies(before);
                None
            }
            (Some(made), false) => {
                self.drop_copies(Some(made.copy));
                None
            }
            (None, true) => Some("the interpreter has told of no copy"),
            (None, false) => None,
        }
    }

    fn drop_copies(&mut self, copies: impl IntoIterator<Item = u32>) {
        let copies: Vec<u32> = copies.into_iter().collect();
        if !copies.is_empty() {
            self.orders.push_back(Order::Drop { copies });
        }
    }

    /// Drops a checkpoint; whether there was one.
    pub(crate) fn drop_checkpoint(&mut self, label: &str) -> bool {
        let copy = self.copies.take(label);
        self.drop_copies(copy);
        copy.is_some()
    }

    /// A copy has ended by itself, or there was none to go back to.
    pub(crate) fn copy_lost(&mut self, copy: u32) {
        if let Some(lost) = self.copies.lose(copy) {
            eprintln!("the copy for checkpoint `{}` has ended", lost.label);
        }
        let aimed = self.copying.target.take_if(|target| target.copy == copy);
        let Some(target) = aimed.filter(|_| matches!(self.state.phase, Phase::RollingBack(_)))
        else {
            return;
        };
        let message = format!("the copy of checkpoint `{}` has ended", target.label);
        let is_current = self.ledger.is_current(target.work);
        if let (false, Some(pending)) = (is_current, self.pending.get_mut(&target.work)) {
            pending.notice = Some(message.clone());
        }
        self.step(Input::NotRolledBack);
        if is_current {
            self.fail_work(WorkKind::Rollback.error_name(), message);
        }
    }

    /// A copy has taken the place of the interpreter.
    pub(crate) fn restored(&mut self, restored: Box<Restored>) {
        self.leave_old_interpreter();
        self.facts.variables = restored.variables.or(self.facts.variables);
        let reason = crate::told::end_reason(&restored.exit);
        let effects = self.copies.restored(restored.copy);
        if let Err(error) = stead_spool::write_undone(&self.spec.dir, self.copies.undone()) {
            eprintln!("which evals were undone could not be written: {}", with_causes(&error));
        }
        self.copying.restored = Some((restored, effects));
        self.step(Input::Restored(reason));
    }

    /// Records what came of a rollback. One that cut an eval short has not been recorded to have begun.
    pub(crate) fn record_rollback(&mut self, work: EvalSeq) {
        if !self.ledger.is_current(work) {
            if let Err(error) = self.ledger.start(work, self.clock.now()) {
                eprintln!("the start of a rollback could not be recorded: {}", with_causes(&error));
            }
            self.introduce_start(work);
        }
        let Copying { target, restored, .. } = std::mem::take(&mut self.copying);
        let Some((restored, effects)) = restored else { return };
        let ids = |evals: &[EvalSeq]| -> Vec<Value> {
            let ids = evals.iter().rev().take(UNDONE_NAMED).rev();
            ids.map(|eval| Value::from(self.eval_id(*eval).to_string())).collect()
        };
        let mut data = json!({
            "label": target.map(|target| target.label),
            "undone": ids(&effects.undone),
            "undone_count": effects.undone.len(),
            "lost": restored.lost,
        });
        if !effects.back.is_empty() {
            data["back"] = ids(&effects.back).into();
        }
        self.keep(ChunkKind::Report, &ReportInfo { work: WorkKind::Rollback, data });
    }

    /// A copy goes on by itself in the place of an interpreter that has ended: the record has another interpreter
    /// from here on.
    pub(crate) fn go_on(&mut self) {
        self.copying = Copying::default();
        self.ending.reported = false;
        if let Err(error) = self.ledger.open_generation() {
            let why = with_causes(&error);
            let why = format!("that it goes on from a copy could not be recorded: {why}");
            self.launch = Launch::Useless { why };
            self.act(Action::Kill);
        }
    }

    /// Says with the report of a checkpoint what it is called.
    pub(crate) fn name_checkpoint(&self, data: &mut Value) {
        if let (Some(label), Value::Object(fields)) = (&self.copying.label, data) {
            fields.insert("label".to_owned(), label.clone().into());
        }
    }
}
