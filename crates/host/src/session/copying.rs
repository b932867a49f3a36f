//! Checkpoints and rollbacks: what the state asks for about copies is ordered, and what came of it is recorded.

use std::path::PathBuf;

use serde_json::{Value, json};
use stead_interpreter::{Copied, Order, Restored};
use stead_protocol::{
    Capability, ChunkKind, DEFAULT_LABEL, EvalSeq, Refusal, ReportInfo, Work, WorkKind,
};
use stead_spool::SessionDir;

use crate::host::{Host, Launch};
use crate::life::wall_clock::wall_ms;
use crate::record::ledger::EvalClosing;
use crate::session::copies::{Effects, MOST_CHECKPOINTS, MadeCopy};
use crate::session::state::{Action, Eval, Input, Phase};
use crate::with_causes;

/// How many evals that were undone are named.
const UNDONE_NAMED: usize = 50;

/// The copy that is made or woken now.
#[derive(Debug, Default)]
pub(crate) struct Copying {
    /// What the checkpoint that is being made will be called.
    label: Option<String>,
    /// The copy that was made for it, or will be there when its text is saved.
    made: Option<MadeCopy>,
    /// Where the rollback that is under way goes to.
    target: Option<RollbackTarget>,
    /// What came of it.
    restored: Option<(Box<Restored>, Effects)>,
}

/// Where a rollback goes to.
#[derive(Debug, Clone)]
struct RollbackTarget {
    work: EvalSeq,
    copy: u32,
    label: String,
    text: Option<TextStage>,
}

/// How far a rollback to a text has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TextStage {
    /// The interpreter ends.
    Ends(PathBuf),
    /// Another one is started.
    Starts(PathBuf),
    /// It loads the text.
    Loads { failed: Vec<Value> },
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
        self.copying = Copying { label: Some(label.clone()), made, ..Copying::default() };
        match text {
            None => (WorkKind::Checkpoint, label),
            Some(path) => (WorkKind::Save, format!("{}\nforce", path.display())),
        }
    }

    fn checkpoints_dir(&self) -> PathBuf {
        SessionDir::new(&self.spec.dir).checkpoints()
    }

    /// Copies of an interpreter are gone with it, and with them whatever was being done about one.
    pub(crate) fn forget_copies(&mut self) {
        self.copies.begin_anew();
        self.copying = Copying::default();
        let _ = std::fs::remove_dir_all(self.checkpoints_dir());
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
        let text = found.text.map(TextStage::Ends);
        let target = RollbackTarget { work, copy: found.number, label: found.label, text };
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
            self.copying.made = Some(MadeCopy { number: copied.copy, text: None });
        }
    }

    /// The bridge says that the checkpoint is made, or not; returns what is wrong if it is not there.
    pub(crate) fn end_checkpoint(&mut self, eval: EvalSeq, ok: bool) -> Option<&'static str> {
        let Copying { label, made, .. } = std::mem::take(&mut self.copying);
        let label = label?;
        match (made, ok) {
            (Some(made), true) => {
                let before = self.copies.keep(made, label, eval, wall_ms());
                before.into_iter().for_each(|before| self.drop_copy(before.number, before.text));
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

    fn drop_copy(&mut self, copy: u32, text: Option<PathBuf>) {
        match text {
            Some(text) => drop(std::fs::remove_file(text)),
            None => self.orders.push_back(Order::Drop { copies: vec![copy] }),
        }
    }

    /// The rollback that is on its way to this checkpoint, which must not be dropped then.
    pub(crate) fn goes_back_to(&self, label: &str) -> Option<EvalSeq> {
        let rolls_back = matches!(self.state.phase, Phase::RollingBack(_));
        let target = self.copying.target.as_ref().filter(|_| rolls_back)?;
        (target.label == label).then_some(target.work)
    }

    /// Drops a checkpoint; whether there was one.
    pub(crate) fn drop_checkpoint(&mut self, label: &str) -> bool {
        let Some(copy) = self.copies.take(label) else { return false };
        self.drop_copy(copy.number, copy.text);
        true
    }

    /// Has the copy take the place of the interpreter. One that is text is loaded by a new interpreter, when the
    /// old one is gone.
    pub(crate) fn order_rollback(&mut self, copy: u32) {
        let text = self.copying.target.as_ref().is_some_and(|target| target.text.is_some());
        self.orders.push_back(if text { Order::Kill } else { Order::Rollback { copy } });
    }

    /// The interpreter has ended; whether another is started that loads a text.
    pub(crate) fn starts_from_text(&mut self) -> bool {
        let Some((_, stage @ TextStage::Ends(_))) = self.text_stage() else { return false };
        if let TextStage::Ends(path) = stage {
            *stage = TextStage::Starts(std::mem::take(path));
        }
        self.leave_old_interpreter();
        self.start_interpreter();
        true
    }

    /// Whether the interpreter that is starting will load a text.
    pub(crate) fn comes_from_text(&self) -> bool {
        let rolls_back = matches!(self.state.phase, Phase::RollingBack(_));
        rolls_back && self.copying.target.as_ref().is_some_and(|target| target.text.is_some())
    }

    /// The rollback to a text that is under way, and how far it has come. Whoever stops or restarts the session has
    /// ended it.
    fn text_stage(&mut self) -> Option<(EvalSeq, &mut TextStage)> {
        let rolls_back = matches!(self.state.phase, Phase::RollingBack(_));
        let target = self.copying.target.as_mut().filter(|_| rolls_back)?;
        Some((target.work, target.text.as_mut()?))
    }

    /// Whether the interpreter that is ready is there for a text, which it loads now.
    pub(crate) fn load_text(&mut self) -> bool {
        let Some((work, stage @ TextStage::Starts(_))) = self.text_stage() else { return false };
        let TextStage::Starts(path) = stage else { return false };
        let (what, argument) = ("load".to_owned(), path.display().to_string());
        *stage = TextStage::Loads { failed: Vec::new() };
        let eval = self.eval_id(work);
        self.orders.push_back(Order::Work { eval, what, argument, limit_ms: None });
        true
    }

    /// What came of a load that is part of a rollback; whether it was one.
    pub(crate) fn text_report(&mut self, data: &Value) -> bool {
        let Some((_, TextStage::Loads { failed })) = self.text_stage() else { return false };
        *failed = unsaved(data);
        true
    }

    /// The text was loaded, or could not be; whether that was part of a rollback.
    pub(crate) fn text_loaded(&mut self, ok: bool) -> bool {
        let Some((_, TextStage::Loads { failed })) = self.text_stage() else { return false };
        let failed = std::mem::take(failed);
        let Some(copy) = self.copying.target.as_ref().map(|target| target.copy) else {
            return false;
        };
        // What the load says of its end is not about the eval that the rollback has cut short.
        self.closing = EvalClosing::default();
        // A text of which only names could not be loaded has brought back the rest.
        if ok || !failed.is_empty() {
            let lost = failed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            self.restored(Box::new(Restored { copy, lost, ..Restored::default() }));
        } else {
            self.act(Action::Kill);
        }
        true
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
        let Some(label) = &self.copying.label else { return };
        if self.copying.made.as_ref().is_some_and(|made| made.text.is_some()) {
            *data = json!({"names": data["count"], "lost": unsaved(data)});
        }
        if let Value::Object(fields) = data {
            fields.insert("label".to_owned(), label.clone().into());
        }
    }
}

/// What a save or a load has left out, each with its reason.
fn unsaved(data: &Value) -> Vec<Value> {
    let failed = data["failed"].as_array().into_iter().flatten();
    let said = |failed: &Value| {
        let word = |field: &str| failed[field].as_str().unwrap_or_default().to_owned();
        Value::from(format!("{}: {}", word("name"), word("why")))
    };
    failed.map(said).collect()
}
