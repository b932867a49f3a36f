//! Whether what a session has of its project may still be started (SPEC CF-4). Clients ask this too, before they ask for
//! a start; a host starts interpreters also when no client asked, and the permission may be gone by then.

use std::path::Path;

use stead_launch::project::{AllowNote, PROJECT_DIR, TrustStanding, allow_path, standing_of_kept};
use stead_protocol::{EndReason, StartTrouble};

use crate::host::Host;

impl Host {
    /// Refuses a start with settings of the project that are not allowed any more. A library that is not allowed is
    /// left out from then on.
    pub(crate) fn meet_trust(&mut self) -> Result<(), EndReason> {
        let Some(from_project) = &self.meta.settings.startup.from_project else { return Ok(()) };
        let dir = &self.spec.dir;
        let (state, sessions) = (dir.ancestors().nth(3), dir.parent());
        let path = allow_path(state.unwrap_or(dir), sessions.unwrap_or(dir));
        let workspace = Path::new(&self.meta.workspace);
        let note = AllowNote::read(&path, &self.meta.workspace);
        let (standing, _) = standing_of_kept(&self.meta.settings, workspace, note.as_ref());
        let project = workspace.join(PROJECT_DIR).to_string_lossy().into_owned();
        let why = match standing {
            TrustStanding::Allowed => return Ok(()),
            TrustStanding::Changed => "has changed since it was allowed",
            TrustStanding::New | TrustStanding::Gone => "is not allowed any more",
        };
        if from_project.sets_up {
            let message = format!("it was set up by `{project}`, which {why}");
            let trouble = Some(Box::new(StartTrouble::NotAllowed { dir: project }));
            return Err(EndReason::launch_failed(message, trouble));
        }
        let startup = &mut self.meta.settings.startup;
        (startup.project_stdlib, startup.from_project) = (None, None);
        let left_out =
            format!("the project's standard library is left out, because `{project}` {why}");
        let fresh = self.news.fresh.take().map(|notice| format!("{notice}; "));
        self.news.fresh = Some(fresh.unwrap_or_default() + &left_out);
        Ok(())
    }
}
