//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod background;
mod exit;
mod findings;
mod input;
mod interrupt;
mod bad_input;
mod cli;
mod garbage;
mod gate;
mod output;
mod places;
mod session;
mod talk;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
