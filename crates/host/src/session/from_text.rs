//! Going back to a state that is a text: a new interpreter loads it, in the place of the one before.

use std::path::PathBuf;

use serde_json::Value;
use stead_interpreter::{Exit, Order, Restored};
use stead_protocol::{EvalSeq, WorkKind};

use crate::host::Host;
use crate::record::ledger::EvalClosing;
use crate::session::copy_phase::{Copying, GoingBack, RollbackTarget};
use crate::session::state::{Action, Input, Phase, Why};

/// How far the way back to a text has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextStage {
    /// The interpreter ends.
    Ends(PathBuf),
    /// Another one is started.
    Starts(PathBuf),
    /// The new interpreter loads the text.
    Loads { failed: Vec<Value> },
}

impl Host {
    /// The interpreter has ended; whether another is started that loads a text, because a rollback or an undo wants that,
    /// or because a signal has ended the interpreter.
    pub(crate) fn starts_from_text(&mut self, exit: &Exit) -> bool {
        self.fall_back_to_text(exit);
        let Some((_, stage @ TextStage::Ends(_))) = self.text_stage() else { return false };
        if let TextStage::Ends(path) = stage {
            *stage = TextStage::Starts(std::mem::take(path));
        }
        self.leave_old_interpreter();
        self.start_interpreter();
        true
    }

    /// Goes back to the last text if a signal has ended the interpreter, or its hard timeout, and nobody wants its end.
    fn fall_back_to_text(&mut self, exit: &Exit) {
        let by_itself = match &self.state.phase {
            Phase::Ending { why: Why::Own | Why::HardTimeout, .. } => true,
            Phase::Idle { .. } | Phase::Running(_) | Phase::Querying { .. } => true,
            Phase::Starting { .. }
            | Phase::RollingBack(_)
            | Phase::Ending { .. }
            | Phase::Ended { .. } => false,
        };
        let fatal = exit.signal.is_some() && !exit.replaced;
        if !by_itself || !fatal || self.copying.cause().is_some() {
            return;
        }
        let Some((copy, path)) = self.text_fallback() else { return };
        let cause = GoingBack::Ended(Box::new(exit.clone()));
        let target = RollbackTarget { copy, cause, text: Some(TextStage::Ends(path)) };
        self.copying = Copying::GoesBack(target);
        self.step(Input::FallsBack);
    }

    /// Whether the session is on its way back. A stop or a restart ends the way back.
    fn goes_back(&self) -> bool {
        match &self.state.phase {
            Phase::RollingBack(_) => true,
            Phase::Ending { why: Why::Own | Why::HardTimeout, .. } => {
                matches!(self.copying.cause(), Some(GoingBack::Ended(_)))
            }
            Phase::Starting { .. }
            | Phase::Idle { .. }
            | Phase::Running(_)
            | Phase::Querying { .. }
            | Phase::Ending { .. }
            | Phase::Ended { .. } => false,
        }
    }

    /// Whether the interpreter that is starting will load a text.
    pub(crate) fn comes_from_text(&self) -> bool {
        let target = self.copying.target();
        self.goes_back() && target.is_some_and(|target| target.text.is_some())
    }

    /// The way back to a text that the session is on, and how far it has come.
    fn text_stage(&mut self) -> Option<(EvalSeq, &mut TextStage)> {
        if !self.goes_back() {
            return None;
        }
        let Copying::GoesBack(target) = &mut self.copying else { return None };
        Some((target.cause.work().unwrap_or_default(), target.text.as_mut()?))
    }

    /// Orders the load of a text if this interpreter was started for one; returns whether it was.
    pub(crate) fn load_text(&mut self) -> bool {
        let Some((work, stage @ TextStage::Starts(_))) = self.text_stage() else { return false };
        let TextStage::Starts(path) = stage else { return false };
        let (what, argument) = (WorkKind::Load.as_str().to_owned(), path.display().to_string());
        *stage = TextStage::Loads { failed: Vec::new() };
        let eval = self.eval_id(work);
        self.orders.push_back(Order::Work { eval, what, argument, limit_ms: None });
        true
    }

    /// What came of a load that is part of going back; whether it was one.
    pub(crate) fn text_report(&mut self, data: &Value) -> bool {
        let Some((_, TextStage::Loads { failed })) = self.text_stage() else { return false };
        *failed = unsaved(data);
        true
    }

    /// The text was loaded, or could not be; whether that was part of going back.
    pub(crate) fn text_loaded(&mut self, ok: bool) -> bool {
        let Some((_, TextStage::Loads { failed })) = self.text_stage() else { return false };
        let failed = std::mem::take(failed);
        let Some(target) = self.copying.target() else { return false };
        let (copy, exit) = match &target.cause {
            GoingBack::Ended(exit) => (target.copy, Exit::clone(exit)),
            GoingBack::Rollback { .. } | GoingBack::Undo { .. } => (target.copy, Exit::default()),
        };
        // What the bridge said at the end of the load does not belong to the eval that was cut short.
        self.closing = EvalClosing::default();
        // A text of which only names could not be loaded has brought back the rest.
        if ok || !failed.is_empty() {
            let lost = failed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            self.restored(Box::new(Restored { copy, exit, lost, ..Restored::default() }));
        } else {
            self.act(Action::Kill);
        }
        true
    }
}

/// What a save or a load has left out, each with its reason.
pub(crate) fn unsaved(data: &Value) -> Vec<Value> {
    let failed = data["failed"].as_array().into_iter().flatten();
    let said = |failed: &Value| {
        let word = |field: &str| failed[field].as_str().unwrap_or_default().to_owned();
        Value::from(format!("{}: {}", word("name"), word("why")))
    };
    failed.map(said).collect()
}
