//! What an eval produced, as it is in the spool: all of it, or its head and its tail.

use stead_protocol::{Chunk, ChunkKind};

/// Chunks in order, with at most one gap between `head` and `tail`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// From the beginning; everything, if nothing is left out.
    pub head: Vec<Chunk>,
    /// The gap between `head` and `tail`.
    pub left_out: Option<LeftOut>,
    /// To the end.
    pub tail: Vec<Chunk>,
    /// Where in the eval's own output `head` begins.
    pub offset: u64,
    /// How much the eval itself wrote in all, as far as that was read.
    pub total_bytes: u64,
}

/// A gap in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// How many bytes of the streams.
    pub bytes: u64,
    /// How many line ends, if they were counted.
    pub lines: Option<u64>,
    /// Where the gap begins in the eval's own output.
    pub offset: u64,
}

/// Appends to the last chunk if it is a stream of the same kind.
pub(crate) fn push(chunks: &mut Vec<Chunk>, kind: ChunkKind, bytes: Vec<u8>) {
    match chunks.last_mut() {
        Some(last) if last.kind == kind && kind.is_stream() => last.bytes.extend_from_slice(&bytes),
        _ => chunks.push(Chunk { kind, bytes }),
    }
}

impl Content {
    /// All chunks, the gap aside.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &Chunk> {
        self.head.iter().chain(&self.tail)
    }

    /// Bytes of the eval's own output that are here.
    pub fn shown_bytes(&self) -> u64 {
        own_bytes(self.chunks())
    }
}

/// How many lines end in `bytes`.
pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Bytes of the eval's own output.
pub(crate) fn own_bytes<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> u64 {
    chunks.filter(|chunk| chunk.kind.is_own_output()).map(|chunk| chunk.bytes.len() as u64).sum()
}
