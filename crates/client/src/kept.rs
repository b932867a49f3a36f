//! Connections that are kept for the next call, so that it need not knock and introduce itself again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stead_protocol::SessionName;

use crate::Workspace;
use crate::connection::Connection;

/// Connections that are kept at most.
const MOST_KEPT: usize = 256;

/// One idle connection for each session that was used lately; the latest is the last.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Vec<(Workspace, Box<Connection>)>>);

impl Kept {
    /// Takes the connection to a session, if it is still good.
    pub(crate) fn take(
        &self,
        workspace: &Workspace,
        name: &SessionName,
    ) -> Option<Box<Connection>> {
        let mut all = self.all();
        let at =
            all.iter().rposition(|(there, known)| known.session() == name && there == workspace)?;
        let (_, connection) = all.remove(at);
        drop(all);
        connection.is_at_rest().then_some(connection)
    }

    /// Keeps a connection on which nothing is under way; that is looked at when it is taken. An older
    /// one to the same session stays until then too, unless there are too many.
    pub(crate) fn keep(&self, workspace: &Workspace, connection: Box<Connection>) {
        let mut all = self.all();
        if all.len() >= MOST_KEPT {
            all.remove(0);
        }
        all.push((workspace.clone(), connection));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Workspace, Box<Connection>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
