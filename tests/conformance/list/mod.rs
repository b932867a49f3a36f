//! The list of behaviours, the same for every language. Names of SPEC items come first.

mod errors;
mod input;
mod interrupt;
mod life;
mod names;
mod output;
mod queue;
mod read;
mod saving;
mod time;
mod values;

use crate::column::Behaviour;

/// All of it, in an order in which a new language is best built.
pub(crate) fn behaviours() -> Vec<Behaviour> {
    let parts = [
        values::LIST,
        output::LIST,
        read::LIST,
        errors::LIST,
        names::LIST,
        saving::LIST,
        input::LIST,
        interrupt::LIST,
        queue::LIST,
        time::LIST,
        life::LIST,
    ];
    parts.concat()
}
