//! A terminal's way of reading bytes: what programs write becomes the text a person would see
//! (SPEC O-7).
//!
//! No width, no wrapping and no scrolling away: rows are as long as they were written and none is
//! forgotten. Only the last rows can still be redrawn, which is what progress bars need.

mod cells;
mod escapes;
mod input;
mod row;
mod rows;
mod screen;
mod stream;
mod text;

pub use screen::{Lane, LaneText, Piece, Screen};
pub use stream::{LiveScreen, LiveText};
pub use text::{columns, fit, into_plain, is_unseen, plain, visible};
