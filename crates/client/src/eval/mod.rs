//! Code that runs: sent, waited for, and told about.

pub(crate) mod begun;
pub(crate) mod loss;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod view;
pub(crate) mod wait;
pub(crate) mod work;
