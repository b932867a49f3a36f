//! When sessions and evals begin and end, for the log (SPEC CF-2): never code or output.

use stead_interpreter::{log, log_info};
use stead_protocol::{EndReason, EvalSeq, Finished, LogLevel, Outcome};
use stead_spool::SessionDir;

use crate::host::Host;
use crate::record::disk;

/// After so many evals the length of the log is looked at.
const LOOK_EVERY: u64 = 1000;

impl Host {
    pub(crate) fn log_ready(&self) {
        let engine = &self.meta.settings.engine;
        let version = self.facts.version.as_deref().unwrap_or_default();
        let why = self.meta.found.as_ref().map(|found| found.path.as_str()).unwrap_or_default();
        log_info!("session {} is ready: {} {version}, {why}", self.meta.name, engine.language);
    }

    pub(crate) fn log_begin(&self, eval: EvalSeq) {
        if !log::is_on(LogLevel::Info) {
            return;
        }
        if eval.0.is_multiple_of(LOOK_EVERY) {
            disk::bound_log(&SessionDir::new(&self.spec.dir).log());
        }
        let by = self.sent_by(eval).map(|by| format!(" by {by}")).unwrap_or_default();
        log_info!("eval {} began{by}", self.eval_id(eval));
    }

    pub(crate) fn log_finish(&self, eval: EvalSeq, finished: &Finished) {
        let how = match &finished.outcome {
            Outcome::Complete => "complete",
            Outcome::Error => "error",
            Outcome::Interrupted => "interrupted",
            Outcome::Timeout { .. } => "timeout",
            Outcome::Ended { .. } => "ended with the session",
            Outcome::NotRun { .. } => "not run",
            Outcome::HostDied | Outcome::Unknown => "unknown",
        };
        log_info!("eval {} ended: {how}, {} ms", self.eval_id(eval), finished.duration_ms);
    }

    pub(crate) fn log_end(&self, reason: &EndReason) {
        log_info!("session {} ended: {reason}", self.meta.name);
    }
}
