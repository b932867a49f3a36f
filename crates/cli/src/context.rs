//! What every command needs: the workspace's client and how to answer.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use stead_client::{Client, Dirs, LaunchOptions, Workspace};
use stead_protocol::{By, ErrorCode, EvalId, SessionName};

use crate::consent::consent;
use crate::hints;
use crate::print::{self, CliReply, CommandResult, Failure, Mode, bad_request};
use crate::{Globals, Modes, exit};

/// A running command.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) command: &'static str,
    pub(crate) mode: Mode,
    pub(crate) client: Client,
    pub(crate) cwd: PathBuf,
    /// Whether the user named the workspace.
    pub(crate) workspace_given: bool,
    pub(crate) modes: Modes,
}

/// What a directory that was removed, or whose path is no text, does to a command that is called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceNeed {
    /// The command is refused: it is about the project of that directory.
    Required,
    /// The command runs all the same.
    Optional,
}

/// How a session is named on the command line (SPEC C-2).
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SessionArg {
    /// Session to use; without it the only live one of the workspace
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// For commands that take nothing but a session: its name may stand alone (SPEC C-2).
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NamedArg {
    /// Session to use, like `-n NAME`
    #[arg(value_name = "NAME", conflicts_with = "name")]
    session: Option<String>,
    #[command(flatten)]
    flag: SessionArg,
}

impl NamedArg {
    /// The name that was given, in either way.
    pub(crate) fn given(&self) -> Option<&str> {
        self.session.as_deref().or(self.flag.name.as_deref())
    }
}

impl Context {
    pub(crate) fn new(
        command: &'static str,
        mode: Mode,
        globals: &Globals,
        modes: Modes,
        need: WorkspaceNeed,
    ) -> Result<Self, Failure> {
        let is_optional = globals.workspace.is_none() && need == WorkspaceNeed::Optional;
        let cwd = match stead_client::current_dir() {
            Ok(cwd) => cwd,
            // From an empty path relative ones stay relative, and the system says what is wrong with them.
            Err(_) if globals.workspace.is_some() || is_optional => PathBuf::new(),
            Err(error) => {
                let message = format!("there is no current directory: {error}");
                return Err(bad_request(message).with_hint(hints::OTHER_DIRECTORY));
            }
        };
        let dirs = Dirs::from_env()?;
        let workspace = match Workspace::find_or_gone(globals.workspace.as_deref(), &cwd, &dirs) {
            // The root directory is always there, for interpreters that such a command may start.
            Err(_) if is_optional => Workspace::stored("/".to_owned()),
            found => found?,
        };
        let client =
            Client { dirs, workspace, kind: "cli", by: Arc::default(), program: None, kept: None };
        // The program that drives the command line may say who its user is (SPEC E-16).
        if let Some(by) = env::var("STEAD_BY").ok().filter(|by| !by.trim().is_empty()) {
            client.by.get_or_init(|| By::from(by.trim()));
        }
        let workspace_given = globals.workspace.is_some();
        Ok(Context { command, mode, client, cwd, workspace_given, modes })
    }

    /// The eval that is meant: by its id, or the last one of a session that is named.
    pub(crate) fn eval_meant(&self, given: &str) -> Result<EvalId, Failure> {
        let (name, id) = self.client.target(given)?;
        if let Some(id) = id {
            return Ok(id);
        }
        match self.client.last_code(&name)? {
            Some(last) => Ok(last.id),
            None => {
                let message = format!("session `{name}` has had no evals");
                Err(Failure::new(ErrorCode::EvalNotFound, message)
                    .with_hint(format!("run one: `stead eval -n {name} …`")))
            }
        }
    }

    /// The session that `-n` names, else the only live one of the workspace.
    pub(crate) fn session(&self, arg: &SessionArg) -> Result<SessionName, Failure> {
        match &arg.name {
            Some(name) => self.session_named(name),
            None => Ok(self.client.only()?),
        }
    }

    /// The session that the argument or `-n` names, else the only live one of the workspace.
    pub(crate) fn named(&self, arg: &NamedArg) -> Result<SessionName, Failure> {
        match &arg.session {
            Some(name) => self.session_named(name),
            None => self.session(&arg.flag),
        }
    }

    /// A session's name as the user gave it.
    pub(crate) fn session_named(&self, given: &str) -> Result<SessionName, Failure> {
        Ok(self.client.session(given)?)
    }

    /// How a session is started that a command needs and that does not exist.
    pub(crate) fn launch(&self, language: Option<String>) -> LaunchOptions {
        // The session starts in the current directory, unless that lies outside the workspace.
        let inside = self.cwd.starts_with(self.client.workspace.path());
        LaunchOptions {
            language,
            here: inside.then(|| self.cwd.clone()),
            consent: consent(),
            ..LaunchOptions::default()
        }
    }

    /// The same command answering in another mode.
    pub(crate) fn with_mode(&self, mode: Mode) -> Context {
        Context { mode, ..self.clone() }
    }

    /// A path that the user gave, made absolute from the current directory.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Answers with `data`, or with `text`.
    pub(crate) fn answer(
        &self,
        status: &str,
        data: impl Serialize,
        text: impl FnOnce() -> String,
    ) -> CommandResult {
        match self.mode {
            Mode::Json => print::json(&CliReply::success(self.command, status, data)),
            Mode::Text => print::out(text().as_bytes()),
        }
        Ok(exit::SUCCESS)
    }
}
