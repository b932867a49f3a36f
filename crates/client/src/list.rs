//! What sessions there are, and what each is doing (SPEC S-10).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stead_protocol::client::{Reply, Request};
use stead_protocol::{
    Activity, By, EndReason, EvalId, EvalSeq, Generation, Meta, Offset, SessionName, Status, Usage,
};
use stead_spool::{EvalEntry, Gone, HistoryReader, SpoolError};

use crate::control::status;
use crate::eval::run::RUN_PREFIX;
use crate::eval::view::unrecorded;
use crate::eval::wait;
use crate::reach::connection::{Connection, PATIENCE};
use crate::reach::language::is_shell;
use crate::reach::meta::read_meta;
use crate::{Client, ClientError, EvalStatus, Workspace};

/// How long one host may hold up a list.
const LIST_PATIENCE: Duration = Duration::from_secs(1);
/// How many hosts are asked at once.
const ASK_AT_ONCE: usize = 16;

/// A session in a list.
#[derive(Debug)]
pub struct Listed {
    /// What is known of it.
    pub status: Status,
    /// Why its host, which lives, did not say what the session does; `status` is what the disk tells then.
    pub unheard: Option<ClientError>,
}

/// All sessions that were asked for.
#[derive(Debug)]
pub struct Listing {
    /// By workspace and name.
    pub sessions: Vec<Listed>,
    /// Sessions that could not be read, and why.
    pub unreadable: Vec<ClientError>,
}

/// An eval in a list.
#[derive(Debug, Clone)]
pub struct EvalSummary {
    /// Its record.
    pub entry: EvalEntry,
    /// Its id.
    pub id: EvalId,
    /// Where it stands.
    pub status: EvalStatus,
    /// What it did to the session's state is gone, because the session went back to an earlier one.
    pub undone: bool,
}

/// Evals in a list.
#[derive(Debug, Clone)]
pub struct Evals {
    /// Oldest first.
    pub evals: Vec<EvalSummary>,
    /// Why the list may be behind: the host does not answer, or the disk refuses outcomes.
    pub notice: Option<String>,
    /// Older ones whose records were dropped to make room.
    pub gone: Option<Gone>,
}

/// A session of the workspace, as far as choosing one needs to know it.
#[derive(Debug)]
struct KnownSession {
    name: SessionName,
    /// Whether it has a host.
    lives: bool,
    /// Whether it runs shell commands or a one-off run: nobody means such a session without naming it.
    serves: bool,
}

impl KnownSession {
    fn new(name: SessionName, lives: bool) -> Self {
        let serves = is_shell(&name) || name.as_str().starts_with(RUN_PREFIX);
        KnownSession { name, lives, serves }
    }
}

/// The session that a command without a name is about.
fn meant(known: &[KnownSession]) -> Option<&SessionName> {
    let steps: [fn(&KnownSession) -> bool; 4] =
        [|one| one.lives && !one.serves, |one| one.lives, |one| !one.serves, |_| true];
    let step = steps.into_iter().find(|step| known.iter().any(step))?;
    single(known, step)
}

/// The only session for which `holds` is true; `None` if there are none or several.
fn single(known: &[KnownSession], holds: impl Fn(&KnownSession) -> bool) -> Option<&SessionName> {
    let mut all = known.iter().filter(|one| holds(one));
    match (all.next(), all.next()) {
        (Some(only), None) => Some(&only.name),
        _ => None,
    }
}

impl Client {
    /// The names of this workspace's sessions, except stopped ones.
    pub fn names(&self) -> Result<Vec<SessionName>, ClientError> {
        Ok(self.known()?.into_iter().map(|known| known.name).collect())
    }

    /// The session that is meant where none is named: the only live one of the workspace, else, where none lives,
    /// the only one that has ended (SPEC C-2).
    pub fn only(&self) -> Result<SessionName, ClientError> {
        let known = self.known()?;
        match meant(&known) {
            Some(name) => Ok(name.clone()),
            None => {
                let existing: Vec<SessionName> =
                    known.into_iter().map(|known| known.name).collect();
                let has_some = |there: &Client| there.names().is_ok_and(|names| !names.is_empty());
                let around = existing.is_empty().then(|| self.around(has_some)).flatten();
                Err(ClientError::WhichSession { existing, around })
            }
        }
    }

    /// The only live session of the workspace that code can be sent to without naming it, if there is just one.
    pub fn only_live(&self) -> Result<Option<SessionName>, ClientError> {
        let known = self.known()?;
        Ok(single(&known, |known| known.lives && !known.serves).cloned())
    }

    fn known(&self) -> Result<Vec<KnownSession>, ClientError> {
        let mut metas = metas_in(&self.dirs.workspace(&self.workspace), &mut Vec::new())?;
        metas.retain(|meta| !meta.stopped);
        let elsewhere = self.elsewhere(&metas, false).into_iter();
        let mut known: Vec<KnownSession> =
            elsewhere.map(|one| KnownSession::new(one.status.name, true)).collect();
        known.extend(metas.into_iter().map(|meta| {
            let lives = self.has_live_host(&meta.name);
            KnownSession::new(meta.name, lives)
        }));
        known.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(known)
    }

    /// Whether a session has a host that stays.
    fn has_live_host(&self, name: &SessionName) -> bool {
        let socket = self.dirs.socket(&self.workspace, name).symlink_metadata().is_ok();
        let locked = wait::host_lives(&self.dir(name));
        if socket == locked {
            return locked;
        }
        // A host that leaves takes its socket away before it says that the session has ended, and lives on for a moment.
        // A host whose socket was deleted listens again when it is called, and one whose lock file was deleted makes it
        // anew.
        match self.door(name).connect(LIST_PATIENCE) {
            Ok(connection) => connection.is_some(),
            Err(error) => matches!(error, ClientError::Silent { .. }),
        }
    }

    /// Sessions of this workspace, or of all workspaces, except stopped ones. Sessions that cannot be read
    /// are named.
    pub fn list(&self, all: bool) -> Result<Listing, ClientError> {
        // A directory that cannot be trusted is an error, not a host that does not answer.
        self.dirs.open_runtime()?;
        let mut unreadable = Vec::new();
        let mut metas = Vec::new();
        if all {
            for dir in subdirectories(&self.dirs.sessions())? {
                metas.extend(metas_in(&dir, &mut unreadable)?);
            }
        } else {
            metas = metas_in(&self.dirs.workspace(&self.workspace), &mut unreadable)?;
        }
        metas.retain(|meta| !meta.stopped);
        let listed = Mutex::new(Vec::with_capacity(metas.len()));
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(meta) = metas.get(next.fetch_add(1, Ordering::Relaxed)) {
                let one = self.look_at(meta);
                listed.lock().unwrap_or_else(|e| e.into_inner()).push(one);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..metas.len().min(ASK_AT_ONCE) {
                scope.spawn(work);
            }
            work();
        });
        let listed = listed.into_inner().unwrap_or_else(|e| e.into_inner());
        let mut sessions = Vec::with_capacity(listed.len());
        for one in listed {
            match one {
                Ok(one) => sessions.push(one),
                Err(error) => unreadable.push(error),
            }
        }
        sessions.extend(self.elsewhere(&metas, all));
        sessions.sort_by(|a, b| {
            (&a.status.workspace, &a.status.name).cmp(&(&b.status.workspace, &b.status.name))
        });
        Ok(Listing { sessions, unreadable })
    }

    /// Live sessions that were started by clients with another home: their sockets are here, their files are not.
    fn elsewhere(&self, own: &[Meta], all: bool) -> Vec<Listed> {
        let known: Vec<PathBuf> = own
            .iter()
            .map(|meta| self.dirs.socket(&Workspace::stored(meta.workspace.clone()), &meta.name))
            .collect();
        let (Ok(Some(runtime)), Ok(entries)) =
            (self.dirs.open_runtime(), fs::read_dir(&self.dirs.runtime))
        else {
            return Vec::new();
        };
        let sockets = entries.flatten().map(|entry| entry.path());
        let sockets = sockets.filter(|path| path.extension().is_some_and(|ext| ext == "sock"));
        let Ok(anyone) = "unknown".parse::<SessionName>() else { return Vec::new() };
        let ask = |socket: PathBuf| -> Option<Listed> {
            let by = Instant::now() + LIST_PATIENCE;
            let open =
                Connection::open(&runtime, &socket, &anyone, self.kind, false, LIST_PATIENCE);
            let mut connection = open.ok()??;
            // A session whose files are in our own state directory is in the list already.
            let here = connection.dir.as_ref().is_some_and(|dir| dir.starts_with(&self.dirs.state));
            if here {
                return None;
            }
            let Ok(Reply::Status(status)) = connection.request(Request::Status, Some(by)) else {
                return None;
            };
            let ours = all || status.workspace == self.workspace.as_str();
            ours.then_some(Listed { status: *status, unheard: None })
        };
        sockets.filter(|socket| !known.contains(socket)).filter_map(ask).collect()
    }

    /// Everything about one session.
    pub fn status(&self, name: &SessionName) -> Result<Status, ClientError> {
        match self.look(name, Instant::now() + PATIENCE) {
            Ok(mut connection) => match status(&mut connection) {
                Err(error) if error.is_hang_up() => self.offline(&self.require(name, false)?),
                status => status,
            },
            Err(ClientError::Ended { .. }) => self.offline(&self.require(name, false)?),
            Err(error) => Err(error),
        }
    }

    /// The last `count` evals of a session, oldest first, also of a stopped one.
    pub fn evals(&self, name: &SessionName, count: u64) -> Result<Evals, ClientError> {
        self.require(name, true)?;
        let read = || match self.history(name)? {
            Some(history) => history
                .last(count)
                .and_then(|entries| Ok((entries, history.gone()?)))
                .map_err(ClientError::spool(name)),
            None => Ok((Vec::new(), None)),
        };
        let (mut entries, mut gone) = read()?;
        let (mut now, mut notice) = (Now::Over, None);
        // The disk has all there is to know of finished evals; only for others the host is asked.
        if entries.iter().any(|entry| entry.finished.is_none()) {
            now = match self.asked(name) {
                Ok(now) => now,
                Err(error) => {
                    notice = Some(format!("{error}; this is what it had written"));
                    Now::Unknown
                }
            };
            // An eval that finished while the host was asked is shown as finished.
            (entries, gone) = read()?;
        }
        if let Now::Lives(status) = &now {
            // An eval whose outcome was recorded since is no longer named as unrecorded.
            let open: Vec<EvalSeq> = entries
                .iter()
                .filter(|entry| entry.finished.is_none())
                .map(|entry| entry.seq)
                .collect();
            let mut status = status.clone();
            if let Some(known) = &mut status.unrecorded {
                known.evals.retain(|eval| open.contains(eval));
            }
            status.unrecorded = status.unrecorded.filter(|known| !known.evals.is_empty());
            notice = unrecorded(&status);
        }
        let undone = stead_spool::read_undone(self.dir(name).path());
        let evals = entries.into_iter().map(|entry| EvalSummary {
            id: EvalId { session: name.clone(), seq: entry.seq },
            status: standing(&entry, &now),
            undone: undone.contains(entry.seq),
            entry,
        });
        Ok(Evals { evals: evals.collect(), notice, gone })
    }

    /// The last eval that is code: other work does not count as "the last eval". Nor does init code that is over, which gets
    /// its number after that of the eval that started the session, unless there is nothing else.
    pub fn last_code(&self, name: &SessionName) -> Result<Option<EvalSummary>, ClientError> {
        let mut count = 1;
        loop {
            let listed = self.evals(name, count)?.evals;
            let all = (listed.len() as u64) < count;
            let mut code: Vec<EvalSummary> =
                listed.into_iter().filter(|eval| eval.entry.kind.is_code()).collect();
            let is_last =
                |eval: &EvalSummary| eval.entry.by != By::init() || eval.entry.finished.is_none();
            match code.iter().rposition(is_last) {
                Some(at) => return Ok(Some(code.swap_remove(at))),
                None if all => return Ok(code.pop()),
                None => count *= 16,
            }
        }
    }

    /// What the session does, as its host says.
    fn asked(&self, name: &SessionName) -> Result<Now, ClientError> {
        let by = Instant::now() + LIST_PATIENCE;
        let asked = self.look(name, by).and_then(|mut connection| {
            match connection.request(Request::Status, Some(by))? {
                Reply::Status(status) => Ok(Now::Lives(status)),
                other => Err(connection.odd(&other)),
            }
        });
        match asked {
            Err(ClientError::Ended { .. } | ClientError::NotFound { .. }) => Ok(Now::Over),
            Err(error) if error.is_hang_up() => Ok(Now::Over),
            asked => asked,
        }
    }

    fn look_at(&self, meta: &Meta) -> Result<Listed, ClientError> {
        let there = Client { workspace: Workspace::stored(meta.workspace.clone()), ..self.clone() };
        let deadline = Some(Instant::now() + LIST_PATIENCE);
        let asked = there.door(&meta.name).connect(LIST_PATIENCE).and_then(|connection| {
            let Some(mut connection) = connection else { return Ok(None) };
            match connection.request(Request::Status, deadline)? {
                Reply::Status(status) => Ok(Some(*status)),
                other => Err(connection.odd(&other)),
            }
        });
        match asked {
            Ok(Some(status)) => Ok(Listed { status, unheard: None }),
            Err(error) if error.is_hang_up() => {
                Ok(Listed { status: there.offline(meta)?, unheard: None })
            }
            Ok(None) => Ok(Listed { status: there.offline(meta)?, unheard: None }),
            Err(error) => {
                let status = Status { activity: Activity::Unknown, ..there.offline(meta)? };
                Ok(Listed { status, unheard: Some(error) })
            }
        }
    }

    /// How the last interpreter of a session without a host ended.
    pub(crate) fn end_of(&self, meta: &Meta) -> Result<EndReason, ClientError> {
        let end = match self.history(&meta.name)? {
            Some(history) => history.last_end().map_err(ClientError::spool(&meta.name))?,
            None => None,
        };
        Ok(end.map_or(EndReason::HostDied, |(reason, _)| reason))
    }

    /// What the disk tells about a session without a host.
    pub(crate) fn offline(&self, meta: &Meta) -> Result<Status, ClientError> {
        let past = self.past(meta)?;
        Ok(self.without_host(meta, past))
    }

    /// Like `offline`; what cannot be read is left out.
    pub(crate) fn offline_or_bare(&self, meta: &Meta) -> Status {
        let past = self.past(meta).unwrap_or(SessionPast {
            evals: 0,
            generation: Generation(0),
            used_ms: meta.created_ms,
            end: EndReason::HostDied,
        });
        self.without_host(meta, past)
    }

    fn past(&self, meta: &Meta) -> Result<SessionPast, ClientError> {
        let history = self.history(&meta.name)?;
        let read = |history: &HistoryReader| {
            let evals = history.len()?;
            let last = history.eval(EvalSeq(evals))?;
            Ok::<_, SpoolError>((evals, last, history.generation()?))
        };
        let (evals, last, generation) = match &history {
            Some(history) => read(history).map_err(ClientError::spool(&meta.name))?,
            None => (0, None, Generation(0)),
        };
        let used_ms = last.as_ref().map_or(meta.created_ms, |entry| {
            entry.finished.as_ref().map_or(entry.accepted_at_ms, |(at, _)| *at)
        });
        Ok(SessionPast {
            evals: evals.saturating_sub(last.as_ref().map_or(0, |last| last.others)),
            generation,
            used_ms,
            end: self.end_of(meta)?,
        })
    }

    fn without_host(&self, meta: &Meta, past: SessionPast) -> Status {
        let (interpreter, why) = match &meta.found {
            Some(found) => (found.path.clone(), found.reason()),
            None => (meta.settings.engine.interpreter.clone().unwrap_or_default(), String::new()),
        };
        let spool_end = wait::open(&self.dir(&meta.name), &meta.name)
            .ok()
            .and_then(|reader| reader.end().ok())
            .unwrap_or(Offset(0));
        Status {
            name: meta.name.clone(),
            workspace: meta.workspace.clone(),
            language: meta.settings.engine.spoken().to_owned(),
            version: None,
            interpreter,
            why,
            activity: Activity::Ended { reason: past.end },
            paused: false,
            background_waiting: false,
            generation: past.generation,
            pid: None,
            host_pid: None,
            program: None,
            cwd: meta.settings.place.cwd.clone(),
            created_ms: Some(meta.created_ms),
            started_ms: meta.created_ms,
            last_used_ms: past.used_ms,
            evals: past.evals,
            by: None,
            queued: Vec::new(),
            usage: Usage::default(),
            background: Vec::new(),
            variables: None,
            stdlib: None,
            undo: None,
            runs_at: meta.settings.engine.runs_at().map(str::to_owned),
            cannot: Vec::new(),
            sandbox: "off".to_owned(),
            idle_timeout_ms: meta.settings.policy.idle_timeout_ms,
            spool_end,
            unrecorded: None,
            clients: 0,
        }
    }
}

/// What the record of a session without a host tells.
struct SessionPast {
    /// How many evals were code.
    evals: u64,
    generation: Generation,
    used_ms: u64,
    end: EndReason,
}

/// What a session does, as far as its host tells.
enum Now {
    Lives(Box<Status>),
    /// It has no host.
    Over,
    /// Its host does not answer.
    Unknown,
}

fn standing(entry: &EvalEntry, now: &Now) -> EvalStatus {
    if let Some((_, finished)) = &entry.finished {
        return EvalStatus::of(&finished.outcome);
    }
    match now {
        Now::Over => EvalStatus::Ended,
        Now::Lives(status) if status.activity.waits(entry.seq) => EvalStatus::WaitingInput,
        Now::Lives(_) | Now::Unknown if entry.started.is_some() => EvalStatus::Running,
        Now::Lives(_) | Now::Unknown => EvalStatus::Queued,
    }
}

pub(crate) fn metas_in(
    workspace_dir: &Path,
    unreadable: &mut Vec<ClientError>,
) -> Result<Vec<Meta>, ClientError> {
    let mut metas = Vec::new();
    for dir in subdirectories(workspace_dir)? {
        match read_meta(&dir.join(stead_spool::layout::META)) {
            Ok(Some(meta)) if dir.file_name().is_some_and(|name| name == meta.name.as_str()) => {
                metas.push(meta);
            }
            // A session that is being started has no meta yet.
            Ok(_) => {}
            Err(error) => unreadable.push(error),
        }
    }
    metas.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(metas)
}

pub(crate) fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>, ClientError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ClientError::file("list", dir)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ClientError::file("list", dir))?;
        // An entry whose type cannot be read is taken for a directory; reading it later tells what is wrong.
        if entry.file_type().map_or(true, |kind| kind.is_dir()) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}
