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
    assert_eq!(back, TrustStanding::Changed, "new sessions are set up by what was allowed last");
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
