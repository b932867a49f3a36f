//! Finds, starts and talks to session hosts: the only door for front ends.
//!
//! Control goes over the host's socket; output is read from the spool directly, so a slow reader
//! slows nobody and a dead host hides nothing.

mod config;
mod control;
mod copies;
mod error;
mod eval;
mod follow;
mod gc;
mod hint;
mod known_names;
mod list;
mod names;
mod others;
mod reach;
mod read;
mod saved;
mod session;
mod show;
mod stdlib;
mod timer;
mod wake;

pub use config::{
    AskedGateway, CONFIG_FILE, Consent, GatewayChoice, ListedToolchain, PROJECT_DIR, Planned,
    ProjectDir, ProjectTrouble, ReadConfig, Startable, TrustStanding, Unallowed, effects,
    unreadable, users_word, whole_effects,
};
pub use control::{Interrupted, KillEffect, PauseEffect, Stopped};
pub use error::{
    ClientError, ConnectionTrouble, Fate, RequestError, StdlibError, is_stopped, mebibytes,
};
pub use eval::begun::{Begun, Stage};
pub use eval::run::RUN_PREFIX;
pub use eval::view::{EvalStatus, EvalView, Unanswered, unrecorded, unrecorded_text};
pub use eval::wait::{Quiet, Standing, WaitAction, Watcher};
pub use follow::{FollowWait, Followed, Following, PastEval, SessionChange, SessionEvent};
pub use hint::{Hint, HintCalls, LostBy, NotNeeded, Whose};
pub use known_names::KnownNames;
pub use list::{EvalSummary, Evals, Listed, Listing};
pub use others::SentEval;
pub use reach::connection::{Connection, PATIENCE, Waited};
pub use reach::dirs::{Dirs, Elsewhere};
pub use reach::kept::KeptConnections;
pub use reach::kernel;
pub use reach::language;
pub use reach::workspace::{Workspace, current_dir};
pub use read::content::{Content, LeftOut};
pub use read::numbered::{LastLines, NumberedLines};
pub use read::output::{OutputOptions, Part};
pub use read::record::EvalRecord;
pub use read::search::{Hit, MAX_CONTEXT, Matches, SearchOptions, Target};
pub use saved::SaveOptions;
pub use saved::manifest::{Manifest, SavedName, SavedTrouble};
pub use saved::target::TargetTrouble;
pub use session::{Client, EvalOptions, InputOptions, LaunchOptions, Launched};
pub use show::figures;
pub use show::live::{Live, LiveItem};
pub use show::page::{ItemCut, Page, PageItem, cut_middle};
pub use show::report::{report_fields, report_length, report_text};
pub use show::shown::{counted, size_text};
pub use stdlib::{Stdlib, StdlibChange};
pub use stead_protocol::utc;
pub use stead_spool::EvalEntry;
pub use timer::millis;
pub use wake::{AwaitedEval, Cause, HeldUp, MatchedLine, WakeOptions, WakeWatcher, Woken};
