//! Pushes a real host as far as a test run allows: output, interrupts, crowds, floods, long lives.
//!
//! `STEAD_STRESS_EVALS`, `STEAD_INTERRUPTS`, `STEAD_BASH_INTERRUPTS`, `STEAD_NODE_INTERRUPTS`, `STEAD_NREPL_INTERRUPTS`, `STEAD_DEATHS`, `STEAD_ORDERS`, `STEAD_BASH_ORDERS` and
//! `STEAD_BIG`, `STEAD_WAKES`, `STEAD_SAVES`, `STEAD_ROLLBACKS` make the runs longer, `STEAD_SEED`
//! repeats one.

mod bash_interrupts;
mod copies;
mod crowd;
mod deaths;
mod flood;
mod interrupts;
mod long_life;
mod node;
mod nrepl;
mod order;
mod output;
mod rig;
mod saves;
mod sweep;
mod wakes;

/// The binary under test.
const STEAD: &str = env!("CARGO_BIN_EXE_stead");
