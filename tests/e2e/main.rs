//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod background;
mod exit;
mod findings;
mod input;
mod interrupt;
mod session;
mod talk;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
