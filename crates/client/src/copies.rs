//! Checkpoints of a live session, going back to one, and undo (SPEC ST-3, ST-5).

use stead_protocol::client::{Reply, Request};
use stead_protocol::{CheckpointInfo, EvalSeq, SessionName, Work};

use crate::reach::connection::PATIENCE;
use crate::saved::checked;
use crate::{Client, ClientError, EvalOptions, EvalView, Watcher};

impl Client {
    /// Keeps a copy of the session's state under a label.
    pub fn checkpoint(
        &self,
        name: &SessionName,
        label: Option<String>,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let work = checked(Work::Checkpoint { label })?;
        self.work(name, work, options, watcher)
    }

    /// Goes back to such a copy, or without a label to the last one. An eval that runs is ended for it.
    pub fn rollback(
        &self,
        name: &SessionName,
        label: Option<String>,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let work = checked(Work::Rollback { label })?;
        self.work(name, work, options, watcher)
    }

    /// Goes back to before an eval, or without one to before the last code that ran. An eval that runs is ended for it.
    pub fn undo(
        &self,
        name: &SessionName,
        eval: Option<EvalSeq>,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        self.work(name, Work::Undo { eval }, options, watcher)
    }

    /// The checkpoints that a session has, the oldest first.
    pub fn checkpoints(&self, name: &SessionName) -> Result<Vec<CheckpointInfo>, ClientError> {
        match self.ask(name, Request::Checkpoints, PATIENCE)? {
            (_, Reply::Checkpoints { checkpoints }) => Ok(checkpoints),
            (connection, other) => Err(connection.odd(&other)),
        }
    }

    /// Drops a checkpoint, which gives back the memory that it takes.
    pub fn drop_checkpoint(&self, name: &SessionName, label: &str) -> Result<(), ClientError> {
        self.done(name, Request::DropCheckpoint { label: label.to_owned() }, PATIENCE)
    }
}
