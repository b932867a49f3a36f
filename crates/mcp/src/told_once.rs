//! Things that are said only once. If nobody reads the reply that says them, because its call was cancelled, they
//! are taken back and said in the next reply.

use std::sync::Arc;

use stead_client::Workspace;
use stead_protocol::{EvalId, Generation, Offset, SessionName};

use crate::place::{Here, News};

/// Something that a reply has said.
#[derive(Debug, Clone)]
pub(crate) enum ToldOnce {
    /// An eval's output, from one place to another.
    Output { here: Arc<Here>, id: EvalId, from: Offset, to: Offset },
    /// What others did in a session, in words.
    Meanwhile { workspace: Workspace, session: SessionName, text: String },
    /// How an interpreter of a session ended; before that, the end of this one was the last that was told.
    End { workspace: Workspace, session: SessionName, before: Option<Generation> },
    /// Where the server is.
    Place(News),
}
