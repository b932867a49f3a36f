//! How far this server's client has read, so that `output` can give what is new.
//!
//! Only a convenience: a server that was started anew gives everything again, and nothing is lost.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use stead_protocol::{EvalId, Offset};

/// How many evals are remembered.
const KEPT: usize = 1000;

/// Where in the spool each eval was read to.
#[derive(Debug, Default)]
pub(crate) struct Cursors(Mutex<ReadMarks>);

#[derive(Debug, Default)]
struct ReadMarks {
    read: HashMap<EvalId, Offset>,
    order: VecDeque<EvalId>,
}

impl Cursors {
    /// How far an eval was read.
    pub(crate) fn get(&self, id: &EvalId) -> Offset {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).read.get(id).copied().unwrap_or_default()
    }

    /// Takes back that an eval's output was read from one place to another.
    pub(crate) fn take_back(&self, id: &EvalId, from: Offset, to: Offset) {
        let mut state = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(reached) = state.read.get_mut(id)
            && *reached == to
        {
            *reached = from;
        }
    }

    /// Notes that an eval's output was read at least this far.
    pub(crate) fn reach(&self, id: EvalId, offset: Offset) {
        let mut state = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let ReadMarks { read, order } = &mut *state;
        match read.entry(id) {
            Entry::Occupied(mut known) => *known.get_mut() = (*known.get()).max(offset),
            Entry::Vacant(new) => {
                order.push_back(new.key().clone());
                new.insert(offset);
            }
        }
        if order.len() > KEPT
            && let Some(oldest) = order.pop_front()
        {
            read.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_only_goes_forward_and_old_ones_are_forgotten() {
        let cursors = Cursors::default();
        let id = |n: usize| format!("py:{n}").parse::<EvalId>().unwrap();
        cursors.reach(id(1), Offset(9));
        cursors.reach(id(1), Offset(5));
        assert_eq!(cursors.get(&id(1)), Offset(9));
        (2..=KEPT + 1).for_each(|n| cursors.reach(id(n), Offset(1)));
        assert_eq!((cursors.get(&id(1)), cursors.get(&id(2))), (Offset(0), Offset(1)));
    }
}
