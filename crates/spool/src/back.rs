//! Reading the output log backwards, for tails.

use crate::SpoolError;
use crate::reader::{LOOKS, Reader};
use crate::record::Record;
use crate::window::{FIRST_AHEAD, Step};

/// Records from the last one to the first.
#[derive(Debug)]
pub struct RecordsBack<'a> {
    reader: &'a Reader,
    from: u64,
    at: u64,
    started: bool,
    dropped: bool,
}

impl<'a> RecordsBack<'a> {
    pub(crate) fn new(reader: &'a Reader, from: u64, to: u64) -> Self {
        RecordsBack { reader, from, at: to, started: false, dropped: false }
    }

    /// Whether the walk ended early because older records are no longer kept.
    pub fn dropped(&self) -> bool {
        self.dropped
    }

    fn step(&mut self) -> Result<Option<Record>, SpoolError> {
        if !self.started {
            self.started = true;
            self.begin()?;
        }
        let mut looks = 0;
        while self.at > self.from {
            let mut state = self.reader.state();
            let Some(segment) = state.containing(self.at - 1) else {
                self.dropped = true;
                self.at = self.from;
                return Ok(None);
            };
            let Some(window) = state.window(segment)? else { continue };
            let pos = self.at - segment;
            let back = (self.at - self.from).min(FIRST_AHEAD as u64) as usize;
            let step = window.step_back(pos, back).map_err(|error| {
                SpoolError::io("read", &self.reader.segment_path(segment))(error)
            })?;
            let bad = match step {
                Step::Whole(header) => {
                    self.at -= header.size();
                    match header.record(self.at) {
                        Some(record) if self.at >= self.from => return Ok(Some(record)),
                        _ => continue,
                    }
                }
                Step::Bad(what) => what,
                Step::Torn | Step::End => "segment ends before the next one begins",
            };
            window.clear();
            looks += 1;
            if looks == LOOKS {
                // Inside a damaged segment the edges of records cannot be known, so the walk goes on at the
                // end of the segment before.
                self.at = segment.max(self.from);
                let path = self.reader.segment_path(segment);
                return Err(SpoolError::corrupt(&path, pos, bad));
            }
        }
        Ok(None)
    }

    /// An end past what was written (a killed host) is taken down to the last whole record.
    fn begin(&mut self) -> Result<(), SpoolError> {
        for look in 0..2 {
            let mut state = self.reader.state();
            if look > 0 {
                // The list of segments may be older than this offset.
                state.refresh()?;
            }
            let Some(last) = self.at.checked_sub(1) else { return Ok(()) };
            let Some(segment) = state.containing(last) else { continue };
            let path = self.reader.segment_path(segment);
            let Some(window) = state.window(segment)? else { continue };
            window.clear();
            let len = window.file().metadata().map_err(SpoolError::io("read", &path))?.len();
            if segment + len >= self.at {
                return Ok(());
            }
        }
        self.at = self.at.min(self.reader.end()?.0);
        Ok(())
    }
}

impl Iterator for RecordsBack<'_> {
    type Item = Result<Record, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if matches!(step, Err(SpoolError::Io { .. })) {
            self.at = self.from;
        }
        step.transpose()
    }
}
