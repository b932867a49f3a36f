//! The processes of a session: who they are, what they wait for, and the end of them.

pub mod census;
pub mod cores;
pub mod family;
pub mod mark;
pub mod ps;
pub mod roster;
pub mod stdin_wait;
mod sweep;
pub mod tree;
