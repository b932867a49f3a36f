//! What the user has allowed: the content of a workspace's `.stead` directory, by its hash (SPEC CF-4).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use stead_config::ConfigFile;
use stead_launch::project::{AllowNote, ProjectDir, TrustStanding, allow_path, standing_of_kept};
use stead_protocol::{Meta, with_causes};

use super::{PROJECT_DIR, ReadConfig, effects};
use crate::{Client, ClientError};

/// What the user is asked to allow.
#[derive(Debug)]
pub struct Unallowed {
    /// The workspace's directory.
    pub dir: PathBuf,
    /// Why it is not allowed.
    pub standing: TrustStanding,
    /// What it would do, in short, a line each.
    pub effects: Vec<String>,
}

/// Asks the user to allow the directory; returns whether the user did.
pub type Consent = fn(&Unallowed) -> bool;

impl Client {
    /// How a workspace's directory stands with the user.
    pub fn trust(&self, project: &ProjectDir) -> TrustStanding {
        TrustStanding::of(project, self.allow_note().as_ref())
    }

    /// Whether what the workspace's directory sets up takes effect. One that cannot be read as a whole cannot be
    /// allowed.
    pub fn is_in_force(&self, read: &ReadConfig) -> bool {
        match &read.project {
            Some(project) => self.trust(project) == TrustStanding::Allowed,
            None => read.trouble.is_none(),
        }
    }

    /// What is noted of this workspace, if anything of it is allowed.
    pub(crate) fn allow_note(&self) -> Option<AllowNote> {
        AllowNote::read(&self.allow_path(), self.workspace.as_str())
    }

    /// Refuses to restart a session that was set up by content of the directory which is no longer allowed. A user
    /// at a terminal is asked, unless the directory has other content now: to allow that would not help the session.
    pub(crate) fn check_kept(
        &self,
        meta: &Meta,
        consent: Option<Consent>,
    ) -> Result<(), ClientError> {
        let from_project = meta.settings.startup.from_project.as_ref();
        if !from_project.is_some_and(|from| from.sets_up) {
            // If the project gave only a standard library, the host leaves that out and the session starts.
            return Ok(());
        }
        let dir = self.dir(&meta.name).path().to_owned();
        // The files of a session that another environment started may be in another state directory.
        let (state, sessions) = (dir.ancestors().nth(3), dir.parent());
        let path = allow_path(state.unwrap_or(&self.dirs.state), sessions.unwrap_or(&dir));
        let note = AllowNote::read(&path, self.workspace.as_str());
        let workspace = self.workspace.path();
        let (standing, project) = standing_of_kept(&meta.settings, workspace, note.as_ref());
        if standing == TrustStanding::Allowed {
            return Ok(());
        }
        let read = project.as_ref().map(|project| {
            let file = super::read_workspace(workspace, project);
            effects(project, file.as_ref())
        });
        let unallowed = Unallowed {
            dir: workspace.join(PROJECT_DIR),
            standing,
            effects: read.unwrap_or_default(),
        };
        match (project, consent) {
            (Some(project), Some(ask)) if standing != TrustStanding::Gone && ask(&unallowed) => {
                self.allow(&project)
            }
            _ => {
                let (name, unallowed) = (meta.name.clone(), Box::new(unallowed));
                Err(ClientError::NotAllowed { name, unallowed })
            }
        }
    }

    /// Notes that the user allows the directory as it was read.
    pub fn allow(&self, project: &ProjectDir) -> Result<(), ClientError> {
        let path = self.allow_path();
        let failed = ClientError::file("write", &path);
        let note = AllowNote::with(self.allow_note(), self.workspace.as_str(), project);
        let written = serde_json::to_vec(&note).map_err(io::Error::from).and_then(|bytes| {
            let dir = path.parent().unwrap_or(&self.dirs.state);
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            stead_spool::write_atomically(&path, &bytes)
                .map_err(|error| io::Error::other(with_causes(&error)))
        });
        written.map_err(failed)
    }

    /// Takes the permission back; whether there was one.
    pub fn disallow(&self) -> Result<bool, ClientError> {
        let path = self.allow_path();
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ClientError::file("remove", path)(error)),
        }
    }

    fn allow_path(&self) -> PathBuf {
        allow_path(&self.dirs.state, &self.dirs.workspace(&self.workspace))
    }
}

impl Unallowed {
    pub(crate) fn new(
        project: &ProjectDir,
        file: Option<&ConfigFile>,
        standing: TrustStanding,
    ) -> Self {
        Unallowed { dir: project.path.clone(), standing, effects: effects(project, file) }
    }
}
