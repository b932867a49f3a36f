//! From kept output to what a person or a model reads of it.

pub mod figures;
pub(crate) mod live;
pub(crate) mod page;
pub(crate) mod report;
pub(crate) mod shown;
