//! Free names for sessions: a caller that names no session gets one that nobody else has (SPEC S-13).

use std::collections::HashSet;

use stead_protocol::SessionName;

use crate::{Client, ClientError, LaunchOptions, Launched, language};

impl Client {
    /// Starts a session under `first` if that name is free, else under the next free one: `py-2`, `py-3`.
    ///
    /// A name is free if no session of it is listed: there never was one, or it was stopped. A session that ended by
    /// itself is still somebody's, with its history and settings, until it is stopped, removed or so old that it is
    /// cleaned up (SPEC S-12); the name is free then, so that names do not grow for ever.
    pub fn launch_free(
        &self,
        first: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Launched, ClientError> {
        let implied = || language::implied(first).map(|language| language.name.to_owned());
        let otherwise = launch.otherwise.clone();
        let launch = LaunchOptions { otherwise: implied().or(otherwise), ..launch.clone() };
        let listed: HashSet<SessionName> =
            self.names()?.into_iter().map(language::canonical).collect();
        let base = language::canonical(first.clone());
        let further = (2_u64..).map(|number| format!("{base}-{number}").parse());
        for name in std::iter::once(Ok(first.clone())).chain(further) {
            let name = name?;
            if listed.contains(&language::canonical(name.clone())) {
                continue;
            }
            // Whether the name is still free is decided where hosts are started, one client at a time.
            match self.launch(&name, &launch) {
                Err(ClientError::Exists { .. }) => {}
                launched => return launched,
            }
        }
        Err(ClientError::Exists { name: base })
    }
}
