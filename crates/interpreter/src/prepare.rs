//! How a session's settings become a command to start.

use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stead_config::{
    CommandTemplate, Control, CopyMethod, Fed, Finder, Language, Placeholder, Start, TemplateError,
    TextId,
};
use stead_launch::{Environment, FindError, Programs, Search, StartCommand};
use stead_protocol::{
    FoundInterpreter, GatewayKernel, GatewayTarget, KernelChoice, SessionName, Settings,
    StartTrouble,
};
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
    /// The command of the session's toolchain cannot be used as a command.
    #[error("the session's command cannot be used: {source}")]
    Command {
        /// What is wrong with it.
        source: TemplateError,
    },
    /// The file that its command is to run could not be written.
    #[error("could not write `{}`", path.display())]
    BridgeFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Nothing says which server has the session's kernel.
    #[error(
        "nothing says which server or gateway has the session's kernel: its address is missing"
    )]
    NoGateway,
    /// A newer version knows how to reach the session's kernel.
    #[error("the session's kernel is reached in a way that this version does not know")]
    NewerKernel,
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
        match self {
            PrepareError::Find(error) => error.trouble(language),
            PrepareError::Language { .. }
            | PrepareError::Elsewhere
            | PrepareError::NoGateway
            | PrepareError::NewerKernel
            | PrepareError::Command { .. }
            | PrepareError::BridgeFile { .. } => None,
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
/// killed host left behind can be told apart. Nothing here waits unless `programs` does.
pub fn prepare(
    settings: &Settings,
    name: &SessionName,
    tag: &str,
    cache_dir: &Path,
    programs: &dyn Programs,
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
    let named = match &settings.engine.kernel {
        Some(KernelChoice::Name { name }) => Some(name.as_str()),
        Some(KernelChoice::Unknown) => return Err(PrepareError::NewerKernel),
        Some(KernelChoice::ConnectionFile { .. } | KernelChoice::Gateway(_)) | None => {
            settings.engine.interpreter.as_deref()
        }
    };
    let language = match settings.engine.bridge {
        Some(_) => None,
        None => Some(known(&settings.engine.language)?),
    };
    if !language.is_some_and(Language::has_environment) {
        let search = search_in(&cwd, &env, cache_dir, programs);
        if let Some(environment) = Environment::of_project(&search) {
            environment.activate(&mut env);
        }
    }
    let template = match settings.engine.command.as_slice() {
        [] => None,
        words => Some(
            CommandTemplate::of_words(words.to_vec())
                .map_err(|source| PrepareError::Command { source })?,
        ),
    };
    let because = |mut found: FoundInterpreter| {
        if let Some(because) = &settings.engine.because {
            found.why = format!("{}; {because}", found.why);
        }
        found
    };
    if let Some(bridge) = &settings.engine.bridge {
        let path = cwd.join(bridge);
        let (program, arguments) = match &template {
            Some(template) => filled(template, &path, &search_in(&cwd, &env, cache_dir, programs))?,
            None => (path.clone(), Vec::new()),
        };
        let why = "named by the user".to_owned();
        let found = because(FoundInterpreter::new(path.to_string_lossy().into_owned(), why));
        let (control, nests) = (Control::Socket, true);
        let command = StartCommand { program, arguments, env, cwd, control, nests };
        return Ok(Prepared { found, command, feed: Feed::Nothing });
    }
    let language = known(&settings.engine.language)?;
    if let Start::Server(adapter) = &language.start {
        let place = StartPlace { cwd, env, cache_dir, programs };
        let adapter = (*adapter, language);
        return served(adapter, settings, template.as_ref(), place, because);
    }
    if let (Some(template), Start::Fed(fed)) = (&template, &language.start) {
        return commanded(
            template,
            language,
            fed,
            StartPlace { cwd, env, cache_dir, programs },
            because,
        );
    }
    // An interpreter that compiled our bridge before has shown that it starts.
    let proven = |program: &Path| match &language.start {
        Start::Fed(fed) => fed
            .compiled
            .is_some_and(|text| kept_code(&compiled_file(program, &[], text, cache_dir)).is_some()),
        Start::Mode(_) | Start::Adapter(_) | Start::Server(_) => false,
    };
    let search = Search { named, cwd: &cwd, env: &env, cache_dir, proven: &proven, programs };
    let found = match (&settings.engine.kernel, &settings.engine.environment) {
        (Some(KernelChoice::ConnectionFile { path }), _) => {
            let why = "a Jupyter kernel that ran before; it is left alone at the end".to_owned();
            FoundInterpreter::new(path.clone(), why)
        }
        (Some(KernelChoice::Gateway(kernel)), _) => gateway_kernel(kernel),
        (None, _) if matches!(language.finder, Finder::Settings) => {
            return Err(PrepareError::NoGateway);
        }
        (_, Some(source)) => stead_launch::find_in(source, language, &search)?,
        (_, None) => stead_launch::find(language, &search)?,
    };
    let found = because(found);
    let in_environment = settings.engine.environment.is_some();
    if (language.has_environment() || in_environment)
        && let Some(environment) = Environment::of(Path::new(&found.path), &env)
    {
        environment.activate(&mut env);
    }
    Ok(match &language.start {
        Start::Fed(fed) => {
            let program = PathBuf::from(&found.path);
            let arguments = boot_words(fed).map(OsString::from).collect();
            let feed = feed(&program, &[], fed, cache_dir);
            let (control, nests) = (fed.control, language.copies == CopyMethod::Fork);
            let command = StartCommand { program, arguments, env, cwd, control, nests };
            Prepared { found, command, feed }
        }
        Start::Mode(mode) => {
            // `/proc/self/exe` is this very program, even if its file was replaced meanwhile.
            let program = PathBuf::from("/proc/self/exe");
            let arguments =
                vec!["adapter".into(), mode.into(), found.path.clone().into(), cache_dir.into()];
            let (control, nests) = (Control::Socket, false);
            let command = StartCommand { program, arguments, env, cwd, control, nests };
            Prepared { found, command, feed: Feed::Nothing }
        }
        Start::Adapter(name) | Start::Server(name) => {
            let program = PathBuf::from("/proc/self/exe");
            let arguments = match &settings.engine.kernel {
                Some(KernelChoice::Gateway(kernel)) => {
                    // The argument holds no secret: it says where the token is, and not the token itself.
                    let kernel = serde_json::to_string(kernel).unwrap_or_default();
                    ["adapter", name, &kernel].map(OsString::from).into()
                }
                choice => {
                    let target = match choice {
                        Some(KernelChoice::ConnectionFile { .. }) => "connection-file",
                        _ if in_environment => "python",
                        _ => "kernel",
                    };
                    ["adapter", name, target, &found.path].map(OsString::from).into()
                }
            };
            let (control, nests) = (Control::Socket, false);
            let command = StartCommand { program, arguments, env, cwd, control, nests };
            Prepared { found, command, feed: Feed::Nothing }
        }
    })
}

/// An adapter that starts a server by a command, or reaches one that runs.
fn served(
    (adapter, language): (&str, &Language),
    settings: &Settings,
    template: Option<&CommandTemplate>,
    place: StartPlace<'_>,
    because: impl Fn(FoundInterpreter) -> FoundInterpreter,
) -> Result<Prepared, PrepareError> {
    let StartPlace { cwd, env, cache_dir, programs } = place;
    let search = search_in(&cwd, &env, cache_dir, programs);
    let (found, target, words) = match (&settings.engine.server, template) {
        (Some(address), _) => {
            let why = "a server that ran before; it runs elsewhere, outside of what holds for this session, and is \
                       left alone at the end";
            let found = FoundInterpreter::new(address.clone(), why.to_owned());
            (found, "server", vec![address.clone()])
        }
        (None, Some(template)) => {
            // The port is filled in by the adapter, which finds one at every start.
            let (program, _) = filled(template, Path::new(""), &search)?;
            let program = program.to_string_lossy().into_owned();
            let why = format!("started by the command `{}`", template.words().join(" "));
            let mut words = template.words().to_vec();
            words[0] = program.replace('{', "{{").replace('}', "}}");
            (FoundInterpreter::new(program, why), "command", words)
        }
        (None, None) => {
            let nothing_said = FindError::NoServer { title: language.title };
            let source = settings.engine.environment.as_ref().ok_or(nothing_said)?;
            let (found, words) = stead_launch::find_server(source, &search)?;
            (found, "command", words)
        }
    };
    let arguments = ["adapter", adapter, target].into_iter().map(OsString::from);
    let arguments = arguments.chain(words.into_iter().map(OsString::from)).collect();
    let program = PathBuf::from("/proc/self/exe");
    let (control, nests) = (Control::Socket, false);
    let command = StartCommand { program, arguments, env, cwd, control, nests };
    Ok(Prepared { found: because(found), command, feed: Feed::Nothing })
}

/// What `status` shows of a kernel of a server.
fn gateway_kernel(kernel: &GatewayKernel) -> FoundInterpreter {
    let at = kernel.gateway.as_ref().map(|name| format!(" of the gateway `{name}`"));
    let at = at.unwrap_or_default();
    let (what, why) = match &kernel.wanted {
        GatewayTarget::Started { kernel } => {
            let name = kernel.as_deref().unwrap_or("the default kernel");
            (name.to_owned(), format!("a kernel{at}, started for this session and deleted with it"))
        }
        GatewayTarget::Attached { id } => {
            (id.clone(), format!("a kernel{at} that ran before; it is left alone at the end"))
        }
        GatewayTarget::Unknown => ("unknown".to_owned(), "of a newer version".to_owned()),
    };
    FoundInterpreter::new(format!("{what} at {}", kernel.url), why)
}

/// Where an interpreter is started.
struct StartPlace<'a> {
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    cache_dir: &'a Path,
    programs: &'a dyn Programs,
}

/// The arguments that make an interpreter run its boot code, if no command says how.
fn boot_words(fed: &'static Fed) -> impl Iterator<Item = &'static str> {
    fed.arguments.iter().copied().chain([fed.boot.trim()])
}

/// An interpreter that is started by the command of a toolchain. Its boot code is added at the end of the
/// command, unless the command has a place for a file with that code.
fn commanded(
    template: &CommandTemplate,
    language: &'static Language,
    fed: &'static Fed,
    place: StartPlace<'_>,
    because: impl Fn(FoundInterpreter) -> FoundInterpreter,
) -> Result<Prepared, PrepareError> {
    let StartPlace { cwd, mut env, cache_dir, programs } = place;
    let takes_file = template.has(Placeholder::Bridge);
    let file = if takes_file { boot_file(language, fed, cache_dir)? } else { PathBuf::new() };
    let (program, mut arguments) =
        filled(template, &file, &search_in(&cwd, &env, cache_dir, programs))?;
    if !takes_file {
        arguments.extend(boot_words(fed).map(OsString::from));
    }
    // A wrapper before the interpreter may lie in another environment, so only paths that are named like the
    // language count.
    let is_interpreter = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str);
        path.is_absolute() && name.is_some_and(|name| name.starts_with(language.name))
    };
    let paths = std::iter::once(program.as_path()).chain(arguments.iter().map(Path::new));
    if language.has_environment()
        && let Some(environment) =
            paths.filter(|path| is_interpreter(path)).find_map(|path| Environment::of(path, &env))
    {
        environment.activate(&mut env);
    }
    let words = template.words().join(" ");
    let why = format!("started by the command `{words}`");
    let found = because(FoundInterpreter::new(program.to_string_lossy().into_owned(), why));
    let feed = feed(&program, &arguments, fed, cache_dir);
    let (control, nests) = (fed.control, language.copies == CopyMethod::Fork);
    let command = StartCommand { program, arguments, env, cwd, control, nests };
    Ok(Prepared { found, command, feed })
}

/// A search for the program that a command begins with.
fn search_in<'a>(
    cwd: &'a Path,
    env: &'a [(OsString, OsString)],
    cache_dir: &'a Path,
    programs: &'a dyn Programs,
) -> Search<'a> {
    Search { named: None, cwd, env, cache_dir, proven: &|_| false, programs }
}

/// The program and the arguments of a command, with all places filled in.
fn filled(
    template: &CommandTemplate,
    bridge: &Path,
    search: &Search<'_>,
) -> Result<(PathBuf, Vec<OsString>), PrepareError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = template.fill(|place| match place {
        Placeholder::Cwd => text(search.cwd),
        Placeholder::Bridge => text(bridge),
        Placeholder::Host => "localhost".to_owned(),
        // A command with a port is refused where commands are read, unless the engine listens; then its
        // adapter fills the port in.
        Placeholder::Port => String::new(),
    });
    let arguments = words.split_off(1).into_iter().map(OsString::from).collect();
    Ok((stead_launch::find_program(&words[0], search)?, arguments))
}

/// The file with the boot code of this language, for commands that name a file.
fn boot_file(
    language: &Language,
    fed: &'static Fed,
    cache_dir: &Path,
) -> Result<PathBuf, PrepareError> {
    let mut hasher = std::hash::DefaultHasher::new();
    fed.boot.hash(&mut hasher);
    let dir = cache_dir.join("bridges");
    let ending = language.stdlib.and_then(|name| name.rsplit('.').next()).unwrap_or("txt");
    let path = dir.join(format!("{}-{:016x}.{ending}", language.name, hasher.finish()));
    let text = format!("{}\n", fed.boot.trim());
    let is_there = stead_files::read_text(&path, MOST_BRIDGE).is_ok_and(|known| known == text);
    if !is_there {
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::create_dir_all(&dir)
            .and_then(|()| std::fs::write(&temporary, &text))
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|source| PrepareError::BridgeFile { path: path.clone(), source })?;
    }
    Ok(path)
}

fn known(language: &str) -> Result<&'static Language, PrepareError> {
    stead_config::language(language)
        .ok_or_else(|| PrepareError::Language { language: language.to_owned() })
}

/// What an interpreter is sent first. Compiling the bridge takes longer than the rest of an interpreter's start, so the
/// compiled form is kept for as long as neither the interpreter nor the bridge changes.
fn feed(program: &Path, arguments: &[OsString], fed: &'static Fed, cache_dir: &Path) -> Feed {
    let Some(text) = fed.compiled else {
        return Feed::Script(fed.bridge);
    };
    let file = compiled_file(program, arguments, text, cache_dir);
    match kept_code(&file) {
        Some(code) => Feed::Code(code, file),
        None => Feed::Source(fed.bridge, file),
    }
}

/// The compiled form in this file; `None` if there is none that can be used.
pub(crate) fn kept_code(file: &Path) -> Option<Vec<u8>> {
    stead_files::read(file, MOST_BRIDGE).ok().filter(|code| !code.is_empty())
}

/// Where the compiled form of a bridge is kept for one interpreter. The arguments that stand before the
/// bridge in a command may decide which interpreter runs, so they count, too.
fn compiled_file(
    program: &Path,
    arguments: &[OsString],
    text: TextId,
    cache_dir: &Path,
) -> PathBuf {
    let identity = std::fs::metadata(program)
        .map(|meta| (meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()));
    let mut hasher = std::hash::DefaultHasher::new();
    (program, identity.ok(), text).hash(&mut hasher);
    if !arguments.is_empty() {
        arguments.hash(&mut hasher);
    }
    cache_dir.join("bridges").join(format!("{:016x}.code", hasher.finish()))
}
