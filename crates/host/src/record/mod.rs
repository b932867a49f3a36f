//! What is kept: evals and their outcomes, output, displays; and what is given back.

pub(crate) mod disk;
pub(crate) mod displays;
pub(crate) mod ledger;
mod log;
mod prompt;
pub(crate) mod unsaved;
