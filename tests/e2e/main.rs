//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod kill;
mod leftovers;
mod processes;
mod race;
mod session;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
