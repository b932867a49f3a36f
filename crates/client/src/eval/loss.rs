//! Noting that a client was told of a session's lost state (SPEC S-6).
//!
//! A host records this itself for clients that watch an eval. If the host was killed, or the end was read
//! from disk later, only the client knows it told the user, so it leaves a note for the next client.

use std::fs;
use std::time::Instant;

use stead_protocol::client::Request;
use stead_protocol::{Finished, Generation};
use stead_spool::SessionDir;

use crate::ClientError;
use crate::reach::connection::{Connection, PATIENCE};

/// The file of the note: the last generation of whose end a user was told.
const NOTE: &str = "loss-told";

/// Notes that the user is told how this eval's interpreter ended, if the outcome says that.
pub(crate) fn tell(dir: &SessionDir, finished: &Finished) {
    let generation = finished.generation;
    if finished.outcome.tells_end() && noted(dir).is_none_or(|known| known < generation) {
        // If the note cannot be written, the next eval tells the loss again, which does no harm.
        let note = generation.0.to_string();
        let _ = stead_spool::write_atomically(&dir.path().join(NOTE), note.as_bytes());
    }
}

/// Tells the host that the user knows of the loss; returns whether that was noted before.
pub(crate) fn acknowledge(
    connection: &mut Connection,
    dir: &SessionDir,
) -> Result<bool, ClientError> {
    connection.loss = None;
    match connection.request(Request::AcknowledgeLoss, Some(Instant::now() + PATIENCE)) {
        // The host has exited; the next one tells the loss again, which does no harm.
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
