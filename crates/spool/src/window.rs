//! One open segment and the bytes of it that were read last.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::lines::PAST_ANY_FILE;
use crate::record::{HEADER, Header, OVERHEAD, TRAILER, trailer_len};

/// How much is read at once among small records.
pub(crate) const AHEAD: usize = 64 << 10;
/// The most that the first read of a segment takes: enough for the output of a usual eval in one call.
pub(crate) const FIRST_AHEAD: usize = 8 << 10;
/// From this payload length on, reading ahead would read payloads that nobody may want.
const LARGE: u32 = 16 << 10;

/// A segment file with a buffer over a part of it.
#[derive(Debug)]
pub(crate) struct Window {
    /// The offset at which the segment begins.
    pub(crate) start: u64,
    file: File,
    /// The position in the file of the buffer's first byte.
    at: u64,
    buffer: Vec<u8>,
}

/// What stands at a position of a segment.
#[derive(Debug)]
pub(crate) enum Step {
    /// A whole record.
    Whole(Header),
    /// The end of the file, at a record edge.
    End,
    /// The beginning of a record that is not all there.
    Torn,
    /// Something that is not a record.
    Bad(&'static str),
}

impl Window {
    pub(crate) fn new(start: u64, file: File) -> Self {
        Window { start, file, at: 0, buffer: Vec::new() }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Forgets what was read, so that the next look is at the file as it is now.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
    }

    /// The record that begins at `pos`; `ahead` is how much to read if it must be read.
    pub(crate) fn step(&mut self, pos: u64, ahead: usize) -> io::Result<Step> {
        let head = self.bytes(pos, HEADER, ahead)?;
        if head.is_empty() {
            return Ok(Step::End);
        }
        if head.len() < HEADER {
            return Ok(Step::Torn);
        }
        let Some(header) = Header::decode(head) else {
            return Ok(Step::Bad("no record header"));
        };
        // The next header stands right behind the trailer, so one read serves both.
        let ahead = if header.len >= LARGE { TRAILER + HEADER } else { AHEAD };
        let trailer = self.bytes(pos + HEADER as u64 + u64::from(header.len), TRAILER, ahead)?;
        Ok(match trailer.len() {
            TRAILER if *trailer == header.trailer() => Step::Whole(header),
            TRAILER => Step::Bad("record trailer does not match its header"),
            _ => Step::Torn,
        })
    }

    /// The record that ends at `pos`; `back` is how much to read if it must be read.
    pub(crate) fn step_back(&mut self, pos: u64, back: usize) -> io::Result<Step> {
        if pos == 0 {
            return Ok(Step::End);
        }
        if pos < OVERHEAD {
            return Ok(Step::Bad("no room for a record"));
        }
        let trailer = self.bytes_back(pos - TRAILER as u64, TRAILER, back)?;
        if trailer.len() < TRAILER {
            return Ok(Step::Torn);
        }
        let len = match trailer_len(trailer) {
            Some(len) if u64::from(len) + OVERHEAD <= pos => len,
            _ => return Ok(Step::Bad("no record trailer")),
        };
        let back = if len >= LARGE { TRAILER } else { AHEAD };
        let head = self.bytes_back(pos - OVERHEAD - u64::from(len), HEADER, back)?;
        Ok(match Header::decode(head) {
            Some(header) if header.len == len => Step::Whole(header),
            _ => Step::Bad("record header does not match its trailer"),
        })
    }

    /// Bytes that are in the buffer already.
    pub(crate) fn buffered(&self, pos: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(pos.checked_sub(self.at)?).ok()?;
        self.buffer.get(from..from.checked_add(len)?)
    }

    /// `need` bytes from `pos`, fewer at the end of the file.
    fn bytes(&mut self, pos: u64, need: usize, ahead: usize) -> io::Result<&[u8]> {
        if self.buffered(pos, need).is_none() {
            self.fill(pos, need.max(ahead))?;
        }
        let from = (pos - self.at) as usize;
        Ok(&self.buffer[from..self.buffer.len().min(from + need)])
    }

    /// Like `bytes`, and reads what stands before `pos` as well.
    fn bytes_back(&mut self, pos: u64, need: usize, back: usize) -> io::Result<&[u8]> {
        if self.buffered(pos, need).is_none() {
            let from = pos.saturating_sub(back as u64);
            self.fill(from, (pos - from) as usize + need)?;
        }
        let from = (pos - self.at) as usize;
        Ok(self.buffer.get(from..self.buffer.len().min(from + need)).unwrap_or_default())
    }

    fn fill(&mut self, pos: u64, len: usize) -> io::Result<()> {
        self.at = pos;
        self.buffer.clear();
        if pos > PAST_ANY_FILE {
            return Ok(());
        }
        self.buffer.resize(len, 0);
        let mut got = 0;
        // A short read is the end of the file; it saves the call that would return nothing.
        let read = loop {
            match self.file.read_at(&mut self.buffer[got..], pos + got as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
                Ok(n) => {
                    got += n;
                    break Ok(());
                }
            }
        };
        self.buffer.truncate(got);
        read
    }
}
