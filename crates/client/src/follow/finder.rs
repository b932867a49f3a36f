//! Finding the sessions to follow, also those that begin later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use stead_protocol::{Meta, SessionName};

use super::session::{self, Memory};
use super::{Followed, SessionChange, SessionEvent, Teller};
use crate::list::{metas_in, subdirectories};
use crate::{Client, ClientError, Workspace, timer};

/// How often is looked for new hosts where the kernel gives no notice of them: a user may have used up all watches.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The stack of a thread: a follower reads and writes short messages only.
const STACK: usize = 512 << 10;

/// A session by its workspace and name.
type FollowedKey = (Arc<str>, SessionName);

/// What all threads share.
struct FinderShared {
    client: Client,
    followed: Followed,
    output: bool,
    teller: Teller,
    /// Tells of changes in directories; `None` if the kernel gives no notice.
    notices: Option<OwnedFd>,
    sessions: Mutex<BTreeMap<FollowedKey, Follower>>,
    /// Readable when nobody follows any longer.
    closes: UnixStream,
}

/// How it is learnt that something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoticeOfChange {
    /// The kernel tells of every change.
    Told,
    /// Not all directories can be watched, so they are looked at from time to time.
    LookedFor,
}

/// Whether a thread follows a session.
enum Follower {
    /// A thread is being started; this is how far the session was followed before.
    Starting(Memory),
    /// A thread follows the session. `again` says that a new host may have replaced the host meanwhile.
    Active { again: bool },
    /// No thread follows the session, because it has no host; this is how far it was followed.
    Resting(Memory),
}

/// Begins to look for sessions.
pub(super) fn start(
    client: &Client,
    followed: Followed,
    output: bool,
    teller: Teller,
    closes: UnixStream,
) -> Result<(), ClientError> {
    client.dirs.make_runtime()?;
    let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
    let shared = Arc::new(FinderShared {
        client: client.clone(),
        followed,
        output,
        teller,
        notices,
        sessions: Mutex::default(),
        closes,
    });
    let mut notice = shared.scan()?;
    let find = move || {
        while shared.await_change(notice) {
            notice = match shared.scan() {
                Ok(notice) => notice,
                // A directory that cannot be read may be readable later. Notices of changes do not end this rest
                // early, or the directory would be tried all the time.
                Err(_) if shared.rest(LOOK_EVERY) => NoticeOfChange::LookedFor,
                Err(_) => return,
            };
        }
    };
    let started = Builder::new().name("finder".to_owned()).stack_size(STACK).spawn(find);
    started.map(drop).map_err(ClientError::file("start", "a thread"))
}

impl FinderShared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FollowedKey, Follower>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something may have happened in the directories; false once nobody follows.
    fn await_change(&self, notice: NoticeOfChange) -> bool {
        let look = match notice {
            NoticeOfChange::Told => None,
            NoticeOfChange::LookedFor => Some(Instant::now() + LOOK_EVERY),
        };
        let notices = self.notices.as_ref();
        let awaited = [Some(self.closes.as_fd()), notices.map(AsFd::as_fd)];
        let Ok([closed, _]) = timer::wait_readable(awaited, look) else { return false };
        if let Some(notices) = notices {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(notices, &mut buffer);
            while reader.next().is_ok() {}
        }
        !closed
    }

    /// Lets `time` pass; false once nobody follows.
    fn rest(&self, time: Duration) -> bool {
        let until = Some(Instant::now() + time);
        timer::wait_readable([Some(self.closes.as_fd())], until).is_ok_and(|[closed]| !closed)
    }

    /// Asks the kernel for notice of changes from now on: a new host makes its socket in the runtime directory, and
    /// a session's file in its own directory may come later and is replaced when the session is stopped.
    fn watch_directories(&self) -> Result<NoticeOfChange, ClientError> {
        let Some(notices) = &self.notices else { return Ok(NoticeOfChange::LookedFor) };
        let dirs = &self.client.dirs;
        let wanted = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        let mut notice = NoticeOfChange::Told;
        let mut watch = |path: &Path| match inotify::add_watch(notices, path, wanted) {
            // A missing directory needs no watch: it is made in a watched one, or before a socket is made.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(_) => notice = NoticeOfChange::LookedFor,
        };
        watch(&dirs.runtime);
        let workspaces = match &self.followed {
            Followed::Session(name) => {
                watch(&dirs.session(&self.client.workspace, name));
                return Ok(notice);
            }
            Followed::Workspace => vec![dirs.workspace(&self.client.workspace)],
            Followed::All => {
                watch(&dirs.sessions());
                subdirectories(&dirs.sessions())?
            }
        };
        for workspace in workspaces {
            watch(&workspace);
            subdirectories(&workspace)?.iter().for_each(|session| watch(session));
        }
        Ok(notice)
    }

    /// Follows the sessions that nobody follows and that have a host, and tells which are gone.
    fn scan(self: &Arc<Self>) -> Result<NoticeOfChange, ClientError> {
        // Directories are watched before they are read, so that no change after the look goes unnoticed.
        let notice = self.watch_directories()?;
        let metas = self.metas()?;
        let mut there = BTreeSet::new();
        let mut not_started = None;
        for meta in metas {
            let key: FollowedKey = (Arc::from(meta.workspace.as_str()), meta.name.clone());
            there.insert(key.clone());
            let known = {
                let mut sessions = self.lock();
                match sessions.get_mut(&key) {
                    Some(Follower::Active { again }) => {
                        *again = true;
                        continue;
                    }
                    Some(Follower::Starting(_)) => continue,
                    Some(Follower::Resting(_)) if !self.has_socket(&meta) => continue,
                    Some(Follower::Resting(memory)) => Some(std::mem::take(memory)),
                    None => None,
                }
            };
            // A session whose thread could not be started is tried again with the next look.
            not_started = self.spawn(key, known.unwrap_or_default()).err().or(not_started);
        }
        let mut gone = Vec::new();
        self.lock().retain(|key, follower| match follower {
            Follower::Resting(memory) if !there.contains(key) => {
                if !memory.is_told_gone() {
                    gone.push(key.clone());
                }
                false
            }
            _ => true,
        });
        for key in gone {
            self.tell(&key, SessionChange::Gone);
        }
        not_started.map_or(Ok(notice), Err)
    }

    fn metas(&self) -> Result<Vec<Meta>, ClientError> {
        let client = &self.client;
        let mut metas = Vec::new();
        match &self.followed {
            Followed::Session(name) => metas.extend(client.meta(name)?),
            Followed::Workspace => {
                metas = metas_in(&client.dirs.workspace(&client.workspace), &mut Vec::new())?;
            }
            Followed::All => {
                for dir in subdirectories(&client.dirs.sessions())? {
                    metas.extend(metas_in(&dir, &mut Vec::new())?);
                }
            }
        }
        metas.retain(|meta| !meta.stopped);
        Ok(metas)
    }

    fn has_socket(&self, meta: &Meta) -> bool {
        let workspace = Workspace::stored(meta.workspace.clone());
        fs::symlink_metadata(self.client.dirs.socket(&workspace, &meta.name)).is_ok()
    }

    fn spawn(self: &Arc<Self>, key: FollowedKey, memory: Memory) -> Result<(), ClientError> {
        self.lock().insert(key.clone(), Follower::Starting(memory));
        let shared = self.clone();
        let name = format!("follow {}", key.1);
        let followed = key.clone();
        let run = move || shared.run(&followed);
        let started = Builder::new().name(name).stack_size(STACK).spawn(run);
        if started.is_err() {
            let mut sessions = self.lock();
            if let Some(Follower::Starting(memory)) = sessions.remove(&key) {
                sessions.insert(key, Follower::Resting(memory));
            }
        }
        started.map(drop).map_err(ClientError::file("start", "a thread"))
    }

    /// Follows one session for as long as it has a host.
    fn run(&self, key: &FollowedKey) {
        let before = self.lock().insert(key.clone(), Follower::Active { again: false });
        let mut memory = match before {
            Some(Follower::Starting(memory)) => memory,
            _ => Memory::default(),
        };
        let client = self.client.in_workspace(&key.0);
        loop {
            let mut tell = |change| self.tell(key, change);
            let closes = self.closes.as_fd();
            session::follow(&client, &key.1, &mut memory, self.output, closes, &mut tell);
            let mut sessions = self.lock();
            match sessions.get_mut(key) {
                Some(Follower::Active { again: again @ true }) => *again = false,
                _ => {
                    sessions.insert(key.clone(), Follower::Resting(memory));
                    return;
                }
            }
        }
    }

    fn tell(&self, key: &FollowedKey, change: SessionChange) -> bool {
        let (workspace, session) = key.clone();
        self.teller.tell(SessionEvent { workspace, session, change })
    }
}
