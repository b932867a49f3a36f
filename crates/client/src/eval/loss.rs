//! Noting that a client was told of a session's lost state (SPEC S-6).
//!
//! A host records this itself for clients that watch an eval. If the host was killed, or the end was read
//! from disk later, only the client knows it told the user, so it leaves a note for the next client.

use std::fs;
use std::time::Instant;

use stead_protocol::client::Request;
use stead_protocol::{EndReason, ErrorCode, Finished, Generation, SessionName};
use stead_spool::{HistoryReader, SessionDir};

use crate::ClientError;
use crate::reach::connection::{Connection, PATIENCE};

/// The file of the note, which names the last generation of whose end a user was told.
const NOTE: &str = "loss-told";

/// Notes that the user is told how this eval's interpreter ended, if the outcome says that.
pub(crate) fn tell(dir: &SessionDir, finished: &Finished) {
    let generation = finished.generation;
    if finished.outcome.tells_end() && noted(dir).is_none_or(|known| known < generation) {
        note(dir, generation);
    }
}

/// Tells the host that the user knows of the loss; returns whether that was noted before.
pub(crate) fn acknowledge(
    connection: &mut Connection,
    dir: &SessionDir,
) -> Result<bool, ClientError> {
    connection.loss = None;
    let known = noted(dir).is_some_and(|noted| noted.0 + 1 == connection.generation.0);
    match connection.request(Request::AcknowledgeLoss, Some(Instant::now() + PATIENCE)) {
        // A host exits if its interpreter cannot be started. The next host tells the loss again, so a note is left.
        Err(error) if error.is_hang_up() => note(dir, connection.generation),
        reply => {
            reply?;
            let _ = fs::remove_file(dir.path().join(NOTE));
        }
    }
    Ok(known)
}

/// The error for a session that could not be started: the loss of its earlier state if nobody was told of that,
/// else `error`. A start can fail, and its host be gone, before the host tells a client of the loss.
pub(crate) fn before(error: ClientError, dir: &SessionDir, name: &SessionName) -> ClientError {
    if error.code() != ErrorCode::LaunchFailed {
        return error;
    }
    let read = HistoryReader::open(dir.path())
        .and_then(|history| Ok((history.last_end()?, history.generation()?)));
    let Ok((Some((EndReason::LaunchFailed { untold: Some(lost), .. }, false)), generation)) = read
    else {
        return error;
    };
    // The note may be about the loss itself, or about an earlier start that failed after the loss.
    let known = noted(dir).is_some_and(|noted| noted.0 + 1 >= generation.0);
    note(dir, generation);
    match known {
        true => error,
        false => ClientError::Lost { name: name.clone(), reason: lost.to_string() },
    }
}

/// Notes that the user knows how this generation ended. If that cannot be written, the next eval tells the loss again, which
/// does no harm.
fn note(dir: &SessionDir, generation: Generation) {
    let note = generation.0.to_string();
    let _ = stead_spool::write_atomically(&dir.path().join(NOTE), note.as_bytes());
}

fn noted(dir: &SessionDir) -> Option<Generation> {
    let note = stead_files::read_text(&dir.path().join(NOTE), stead_files::MOST_NOTE).ok()?;
    note.trim().parse().ok().map(Generation)
}
