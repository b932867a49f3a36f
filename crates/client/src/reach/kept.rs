//! Connections that are kept for the next call, so that it need not connect and say hello again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};
use stead_protocol::SessionName;

use crate::Workspace;
use crate::reach::connection::Connection;

/// Connections that are kept at most, however many files may be open: a call looks through all of them.
const MOST_KEPT: u64 = 256;
/// Files that may be open for each connection that is kept. It has up to two, so more than half are left for the rest.
const FILES_EACH: u64 = 5;
/// From this many connections on, those whose host has exited are looked for.
const LOOK_FROM: usize = 8;

/// One idle connection for each session that was used lately; the one used last comes last.
#[derive(Debug)]
pub struct KeptConnections {
    all: Mutex<Vec<(Workspace, Box<Connection>)>>,
    most: usize,
}

impl Default for KeptConnections {
    fn default() -> Self {
        let files = getrlimit(Resource::Nofile).current;
        KeptConnections { all: Mutex::default(), most: most_kept(files) }
    }
}

impl KeptConnections {
    /// Takes the connection to a session, if it is still good.
    pub(crate) fn take(
        &self,
        workspace: &Workspace,
        name: &SessionName,
    ) -> Option<Box<Connection>> {
        take_from(&mut self.all(), workspace, name).filter(|kept| kept.is_at_rest())
    }

    /// Whether there is a connection to this session.
    pub(crate) fn has(&self, workspace: &Workspace, name: &SessionName) -> bool {
        let is_it = |(there, known): &(Workspace, Box<Connection>)| {
            known.session() == name && there == workspace
        };
        self.all().iter().any(is_it)
    }

    /// Keeps a connection for the next call, in place of an older one to the same session: that one may lead to a host
    /// that has exited. Only `take` checks that no request is under way on it. If there are too many, the oldest goes.
    pub(crate) fn keep(&self, workspace: &Workspace, connection: Box<Connection>) {
        let mut all = self.all();
        let older = take_from(&mut all, workspace, connection.session());
        if all.len() >= LOOK_FROM {
            drop_closed(&mut all);
        }
        if all.len() >= self.most {
            all.remove(0);
        }
        all.push((workspace.clone(), connection));
        // Closing it takes a system call, for which nobody has to wait.
        drop(all);
        drop(older);
    }

    fn all(&self) -> MutexGuard<'_, Vec<(Workspace, Box<Connection>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the connection to a session out of those that are kept.
fn take_from(
    all: &mut Vec<(Workspace, Box<Connection>)>,
    workspace: &Workspace,
    name: &SessionName,
) -> Option<Box<Connection>> {
    let at =
        all.iter().rposition(|(there, known)| known.session() == name && there == workspace)?;
    Some(all.remove(at).1)
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

/// How many connections are kept at most by a process that may have so many files open; `None`: any number.
fn most_kept(files: Option<u64>) -> usize {
    files.map_or(MOST_KEPT, |files| (files / FILES_EACH).clamp(1, MOST_KEPT)) as usize
}

#[cfg(test)]
mod tests {
    use super::most_kept;

    #[test]
    fn p5_connections_to_two_hundred_sessions_are_kept_where_the_usual_number_of_files_may_be_open()
    {
        assert_eq!(most_kept(Some(1024)), 204);
        assert_eq!(most_kept(None), 256);
        assert_eq!(most_kept(Some(1 << 20)), 256);
        for files in [0, 1, 16, 64, 256] {
            let kept = most_kept(Some(files));
            assert!(kept >= 1 && 2 * kept as u64 <= files.max(2), "{files}: {kept}");
        }
    }
}
