//! One-off runs: a new interpreter for one eval, gone afterwards (SPEC J-2).

use std::hash::{BuildHasher, Hasher, RandomState};

use stead_protocol::SessionName;

use crate::eval::wait;
use crate::{Client, ClientError, EvalOptions, EvalView, LaunchOptions, Watcher};

pub use stead_config::RUN_PREFIX;

/// A run that was never sent its code, because its client died, ends after this time.
const UNUSED_MS: u64 = 60_000;

impl Client {
    /// Runs code in an interpreter of its own. Code that outlives the wait goes on, and its interpreter ends
    /// with it.
    pub fn run(
        &self,
        launch: &LaunchOptions,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let name = self.unused_name()?;
        let launch =
            LaunchOptions { once: true, idle_timeout_ms: Some(UNUSED_MS), ..launch.clone() };
        let view = self.eval(&name, &launch, options, watcher)?;
        if view.outcome.is_some() {
            wait::see_host_gone(&self.dir(&name));
        }
        Ok(view)
    }

    pub(crate) fn unused_name(&self) -> Result<SessionName, ClientError> {
        loop {
            let number = RandomState::new().build_hasher().finish() & 0xff_ffff;
            let name: SessionName = format!("{RUN_PREFIX}{number:06x}").parse()?;
            if !self.dir(&name).path().exists() {
                return Ok(name);
            }
        }
    }
}
