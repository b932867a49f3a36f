//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod cli;
mod gate;
mod session;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
