//! Finds, starts and talks to session hosts: the only door for front ends.
//!
//! Control goes over the host's socket; output is read from the spool directly, so a slow reader
//! slows nobody and a dead host hides nothing.

mod begun;
mod call;
mod connection;
mod content;
mod control;
mod dirs;
mod error;
pub mod figures;
mod gather;
mod gc;
mod kept;
pub mod language;
mod leftovers;
mod lines;
mod list;
mod live;
mod loss;
mod meta;
mod numbered;
mod output;
mod page;
mod patience;
mod pattern;
mod read;
mod run;
mod search;
mod session;
mod shell;
mod shown;
mod start;
mod timer;
mod view;
mod wait;
mod workspace;

pub use begun::{Begun, Stage};
pub use connection::{Connection, PATIENCE, Waited};
pub use content::{Content, LeftOut, is_own_output};
pub use control::Interrupted;
pub use dirs::{Dirs, Elsewhere};
pub use error::{ClientError, Fate, mebibytes};
pub use kept::Kept;
pub use list::{EvalSummary, Evals, Listed, Listing};
pub use live::Live;
pub use numbered::{LastLines, NumberedLines};
pub use output::{OutputOptions, Part};
pub use page::{Item, Page, cut_middle};
pub use run::RUN_PREFIX;
pub use search::{Found, Hit, MAX_CONTEXT, SearchOptions, Target};
pub use session::{Client, EvalOptions, InputOptions, Launch, Launched};
pub use view::{EvalStatus, EvalView, Unanswered, unrecorded, unrecorded_text};
pub use wait::{Action, Quiet, Watcher};
pub use workspace::Workspace;
