//! SPEC E-8 on real programs: which wait for input, which may, and which do not.
//!
//! Each situation has its right answer. Those that nobody can know from outside the program are listed
//! as such, with the answer that they get.

mod judge;
mod nodes;
mod programs;
mod pythons;
mod remote;
mod shells;
mod words;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
