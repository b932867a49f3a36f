//! Reading the kept output of evals: parts, lines by number, matches of a search.

pub(crate) mod content;
pub(crate) mod gather;
pub(crate) mod last_line;
pub(crate) mod lines;
pub(crate) mod numbered;
pub(crate) mod output;
pub(crate) mod pattern;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod search;
