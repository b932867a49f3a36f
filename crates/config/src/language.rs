//! What stead knows of a language.

use stead_bridges::TextId;
use stead_protocol::Keeps;

/// A language that sessions can be started in by name.
#[derive(Debug)]
pub struct Language {
    /// Its name: `python`.
    pub name: &'static str,
    /// Its short name, which is also the name of the session called after it: `py`.
    pub alias: &'static str,
    /// Its name as people write it.
    pub title: &'static str,
    /// Other words for the language that are not near its name: a user who gives one is told the name.
    pub also_called: &'static [&'static str],
    /// Whether it is offered for evals; another has a command of its own.
    pub offered: bool,
    /// What one eval leaves for the next.
    pub keeps: Keeps,
    /// How its state is copied for checkpoints.
    pub copies: CopyMethod,
    /// The oldest version that its bridge runs in.
    pub oldest: Option<&'static str>,
    /// What `launch` says of its option of this name, which takes an interpreter; `--interpreter` takes one of
    /// any language.
    pub option: Option<&'static str>,
    /// The file name of the user's standard library for it; none if it cannot have one.
    pub stdlib: Option<&'static str>,
    /// What a newcomer is shown to begin with; nothing, if other languages have to do for that.
    pub first_steps: Option<FirstSteps>,
    /// How its interpreter is found.
    pub finder: Finder,
    /// How that is started.
    pub start: Start,
}

/// What to begin with in a language.
#[derive(Debug, Clone, Copy)]
pub struct FirstSteps {
    /// Code that leaves 41 behind.
    pub leave: &'static str,
    /// Code that makes 42 of what the first one left.
    pub use_it: &'static str,
}

/// How the state of an interpreter is copied, so that it can be gone back to (SPEC ST-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMethod {
    /// Its bridge forks the interpreter; it has a channel for that.
    Fork,
    /// The process is not copied. If the bridge can save all of its state (`saves_all`), the session goes back by
    /// loading that text.
    Not,
}

/// How an interpreter is found.
#[derive(Debug)]
pub enum Finder {
    /// The one that was named, else the first on the `PATH`.
    OnPath(OnPath),
    /// The Python of the project first (SPEC S-11).
    Python(VersionManagers),
    /// A Jupyter kernel, by its name, in every place where Jupyter looks (SPEC K-1).
    Kernel,
    /// A server that the session's command or toolchain starts, or that runs already (SPEC K-3).
    Server,
    /// Not at all: the session's settings say what runs its code, and where.
    Settings,
}

/// Programs that are looked for on the `PATH`.
#[derive(Debug)]
pub struct OnPath {
    /// Their names, the best first.
    pub programs: &'static [&'static str],
    /// What is done about a shim.
    pub shims: Option<VersionManagers>,
    /// Whether a link to the interpreter stands for what it leads to.
    pub follow_links: bool,
}

/// How to see through the scripts that version managers put before interpreters.
#[derive(Debug)]
pub struct VersionManagers {
    /// Arguments with which an interpreter prints its own path.
    pub tell: &'static [&'static str],
    /// Variables that choose a version.
    pub variables: &'static [&'static str],
    /// Files that choose a version, in the session's directory or above it.
    pub files: &'static [&'static str],
    /// Managers with a file `version` for everything else: the variable that names the manager's directory, and
    /// where that is in the home directory unless the variable is set.
    pub roots: &'static [(&'static str, &'static str)],
}

/// How an interpreter is started.
#[derive(Debug)]
pub enum Start {
    /// It runs a bridge that it is fed over its control channel.
    Fed(Fed),
    /// stead itself runs in this hidden mode, which is a bridge, and is given the interpreter's path.
    Mode(&'static str),
    /// stead itself runs as the adapter of this name, which is a bridge to an engine with another protocol.
    Adapter(&'static str),
    /// Like `Adapter`, for one that starts a server which listens on a port, or reaches such a server.
    Server(&'static str),
}

/// A bridge that runs inside the interpreter.
#[derive(Debug)]
pub struct Fed {
    /// What the interpreter is started with.
    pub arguments: &'static [&'static str],
    /// The last argument: code that reads the bridge from the control channel and runs it.
    pub boot: &'static str,
    /// The bridge.
    pub bridge: &'static str,
    /// What the bridge's compiled form is kept under for the next start, if the bridge tells it.
    pub compiled: Option<TextId>,
    /// What its control channel is.
    pub control: Control,
}

/// What a control channel is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One socket for both directions: easy for a bridge.
    Socket,
    /// A pipe for each direction: a fifth of a round trip less, because a bridge that waits on a socket is also
    /// woken when its last message was read.
    Pipes,
}

impl Language {
    /// Whether sessions in this language can be asked for. Sessions of shell commands are made by stead itself.
    pub fn takes_code(&self) -> bool {
        !matches!(self.start, Start::Mode(_))
    }

    /// Whether its interpreters lie in environments of projects, so that the one that was found decides which
    /// environment is in force.
    pub fn has_environment(&self) -> bool {
        match self.finder {
            Finder::Python(_) => true,
            Finder::OnPath(_) | Finder::Kernel | Finder::Server | Finder::Settings => false,
        }
    }
}

impl Start {
    /// Whether what is started listens on a port that it has to be told.
    pub fn listens(&self) -> bool {
        match self {
            // Bridges have a control channel, and these adapters find their own way to what they start.
            Start::Fed(_) | Start::Mode(_) | Start::Adapter(_) => false,
            Start::Server(_) => true,
        }
    }
}

impl Finder {
    /// What is known of version managers of this language.
    pub fn version_managers(&self) -> Option<&VersionManagers> {
        match self {
            Finder::OnPath(on_path) => on_path.shims.as_ref(),
            Finder::Python(managers) => Some(managers),
            Finder::Kernel | Finder::Server | Finder::Settings => None,
        }
    }
}
