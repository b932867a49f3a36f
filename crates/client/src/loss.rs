//! Who was told that a session's state is gone (SPEC S-6).
//!
//! A host records that itself. Of a host that was killed only the client knows that was waiting
//! for it, so the client leaves a note for the next one.

use std::fs;
use std::time::Instant;

use stead_protocol::client::Request;
use stead_spool::SessionDir;

use crate::ClientError;
use crate::connection::{Connection, PATIENCE};

/// The note: its presence says that somebody was told of the last host's death.
const NOTE: &str = "loss-told";

/// Notes that somebody was told that the host was killed.
pub(crate) fn tell(dir: &SessionDir) {
    // Without the note the next eval says it again, which does no harm.
    let _ = stead_spool::write_atomically(&dir.path().join(NOTE), b"");
}

/// Lets the host take note that the loss is known; returns whether it was before.
pub(crate) fn acknowledge(
    connection: &mut Connection,
    dir: &SessionDir,
) -> Result<bool, ClientError> {
    connection.loss = None;
    match connection.request(&Request::AcknowledgeLoss, Some(Instant::now() + PATIENCE)) {
        // It has left; the next one tells again, which does no harm.
        Err(error) if error.is_hang_up() => {}
        reply => drop(reply?),
    }
    Ok(fs::remove_file(dir.path().join(NOTE)).is_ok())
}
