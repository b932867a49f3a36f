//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod session;
mod toy_bridge;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
