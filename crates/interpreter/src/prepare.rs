//! How a session's settings become a command to start.

use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stead_config::{Control, CopyMethod, Fed, Language, Start};
use stead_launch::{Environment, FindError, Search, StartCommand};
use stead_protocol::{FoundInterpreter, SessionName, Settings, StartTrouble};
use thiserror::Error;

/// More bytes than any compiled bridge has.
const MOST_BRIDGE: u64 = 16 << 20;

/// Why a session's interpreter cannot even be named.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// None was found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A newer version placed the session on another machine or in a container.
    #[error(
        "the session runs elsewhere (`via` in its `meta.json`), and this version starts sessions only on this machine"
    )]
    Elsewhere,
    /// No language has this name.
    #[error("`{language}` is not a language this version speaks")]
    Language {
        /// The language asked for.
        language: String,
    },
}

impl PrepareError {
    /// Why no interpreter for this language could be found, as data for front ends that give advice.
    pub fn trouble(&self, language: &str) -> Option<StartTrouble> {
        let language = language.to_owned();
        match self {
            PrepareError::Find(FindError::None { program, .. }) => {
                Some(StartTrouble::Missing { language, program: (*program).to_owned() })
            }
            PrepareError::Find(FindError::NoneStarts { program, .. }) => {
                Some(StartTrouble::NoneStarts { language, program: (*program).to_owned() })
            }
            PrepareError::Find(FindError::Named { path, .. } | FindError::Shim { path, .. }) => {
                let path = path.to_string_lossy().into_owned();
                Some(StartTrouble::NotRunnable { language, path })
            }
            PrepareError::Language { .. } | PrepareError::Elsewhere => None,
        }
    }
}

/// An interpreter that is ready to be started.
pub struct Prepared {
    /// The interpreter, and why it was chosen.
    pub found: FoundInterpreter,
    /// How to start it.
    pub command: StartCommand,
    /// What it is sent first.
    pub feed: Feed,
}

/// What an interpreter is sent before all commands.
pub enum Feed {
    /// Nothing: the program is a bridge itself.
    Nothing,
    /// The bridge's source, for an interpreter that keeps no compiled form.
    Script(&'static str),
    /// The bridge's source. If the bridge tells its compiled form, that may be kept in this file.
    Source(&'static str, PathBuf),
    /// The bridge as this interpreter compiled it before, from that file.
    Code(Vec<u8>, PathBuf),
}

/// Finds the interpreter for these settings and says how to start it.
///
/// `tag` goes into the environment of everything the session starts, so that processes which a
/// killed host left behind can be told apart.
pub fn prepare(
    settings: &Settings,
    name: &SessionName,
    tag: &str,
    cache_dir: &Path,
) -> Result<Prepared, PrepareError> {
    if !settings.place.via.is_empty() {
        return Err(PrepareError::Elsewhere);
    }
    let cwd = PathBuf::from(&settings.place.cwd);
    let ours = ["STEAD_PAUSE_AT", "STEAD_BRIDGE_FD", "STEAD_BRIDGE_OUT", "STEAD_NEST_FD"];
    let mut env: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !ours.iter().any(|our| name == our)).collect();
    let mut set = |name: &str, value: &str| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    };
    for (name, value) in &settings.place.env {
        set(name, value);
    }
    let (tag_name, tag_value) = tag.split_once('=').unwrap_or((tag, ""));
    set(tag_name, tag_value);
    set("STEAD_SESSION", name.as_str());
    let is_set = |name: &str| env.iter().any(|(known, value)| known == name && !value.is_empty());
    for (name, value) in stead_editor::environment(is_set) {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.into()));
    }
    let named = settings.engine.interpreter.as_deref();
    let language = match settings.engine.bridge {
        Some(_) => None,
        None => Some(known(&settings.engine.language)?),
    };
    if !language.is_some_and(Language::has_environment) {
        let search = Search { named: None, cwd: &cwd, env: &env, cache_dir, proven: &|_| false };
        if let Some(environment) = Environment::of_project(&search) {
            environment.activate(&mut env);
        }
    }
    if let Some(bridge) = &settings.engine.bridge {
        let path = cwd.join(bridge);
        let why = "named by the user".to_owned();
        let found = FoundInterpreter::new(path.to_string_lossy().into_owned(), why);
        let (control, nests) = (Control::Socket, true);
        let command = StartCommand { program: path, arguments: vec![], env, cwd, control, nests };
        return Ok(Prepared { found, command, feed: Feed::Nothing });
    }
    let language = known(&settings.engine.language)?;
    // An interpreter that compiled our bridge before has shown that it starts.
    let proven = |program: &Path| match &language.start {
        Start::Fed(fed) => matches!(feed(program, fed, cache_dir), Feed::Code(..)),
        Start::Mode(_) => false,
    };
    let search = Search { named, cwd: &cwd, env: &env, cache_dir, proven: &proven };
    let found = stead_launch::find(language, &search)?;
    if language.has_environment()
        && let Some(environment) = Environment::of(Path::new(&found.path), &env)
    {
        environment.activate(&mut env);
    }
    Ok(match &language.start {
        Start::Fed(fed) => {
            let program = PathBuf::from(&found.path);
            let words = fed.arguments.iter().copied().chain([fed.boot.trim()]);
            let arguments = words.map(OsString::from).collect();
            let feed = feed(&program, fed, cache_dir);
            let (control, nests) = (fed.control, language.copies == CopyMethod::Fork);
            let command = StartCommand { program, arguments, env, cwd, control, nests };
            Prepared { found, command, feed }
        }
        Start::Mode(mode) => {
            // This very program, even if its file was replaced meanwhile.
            let program = PathBuf::from("/proc/self/exe");
            let arguments = vec![mode.into(), found.path.clone().into(), cache_dir.into()];
            let (control, nests) = (Control::Socket, false);
            let command = StartCommand { program, arguments, env, cwd, control, nests };
            Prepared { found, command, feed: Feed::Nothing }
        }
    })
}

fn known(language: &str) -> Result<&'static Language, PrepareError> {
    stead_config::language(language)
        .ok_or_else(|| PrepareError::Language { language: language.to_owned() })
}

/// Compiling the bridge takes longer than the rest of an interpreter's start, so the compiled form is kept
/// for as long as neither the interpreter nor the bridge changes.
fn feed(program: &Path, fed: &'static Fed, cache_dir: &Path) -> Feed {
    let source = fed.bridge;
    if !fed.compiles {
        return Feed::Script(source);
    }
    let identity = std::fs::metadata(program)
        .map(|meta| (meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()));
    let mut hasher = std::hash::DefaultHasher::new();
    (program, identity.ok(), source).hash(&mut hasher);
    let file = cache_dir.join("bridges").join(format!("{:016x}.code", hasher.finish()));
    match stead_files::read(&file, MOST_BRIDGE) {
        Ok(code) if !code.is_empty() => Feed::Code(code, file),
        _ => Feed::Source(source, file),
    }
}
