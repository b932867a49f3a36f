//! Which ended sessions stay on disk, and how one is removed (SPEC S-12).
//!
//! A session is removed by its directory being renamed to a name that no session can have, and
//! deleted there: others see all of it or nothing. Both of its locks are held meanwhile, so that no
//! host lives in it and no client is starting one. A client that waited for such a lock finds that
//! its file has gone from its place, and begins anew.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use stead_protocol::{FileVersion, Keeps, Meta, tells_of_left_kernel};

use crate::SessionDir;

/// The prefix of directories that are being deleted; no session has such a name.
const GONE: &str = ".gone-";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long and how many ended sessions of a workspace are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Sessions that ended longer ago are removed; without it none is removed for its age.
    pub age: Option<Duration>,
    /// How many of the newest are kept.
    pub count: usize,
}

/// What is kept of all ended sessions of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Sessions.
    pub sessions: Keep,
    /// One-off runs and sessions for shell commands.
    pub runs: Keep,
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            sessions: Keep { age: Some(14 * DAY), count: 64 },
            runs: Keep { age: Some(DAY), count: 16 },
        }
    }
}

impl Retention {
    /// The values that the environment sets, and defaults for the others. An error names the variable that is
    /// wrong.
    pub fn from_env() -> Result<Self, String> {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Retention::read(&var)
    }

    fn read(var: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut retention = Retention::default();
        for (name, age) in [
            ("STEAD_KEEP_AGE", &mut retention.sessions.age),
            ("STEAD_KEEP_RUNS_AGE", &mut retention.runs.age),
        ] {
            if let Some(text) = var(name) {
                *age = read_age(&text).ok_or_else(|| {
                    format!(
                        "{name} is `{text}`; it takes a time such as 14d, 12h or 30m, or `never`"
                    )
                })?;
            }
        }
        for (name, count) in [
            ("STEAD_KEEP_COUNT", &mut retention.sessions.count),
            ("STEAD_KEEP_RUNS_COUNT", &mut retention.runs.count),
        ] {
            if let Some(text) = var(name) {
                *count = text
                    .parse()
                    .map_err(|_| format!("{name} is `{text}`, which is no number of sessions"))?;
            }
        }
        Ok(retention)
    }
}

/// How many bytes a session's history may take with its index and keys by default.
pub const HISTORY: u64 = 64 << 20;

/// How many bytes a session's history may take with its index and keys: what `STEAD_KEEP_HISTORY` sets.
pub fn history_quota() -> Result<u64, String> {
    let name = "STEAD_KEEP_HISTORY";
    match std::env::var(name).ok().filter(|value| !value.is_empty()) {
        None => Ok(HISTORY),
        Some(text) => read_size(&text).ok_or_else(|| {
            format!("{name} is `{text}`; it takes a size such as 64M, 1G or 500000")
        }),
    }
}

fn read_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn read_age(text: &str) -> Option<Option<Duration>> {
    if text == "never" {
        return Some(None);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 24 * 3600 * 1000,
        _ => return None,
    };
    let number: u64 = digits.parse().ok()?;
    Some(Some(Duration::from_millis(number.checked_mul(unit)?)))
}

/// A session that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// What it took on disk.
    pub used: Used,
}

/// Room on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// In bytes, as the disk counts.
    pub bytes: u64,
    /// In files and directories.
    pub files: u64,
}

impl std::ops::AddAssign for Used {
    fn add_assign(&mut self, other: Used) {
        self.bytes += other.bytes;
        self.files += other.files;
    }
}

/// Why a session was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// It has a host, or the guard of one still cleans up.
    #[error("it has a live host")]
    Live,
    /// A client is starting it.
    #[error("it is being started")]
    Starting,
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What a collection did.
#[derive(Debug, Default)]
pub struct Collected {
    /// Sessions that went.
    pub removed: Vec<Removed>,
    /// Sessions that should have gone and could not, and why.
    pub failed: Vec<(String, RemoveError)>,
    /// Time ran out before all were removed.
    pub unfinished: bool,
}

/// Removes the ended sessions of a workspace that are too old or too many, for at most `time`.
///
/// `own` is a session of which the caller is the host; it counts as the newest ended one.
pub fn collect(
    workspace: &Path,
    retention: &Retention,
    own: Option<&Path>,
    time: Duration,
) -> io::Result<Collected> {
    let deadline = Instant::now() + time;
    let mut collected = Collected::default();
    for ended in too_many(workspace, retention, own)? {
        if Instant::now() >= deadline {
            collected.unfinished = true;
            break;
        }
        match remove(&ended) {
            Ok(removed) => collected.removed.push(removed),
            // The session was started again meanwhile.
            Err(RemoveError::Live | RemoveError::Starting) => {}
            // Another process removed the session meanwhile.
            Err(RemoveError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => collected.failed.push((file_name(&ended), error)),
        }
    }
    Ok(collected)
}

/// The ended sessions that would be removed, the oldest first. Also deletes what interrupted removals left.
pub fn too_many(
    workspace: &Path,
    retention: &Retention,
    own: Option<&Path>,
) -> io::Result<Vec<PathBuf>> {
    let now = SystemTime::now();
    let (mut sessions, mut runs) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(workspace) {
        // Another process found the directory empty and removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if file_name(&path).starts_with(GONE) {
            // The process that began to delete this directory was killed, or is still deleting; two processes
            // that delete it do no harm.
            let _ = fs::remove_dir_all(&path);
            continue;
        }
        let dir = SessionDir::new(&path);
        if !path.is_dir() {
            continue;
        }
        let of_runs = is_run(&dir);
        let kind = if of_runs { &mut runs } else { &mut sessions };
        if own == Some(&path) {
            kind.push((now, path));
        } else if !has_host(&dir) && !has_left_kernel(&path) {
            kind.push((last_change(&dir), path));
        }
    }
    let mut going = Vec::new();
    for (mut ended, keep) in [(sessions, retention.sessions), (runs, retention.runs)] {
        // The newest first; sessions of the same time are ordered by their paths.
        ended.sort_by(|a, b| b.cmp(a));
        let is_old = |at: &SystemTime| {
            let age = now.duration_since(*at).unwrap_or_default();
            keep.age.is_some_and(|most| age > most)
        };
        let gone = ended.into_iter().enumerate();
        let gone = gone.filter(|(n, (at, path))| {
            own != Some(path.as_path()) && (*n >= keep.count || is_old(at))
        });
        going.extend(gone.map(|(_, ended)| ended));
    }
    going.sort();
    Ok(going.into_iter().map(|(_, path)| path).collect())
}

/// Removes a session that has no host.
pub fn remove(path: &Path) -> Result<Removed, RemoveError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let dir = SessionDir::new(path);
    let _start = take(&dir.start_lock())?.ok_or(RemoveError::Starting)?;
    let _host = take(&dir.lock())?.ok_or(RemoveError::Live)?;
    let name = file_name(path);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let gone = path.with_file_name(format!("{GONE}{}-{count}-{name}", std::process::id()));
    fs::rename(path, &gone)?;
    let used = usage(&gone);
    match fs::remove_dir_all(&gone) {
        // A collection in another process may have deleted the renamed directory first.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(Removed { name, used }),
    }
}

/// What a directory takes, with all that is in it.
pub fn usage(dir: &Path) -> Used {
    let mut used = Used::default();
    let mut count = |meta: &Metadata| used += Used { bytes: meta.blocks() * 512, files: 1 };
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        let Ok(meta) = dir.symlink_metadata() else { continue };
        count(&meta);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => left.push(entry.path()),
                Ok(meta) => count(&meta),
                Err(_) => {}
            }
        }
    }
    used
}

/// Whether an open file is still the one at this path: a session may have been removed meanwhile.
pub fn is_in_place(file: &File, path: &Path) -> bool {
    let identity = |meta: Metadata| (meta.dev(), meta.ino());
    let there = path.symlink_metadata().map(identity).ok();
    there.is_some() && there == file.metadata().map(identity).ok()
}

/// Whether a host, or the guard that cleans up after it, still lives.
pub fn has_host(dir: &SessionDir) -> bool {
    let Ok(file) = stead_files::open(&dir.lock()) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// Whether a session has left kernels at servers: with its directory nobody would know of them any more.
pub fn has_left_kernel(path: &Path) -> bool {
    let files = fs::read_dir(path).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|name| name.to_str().is_some_and(tells_of_left_kernel))
}

/// Takes a lock if nobody has it. Something that is not a file cannot be anybody's lock.
fn take(path: &Path) -> io::Result<Option<File>> {
    let file = match stead_files::open_with(OpenOptions::new().append(true).create(true), path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => File::open("/dev/null")?,
        opened => opened?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if is_in_place(&file, path) || !path.is_file() => Ok(Some(file)),
        Ok(()) | Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether it was a one-off run or a session for shell commands, which stay for a shorter time. What a newer version of
/// the file says is not known, so such a session stays for the longer one.
fn is_run(dir: &SessionDir) -> bool {
    let known = |bytes: Vec<u8>| {
        let version = serde_json::from_slice::<FileVersion>(&bytes).ok()?;
        if version.is_newer() { None } else { serde_json::from_slice::<Meta>(&bytes).ok() }
    };
    let meta = stead_files::read(&dir.meta(), stead_files::MOST_SETTINGS).ok().and_then(known);
    meta.is_some_and(|meta| {
        meta.settings.policy.once || meta.settings.engine.keeps == Keeps::Nothing
    })
}

/// When something was last recorded.
fn last_change(dir: &SessionDir) -> SystemTime {
    let changed = |path: PathBuf| path.symlink_metadata().and_then(|meta| meta.modified()).ok();
    let recorded = [dir.history(), dir.meta()].into_iter().filter_map(changed).max();
    recorded.or_else(|| changed(dir.path().to_owned())).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(workspace: &Path, name: &str, days_old: u64, once: bool) -> PathBuf {
        let dir = workspace.join(name);
        fs::create_dir(&dir).unwrap();
        let settings = serde_json::json!({
            "language": "python", "cwd": "/", "idle_timeout_ms": 0, "quota_bytes": 0, "once": once
        });
        let meta = serde_json::json!({
            "version": 1, "name": name, "workspace": "/", "created_ms": 0, "settings": settings
        });
        let at = SystemTime::now() - DAY * days_old as u32;
        for (file, text) in [("meta.json", meta.to_string()), ("history.jsonl", String::new())] {
            fs::write(dir.join(file), text).unwrap();
            File::options().write(true).open(dir.join(file)).unwrap().set_modified(at).unwrap();
        }
        dir
    }

    fn names(workspace: &Path) -> Vec<String> {
        let entries = fs::read_dir(workspace).unwrap();
        let mut names: Vec<_> = entries.map(|entry| file_name(&entry.unwrap().path())).collect();
        names.sort();
        names
    }

    #[test]
    fn s12_what_is_too_old_or_too_many_goes_and_what_lives_stays() {
        let temp = tempfile::tempdir().unwrap();
        let here = temp.path();
        session(here, "a", 20, false);
        session(here, "b", 13, false);
        session(here, "c", 3, false);
        session(here, "d", 2, false);
        session(here, "run-old", 2, true);
        session(here, "run-new", 0, true);
        let live = session(here, "live", 30, false);
        let lock = File::create(live.join("host.lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let starting = session(here, "starting", 30, false);
        let start = File::create(starting.join("start.lock")).unwrap();
        flock(&start, FlockOperation::LockExclusive).unwrap();
        let forever = Duration::MAX.min(DAY);
        let all = collect(here, &Retention::default(), None, forever).unwrap();
        assert_eq!(names(here), ["b", "c", "d", "live", "run-new", "starting"]);
        assert!(all.failed.is_empty() && !all.unfinished);
        assert!(all.removed.iter().all(|removed| removed.used.files == 5), "{all:?}");
        let few = Keep { age: None, count: 2 };
        let few = Retention { sessions: few, runs: Keep { count: 0, ..few } };
        collect(here, &few, Some(&here.join("b")), forever).unwrap();
        assert_eq!(names(here), ["b", "d", "live", "starting"], "its own counts and stays");
        assert!(matches!(remove(&live), Err(RemoveError::Live)));
        assert!(matches!(remove(&starting), Err(RemoveError::Starting)));
        // Not just dropped: a child that another test starts at this moment would hold them still.
        for held in [lock, start] {
            flock(&held, FlockOperation::Unlock).unwrap();
        }
        remove(&live).unwrap();
        assert!(!is_in_place(&File::open(here.join("b/meta.json")).unwrap(), &live));
    }

    #[test]
    fn s12_a_session_whose_file_is_of_a_newer_version_is_never_taken_for_a_run() {
        let temp = tempfile::tempdir().unwrap();
        let run = session(temp.path(), "run", 1, true);
        let newer = session(temp.path(), "newer", 1, true);
        let text = fs::read_to_string(newer.join("meta.json")).unwrap();
        let text = text.replace(r#""version":1"#, r#""version":2"#);
        fs::write(newer.join("meta.json"), text).unwrap();
        let none = Keep { age: None, count: 0 };
        let retention = Retention { runs: none, ..Retention::default() };
        assert_eq!(too_many(temp.path(), &retention, None).unwrap(), [run]);
    }

    #[test]
    fn s9_what_tells_of_a_kernel_that_is_left_at_its_server_stays() {
        let temp = tempfile::tempdir().unwrap();
        let dir = session(temp.path(), "a", 20, false);
        fs::write(dir.join("gateway-1.json"), "{}").unwrap();
        let going = || too_many(temp.path(), &Retention::default(), None).unwrap();
        assert!(going().is_empty());
        fs::remove_file(dir.join("gateway-1.json")).unwrap();
        assert_eq!(going(), [dir]);
    }

    #[test]
    fn s12_what_a_killed_removal_left_goes_with_the_next() {
        let temp = tempfile::tempdir().unwrap();
        let dir = session(temp.path(), "x", 0, false);
        fs::rename(&dir, temp.path().join(".gone-7-0-x")).unwrap();
        collect(temp.path(), &Retention::default(), None, DAY).unwrap();
        assert!(names(temp.path()).is_empty());
    }

    #[test]
    fn s12_the_bounds_are_settable_and_a_wrong_one_is_named() {
        let read = |pairs: &[(&str, &str)]| {
            Retention::read(&|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(read(&[]).unwrap(), Retention::default());
        assert_eq!((read_size("64M"), read_size("500")), (Some(64 << 20), Some(500)));
        assert_eq!((read_size("1x"), read_size(""), read_size("-1")), (None, None, None));
        let set = read(&[("STEAD_KEEP_AGE", "36h"), ("STEAD_KEEP_RUNS_COUNT", "3")]).unwrap();
        assert_eq!((set.sessions.age, set.runs.count), (Some(DAY + DAY / 2), 3));
        assert_eq!(read(&[("STEAD_KEEP_AGE", "never")]).unwrap().sessions.age, None);
        for (name, wrong) in [("STEAD_KEEP_AGE", "soon"), ("STEAD_KEEP_COUNT", "-1")] {
            assert!(read(&[(name, wrong)]).unwrap_err().contains(name));
        }
    }
}
