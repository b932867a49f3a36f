//! Looks for kernels that were left at their servers and deletes them. A kernel that may exist, or may yet
//! be made, never counts as gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use thiserror::Error;

use crate::api::{CREATED_WITHIN, KernelApi, KernelRemoval, is_id};
use crate::note::{self, KnownOfKernel, LeftKernel, ReadNote, clock};
use crate::trace::KernelTrace;
use crate::trouble::ServerTrouble;

/// How long a server may take to remove a kernel.
pub(crate) const REMOVED_WITHIN: Duration = Duration::from_secs(10);

/// Time between two looks for a kernel that is being made.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// Why a kernel that was left could not be removed.
#[derive(Debug, Error)]
pub(crate) enum LeftError {
    #[error("could not use `{}`: {source}", path.display())]
    Note { path: PathBuf, source: io::Error },
    #[error("the kernel `{id}` is left at its server: {trouble}")]
    Server { id: String, trouble: ServerTrouble },
    #[error("a kernel may be left at {url}, which was asked for one: {trouble}")]
    NotLooked { url: String, trouble: ServerTrouble },
    #[error("the kernel `{id}` is left at {url}, which was asked to delete it and does not answer")]
    Silent { id: String, url: String },
    #[error(
        "a kernel may still be being made at {url}, which has not answered; it can be deleted when it is there"
    )]
    BeingMade { url: String },
    #[error(
        "a kernel may be left at {url}, which was asked for one and never answered; it gives kernels ids of its own and shows no \
         sessions, so nobody can tell from here. Look there, then remove `{}`", path.display()
    )]
    Unknown { url: String, path: PathBuf },
}

/// What a look at the server has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KernelLook {
    /// It was there and is deleted.
    Deleted,
    /// It is there, and the server was asked to delete it and does not answer.
    Silent { id: String },
    /// The server has none that is known to be ours.
    NotThere,
}

/// What follows from that.
#[derive(Debug, PartialEq, Eq)]
enum LeftFate {
    Gone,
    LookAgain,
    Silent { id: String },
    Unknown,
}

impl KnownOfKernel {
    /// What follows from a look; the one place that decides that a kernel is gone.
    fn fate(&self, look: KernelLook, now: u64) -> LeftFate {
        match (self, look) {
            (_, KernelLook::Deleted) => LeftFate::Gone,
            (_, KernelLook::Silent { id }) => LeftFate::Silent { id },
            (KnownOfKernel::Made { .. }, KernelLook::NotThere)
            // A server that has answered by itself that it makes no kernel has no kernel under way.
            | (KnownOfKernel::Refused { .. }, KernelLook::NotThere) => LeftFate::Gone,
            (KnownOfKernel::Asked { at, trace }, KernelLook::NotThere) => {
                // A server that takes longer than this has given the kernel up.
                let may_come = now < at.saturating_add(CREATED_WITHIN.as_secs());
                match trace {
                    _ if may_come => LeftFate::LookAgain,
                    KernelTrace::Session | KernelTrace::Id => LeftFate::Gone,
                    KernelTrace::Nothing => LeftFate::Unknown,
                }
            }
            (KnownOfKernel::Unknown, KernelLook::NotThere) => LeftFate::Unknown,
        }
    }
}

/// Deletes the kernels of all notes in a session's directory, and the notes. Each is tried; an error for each that stays.
pub(crate) fn remove_all(dir: &Path) -> Vec<LeftError> {
    let notes = match note::all_in(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(source) => return vec![LeftError::Note { path: dir.to_owned(), source }],
        Ok(notes) => notes,
    };
    let until = Instant::now() + REMOVED_WITHIN;
    notes.iter().filter_map(|path| remove(path, until).err()).collect()
}

/// Deletes the kernel of a note, and the note. A kernel that is being made is waited for, at most until `until`.
fn remove(path: &Path, until: Instant) -> Result<(), LeftError> {
    let bad = |source: io::Error| LeftError::Note { path: path.to_owned(), source };
    match note::read(path).map_err(bad)? {
        ReadNote::Nothing => return Ok(()),
        ReadNote::Left(left) => left.delete(path, until)?,
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(bad(error)),
        _ => Ok(()),
    }
}

impl LeftKernel {
    /// Has the server delete the kernel. A kernel that is still being made is waited for.
    fn delete(&self, path: &Path, until: Instant) -> Result<(), LeftError> {
        let url = || self.server.url.clone();
        let failed = |trouble| match &self.known {
            KnownOfKernel::Made { id } => LeftError::Server { id: id.clone(), trouble },
            KnownOfKernel::Asked { .. }
            | KnownOfKernel::Refused { .. }
            | KnownOfKernel::Unknown => LeftError::NotLooked { url: url(), trouble },
        };
        let api = KernelApi::new(&self.server).map_err(failed)?;
        loop {
            let look = self.look(&api).map_err(failed)?;
            match self.known.fate(look, clock()) {
                LeftFate::Gone => return Ok(()),
                LeftFate::Silent { id } => return Err(LeftError::Silent { id, url: url() }),
                LeftFate::Unknown => {
                    return Err(LeftError::Unknown { url: url(), path: path.to_owned() });
                }
                LeftFate::LookAgain if until <= Instant::now() => {
                    return Err(LeftError::BeingMade { url: url() });
                }
                LeftFate::LookAgain => {
                    let _ = poll(&mut [], Some(&LOOK_EVERY));
                }
            }
        }
    }

    /// Deletes whatever is there of it now.
    fn look(&self, api: &KernelApi) -> Result<KernelLook, ServerTrouble> {
        let mut ids = match &self.known {
            KnownOfKernel::Made { id } => vec![id.clone()],
            KnownOfKernel::Asked { trace, .. } | KnownOfKernel::Refused { trace } => match trace {
                KernelTrace::Session => {
                    [api.kernels_of_sessions(&self.id)?, vec![self.id.clone()]].concat()
                }
                // Where nobody knows whether the server took our id, it is worth a try.
                KernelTrace::Id | KernelTrace::Nothing => vec![self.id.clone()],
            },
            KnownOfKernel::Unknown => vec![self.id.clone()],
        };
        ids.retain(|id| is_id(id));
        let mut look = KernelLook::NotThere;
        for id in ids {
            match api.delete(&id, REMOVED_WITHIN)? {
                KernelRemoval::Gone => look = KernelLook::Deleted,
                KernelRemoval::Asked => return Ok(KernelLook::Silent { id }),
                KernelRemoval::NotThere => {}
            }
        }
        Ok(look)
    }

    /// Looks once whether the kernel is there after all, and deletes it; says whether it is gone.
    pub(crate) fn delete_at_once(&self, api: &KernelApi) -> Result<bool, ServerTrouble> {
        Ok(self.known.fate(self.look(api)?, clock()) == LeftFate::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_s9_a_kernel_is_gone_only_if_it_was_deleted_or_cannot_come_any_more() {
        let asked = |trace| KnownOfKernel::Asked { at: 1_000, trace };
        let refused = |trace| KnownOfKernel::Refused { trace };
        let made = || KnownOfKernel::Made { id: "k".to_owned() };
        let late = 1_000 + CREATED_WITHIN.as_secs();
        let silent = KernelLook::Silent { id: "k".to_owned() };
        let deleted = KernelLook::Deleted;
        let not_there = KernelLook::NotThere;
        let [session, id, nothing] = [KernelTrace::Session, KernelTrace::Id, KernelTrace::Nothing];
        for (known, look, now, fate) in [
            (asked(session), &deleted, 1_000, LeftFate::Gone),
            (asked(session), &not_there, 1_000, LeftFate::LookAgain),
            (asked(session), &not_there, late - 1, LeftFate::LookAgain),
            (asked(session), &not_there, late, LeftFate::Gone),
            (asked(session), &silent, late, LeftFate::Silent { id: "k".to_owned() }),
            (asked(id), &not_there, 1_000, LeftFate::LookAgain),
            (asked(id), &not_there, late, LeftFate::Gone),
            (asked(nothing), &not_there, 1_000, LeftFate::LookAgain),
            (asked(nothing), &not_there, late, LeftFate::Unknown),
            (asked(nothing), &not_there, u64::MAX, LeftFate::Unknown),
            (asked(nothing), &deleted, late, LeftFate::Gone),
            (KnownOfKernel::Unknown, &not_there, u64::MAX, LeftFate::Unknown),
            (KnownOfKernel::Unknown, &deleted, 1_000, LeftFate::Gone),
            (refused(session), &not_there, 1_000, LeftFate::Gone),
            (refused(nothing), &not_there, 1_000, LeftFate::Gone),
            (made(), &not_there, 1_000, LeftFate::Gone),
            (made(), &deleted, 1_000, LeftFate::Gone),
            (made(), &silent, 1_000, LeftFate::Silent { id: "k".to_owned() }),
        ] {
            assert_eq!(known.fate(look.clone(), now), fate, "{known:?} {look:?} {now}");
        }
    }
}
