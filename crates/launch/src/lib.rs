//! From an interpreter to a running child, and everything about its process tree.
//!
//! All interpreters are started here and nowhere else, so that this is the one place where a
//! sandbox has to be applied.

pub mod bash;
pub mod census;
pub mod cores;
pub mod family;
mod find;
pub mod mark;
pub mod node;
pub mod ps;
pub mod python;
pub mod roster;
pub mod shell;
mod spawn;
pub mod stdin_wait;
pub mod tree;

pub use find::{Env, FindError};
pub use spawn::{Child, Command, Control, SpawnError, reserve_control, spawn};
