//! How long a call waits for a host to answer, and what it says of one that does not (SPEC E-2, E-11).

use std::time::{Duration, Instant};

use crate::EvalOptions;
use crate::control::END_TIME;
use crate::reach::connection::PATIENCE;

/// The least time that a host is given to answer, however short the soft timeout is: a busy machine is not a
/// silent host.
const LEAST: Duration = Duration::from_secs(2);

/// The two times that bound a call with code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// When the host must have taken the code.
    pub(crate) answer_by: Instant,
    /// When the eval is no longer waited for.
    pub(crate) deadline: Option<Instant>,
}

impl Patience {
    /// Both begin with the call.
    pub(crate) fn new(options: &EvalOptions) -> Self {
        let soft = if options.background { Duration::ZERO } else { options.soft_timeout };
        let now = Instant::now();
        let recording = Duration::from_secs(options.code.len() as u64 >> 20);
        Patience {
            answer_by: now + answer_time(soft).min(END_TIME + recording),
            deadline: now.checked_add(options.soft_timeout),
        }
    }
}

/// How long a host may take to answer a call with this soft timeout. A call that does not wait for the eval
/// still waits for an answer.
pub(crate) fn answer_time(soft: Duration) -> Duration {
    if soft.is_zero() { PATIENCE } else { soft.clamp(LEAST, END_TIME) }
}
