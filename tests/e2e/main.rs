//! The real binary, real interpreters, a cleared environment. Tests are named after SPEC items.

mod adapters;
mod background;
mod bad_input;
mod bash;
mod clean;
mod cli;
mod disk;
mod editor;
mod environments;
mod escalate;
mod exit;
mod family;
mod figures;
mod files;
mod findings;
mod garbage;
mod gate;
mod help;
mod homes;
mod input;
mod interrupt;
mod json;
mod kill;
mod leftovers;
mod names;
mod nested;
mod node;
mod output;
mod places;
mod processes;
mod promises;
mod race;
mod refused;
mod search;
mod secrets;
mod session;
mod shell;
mod silent;
mod skew;
mod talk;
mod terminal;
mod toy_bridge;
mod values;
mod wire;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
