//! What the user has allowed: the content of a workspace's `.stead` directory, by its hash (SPEC CF-4).

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stead_config::{ConfigFile, ConfigKey, ConfigTable, ConfigValue, Sourced};

use super::project::ProjectDir;
use crate::show::shown::counted;
use crate::{Client, ClientError};

/// How a workspace's directory stands with the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustStanding {
    /// It was allowed as it is.
    Allowed,
    /// It was allowed once, and has changed since.
    Changed,
    /// It was never allowed.
    New,
}

/// What the user is asked to allow.
#[derive(Debug)]
pub struct Unallowed {
    /// The workspace's directory.
    pub dir: PathBuf,
    /// Whether it was allowed once, and has changed since.
    pub changed: bool,
    /// What it would do, a line each.
    pub effects: Vec<String>,
}

/// Asks the user, where there is one; whether it is allowed.
pub type Consent = fn(&Unallowed) -> bool;

/// What is noted of a workspace that was allowed.
#[derive(Debug, Serialize, Deserialize)]
struct AllowNote {
    workspace: String,
    hash: String,
}

impl Client {
    /// How a workspace's directory stands with the user.
    pub fn trust(&self, project: &ProjectDir) -> TrustStanding {
        let note = stead_files::read(&self.allow_path(), stead_files::MOST_NOTE).ok();
        let note = note.and_then(|bytes| serde_json::from_slice::<AllowNote>(&bytes).ok());
        match note.filter(|note| note.workspace == self.workspace.as_str()) {
            Some(note) if note.hash == project.hash => TrustStanding::Allowed,
            Some(_) => TrustStanding::Changed,
            None => TrustStanding::New,
        }
    }

    /// Notes that the user allows the directory as it was read.
    pub fn allow(&self, project: &ProjectDir) -> Result<(), ClientError> {
        let path = self.allow_path();
        let failed = ClientError::file("write", &path);
        let note =
            AllowNote { workspace: self.workspace.as_str().to_owned(), hash: project.hash.clone() };
        let written = serde_json::to_vec(&note).map_err(io::Error::from).and_then(|bytes| {
            let dir = path.parent().unwrap_or(&self.dirs.state);
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            stead_spool::write_atomically(&path, &bytes)
                .map_err(|error| io::Error::other(with_causes(&error)))
        });
        written.map_err(failed)
    }

    /// Takes the permission back; whether there was one.
    pub fn disallow(&self) -> Result<bool, ClientError> {
        let path = self.allow_path();
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ClientError::file("remove", path)(error)),
        }
    }

    fn allow_path(&self) -> PathBuf {
        // Named as the directory of the workspace's sessions is.
        let workspace = self.dirs.workspace(&self.workspace);
        self.dirs.state.join("allowed").join(workspace.file_name().unwrap_or_default())
    }
}

/// An error with its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Unallowed {
    pub(crate) fn new(
        project: &ProjectDir,
        file: Option<&ConfigFile>,
        standing: TrustStanding,
    ) -> Self {
        let dir = project.path.clone();
        Unallowed {
            dir,
            changed: standing == TrustStanding::Changed,
            effects: effects(project, file),
        }
    }
}

/// What a workspace's directory does once it is allowed, a line each. Values of variables are not told.
pub fn effects(project: &ProjectDir, file: Option<&ConfigFile>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(file) = file {
        let sessions = file.sessions.iter().map(|(name, table)| ("session", name.as_str(), table));
        let own = file.toolchains.iter().map(|(name, table)| ("toolchain", name.as_str(), table));
        let mut plain = 0;
        for (kind, name, table) in sessions.chain(own) {
            let does = described(&table.table);
            match does.is_empty() {
                true => plain += 1,
                false => lines.push(format!("{kind} `{name}`: {}", does.join(", "))),
            }
        }
        // Many that do nothing must not push out of sight what does something.
        if plain > 0 {
            lines.insert(0, format!("{} without settings", counted(plain, "session", "sessions")));
        }
    }
    for (name, bytes) in &project.files {
        if name.starts_with("stdlib/") {
            lines.push(format!(
                "standard library `{name}`, {bytes} bytes: runs in every new session"
            ));
        }
    }
    if lines.is_empty() {
        let names: Vec<&str> = project.files.keys().map(String::as_str).take(10).collect();
        lines.push(format!("files: {}", names.join(", ")));
    }
    lines
}

fn described(table: &ConfigTable) -> Vec<String> {
    let said = |key: ConfigKey, value: &Sourced<ConfigValue>| match (key, &value.value) {
        (ConfigKey::Init, ConfigValue::Text(code)) => {
            let lines = code.trim().lines().count();
            let line = code.trim().lines().next().unwrap_or_default();
            let first: String = line.chars().take(60).collect();
            // Whoever is asked must see that there is more.
            let more = match (line.chars().count().saturating_sub(60), lines) {
                (0, 0 | 1) => String::new(),
                (0, lines) => format!(" and {} more lines", lines - 1),
                (rest, 0 | 1) => format!("… and {rest} more characters"),
                (rest, lines) => {
                    format!("… and {rest} more characters and {} more lines", lines - 1)
                }
            };
            format!("runs `{}`{more}", first.escape_debug())
        }
        (ConfigKey::Env, value) => format!("sets {}", value.shown()),
        (key, value) => format!("{} = {}", key.name(), value.shown()),
    };
    table.values.iter().map(|(key, value)| said(*key, value)).collect()
}
