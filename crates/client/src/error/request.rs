//! Requests that are wrong in themselves.

use std::path::PathBuf;

use stead_config::{ConfigProblem, TemplateError};
use stead_protocol::{GatewayUrlError, NameError, SessionName};
use thiserror::Error;

use super::stdlib::StdlibError;

use crate::saved::manifest::SavedTrouble;
use crate::saved::target::TargetTrouble;

/// What is wrong with a request in itself.
#[derive(Debug, Error)]
pub enum RequestError {
    /// A name breaks the grammar.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such language.
    #[error("no language `{}`", given.escape_debug())]
    NoSuchLanguage {
        /// What was given.
        given: String,
    },
    /// There is no such language or toolchain.
    #[error("no language or toolchain `{}`", given.escape_debug())]
    NoSuchToolchain {
        /// Whether a configuration file has a session of that name.
        is_session: bool,
        /// What was given.
        given: String,
        /// The toolchains that there are.
        known: Vec<String>,
    },
    /// A configuration file is wrong.
    #[error("{problem}{}", and_more(*more))]
    Config {
        /// What is wrong with it, and where.
        problem: Box<ConfigProblem>,
        /// How many more problems there are.
        more: usize,
    },
    /// A command that was given cannot be used.
    #[error("{error}")]
    Command {
        /// What is wrong with it.
        error: TemplateError,
    },
    /// The session exists and is in another language.
    #[error("session `{name}` is in {has}, not {wanted}")]
    OtherLanguage {
        /// The session.
        name: SessionName,
        /// Its language.
        has: String,
        /// The one that was asked for.
        wanted: String,
    },
    /// The session would be started, and a configuration file has it in another language.
    #[error("session `{name}` is set up in {has} by {at}, not in {wanted}")]
    OtherConfigured {
        /// The session.
        name: SessionName,
        /// Its language.
        has: String,
        /// The one that was asked for.
        wanted: String,
        /// The file and the line.
        at: String,
    },
    /// The session would be started, and its name is that of another language.
    #[error("`{name}` is the name of the session in {language}, and this one would be in {wanted}")]
    NameOfOther {
        /// The name.
        name: SessionName,
        /// The language that has this name.
        language: String,
        /// The one that was asked for.
        wanted: String,
        /// The name that a session in that one has by itself.
        free: Option<SessionName>,
    },
    /// A kernel was named for a language that has none.
    #[error("a kernel is for Jupyter sessions, and this one would be in {language}")]
    NoKernels {
        /// The language.
        language: String,
    },
    /// The address of a server was given for a language that has none.
    #[error("the address of a server is for nREPL sessions, and this one would be in {language}")]
    NoServers {
        /// The language.
        language: String,
    },
    /// Nothing says which server is to run the code.
    #[error("nothing says which nREPL server is to run the code")]
    NoServer,
    /// The address of a gateway is not valid.
    #[error("{error}")]
    GatewayUrl {
        /// What is wrong with it; it may hold a secret and is not repeated.
        error: GatewayUrlError,
    },
    /// The user's configuration has no gateway of this name.
    #[error("no gateway is called `{}`", given.escape_debug())]
    NoGateway {
        /// What was given.
        given: String,
        /// The gateways that the configuration has.
        known: Vec<String>,
    },
    /// Nothing says which gateway has the session's kernel.
    #[error("a gateway is reached by its address, which is not told")]
    GatewayMissing,
    /// A model names a server that is not in the user's configuration.
    #[error("a gateway is opened only if it is in the user's own configuration")]
    UnknownGateway {
        /// The gateways that the configuration has.
        known: Vec<String>,
    },
    /// A text that was to be searched for is no regular expression, or too large a one.
    #[error("{problem}")]
    Pattern {
        /// What is wrong with it, and where.
        problem: String,
    },
    /// The directory that a session is to start in cannot be used.
    #[error("the session's directory `{path}` cannot be used: {problem}")]
    Directory {
        /// The directory.
        path: String,
        /// Why not.
        problem: String,
    },
    /// The workspace cannot be used.
    #[error("could not use the workspace `{}`: {problem}", path.display())]
    Workspace {
        /// The path as given.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// What was found in a session's place belongs to another workspace.
    #[error("`{}` belongs to the workspace `{theirs}`, not to `{ours}`", path.display())]
    OtherWorkspace {
        /// The session's directory.
        path: PathBuf,
        /// Its workspace.
        theirs: String,
        /// The one that was meant.
        ours: String,
    },
    /// A path is not text.
    #[error("the path {path:?} is not UTF-8")]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// The environment names no place for sessions.
    #[error(
        "none of STEAD_STATE_DIR, XDG_STATE_HOME and HOME is set, so there is no place for sessions"
    )]
    NoStateDir,
    /// A directory that the environment names is not an absolute path.
    #[error("{variable} is `{}`, which is not an absolute path", path.display())]
    RelativeDir {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        path: PathBuf,
    },
    /// The environment says how much to keep, and that cannot be understood.
    #[error("{problem}")]
    Retention {
        /// The variable, what it holds, and what it takes.
        problem: String,
    },
    /// A file cannot be loaded.
    #[error("`{}` {trouble}", path.display())]
    SavedFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        trouble: SavedTrouble,
    },
    /// A save may not go to this place.
    #[error("`{}` {trouble}", path.display())]
    SaveTarget {
        /// The place.
        path: PathBuf,
        /// What is there.
        trouble: TargetTrouble,
    },
    /// A file was saved in one language and the session is in another.
    #[error("`{}` was saved in {saved}, and session `{name}` is in {has}", path.display())]
    SavedLanguage {
        /// The file.
        path: PathBuf,
        /// Its language.
        saved: String,
        /// The session that it was to be loaded into.
        name: SessionName,
        /// The language of that session.
        has: String,
    },
    /// A path or name cannot be sent.
    #[error("{problem}")]
    Words {
        /// What is wrong with it.
        problem: String,
    },
    /// Something about the user's standard library.
    #[error(transparent)]
    Stdlib(#[from] StdlibError),
    /// As many shell commands run as may run at once.
    #[error("no shell session is free")]
    NoShellFree,
}

fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}
