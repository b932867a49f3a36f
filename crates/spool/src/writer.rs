//! The host's end of the output log.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use stead_protocol::{ChunkKind, EvalSeq, NotKept, Offset};

use crate::SpoolError;
use crate::disk;
use crate::layout::{has_name, list_segments, segment_name};
use crate::record::{HEADER, Header, MAX_PAYLOAD, MAX_STREAM_PAYLOAD, OVERHEAD};
use crate::recover::{SegmentTail, find_tail};
use crate::window::Window;

/// How long a segment may get by default.
pub const DEFAULT_SEGMENT: u64 = 32 << 20;

/// No segment gets longer than this, whatever the quota is. A longer file is refused, not walked from end to
/// end.
pub(crate) const MOST_SEGMENT: u64 = 1 << 30;

/// After so many bytes the writer looks whether its file still has a name.
const LOOK_EVERY: u64 = 1 << 20;

/// How much of the output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Most bytes of all segments together.
    pub quota: u64,
    /// Length of a segment; a quarter of the quota if that is less.
    pub segment: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { quota: stead_protocol::DEFAULT_QUOTA_BYTES, segment: DEFAULT_SEGMENT }
    }
}

/// What became of the bytes of one append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Where the log ends now.
    pub end: Offset,
    /// How many of the bytes could not be kept.
    pub lost: u64,
    /// Why the first of them could not.
    pub why: Option<NotKept>,
}

/// The writer of a session's output log; a session has one.
#[derive(Debug)]
pub struct Spool {
    /// Held open, so that nothing is ever written to another directory of the same name.
    dir: OwnedFd,
    quota: u64,
    segment: u64,
    /// Segments that are full, oldest first.
    full: VecDeque<Segment>,
    /// The sum of their sizes.
    full_size: u64,
    /// The segment that grows; `None` until its first record.
    file: Option<File>,
    /// Where the growing segment begins, and how long it is.
    start: u64,
    pos: u64,
    /// A part of a record stands behind `pos` and could not be cut off yet.
    torn: bool,
    protected: u64,
    unlooked: u64,
    lost: u64,
    cut: u64,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    start: u64,
    end: u64,
}

impl Spool {
    /// Opens the log in a session directory and cuts what a killed writer left half written.
    pub fn open(dir: &Path, options: Options) -> Result<Spool, SpoolError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir_fd =
            rustix::fs::open(dir, flags, Mode::empty()).map_err(SpoolError::io("open", dir))?;
        let mut spool = Spool {
            dir: dir_fd,
            quota: options.quota,
            segment: options.segment.min((options.quota / 4).max(4096)),
            full: VecDeque::new(),
            full_size: 0,
            file: None,
            start: 0,
            pos: 0,
            torn: false,
            protected: 0,
            unlooked: 0,
            lost: 0,
            cut: 0,
        };
        let mut starts = list_segments(dir)?;
        let last = starts.pop();
        for start in starts {
            let path = dir.join(segment_name(start));
            let len = path.symlink_metadata().map_err(SpoolError::io("read", &path))?.len();
            spool.full.push_back(Segment { start, end: start + len });
            spool.full_size += len;
        }
        if let Some(start) = last {
            spool.recover(start, &dir.join(segment_name(start)))?;
        }
        spool.protected = spool.end().0;
        Ok(spool)
    }

    /// Where the next record will begin.
    pub fn end(&self) -> Offset {
        Offset(self.start + self.pos)
    }

    /// Bytes of a half written record that `open` cut off.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Bytes that could not be kept since `open`.
    #[cfg(test)]
    pub(crate) fn lost_total(&self) -> u64 {
        self.lost
    }

    /// Adds a record, or several for a long piece of a stream.
    ///
    /// Bytes that could not be kept (quota, disk full) are counted, never an error: the code that
    /// prints them goes on.
    pub fn append(&mut self, kind: ChunkKind, eval: EvalSeq, bytes: &[u8]) -> Appended {
        let (before, mut why) = (self.lost, None);
        if kind.is_stream() {
            for part in bytes.chunks(MAX_STREAM_PAYLOAD) {
                why = why.or(self.put(kind, eval, part).err());
            }
        } else {
            why = self.put(kind, eval, bytes).err();
        }
        Appended { end: self.end(), lost: self.lost - before, why }
    }

    /// Segments holding anything at or after this offset are never dropped to make room.
    ///
    /// Called with the running eval's start; after `open` it is the end of the log.
    pub fn protect(&mut self, from: Offset) {
        self.protected = from.0;
        self.look();
    }

    /// What is before this offset may be dropped again; the next `protect` says what may not.
    pub fn release(&mut self, before: Offset) {
        self.protected = before.0;
    }

    /// Whether the log still has a name in its directory, so that others can read it.
    ///
    /// `append` does not check this on every call. Once the name is gone, appended bytes count as lost.
    pub fn look(&mut self) -> bool {
        self.unlooked = 0;
        let named = match &self.file {
            Some(file) => has_name(file),
            None => has_name(&self.dir),
        };
        if !named && self.file.take().is_some() {
            (self.start, self.pos, self.torn) = (self.end().0, 0, false);
        }
        named
    }

    /// Writes one record; a stream's record is cut to what there is room for.
    fn put(&mut self, kind: ChunkKind, eval: EvalSeq, bytes: &[u8]) -> Result<(), NotKept> {
        let over_quota = NotKept::Quota { bytes: self.quota };
        let room = match bytes.len() <= MAX_PAYLOAD {
            true => self.make_room(kind, bytes.len() as u64).ok_or(over_quota),
            false => Err(NotKept::TooLarge { most: MAX_PAYLOAD as u64 }),
        };
        let room = match room {
            Ok(room) => room as usize,
            Err(why) => {
                self.lost += bytes.len() as u64;
                return Err(why);
            }
        };
        let header = Header::new(kind, eval, room as u32);
        if self.pos > 0 && self.pos + header.size() > self.segment {
            self.roll();
        }
        match self.write(header, &bytes[..room]) {
            Ok(()) if room == bytes.len() => Ok(()),
            Ok(()) => {
                self.lost += (bytes.len() - room) as u64;
                Err(over_quota)
            }
            // Whatever the reason, the log is whole and the next append tries again.
            Err(errno) => {
                self.lost += bytes.len() as u64;
                Err(match errno {
                    Errno::NOSPC | Errno::DQUOT => NotKept::DiskFull,
                    // A directory that was removed while it was open takes no new file.
                    Errno::NOENT => NotKept::Removed,
                    other => NotKept::Disk { errno: other.raw_os_error() },
                })
            }
        }
    }

    /// Drops old segments until a record fits; says how much of its payload does.
    fn make_room(&mut self, kind: ChunkKind, len: u64) -> Option<u64> {
        // Streams may not use the last of the quota, so that an eval which printed too much can still record
        // its error.
        let reserve = if kind.is_stream() { (self.quota / 16).min(1 << 20) } else { 0 };
        let limit = self.quota - reserve;
        let need = len + OVERHEAD;
        while self.full_size + self.pos + need > limit {
            if self.full.is_empty() && self.pos > 0 && self.end().0 <= self.protected {
                self.roll();
            }
            if !self.drop_oldest() {
                let room = limit.saturating_sub(self.full_size + self.pos + OVERHEAD);
                return (kind.is_stream() && room > 0).then_some(room);
            }
        }
        Some(len)
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(&oldest) = self.full.front() else { return false };
        if oldest.end > self.protected {
            return false;
        }
        match rustix::fs::unlinkat(&self.dir, segment_name(oldest.start), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(_) => return false,
        }
        self.full.pop_front();
        self.full_size -= oldest.end - oldest.start;
        true
    }

    /// Ends the growing segment; the next record begins a new one.
    fn roll(&mut self) {
        if self.torn && self.cut_torn().is_err() {
            return;
        }
        self.full.push_back(Segment { start: self.start, end: self.end().0 });
        self.full_size += self.pos;
        (self.start, self.pos, self.file) = (self.end().0, 0, None);
    }

    fn write(&mut self, header: Header, payload: &[u8]) -> Result<(), Errno> {
        if self.torn {
            self.cut_torn()?;
        }
        self.unlooked += header.size();
        if self.unlooked > LOOK_EVERY {
            self.look();
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::TRUNC
                    | OFlags::CLOEXEC
                    | OFlags::NOFOLLOW;
                let mode = Mode::RUSR | Mode::WUSR;
                let name = segment_name(self.start);
                none.insert(rustix::fs::openat(&self.dir, name, flags, mode)?.into())
            }
        };
        let written = write_record(file, self.pos, header, payload);
        match written {
            Ok(()) => self.pos += header.size(),
            Err(_) => {
                self.torn = true;
                let _ = self.cut_torn();
            }
        }
        written
    }

    fn cut_torn(&mut self) -> Result<(), Errno> {
        if let Some(file) = &self.file {
            rustix::fs::ftruncate(file, self.pos)?;
        }
        self.torn = false;
        Ok(())
    }

    /// Goes on with the last segment, behind its last whole record.
    fn recover(&mut self, start: u64, path: &Path) -> Result<(), SpoolError> {
        let open = || stead_files::open_with(OpenOptions::new().read(true).write(true), path);
        let file = open().map_err(SpoolError::io("open", path))?;
        stead_files::check_size(&file, MOST_SEGMENT).map_err(SpoolError::io("read", path))?;
        let len = file.metadata().map_err(SpoolError::io("read", path))?.len();
        let mut window = Window::new(start, file);
        let tail = find_tail(&mut window).map_err(SpoolError::io("read", path))?;
        (self.start, self.pos) = (start, len);
        self.file = Some(window.into_file());
        match tail {
            SegmentTail::Whole(_) => {}
            SegmentTail::Torn(pos) => {
                (self.pos, self.cut) = (pos, len - pos);
                self.torn = true;
                // On a full or read-only disk each append tries again to cut the torn record.
                let _ = self.cut_torn();
            }
            // Records behind the damage may be whole and are not ours to destroy.
            SegmentTail::Damaged(_) => self.roll(),
        }
        Ok(())
    }
}

/// Writes a whole record at `pos` with one call, with more only after a short write.
fn write_record(file: &File, pos: u64, header: Header, payload: &[u8]) -> Result<(), Errno> {
    let (head, trailer) = (header.encode(), header.trailer());
    let parts: [&[u8]; 3] = [&head, payload, &trailer];
    let mut done = 0;
    while done < header.size() as usize {
        let skip_payload = done.saturating_sub(HEADER);
        let skip_trailer = skip_payload.saturating_sub(payload.len());
        let slices = [
            IoSlice::new(&parts[0][done.min(HEADER)..]),
            IoSlice::new(&parts[1][skip_payload.min(payload.len())..]),
            IoSlice::new(&parts[2][skip_trailer..]),
        ];
        match disk::pwritev(file, &slices, pos + done as u64) {
            Ok(0) => return Err(Errno::IO),
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
