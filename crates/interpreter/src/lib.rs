//! The lower half of a session: everything that touches the kernel an interpreter runs on.
//!
//! The upper half (`stead-host`) keeps state, queue, record and clients, and knows no pipe, no process
//! and no signal. It gives `Order`s and is told `Told`s, in order: whatever user code wrote before its end is
//! told before the end is. `Near` does all that in the loop of the process that calls it. Both types are plain
//! data, so the same two halves can stand on two machines.

mod clock;
pub mod guard;
pub mod log;
mod near;
mod order;
pub mod pause;
mod prepare;
mod told;

pub use clock::{Clock, Millis};
pub use near::{Near, NearReady, Source};
pub use order::{Order, SavedCopy};
pub use prepare::{Feed, PrepareError, Prepared, prepare};
pub use stead_launch::reserve_control as reserve_descriptors;
use stead_protocol::with_causes;
pub use told::{Copied, CopiesTake, Exit, Figures, InputRefusal, Restored, Told};

/// Which run of the machine this is, for the record.
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
