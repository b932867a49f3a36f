//! Reading the output log, while it is written or long after.

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use stead_protocol::Offset;

use crate::SpoolError;
use crate::back::RecordsBack;
use crate::layout::{list_segments, segment_name};
use crate::record::{HEADER, Record};
use crate::recover::{SegmentTail, find_tail};
use crate::window::{FIRST_AHEAD, Step, Window};
use crate::writer::MOST_SEGMENT;

/// How often a damaged place is read again: the writer may be cutting it off just now.
pub(crate) const LOOKS: u32 = 3;

/// A reader of a session's output log; any number of them, in any process.
#[derive(Debug)]
pub struct Reader {
    dir: PathBuf,
    state: Mutex<Segments>,
}

#[derive(Debug)]
pub(crate) struct Segments {
    dir: PathBuf,
    /// Where the segments begin that were there at the last look.
    pub(crate) starts: Vec<u64>,
    window: Option<Window>,
}

impl Reader {
    /// Lists the segments in a session directory.
    pub fn open(dir: &Path) -> Result<Reader, SpoolError> {
        let starts = list_segments(dir)?;
        let state = Segments { dir: dir.to_owned(), starts, window: None };
        Ok(Reader { dir: dir.to_owned(), state: Mutex::new(state) })
    }

    /// The session's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The oldest offset that was kept at the last look.
    pub fn first(&self) -> Offset {
        Offset(self.state().starts.first().copied().unwrap_or(0))
    }

    /// When something was written last, by the clock of the file system; `None` if nothing was.
    pub fn written_at(&self) -> Option<SystemTime> {
        let mut state = self.state();
        state.refresh().ok()?;
        let last = state.starts.last().copied()?;
        std::fs::metadata(self.segment_path(last)).ok()?.modified().ok()
    }

    /// The end of the last whole record; walks the newest segment.
    pub fn end(&self) -> Result<Offset, SpoolError> {
        let mut state = self.state();
        state.refresh()?;
        let Some(&last) = state.starts.last() else { return Ok(Offset(0)) };
        let path = self.segment_path(last);
        let Some(window) = state.window(last)? else { return Ok(Offset(last)) };
        window.clear();
        let tail = find_tail(window).map_err(SpoolError::io("read", &path))?;
        Ok(Offset(match tail {
            SegmentTail::Whole(pos) | SegmentTail::Torn(pos) => last + pos,
            SegmentTail::Damaged(_) => {
                let file = window.file().metadata().map_err(SpoolError::io("read", &path))?;
                last + file.len()
            }
        }))
    }

    /// Whole records in `from..to`; stops at a torn or not yet written tail.
    ///
    /// If `from` is no longer kept it starts at the oldest kept record; see [`Records::dropped`].
    /// A damaged place gives one error, and the next segment follows.
    pub fn records(&self, from: Offset, to: Option<Offset>) -> Records<'_> {
        let to = to.map_or(u64::MAX, |to| to.0);
        Records { reader: self, at: from.0, to, segment: None, dropped: 0, started: false }
    }

    /// Whole records in `from..to`, the last one first.
    pub fn records_back(&self, from: Offset, to: Offset) -> RecordsBack<'_> {
        RecordsBack::new(self, from.0, to.0)
    }

    /// All bytes of a record.
    pub fn payload(&self, record: &Record) -> Result<Vec<u8>, SpoolError> {
        self.payload_part(record, 0..record.len)
    }

    /// Some bytes of a record. The part of `range` that lies outside the record is ignored.
    pub fn payload_part(&self, record: &Record, range: Range<u32>) -> Result<Vec<u8>, SpoolError> {
        let mut bytes = Vec::new();
        self.read_part(record, range, &mut bytes)?;
        Ok(bytes)
    }

    /// All bytes of a record, in place of what was in `bytes`: for those who look at many records, one after the other.
    pub fn payload_into(&self, record: &Record, bytes: &mut Vec<u8>) -> Result<(), SpoolError> {
        self.read_part(record, 0..record.len, bytes)
    }

    fn read_part(
        &self,
        record: &Record,
        range: Range<u32>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), SpoolError> {
        let end = range.end.min(record.len);
        let start = range.start.min(end);
        let len = (end - start) as usize;
        let gone = || SpoolError::Dropped { path: self.dir.clone(), offset: record.offset };

        let mut state = self.state();
        let segment = state.containing(record.offset.0).ok_or_else(gone)?;
        let window = state.window(segment)?.ok_or_else(gone)?;
        let pos = (record.offset.0 - segment) + HEADER as u64 + u64::from(start);
        if let Some(buffered) = window.buffered(pos, len) {
            bytes.clear();
            bytes.extend_from_slice(buffered);
            return Ok(());
        }
        // Memory that is fresh from the system is zero already.
        match bytes.capacity() < len {
            true => *bytes = vec![0; len],
            false => bytes.resize(len, 0),
        }
        match window.file().read_exact_at(bytes, pos) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let path = self.segment_path(segment);
                Err(SpoolError::corrupt(&path, pos, "record is shorter than its header says"))
            }
            Err(error) => Err(SpoolError::io("read", &self.segment_path(segment))(error)),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, Segments> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn segment_path(&self, start: u64) -> PathBuf {
        self.dir.join(segment_name(start))
    }
}

impl Segments {
    /// Looks at the directory again.
    pub(crate) fn refresh(&mut self) -> Result<(), SpoolError> {
        self.starts = list_segments(&self.dir)?;
        Ok(())
    }

    /// The segment that holds this offset, if it is kept.
    pub(crate) fn containing(&self, offset: u64) -> Option<u64> {
        self.starts[..self.starts.partition_point(|&s| s <= offset)].last().copied()
    }

    /// The first known segment that begins after this one.
    pub(crate) fn after(&self, start: u64) -> Option<u64> {
        self.starts.get(self.starts.partition_point(|&s| s <= start)).copied()
    }

    /// The open segment; `None` if it was dropped, in which case the list of segments was read anew.
    pub(crate) fn window(&mut self, start: u64) -> Result<Option<&mut Window>, SpoolError> {
        if self.window.as_ref().is_none_or(|window| window.start != start) {
            let path = self.dir.join(segment_name(start));
            let opened = stead_files::open(&path)
                .and_then(|file| stead_files::check_size(&file, MOST_SEGMENT).map(|()| file));
            match opened {
                Ok(file) => self.window = Some(Window::new(start, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.refresh()?;
                    return Ok(None);
                }
                Err(error) => return Err(SpoolError::io("open", &path)(error)),
            }
        }
        Ok(self.window.as_mut())
    }
}

/// Records in the order in which they were written.
#[derive(Debug)]
pub struct Records<'a> {
    reader: &'a Reader,
    at: u64,
    to: u64,
    /// The segment that holds `at`, once that is known.
    segment: Option<u64>,
    dropped: u64,
    started: bool,
}

impl Records<'_> {
    /// Bytes of the log that were asked for and are no longer kept, as far as read.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How far the log was read: where a later call goes on.
    pub fn position(&self) -> Offset {
        Offset(self.at)
    }

    fn step(&mut self) -> Result<Option<Record>, SpoolError> {
        let mut looks = 0;
        let mut refreshed = false;
        while self.at < self.to {
            let mut state = self.reader.state();
            let Some(segment) = self.segment.or_else(|| state.containing(self.at)) else {
                match state.starts.first() {
                    Some(&first) => self.jump(first),
                    None if refreshed => return Ok(None),
                    None => {
                        state.refresh()?;
                        refreshed = true;
                    }
                }
                continue;
            };
            let later = state.after(segment);
            let Some(window) = state.window(segment)? else {
                self.segment = None;
                continue;
            };
            self.segment = Some(segment);
            if !self.started {
                // The bytes in the buffer are from an earlier call, and the file may have changed since.
                window.clear();
                self.started = true;
            }
            let ahead = (self.to - self.at).min(FIRST_AHEAD as u64) as usize;
            let pos = self.at - segment;
            let step = window.step(pos, ahead).map_err(|error| {
                SpoolError::io("read", &self.reader.segment_path(segment))(error)
            })?;
            let bad = match step {
                Step::Whole(header) => {
                    let offset = self.at;
                    self.at += header.size();
                    match header.record(offset) {
                        Some(record) => return Ok(Some(record)),
                        None => continue,
                    }
                }
                Step::End => {
                    match later {
                        Some(later) => self.jump(later),
                        None if refreshed => return Ok(None),
                        None => {
                            state.refresh()?;
                            refreshed = true;
                        }
                    }
                    continue;
                }
                Step::Torn if later.is_none() => {
                    window.clear();
                    return Ok(None);
                }
                Step::Torn => "record is cut off",
                Step::Bad(what) => what,
            };
            window.clear();
            looks += 1;
            if looks == LOOKS {
                let error = SpoolError::corrupt(&self.reader.segment_path(segment), pos, bad);
                match later {
                    Some(later) => (self.at, self.segment) = (later, Some(later)),
                    None => self.to = self.at,
                }
                return Err(error);
            }
        }
        Ok(None)
    }

    fn jump(&mut self, to: u64) {
        self.dropped += to.min(self.to).saturating_sub(self.at);
        (self.at, self.segment) = (self.at.max(to), Some(to));
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, SpoolError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if matches!(step, Err(SpoolError::Io { .. })) {
            self.to = self.at;
        }
        step.transpose()
    }
}
