//! Looking for a matching line in what an eval writes, as it writes it.

use std::ops::ControlFlow;

use regex::Regex;
use stead_protocol::{EvalSeq, Offset};
use stead_spool::{Reader, SpoolError};

use super::MatchedLine;
use crate::read::lines::{Line, Splitter};
use crate::read::records::{payload, usable};
use crate::show::shown::{around, shown};

/// A search that goes on where it stopped.
///
/// A line counts when it has ended, so that a progress bar counts in its last state and half a line never does. A line
/// that is left open counts as it stands when nothing can follow it for now: the eval has ended, or it reads its input.
#[derive(Debug)]
pub(super) struct LineSearch {
    regex: Regex,
    eval: EvalSeq,
    /// How far the spool was read.
    cursor: Offset,
    /// How many bytes of the eval's own output that was.
    passed: u64,
    splitter: Splitter,
}

impl LineSearch {
    pub(super) fn new(regex: Regex, eval: EvalSeq, start: Offset) -> Self {
        LineSearch { regex, eval, cursor: start, passed: 0, splitter: Splitter::default() }
    }

    /// Reads what is new. The first matching line, if there is one.
    pub(super) fn read(&mut self, reader: &Reader) -> Result<Option<MatchedLine>, SpoolError> {
        let mut found = None;
        for record in reader.records(self.cursor, None) {
            let Some(record) = usable(record)? else { continue };
            if !record.kind.is_own_output() {
                continue;
            }
            if record.eval != self.eval {
                // Output of a later eval: this one writes no more.
                return Ok(None);
            }
            if let Some(bytes) = payload(reader, &record)? {
                let regex = &self.regex;
                let mut sink = |line: Line<'_>, _| look(regex, &line, &mut found);
                let _ = self.splitter.feed(record.kind, self.passed, &bytes, &mut sink);
            }
            self.passed += u64::from(record.len);
            self.cursor = record.next;
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// The first matching line of those that are left open.
    pub(super) fn open(&self) -> Option<MatchedLine> {
        let mut found = None;
        for line in self.splitter.open() {
            let _ = look(&self.regex, &line, &mut found);
        }
        found
    }
}

/// Notes the line if it is the first that matches.
fn look(regex: &Regex, line: &Line<'_>, found: &mut Option<MatchedLine>) -> ControlFlow<()> {
    let text = shown(line);
    match regex.find(&text) {
        Some(place) if found.is_none() => {
            let text = around(&text, line, place.range());
            *found = Some(MatchedLine { number: line.number, text });
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use stead_protocol::ChunkKind::{BackgroundOut, Err, Out};
    use stead_spool::{Options, Spool};

    use super::*;

    fn line(number: u64, text: &str) -> Option<MatchedLine> {
        Some(MatchedLine { number, text: text.to_owned() })
    }

    #[test]
    fn e17_lines_are_matched_as_they_end_and_as_a_reader_sees_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
        let reader = Reader::open(dir.path()).unwrap();
        let mut search = LineSearch::new(Regex::new("done|^50").unwrap(), EvalSeq(2), Offset(0));
        spool.append(BackgroundOut, EvalSeq(1), b"done long ago\n");
        spool.append(Out, EvalSeq(2), b"begin\n50%");
        assert_eq!(search.read(&reader).unwrap(), None);
        // A bar that is redrawn is what it is in the end, and stderr tears no line of stdout.
        spool.append(Err, EvalSeq(2), b"\x1b[31mwarn\x1b[0m");
        spool.append(Out, EvalSeq(2), b"\r99%\nEpoch 3 do");
        assert_eq!(search.read(&reader).unwrap(), None);
        spool.append(Out, EvalSeq(2), b"ne\n");
        assert_eq!(search.read(&reader).unwrap(), line(4, "Epoch 3 done"));
    }

    #[test]
    fn e17_an_open_line_counts_when_nothing_follows_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
        let reader = Reader::open(dir.path()).unwrap();
        let mut search = LineSearch::new(Regex::new("Name|warn").unwrap(), EvalSeq(1), Offset(0));
        spool.append(Out, EvalSeq(1), b"hello\nName? ");
        spool.append(Err, EvalSeq(1), b"warning");
        assert_eq!(search.read(&reader).unwrap(), None);
        assert_eq!(search.open(), line(2, "Name? "));
        // The next eval's lines are not this one's.
        spool.append(Out, EvalSeq(2), b"Name\n");
        assert_eq!(search.read(&reader).unwrap(), None);
    }
}
