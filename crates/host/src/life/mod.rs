//! A host from its start to its end.

pub(crate) mod ending;
pub(crate) mod start;
pub(crate) mod trust;
pub(crate) mod wall_clock;
