//! Who was told that a session's state is gone (SPEC S-6).
//!
//! A host records that itself for those who watch. Of a host that was killed, or an end that was
//! read from disk later, only the client knows, so it leaves a note for the next one.

use std::fs;
use std::time::Instant;

use stead_protocol::client::Request;
use stead_protocol::{Finished, Generation};
use stead_spool::SessionDir;

use crate::ClientError;
use crate::reach::connection::{Connection, PATIENCE};

/// The note: the last generation of whose end somebody was told.
const NOTE: &str = "loss-told";

/// Notes that somebody is told how the interpreter of this eval ended, if the outcome says that.
pub(crate) fn tell(dir: &SessionDir, finished: &Finished) {
    let generation = finished.generation;
    if finished.outcome.tells_end() && noted(dir).is_none_or(|known| known < generation) {
        // Without the note the next eval says it again, which does no harm.
        let note = generation.0.to_string();
        let _ = stead_spool::write_atomically(&dir.path().join(NOTE), note.as_bytes());
    }
}

/// Lets the host take note that the loss is known; returns whether it was before.
pub(crate) fn acknowledge(
    connection: &mut Connection,
    dir: &SessionDir,
) -> Result<bool, ClientError> {
    connection.loss = None;
    match connection.request(Request::AcknowledgeLoss, Some(Instant::now() + PATIENCE)) {
        // It has left; the next one tells again, which does no harm.
        Err(error) if error.is_hang_up() => {}
        reply => drop(reply?),
    }
    let noted = noted(dir);
    let _ = fs::remove_file(dir.path().join(NOTE));
    Ok(noted.is_some_and(|noted| noted.0 + 1 == connection.generation.0))
}

fn noted(dir: &SessionDir) -> Option<Generation> {
    let note = stead_files::read_text(&dir.path().join(NOTE), stead_files::MOST_NOTE).ok()?;
    note.trim().parse().ok().map(Generation)
}
