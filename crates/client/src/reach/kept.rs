//! Connections that are kept for the next call, so that it need not connect and say hello again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stead_protocol::SessionName;

use crate::Workspace;
use crate::reach::connection::Connection;

/// Connections that are kept at most, each with up to two descriptors: fewer than half of what the
/// strictest usual limit allows.
const MOST_KEPT: usize = 48;
/// From this many connections on, those whose host has exited are looked for.
const LOOK_FROM: usize = 8;

/// One idle connection for each session that was used lately; the one used last comes last.
#[derive(Debug, Default)]
pub struct KeptConnections(Mutex<Vec<(Workspace, Box<Connection>)>>);

impl KeptConnections {
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

    /// Whether there is a connection to this session.
    pub(crate) fn has(&self, workspace: &Workspace, name: &SessionName) -> bool {
        let is_it = |(there, known): &(Workspace, Box<Connection>)| {
            known.session() == name && there == workspace
        };
        self.all().iter().any(is_it)
    }

    /// Keeps a connection that has no request under way; `take` checks that. An older connection to the same
    /// session stays until then too, unless there are too many.
    pub(crate) fn keep(&self, workspace: &Workspace, connection: Box<Connection>) {
        let mut all = self.all();
        if all.len() >= LOOK_FROM {
            drop_closed(&mut all);
        }
        if all.len() >= MOST_KEPT {
            all.remove(0);
        }
        all.push((workspace.clone(), connection));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Workspace, Box<Connection>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops connections to hosts that have exited: an idle connection is readable only if its host hung up.
fn drop_closed(all: &mut Vec<(Workspace, Box<Connection>)>) {
    let mut fds: Vec<PollFd<'_>> =
        all.iter().map(|(_, kept)| PollFd::new(&**kept, PollFlags::IN)).collect();
    if poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        let open: Vec<bool> = fds.iter().map(|fd| fd.revents().is_empty()).collect();
        drop(fds);
        let mut open = open.into_iter();
        all.retain(|_| open.next().unwrap_or(true));
    }
}
