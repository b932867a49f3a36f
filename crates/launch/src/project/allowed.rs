//! What the user has allowed of a project, and whether a session that was set up by it may be started again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stead_protocol::Settings;

use super::{PROJECT_DIR, ProjectDir};

/// So many contents that were allowed before the last one are remembered.
const MOST_EARLIER: usize = 64;

/// How a workspace's directory stands with the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStanding {
    /// It was allowed as it is.
    Allowed,
    /// It was allowed once, and has changed since.
    Changed,
    /// It is not allowed.
    New,
    /// The session has settings of an earlier content, which is not allowed any more.
    Gone,
}

/// What is noted of a workspace that was allowed.
#[derive(Debug, Serialize, Deserialize)]
pub struct AllowNote {
    workspace: String,
    /// The hash of the content that new sessions may be set up by.
    hash: String,
    /// Hashes of contents that were allowed before it, the last one first. Only sessions that were started with them
    /// may still be started again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
}

/// Where the note about a workspace is kept. `sessions` is the directory of the workspace's sessions, whose name
/// stands for the workspace.
pub fn allow_path(state: &Path, sessions: &Path) -> PathBuf {
    state.join("allowed").join(sessions.file_name().unwrap_or_default())
}

impl AllowNote {
    /// The note about a workspace; `None` if nothing of it was ever allowed, or that was taken back.
    pub fn read(path: &Path, workspace: &str) -> Option<AllowNote> {
        let bytes = stead_files::read(path, stead_files::MOST_NOTE).ok()?;
        let note: AllowNote = serde_json::from_slice(&bytes).ok()?;
        (note.workspace == workspace).then_some(note)
    }

    /// The note once this content is allowed, too.
    pub fn with(before: Option<AllowNote>, workspace: &str, project: &ProjectDir) -> AllowNote {
        let hash = project.hash.clone();
        let mut earlier = Vec::new();
        if let Some(before) = before {
            earlier.push(before.hash);
            earlier.extend(before.earlier);
            earlier.retain(|known| *known != hash);
            earlier.truncate(MOST_EARLIER);
        }
        AllowNote { workspace: workspace.to_owned(), hash, earlier }
    }

    /// Whether the content of this hash was allowed.
    fn has(&self, hash: &str) -> bool {
        self.hash == hash || self.earlier.iter().any(|known| known == hash)
    }
}

impl TrustStanding {
    /// How the directory stands for new sessions.
    pub fn of(project: &ProjectDir, note: Option<&AllowNote>) -> TrustStanding {
        match note {
            Some(note) if note.hash == project.hash => TrustStanding::Allowed,
            Some(_) => TrustStanding::Changed,
            None => TrustStanding::New,
        }
    }
}

/// How the directory stands for a session that is started again with the settings that it was given once, and the
/// directory as it is now where that had to be looked at.
///
/// Settings, init code and the standard library are kept as they were allowed. A program that lies in the directory is
/// not, so a session that names one needs a directory that is allowed as it is now.
pub fn standing_of_kept(
    settings: &Settings,
    workspace: &Path,
    note: Option<&AllowNote>,
) -> (TrustStanding, Option<ProjectDir>) {
    let Some(kept) = &settings.startup.from_project else { return (TrustStanding::Allowed, None) };
    let known = note.filter(|note| note.has(&kept.hash));
    if known.is_some() && !reaches_into(settings, workspace) {
        return (TrustStanding::Allowed, None);
    }
    let now = ProjectDir::read(workspace).ok().flatten();
    let hash = now.as_ref().map(|project| project.hash.as_str());
    let standing = match known {
        Some(note) if hash == Some(&kept.hash) || hash == Some(&note.hash) => {
            TrustStanding::Allowed
        }
        Some(_) => TrustStanding::Changed,
        None if hash == Some(&kept.hash) => TrustStanding::New,
        None => TrustStanding::Gone,
    };
    (standing, now)
}

/// Whether anything that these settings run may lie in the workspace's directory: by its name, or by a link that leads
/// there.
fn reaches_into(settings: &Settings, workspace: &Path) -> bool {
    let (engine, place) = (&settings.engine, &settings.place);
    let cwd = Path::new(&place.cwd);
    let programs = engine.bridge.iter().chain(&engine.interpreter).chain(&engine.command);
    let paths = programs.chain([&place.cwd]);
    let values = place.env.iter().map(|(_, value)| value).chain(&settings.startup.init);
    if paths.clone().chain(values).any(|text| names_directory(text)) {
        return true;
    }
    let Ok(inside) = workspace.join(PROJECT_DIR).canonicalize() else { return false };
    let leads_inside = |path: &String| {
        let path = path.replace("{cwd}", &place.cwd);
        cwd.join(path).canonicalize().is_ok_and(|path| path.starts_with(&inside))
    };
    paths.into_iter().any(leads_inside)
}

/// Whether a text has the directory's name in it, as a word of its own: in a path, or in code that makes one.
fn names_directory(text: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(PROJECT_DIR).any(|(at, name)| {
        !text[..at].ends_with(part_of_word) && !text[at + name.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
#[path = "allowed_tests.rs"]
mod tests;
