//! Which workspace a server serves (SPEC M-11).
//!
//! ```text
//! given by the user ─────────────────────────────────────────┐
//! found: its directory is in a project ──────────────────────┼─▶ opened: `open` with `workspace`, for its life
//! found: it is not ──▶ rooted: the client has told its roots ┘
//! ```
//!
//! A client with roots is asked for them after the handshake. The first call waits for the answer for at most
//! `ROOTS_TIME`; what comes later still counts, and the next reply says so.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use stead_client::{Client, ClientError, LaunchOptions, Workspace};
use tokio::sync::Notify;

use crate::cursors::Cursors;
use crate::text::{one_line, quoted};

/// How long the first call waits for the client's roots.
const ROOTS_TIME: Duration = Duration::from_secs(1);

/// One workspace, and what belongs to it.
#[derive(Debug)]
pub struct Here {
    pub(crate) client: Client,
    /// Where paths of calls are taken from.
    pub(crate) cwd: PathBuf,
    /// Where sessions start that say nothing else: `cwd`, if it is in the workspace.
    start: Option<PathBuf>,
    pub(crate) cursors: Cursors,
}

impl Here {
    pub(crate) fn new(client: Client, cwd: PathBuf) -> Self {
        let start = cwd.starts_with(client.workspace.path()).then(|| cwd.clone());
        Here { client, cwd, start, cursors: Cursors::default() }
    }

    /// The same client in another workspace.
    pub(crate) fn moved(&self, workspace: Workspace, cwd: PathBuf) -> Here {
        Here::new(Client { workspace, ..self.client.clone() }, cwd)
    }

    /// A path as a call names it: relative ones begin where sessions start, `~` is the home directory.
    pub(crate) fn path(&self, given: &str) -> PathBuf {
        let base = self.start.as_deref().unwrap_or(self.client.workspace.path());
        under_home(given).unwrap_or_else(|| base.join(given))
    }

    /// How a session starts that a call finds missing.
    pub(crate) fn launch(&self, language: Option<String>) -> LaunchOptions {
        LaunchOptions { language, here: self.start.clone(), ..LaunchOptions::default() }
    }
}

/// Why a server is in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// The user named it, or the server was started in a project.
    Settled,
    /// It is only the directory that the server was started in.
    Outside,
    /// It is a root of the client's.
    Rooted,
    /// A call has switched to it.
    Opened,
}

/// Where a server is.
#[derive(Debug)]
pub(crate) struct Place {
    now: Mutex<PlaceNow>,
    settled: Notify,
}

#[derive(Debug)]
struct PlaceNow {
    here: Arc<Here>,
    chosen: Chosen,
    roots: RootsStage,
    /// What the next reply has to say about the place.
    news: Option<News>,
}

/// Whether the client's roots are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootsStage {
    /// The roots were not asked for.
    NotAsked,
    Expected,
    /// The roots have come, or nobody waits for them any longer.
    Settled,
}

/// What the next reply says about the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Where the server is, unless that is a project.
    First,
    /// That the client's roots have changed the workspace.
    Rooted,
}

impl Place {
    pub(crate) fn given(here: Here) -> Place {
        Place::new(here, Chosen::Settled, None)
    }

    pub(crate) fn found(here: Here) -> Place {
        match is_project(here.client.workspace.path()) {
            true => Place::new(here, Chosen::Settled, None),
            false => Place::new(here, Chosen::Outside, Some(News::First)),
        }
    }

    fn new(here: Here, chosen: Chosen, news: Option<News>) -> Place {
        let here = Arc::new(here);
        let now = PlaceNow { here, chosen, roots: RootsStage::NotAsked, news };
        Place { now: Mutex::new(now), settled: Notify::new() }
    }

    /// Where the server is now.
    pub(crate) fn here(&self) -> Arc<Here> {
        self.now().here.clone()
    }

    /// Notes that the client can tell its roots; returns whether they are wanted.
    pub(crate) fn expect_roots(&self) -> bool {
        let mut now = self.now();
        let wanted = matches!(now.chosen, Chosen::Outside | Chosen::Rooted);
        if wanted && now.roots == RootsStage::NotAsked {
            now.roots = RootsStage::Expected;
        }
        wanted
    }

    /// Takes the client's roots, in its order; without any, nothing changes.
    pub(crate) fn take_roots(&self, roots: &[PathBuf]) {
        let mut now = self.now();
        let found: Vec<(Workspace, &PathBuf)> = roots
            .iter()
            .filter_map(|root| Some((Workspace::find(None, root).ok()?, root)))
            .collect();
        let stays = |workspace: &Workspace| *workspace == now.here.client.workspace;
        let is_better = match now.chosen {
            Chosen::Outside => true,
            // A server stays in its workspace as long as that is one of the client's roots.
            Chosen::Rooted => !found.iter().any(|(workspace, _)| stays(workspace)),
            Chosen::Settled | Chosen::Opened => false,
        };
        if let (true, Some((workspace, root))) = (is_better, found.into_iter().next()) {
            let moves = !stays(&workspace);
            now.here = Arc::new(now.here.moved(workspace, root.clone()));
            now.chosen = Chosen::Rooted;
            if moves && now.roots == RootsStage::Settled {
                now.news = Some(News::Rooted);
            }
        }
        drop(now);
        self.settle();
    }

    /// The client's roots are not waited for any longer.
    pub(crate) fn settle(&self) {
        self.now().roots = RootsStage::Settled;
        self.settled.notify_waiters();
    }

    /// Returns when the client has told its roots, or has had the time for it.
    pub(crate) async fn settled(&self) {
        let expected = || self.now().roots == RootsStage::Expected;
        if !expected() {
            return;
        }
        let told = self.settled.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        if expected() && tokio::time::timeout(ROOTS_TIME, told).await.is_err() {
            self.settle();
        }
    }

    /// Switches to another workspace for the life of this server.
    pub(crate) fn open(&self, here: Arc<Here>) {
        let mut now = self.now();
        (now.here, now.chosen, now.news) = (here, Chosen::Opened, None);
    }

    /// What the next reply has to say about the place, and its words; said once.
    pub(crate) fn take_news(&self) -> Option<(News, String)> {
        let (news, workspace) = {
            let mut now = self.now();
            let news = now.news.take()?;
            (news, now.here.client.workspace.clone())
        };
        let path = one_line(workspace.as_str());
        let how = "open {\"workspace\":\"DIR\"} switches to a project";
        let said = match news {
            News::Rooted => {
                format!("[note: the workspace is now {path}, the client's root]\n")
            }
            News::First => {
                let what = place_name(workspace.path())?;
                format!("[note: the workspace is {path}, {what}; {how}]\n")
            }
        };
        Some((news, said))
    }

    /// Takes back news about the place that nobody has read; newer news outranks it.
    pub(crate) fn say_again(&self, news: News) {
        let mut now = self.now();
        if now.chosen != Chosen::Opened {
            now.news.get_or_insert(news);
        }
    }

    fn now(&self) -> MutexGuard<'_, PlaceNow> {
        self.now.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// The workspace that a call names: a directory, from the server's own if it is relative.
pub(crate) fn named(given: &str, cwd: &Path) -> Result<Workspace, ClientError> {
    let path = under_home(given).unwrap_or_else(|| cwd.join(given));
    Workspace::find(Some(&path), cwd)
}

/// The path that is meant by `~` or `~/…`.
fn under_home(given: &str) -> Option<PathBuf> {
    let rest = given.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(home().map_or_else(|| given.into(), |home| home.join(rest.trim_start_matches('/'))))
}

/// Whether a directory is a project: it is marked as one, and is not a place where everything lies.
fn is_project(path: &Path) -> bool {
    let is_marked = path.join(".stead").is_dir() || path.join(".git").exists();
    is_marked && place_name(path).is_none()
}

/// What kind of place it is, if nobody would choose it for a project.
fn place_name(path: &Path) -> Option<&'static str> {
    if path == Path::new("/") {
        return Some("the root directory");
    }
    (home()? == path).then_some("the home directory")
}

fn home() -> Option<PathBuf> {
    PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).canonicalize().ok()
}

/// The directory that a root's address names, if it is one on this machine.
pub(crate) fn directory(address: &str) -> Option<PathBuf> {
    let rest = address.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, more @ ..] = rest {
        let escaped = match (first, more) {
            (b'%', [high, low, ..]) => {
                let digits = [*high, *low];
                std::str::from_utf8(&digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &more[2..] } else { more };
    }
    let path = PathBuf::from(String::from_utf8(bytes).ok()?).canonicalize().ok()?;
    path.is_dir().then_some(path)
}

/// How a switch is told.
pub(crate) fn switched(workspace: &Workspace) -> String {
    format!("workspace {} from now on", quoted(workspace.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m11_a_root_is_a_directory_on_this_machine() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap().join("a b%é");
        std::fs::create_dir(&dir).unwrap();
        let base = temp.path().canonicalize().unwrap();
        let base = base.to_str().unwrap();
        for address in [
            format!("file://{base}/a%20b%25%C3%A9"),
            format!("file://localhost{base}/a%20b%25é/"),
            format!("file://{base}/a b%é"),
        ] {
            assert_eq!(directory(&address).as_ref(), Some(&dir), "{address}");
        }
        for address in [
            "https://example.org/",
            "file://elsewhere/tmp",
            "/tmp",
            "file:///nonexistent",
            "file://",
        ] {
            assert_eq!(directory(address), None, "{address}");
        }
    }
}
