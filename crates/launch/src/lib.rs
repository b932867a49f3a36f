//! From an interpreter to a running child, and everything about its process tree.
//!
//! All interpreters are started here and nowhere else, so that this is the one place where a
//! sandbox has to be applied.

mod channels;
pub mod echo;
mod find;
pub mod packets;
pub mod process;
pub mod project;
mod spawn;
pub mod sys;

pub use channels::{Channels, TheirEnds, open_channels};
pub use find::{
    AskedProgram, Environment, FindError, KernelSpec, NotSaid, Patient, ProgramQuestion,
    ProgramSaid, Programs, Search, came_with_project, find, find_in, find_program, find_server,
    kernel, kernels,
};
pub use process::{census, cores, family, keeper, mark, memory, ps, roster, stdin_wait, tree};
pub use spawn::{Child, SpawnError, StartCommand, reserve_control, spawn};
