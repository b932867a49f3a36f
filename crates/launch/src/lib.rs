//! From an interpreter to a running child, and everything about its process tree.
//!
//! All interpreters are started here and nowhere else, so that this is the one place where a
//! sandbox has to be applied.

mod find;
pub mod process;
mod spawn;
pub mod sys;

pub use find::{Environment, FindError, Search, find};
pub use process::{census, cores, family, mark, ps, roster, stdin_wait, tree};
pub use spawn::{Child, SpawnError, StartCommand, reserve_control, spawn};
