//! What a session is doing, what can happen to it, and what is done about that.

mod actions;
pub(crate) mod copies;
#[cfg(test)]
mod copies_tests;
pub(crate) mod copy_phase;
pub(crate) mod copying;
mod exited;
pub(crate) mod from_text;
mod leaving;
pub(crate) mod library;
mod rollback;
#[cfg(test)]
mod rollback_tests;
pub(crate) mod state;
#[cfg(test)]
mod state_random_tests;
#[cfg(test)]
mod state_tests;
pub(crate) mod stdlib;
#[cfg(test)]
mod stdlib_tests;
mod step;
mod ticks;
pub(crate) mod undo;
pub(crate) mod work;
