//! From a session's name to a connection with its host, which is started where there is none.

pub(crate) mod call;
pub(crate) mod connection;
pub(crate) mod dirs;
pub(crate) mod kept;
pub mod kernel;
pub mod language;
mod left_kernel;
pub(crate) mod leftovers;
pub(crate) mod meta;
pub(crate) mod patience;
pub(crate) mod start;
pub(crate) mod workspace;
