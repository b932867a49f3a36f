//! Connections that are kept for the next call, so that it need not knock and introduce itself again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::connection::Connection;

/// Connections that are kept at most.
const MOST_KEPT: usize = 256;

/// One idle connection for each session that was used lately, by the session's directory.
#[derive(Debug, Default)]
pub struct Kept(Mutex<HashMap<PathBuf, Connection>>);

impl Kept {
    /// Takes the connection to a session, if it is still good.
    pub(crate) fn take(&self, session: &Path) -> Option<Connection> {
        self.all().remove(session).filter(Connection::is_at_rest)
    }

    /// Keeps a connection on which nothing is under way; that is looked at when it is taken.
    pub(crate) fn keep(&self, session: &Path, connection: Connection) {
        let mut all = self.all();
        if all.len() >= MOST_KEPT {
            all.retain(|_, connection| connection.is_at_rest());
        }
        if all.len() < MOST_KEPT {
            all.insert(session.to_owned(), connection);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<PathBuf, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
