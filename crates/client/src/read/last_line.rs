//! The last line that an eval has written, for those who only want to see how far it is.

use stead_protocol::{EvalId, Offset, SessionName};
use stead_screen::plain;
use stead_spool::{Reader, SpoolError};

use crate::eval::wait;
use crate::read::records::{payload, usable};
use crate::{Client, ClientError};

/// How much of the output is read for its last line. A bar may have been redrawn a million times in one line, and only
/// its end counts.
const BYTES: usize = 4 << 10;
/// How many records are looked at: between the eval's own there may be any number from the background.
const RECORDS: usize = 256;
/// How much of the line of an eval that is named by its id is shown.
const CHARS: usize = 200;

impl Client {
    /// The last line that an eval has written and that is not blank, as the disk has it.
    pub fn last_line(&self, id: &EvalId) -> Result<String, ClientError> {
        let entry = self.entry(id)?;
        let reader = wait::open(&self.dir(&id.session), &id.session)?;
        let (from, to) = self.reach(&reader, id, &entry)?;
        Ok(last_line(&reader, from, to).chars().take(CHARS).collect())
    }

    /// The last line that was written after `start`, as it stands now. Reads the disk and asks no host.
    pub fn last_line_since(&self, name: &SessionName, start: Offset) -> Option<String> {
        let reader = wait::open(&self.dir(name), name).ok()?;
        let end = reader.end().ok()?;
        Some(last_line(&reader, start, end))
    }
}

/// The last line of an eval's own output in `from..to` that is not blank. The cost does not depend on the amount
/// of output.
pub(crate) fn last_line(reader: &Reader, from: Offset, to: Offset) -> String {
    let bytes = last_bytes(reader, from, to).unwrap_or_default();
    let text = plain(&bytes);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or_default().trim_end().to_owned()
}

/// The end of an eval's own output.
fn last_bytes(reader: &Reader, from: Offset, to: Offset) -> Result<Vec<u8>, SpoolError> {
    let (mut pieces, mut size) = (Vec::new(), 0);
    for record in reader.records_back(from, to).take(RECORDS) {
        let Some(record) = usable(record)?.filter(|record| record.kind.is_own_output()) else {
            continue;
        };
        let Some(bytes) = payload(reader, &record)? else { continue };
        size += bytes.len();
        pieces.push(bytes);
        if size >= BYTES {
            break;
        }
    }
    pieces.reverse();
    let mut bytes = pieces.concat();
    bytes.drain(..bytes.len().saturating_sub(BYTES));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use stead_protocol::{ChunkKind, EvalSeq};
    use stead_spool::{Options, Spool};

    use super::*;

    const EVAL: EvalSeq = EvalSeq(1);

    #[test]
    fn e17_the_last_line_is_that_of_the_eval_itself_and_costs_the_same_however_much_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
        for n in 0..3000 {
            spool.append(ChunkKind::Out, EVAL, format!("line {n}\n").as_bytes());
        }
        spool.append(ChunkKind::Err, EVAL, b"\x1b[3");
        spool.append(ChunkKind::Err, EVAL, b"1mred\x1b[0m  \n \n");
        spool.append(ChunkKind::BackgroundOut, EVAL, b"of another\n");
        let end = spool.end();
        let reader = Reader::open(dir.path()).unwrap();
        assert_eq!(last_line(&reader, Offset(0), end), "red");
        // Damage at the beginning is not met, because nothing there is read.
        let kept = last_bytes(&reader, Offset(0), end).unwrap();
        assert!(kept.len() <= BYTES, "{}", kept.len());
        for _ in 0..2 * RECORDS {
            spool.append(ChunkKind::BackgroundOut, EVAL, b"noise\n");
        }
        assert_eq!(last_line(&reader, Offset(0), spool.end()), "");
        assert_eq!(last_line(&reader, Offset(0), Offset(0)), "");
    }
}
