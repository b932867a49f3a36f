//! What a client hands to a host that it starts, and what it hears back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::tagged::{Named, named};
use crate::{SessionName, Settings, Versions, WireError};

/// Everything a host needs, as one JSON object on its standard input, then end of file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostSpec {
    /// The oldest version of the client wire that the client speaks; the only one, if it names no range. As a rule host
    /// and client are the same program, but its file may have been replaced while a client ran.
    pub protocol: u32,
    /// All versions it speaks, if they are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// The version of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The session's directory in the state directory; exists, mode 0700.
    pub dir: PathBuf,
    /// Where to listen; its directory exists and was checked.
    pub socket: PathBuf,
    /// Who the session is and how it is started; the host stores it as `meta.json`.
    pub meta: Meta,
}

/// What is kept of a session in `meta.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The version of this file.
    pub version: u32,
    /// The version of the program that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The session's name.
    pub name: SessionName,
    /// Its workspace, canonical.
    pub workspace: String,
    /// How to start it.
    pub settings: Settings,
    /// When it was first started, in milliseconds since 1970.
    pub created_ms: u64,
    /// It was stopped by request: hidden from lists, its history stays readable.
    #[serde(default)]
    pub stopped: bool,
    /// The interpreter that was found for `settings`, and why; written by the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundInterpreter>,
}

/// The version of a session's files: `meta.json`, the history with its index, and the output log.
pub const FILES_VERSION: u32 = 1;

/// What is read of such a file before the rest, which may have another shape in a newer version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileVersion {
    /// The version of the file.
    pub version: u32,
    /// The version of the program that wrote it.
    #[serde(default)]
    pub program: Option<String>,
}

impl FileVersion {
    /// Whether the rest can be read by this program only by guessing.
    pub fn is_newer(&self) -> bool {
        self.version > FILES_VERSION
    }
}

impl Meta {
    /// The settings to keep of a stopped session: of its environment only the names, since values may be
    /// secrets (SPEC X-5).
    pub fn into_stopped(mut self) -> Meta {
        self.stopped = true;
        self.settings.place.env.iter_mut().for_each(|(_, value)| value.clear());
        self
    }
}

/// An interpreter and the reason it was chosen (SPEC S-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundInterpreter {
    /// The real executable, shims resolved.
    pub path: String,
    /// Why this one, in a few words.
    pub why: String,
    /// Interpreters that were preferred, were found and do not start; what is wrong with each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
}

impl FoundInterpreter {
    /// An interpreter that was the first candidate, so that none was passed over.
    pub fn new(path: String, why: String) -> Self {
        FoundInterpreter { path, why, passed_over: Vec::new() }
    }

    /// Why this one, with those that were passed over.
    pub fn reason(&self) -> String {
        match self.notice() {
            Some(notice) => format!("{}; {notice}", self.why),
            None => self.why.clone(),
        }
    }

    /// What the user should know of those that were passed over.
    pub fn notice(&self) -> Option<String> {
        let passed_over = self.passed_over.join("; ");
        (!passed_over.is_empty()).then(|| format!("passed over: {passed_over}"))
    }
}

/// The one line a host writes on its standard output before it goes to the background.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostReady {
    /// It listens.
    Ready {
        /// Its process id.
        pid: u32,
    },
    /// It could not start.
    Failed(WireError),
    /// Something that a newer host says.
    Unknown,
}

named!(HostReady,
    "ready" => |value: Ready| HostReady::Ready { pid: value.pid },
    "failed" => |value: WireError| HostReady::Failed(value),
);

#[derive(Deserialize)]
struct Ready {
    pid: u32,
}
