//! The types of both wires, client to host and host to bridge, and what they share. No IO here.
//!
//! `docs/PROTOCOL.md` describes the same messages for people who write a bridge or a client.

pub mod bridge;
mod by;
mod capability;
mod chunk;
pub mod client;
mod error;
mod eval_set;
mod gateway;
mod ids;
mod lines;
mod moment;
mod outcome;
mod place;
mod refusal;
mod settings;
mod start;
mod status;
mod stdlib;
mod tagged;
mod undo;
mod version;
mod words;
mod work;

pub use by::{By, ByWhom};
pub use capability::{Capabilities, Capability};
pub use chunk::{Chunk, ChunkKind, DisplayInfo, ErrorInfo, Missing, ValueInfo, is_markup};
pub use error::{ErrorCode, WireError, with_causes};
pub use eval_set::EvalSet;
pub use gateway::{
    GatewayKernel, GatewayTarget, GatewayUrl, GatewayUrlError, LEFT_KERNEL, TokenSource,
    tells_of_left_kernel,
};
pub use ids::{EvalId, EvalSeq, Generation, NameError, Offset, SessionName, Token};
pub use lines::Lines;
pub use moment::utc;
pub use outcome::{
    Change, Changed, EndReason, Finished, NotKept, Outcome, TimeoutStep, signal_words,
};
pub use place::ShellPlace;
pub use refusal::{Doing, Obstacle, Refusal, StartTrouble};
pub use settings::{
    DEFAULT_IDLE_TIMEOUT_MS, DEFAULT_QUOTA_BYTES, Engine, EnvironmentSource, FromProject, Keeps,
    KernelChoice, Limits, LogLevel, Policy, SessionPlace, Settings, Startup,
};
pub use start::{FILES_VERSION, FileVersion, FoundInterpreter, HostReady, HostSpec, Meta};
pub use status::{Activity, CheckpointInfo, Status, StdlibStatus, Unrecorded, Usage};
pub use stdlib::{Definition, DefinitionKind, MAX_STDLIB, StdlibReport, stdlib_source};
pub use undo::{UndoStatus, UndoTrouble};
pub use version::{PROGRAM, Speaker, Versions};
pub use work::{DEFAULT_LABEL, ReportInfo, Work, WorkKind};

/// Most bytes of code that one eval may have (SPEC E-15).
pub const MAX_CODE: usize = 16 << 20;
/// Longest line either wire accepts: the largest code, fully escaped, plus its envelope.
pub const MAX_LINE: usize = 6 * MAX_CODE + (1 << 20);
