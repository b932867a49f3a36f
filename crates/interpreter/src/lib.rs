//! Speaks to one interpreter. Each backend offers the same few verbs to the host.

mod bridge;
mod lines;
mod prepare;

pub use bridge::{Among, Bridge, Broken, Editor, Hears, Source};
pub use prepare::{Feed, PrepareError, Prepared, prepare};
