//! `stead mcp` as a rough client meets it: raw lines on pipes, in all orders and shapes.

mod bounds;
mod cancel;
mod clean;
mod code;
mod config;
mod control;
mod docs;
mod editor;
mod ending;
mod express;
mod flood;
mod forged;
mod formats;
mod frames;
mod habits;
mod incomplete;
mod kept;
mod malformed;
mod output;
mod place;
mod reply;
mod rig;
mod shell;
mod silent;
mod state;
mod stdlib;
mod who;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
