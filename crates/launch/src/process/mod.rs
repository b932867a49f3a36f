//! The processes of a session: finding them, seeing what they wait for, and ending them.

pub mod census;
pub mod cores;
pub mod family;
pub mod keeper;
pub mod mark;
pub mod memory;
mod proc_file;
pub mod ps;
pub mod roster;
pub mod stdin_wait;
mod sweep;
pub mod tree;
