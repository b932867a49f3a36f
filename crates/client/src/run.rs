//! One-off runs: a new interpreter for one eval, gone afterwards (SPEC J-2).

use std::hash::{BuildHasher, Hasher, RandomState};

use stead_protocol::SessionName;

use crate::{Client, ClientError, EvalOptions, EvalView, Launch, Watcher, wait};

/// How the sessions of one-off runs are called.
pub const RUN_PREFIX: &str = "run-";
/// A run whose client died before it sent its code waits so long for nothing.
const UNUSED_MS: u64 = 60_000;
/// Runs whose output stays readable.
const RUNS_KEPT: usize = 100;

impl Client {
    /// Runs code in an interpreter of its own. One that outlives the wait goes on and ends by itself.
    pub fn run(
        &self,
        launch: &Launch,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let name = self.unused_name()?;
        let launch = Launch { once: true, idle_timeout_ms: Some(UNUSED_MS), ..launch.clone() };
        let view = self.eval(&name, &launch, options, watcher)?;
        if view.outcome.is_some() {
            wait::see_host_gone(&self.dir(&name));
        }
        self.forget_old_runs(&name);
        Ok(view)
    }

    fn unused_name(&self) -> Result<SessionName, ClientError> {
        loop {
            let number = RandomState::new().build_hasher().finish() & 0xff_ffff;
            let name: SessionName = format!("{RUN_PREFIX}{number:06x}").parse()?;
            if !self.dir(&name).path().exists() {
                return Ok(name);
            }
        }
    }

    /// Runs leave their output to be read for a while, but not for ever.
    fn forget_old_runs(&self, newest: &SessionName) {
        let Ok(entries) = std::fs::read_dir(self.dirs.workspace(&self.workspace)) else { return };
        let mut runs: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(RUN_PREFIX))
            .filter(|entry| entry.file_name() != newest.as_str())
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        runs.sort();
        let old = runs.len().saturating_sub(RUNS_KEPT);
        for (_, dir) in runs.into_iter().take(old) {
            let dir = stead_spool::SessionDir::new(dir);
            if !wait::host_lives(&dir) {
                // What cannot be removed is tried again at the next run.
                let _ = std::fs::remove_dir_all(dir.path());
            }
        }
    }
}
