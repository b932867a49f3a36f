//! What a session is doing, what can happen to it, and what is done about that.

mod actions;
pub(crate) mod state;
#[cfg(test)]
mod state_tests;
mod step;
pub(crate) mod work;
