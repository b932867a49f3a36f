//! The frame of a record in the output log.
//!
//! Header, 16 bytes little endian: magic `0x5D`, kind, two zero bytes, length (u32), eval (u64).
//! Then the payload, then a trailer of 4 bytes, the length xor `0x5D5D5D5D`, by which readers walk
//! backwards and tell a whole record from one that is still being written.

use stead_protocol::{ChunkKind, EvalSeq, Offset};

/// Most bytes of a stream in one record; longer writes are split.
pub const MAX_STREAM_PAYLOAD: usize = 256 << 10;
/// Most bytes of a value, error, display, status or report; longer ones are not kept.
pub const MAX_PAYLOAD: usize = 64 << 20;

pub(crate) const HEADER: usize = 16;
pub(crate) const TRAILER: usize = 4;
/// What a record takes on top of its payload.
pub(crate) const OVERHEAD: u64 = (HEADER + TRAILER) as u64;

const MAGIC: u8 = 0x5D;
const TRAILER_MASK: u32 = 0x5D5D_5D5D;
/// Kinds up to this one may be given a meaning later; readers pass over them.
const LAST_KIND: u8 = 63;

/// One record of the output log, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Where it begins.
    pub offset: Offset,
    /// Where the one after it begins.
    pub next: Offset,
    /// What it holds.
    pub kind: ChunkKind,
    /// The eval it belongs to.
    pub eval: EvalSeq,
    /// The length of its payload.
    pub len: u32,
}

/// A header as found on disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    kind: u8,
    pub(crate) eval: EvalSeq,
    pub(crate) len: u32,
}

impl Header {
    pub(crate) fn new(kind: ChunkKind, eval: EvalSeq, len: u32) -> Self {
        Header { kind: kind_code(kind), eval, len }
    }

    pub(crate) fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = MAGIC;
        bytes[1] = self.kind;
        bytes[4..8].copy_from_slice(&self.len.to_le_bytes());
        bytes[8..].copy_from_slice(&self.eval.0.to_le_bytes());
        bytes
    }

    /// `None` for bytes that no version writes as a header.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let [m, kind, 0, 0, l0, l1, l2, l3, eval @ ..] = *bytes else { return None };
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        let fits = m == MAGIC && (1..=LAST_KIND).contains(&kind) && len as usize <= MAX_PAYLOAD;
        fits.then(|| Header { kind, eval: EvalSeq(u64::from_le_bytes(eval)), len })
    }

    /// `None` for a kind of a newer version.
    pub(crate) fn kind(self) -> Option<ChunkKind> {
        KINDS.get(usize::from(self.kind) - 1).copied()
    }

    pub(crate) fn trailer(self) -> [u8; TRAILER] {
        (self.len ^ TRAILER_MASK).to_le_bytes()
    }

    /// How many bytes the whole record takes.
    pub(crate) fn size(self) -> u64 {
        u64::from(self.len) + OVERHEAD
    }

    pub(crate) fn record(self, offset: u64) -> Option<Record> {
        let (offset, next) = (Offset(offset), Offset(offset + self.size()));
        self.kind().map(|kind| Record { offset, next, kind, eval: self.eval, len: self.len })
    }
}

/// The payload length that a trailer states.
pub(crate) fn trailer_len(bytes: &[u8]) -> Option<u32> {
    let len = u32::from_le_bytes(*bytes.first_chunk()?) ^ TRAILER_MASK;
    (len as usize <= MAX_PAYLOAD).then_some(len)
}

/// In the order of their codes, which begin with 1; new kinds are only ever appended.
const KINDS: [ChunkKind; 9] = [
    ChunkKind::Out,
    ChunkKind::Err,
    ChunkKind::Value,
    ChunkKind::Error,
    ChunkKind::Display,
    ChunkKind::Status,
    ChunkKind::BackgroundOut,
    ChunkKind::BackgroundErr,
    ChunkKind::Report,
];

fn kind_code(kind: ChunkKind) -> u8 {
    match kind {
        ChunkKind::Out => 1,
        ChunkKind::Err => 2,
        ChunkKind::Value => 3,
        ChunkKind::Error => 4,
        ChunkKind::Display => 5,
        ChunkKind::Status => 6,
        ChunkKind::BackgroundOut => 7,
        ChunkKind::BackgroundErr => 8,
        ChunkKind::Report => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_for_every_kind() {
        for kind in KINDS {
            let header = Header::decode(&Header::new(kind, EvalSeq(7), 300).encode()).unwrap();
            assert_eq!((header.kind(), header.eval, header.len), (Some(kind), EvalSeq(7), 300));
            assert_eq!(trailer_len(&header.trailer()), Some(300));
        }
    }

    #[test]
    fn a_kind_of_a_newer_version_is_a_record_that_readers_pass_over() {
        let mut bytes = Header::new(ChunkKind::Out, EvalSeq(1), 0).encode();
        bytes[1] = KINDS.len() as u8 + 1;
        assert!(Header::decode(&bytes).unwrap().record(0).is_none());
        bytes[1] = 64;
        assert!(Header::decode(&bytes).is_none());
    }
}
