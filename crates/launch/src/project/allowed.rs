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
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use stead_protocol::FromProject;

    use super::*;

    struct AllowedPlace {
        dir: tempfile::TempDir,
        note: Option<AllowNote>,
    }

    impl AllowedPlace {
        fn new() -> AllowedPlace {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join(PROJECT_DIR)).unwrap();
            let place = AllowedPlace { dir, note: None };
            place.write("config.toml", "1");
            place
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.dir.path().join(PROJECT_DIR).join(name), text).unwrap();
        }

        fn project(&self) -> ProjectDir {
            ProjectDir::read(self.dir.path()).unwrap().unwrap()
        }

        fn allow(&mut self) {
            self.note = Some(AllowNote::with(self.note.take(), "/w", &self.project()));
        }

        /// Settings that were allowed as the directory is now.
        fn settings(&self, changed: impl FnOnce(&mut Settings)) -> Settings {
            let cwd = self.dir.path().to_str().unwrap();
            let text = serde_json::json!({
                "language": "python", "cwd": cwd, "idle_timeout_ms": 0, "quota_bytes": 0,
            });
            let mut settings: Settings = serde_json::from_value(text).unwrap();
            let from = FromProject { hash: self.project().hash, sets_up: true };
            settings.startup.from_project = Some(from);
            changed(&mut settings);
            settings
        }

        fn standing(&self, settings: &Settings) -> TrustStanding {
            standing_of_kept(settings, self.dir.path(), self.note.as_ref()).0
        }
    }

    #[test]
    fn cf4_kept_settings_count_as_long_as_their_content_is_allowed() {
        let mut place = AllowedPlace::new();
        let settings = place.settings(|_| {});
        assert_eq!(place.standing(&settings), TrustStanding::New);
        place.allow();
        assert_eq!(place.standing(&settings), TrustStanding::Allowed);
        place.write("config.toml", "2");
        assert_eq!(place.standing(&settings), TrustStanding::Allowed, "they are what was allowed");
        place.allow();
        assert_eq!(place.standing(&settings), TrustStanding::Allowed, "nobody took it back");
        let new = TrustStanding::of(&place.project(), place.note.as_ref());
        assert_eq!(new, TrustStanding::Allowed);
        place.write("config.toml", "1");
        let back = TrustStanding::of(&place.project(), place.note.as_ref());
        assert_eq!(
            back,
            TrustStanding::Changed,
            "new sessions are set up by what was allowed last"
        );
        place.write("config.toml", "3");
        place.note = None;
        assert_eq!(place.standing(&settings), TrustStanding::Gone);
        // What has nothing of the project needs nobody's permission.
        let plain = place.settings(|settings| settings.startup.from_project = None);
        assert_eq!(place.standing(&plain), TrustStanding::Allowed);
    }

    #[test]
    fn cf4_what_runs_inside_the_directory_must_be_what_was_allowed() {
        type Way<'a> = &'a dyn Fn(&mut Settings, &Path);
        let inside = |dir: &Path| dir.join(".stead/tool").display().to_string();
        let outside = tempfile::tempdir().unwrap();
        let link = outside.path().join("link").display().to_string();
        let ways: [Way<'_>; 7] = [
            &|it, dir| it.engine.bridge = Some(inside(dir)),
            &|it, dir| it.engine.interpreter = Some(inside(dir)),
            &|it, _| it.engine.command = vec!["perl".to_owned(), ".stead/tool".to_owned()],
            &|it, _| it.engine.command = vec!["{cwd}/.stead/tool".to_owned()],
            &|it, _| it.place.env = vec![("PYTHONPATH".to_owned(), ".stead/lib".to_owned())],
            &|it, _| it.startup.init = Some("exec(open('.stead/tool').read())".to_owned()),
            &|it, _| it.engine.interpreter = Some(link.clone()),
        ];
        for (number, way) in ways.iter().enumerate() {
            let mut place = AllowedPlace::new();
            place.write("tool", "one");
            let _ = fs::remove_file(&link);
            symlink(inside(place.dir.path()), &link).unwrap();
            let settings = place.settings(|it| way(it, place.dir.path()));
            place.allow();
            assert_eq!(place.standing(&settings), TrustStanding::Allowed, "{number}");
            place.write("tool", "two");
            assert_eq!(place.standing(&settings), TrustStanding::Changed, "{number}");
            place.allow();
            assert_eq!(place.standing(&settings), TrustStanding::Allowed, "{number}");
        }
    }

    #[test]
    fn cf4_the_directory_is_told_from_words_that_only_look_like_it() {
        for text in [".stead", "/w/.stead/x", "{cwd}/.stead/x", "a:.stead", "open('.stead/x')"] {
            assert!(names_directory(text), "{text}");
        }
        for text in ["", "stead", "/home/.steadfast/x", "/x/.stead-work/p", "my.stead"] {
            assert!(!names_directory(text), "{text}");
        }
    }

    #[test]
    fn cf4_a_note_of_an_earlier_version_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("note");
        fs::write(&path, r#"{"workspace":"/w","hash":"ab"}"#).unwrap();
        assert!(AllowNote::read(&path, "/w").unwrap().has("ab"));
        assert!(AllowNote::read(&path, "/other").is_none());
    }
}
