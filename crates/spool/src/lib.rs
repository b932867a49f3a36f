//! A session's output and history on disk: one writer (the host), many readers, also after the
//! host died.
//!
//! The output log is a row of segments of framed records, addressed by [`Offset`]. The history is
//! a file of JSON lines with an index that finds an eval in constant time. Nothing is locked:
//! writers only append, and a reader takes a record only if all of it is there.
//!
//! [`Offset`]: stead_protocol::Offset

mod back;
mod disk;
mod dropped;
mod error;
mod facts;
mod history;
mod history_reader;
mod history_record;
mod history_recover;
mod index;
mod index_changes;
mod keys;
pub mod layout;
mod lines;
mod reader;
mod record;
mod recover;
pub mod retention;
mod trim;
mod undone;
mod window;
mod writer;

#[cfg(test)]
mod tests;

pub use back::RecordsBack;
pub use error::SpoolError;
pub use history::History;
pub use history_reader::{EvalEntry, Gone, HistoryReader, StateAfter};
pub use history_record::HistoryRecord;
pub use history_recover::Recovered;
pub use layout::{SessionDir, write_atomically};
pub use reader::{Reader, Records};
pub use record::{MAX_PAYLOAD, MAX_STREAM_PAYLOAD, Record};
pub use undone::{read_undone, write_undone};
pub use writer::{Appended, DEFAULT_SEGMENT, Options, Spool};
