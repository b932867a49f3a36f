//! Enters stead into the files of agents' programs, and takes it out again (SPEC U-4).
//!
//! The core is pure: text in, text out, one module for each format. Around it: which programs there are, how their
//! own commands are called, and how a file is replaced so that nothing of its owner's is lost.

mod backup;
mod clients;
mod diff;
mod edit;
mod entry;
mod file;
#[cfg(test)]
mod golden;
mod json;
mod loss;
mod own;
mod perform;
mod probe;
mod program;
mod splice;
mod toml;
mod trouble;
mod yaml;

pub use backup::keep_copy;
pub use clients::{CLIENTS, ConfigScope, McpClient, OwnCommand, UserPlaces, client_named};
pub use edit::{ConfigFormat, EditKind, EditResult};
pub use entry::{EntryShape, KnownEntry, SERVER_NAME, ServerEntry};
pub use file::FileTrouble;
pub use perform::{
    InstallAction, InstallDone, InstallMeans, InstallOrder, InstallPlan, InstallTrouble,
};
pub use probe::{LiveServer, ProbeTrouble, is_this_stead, probe};
pub use program::{is_in_a_cache, own_path};
pub use trouble::EditTrouble;
