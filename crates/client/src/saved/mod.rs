//! Names and values in files: written by a session, read into a session (SPEC ST-2, docs/SAVED.md).

pub(crate) mod manifest;
pub(crate) mod target;

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use stead_protocol::{Engine, Outcome, SessionName, Work};

use crate::{
    Client, ClientError, EvalOptions, EvalView, LaunchOptions, RequestError, Watcher, language,
};
use manifest::Manifest;

/// What to save.
#[derive(Debug, Clone, Default)]
pub struct SaveOptions {
    /// The names; without any, all that the user has defined.
    pub names: Vec<String>,
    /// Take the place of a file that no save has written.
    pub force: bool,
}

impl Client {
    /// Has a live session write names and their values to a file. `path` is absolute.
    pub fn save(
        &self,
        name: &SessionName,
        path: &Path,
        what: &SaveOptions,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let SaveOptions { names, force } = what.clone();
        let work = checked(Work::Save { path: text(path)?, names, force })?;
        // The session checks the place itself when the save's turn comes; what is wrong already is refused at once.
        target::check(path, force)?;
        self.work(name, work, options, watcher)
    }

    /// Has a live session take names and values from a file. `path` is absolute.
    pub fn load_into(
        &self,
        name: &SessionName,
        path: &Path,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let work = checked(Work::Load { path: text(path)? })?;
        let manifest = Manifest::read(path)?;
        let Engine { language: has, kernel, .. } = self.require(name, false)?.settings.engine;
        // Only a kernel itself knows its language, so it refuses a file of another language by itself.
        if kernel.is_none() && has != manifest.language {
            let (path, name) = (path.to_owned(), name.clone());
            let saved = manifest.language;
            return Err(RequestError::SavedLanguage { path, saved, name, has }.into());
        }
        self.work(name, work, options, watcher)
    }

    /// Opens a session in the file's language, under this name or one that nobody has, and loads the file there. If
    /// the load fails as a whole, the session is stopped again.
    pub fn load_new(
        &self,
        name: Option<&SessionName>,
        path: &Path,
        launch: &LaunchOptions,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let work = checked(Work::Load { path: text(path)? })?;
        let manifest = Manifest::read(path)?;
        let language = language::language(&manifest.language)?;
        let launch = LaunchOptions { language: Some(language.name.to_owned()), ..launch.clone() };
        let launched = match name {
            Some(name) => self.launch(name, &launch)?,
            None => self.launch_free(&language.alias.parse()?, &launch)?,
        };
        let name = launched.status.name;
        match self.work(&name, work, options, watcher) {
            Ok(mut view) => {
                let is_lost = |outcome: &Outcome| *outcome != Outcome::Complete;
                view.notices.push(match view.outcome.as_ref().is_some_and(is_lost) {
                    true => self.close_again(&name),
                    false => format!("session `{name}` was opened for it"),
                });
                Ok(view)
            }
            Err(error) => {
                let closed = self.close_again(&name);
                Err(ClientError::NotLoaded { error: Box::new(error), closed })
            }
        }
    }

    /// Stops the session that was opened for a load that failed; says what became of it.
    fn close_again(&self, name: &SessionName) -> String {
        match self.stop(name) {
            Ok(_) | Err(ClientError::Ended { .. } | ClientError::NotFound { .. }) => {
                format!("session `{name}`, which was opened for it, was stopped again")
            }
            Err(error) => format!(
                "session `{name}`, which was opened for it, could not be stopped: {}",
                error.message()
            ),
        }
    }
}

/// A path as it is sent, without `.` and `..` where that is possible; lines that a bridge reads have to be text.
fn text(path: &Path) -> Result<String, RequestError> {
    let winding = path.components().any(|part| part == Component::ParentDir);
    let dir = path.parent().filter(|_| winding).and_then(|dir| dir.canonicalize().ok());
    let direct = dir.zip(path.file_name()).map(|(dir, name)| dir.join(name));
    // A slash at the end stays: it says that the path is a directory, which the session refuses.
    let path = if path.as_os_str().as_bytes().ends_with(b"/") {
        path
    } else {
        direct.as_deref().unwrap_or(path)
    };
    let text = path.to_str().ok_or_else(|| RequestError::NotUtf8 { path: path.to_owned() })?;
    Ok(text.to_owned())
}

/// The work, unless its words cannot be sent.
pub(crate) fn checked(work: Work) -> Result<Work, RequestError> {
    match work.problem() {
        Some(problem) => Err(RequestError::Words { problem }),
        None => Ok(work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st2_a_path_is_sent_without_detours() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("in")).unwrap();
        let sent = |path: &str| text(&root.join(path)).unwrap();
        let at = |path: &str| root.join(path).to_str().unwrap().to_owned();
        assert_eq!(sent("in/../a.stead"), at("a.stead"));
        assert_eq!(sent("a.stead"), at("a.stead"));
        // What is not there cannot be looked through.
        assert_eq!(sent("none/../a.stead"), at("none/../a.stead"));
        assert_eq!(sent("in/../new/"), at("in/../new/"));
        assert!(matches!(text(Path::new("/a/..")), Ok(path) if path == "/a/.."));
    }
}
