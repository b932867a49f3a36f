//! Which toolchains there are, and whether each can start here (SPEC CF-3).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stead_config::{
    AskedStart, CommandTemplate, ConfigKey, Configuration, Finder, Language, Placeholder,
    PlannedEngine, ValueOrigin,
};
use stead_launch::{FindError, KernelSpec, Patient, Search};
use stead_protocol::{FoundInterpreter, Settings, StartTrouble};

use crate::reach::kernel;
use crate::{Client, ClientError};

/// A toolchain in a list.
#[derive(Debug)]
pub struct ListedToolchain {
    /// Its name.
    pub name: String,
    /// The language that it starts.
    pub engine: String,
    /// What it is, in a few words.
    pub what: String,
    /// Where it was defined.
    pub origin: ValueOrigin,
    /// Whether it can start here.
    pub startable: Startable,
}

/// Whether a toolchain can start in this workspace.
#[derive(Debug)]
pub enum Startable {
    /// It can.
    Yes {
        /// The interpreter.
        interpreter: String,
        /// Why that one.
        why: String,
    },
    /// It cannot.
    No {
        /// Why not.
        why: String,
        /// What can be done about it.
        trouble: Option<StartTrouble>,
    },
    /// Its definition is wrong.
    Wrong(Box<ClientError>),
    /// It came with the project, and the user has not allowed that.
    NotAllowed,
}

impl Client {
    /// The interpreter that a session in this language would have in this directory, and why that one. Nothing that came
    /// with the project is run to find it.
    pub fn look_for(&self, language: &Language, cwd: &Path) -> Result<(String, String), FindError> {
        let env: Vec<_> = std::env::vars_os().collect();
        self.looking(None, cwd, &env, |search| {
            stead_launch::find(language, search).map(|found| self.told(&found, cwd))
        })
    }

    fn looking<T>(
        &self,
        named: Option<&str>,
        cwd: &Path,
        env: &[(OsString, OsString)],
        look: impl FnOnce(&Search<'_>) -> T,
    ) -> T {
        let theirs = |program: &Path| self.came_with_project(program, cwd);
        look(&Search {
            named,
            cwd,
            env,
            cache_dir: &self.dirs.state,
            proven: &theirs,
            programs: &Patient,
        })
    }

    fn came_with_project(&self, program: &Path, cwd: &Path) -> bool {
        stead_launch::came_with_project(program, self.workspace.path(), cwd)
    }

    /// The path of an interpreter and why it was found; one that came with the project is `not tried`.
    fn told(&self, found: &FoundInterpreter, cwd: &Path) -> (String, String) {
        let tried = match self.came_with_project(Path::new(&found.path), cwd) {
            true => ", not tried",
            false => "",
        };
        (found.path.clone(), format!("{}{tried}", found.reason()))
    }

    /// All toolchains, and whether each can start for a session in this directory.
    pub fn toolchains(&self, cwd: &Path) -> Vec<ListedToolchain> {
        let read = self.read_config();
        let allowed = self.is_in_force(&read);
        let mut names = read.configuration.toolchain_names();
        names.retain(|name| read.configuration.toolchain(name).is_some() || !needs_address(name));
        // The name of a toolchain counts before that of a kernel.
        let kernels: Vec<ListedToolchain> = kernel::installed(cwd)
            .into_iter()
            .filter(|spec| !names.contains(&spec.name))
            .map(|spec| self.kernel(spec, cwd))
            .collect();
        let mut listed: Vec<ListedToolchain> = names
            .into_iter()
            .map(|name| self.toolchain(name, &read.configuration, allowed, cwd))
            .chain(kernels)
            .collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed
    }

    /// A Jupyter kernel, whose name is as good as that of a toolchain.
    fn kernel(&self, spec: KernelSpec, cwd: &Path) -> ListedToolchain {
        let mut env: Vec<_> = std::env::vars_os().collect();
        // Many kernel specs name a plain `python3` and mean the Python that they were installed with.
        let bin = spec.prefix().map(|prefix| prefix.join("bin"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = bin.into_iter().chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(dirs) {
            env.retain(|(name, _)| name != "PATH");
            env.push(("PATH".into(), path));
        }
        let search = Search {
            named: None,
            cwd,
            env: &env,
            cache_dir: &self.dirs.state,
            proven: &|_| false,
            programs: &Patient,
        };
        let found = stead_launch::find_program(&spec.argv[0], &search);
        let startable = match found {
            Ok(program) => Startable::Yes {
                interpreter: program.to_string_lossy().into_owned(),
                why: format!("the Jupyter kernel in {}", spec.dir.display()),
            },
            Err(error) => Startable::No {
                why: format!("the Jupyter kernel in {}: {error}", spec.dir.display()),
                trouble: None,
            },
        };
        let (engine, origin) = ("jupyter".to_owned(), ValueOrigin::BuiltIn);
        ListedToolchain { name: spec.name, engine, what: spec.display_name, origin, startable }
    }

    fn toolchain(
        &self,
        name: String,
        configuration: &Configuration,
        allowed: bool,
        cwd: &Path,
    ) -> ListedToolchain {
        let own = configuration.toolchain(&name);
        let origin = own.map_or(ValueOrigin::BuiltIn, |table| table.origin.clone());
        let special = stead_config::built_in_special(&name);
        let language = stead_config::built_in(&name).map(|(language, _)| language);
        let mut what = match (own, special, language) {
            (None, Some(special), _) => special.what.to_owned(),
            (None, None, Some(language)) => match language.finder {
                Finder::Kernel => {
                    "the Jupyter kernel that is named, else `python3`, else the only one".to_owned()
                }
                _ => format!("{} as it is found here", language.title),
            },
            _ => String::new(),
        };
        // The session's name does not matter here, so it is one that no configuration file can name.
        let session = "run-toolchains".parse();
        let planned = session
            .map_err(ClientError::from)
            .and_then(|session| self.preview_toolchain(configuration, &session, &name));
        let (engine, startable) = match planned {
            Err(error) => (String::new(), Startable::Wrong(Box::new(error))),
            Ok(planned) => {
                if let Some(command) = planned.plan.command() {
                    what = command.words().join(" ");
                }
                let engine = planned.plan.engine.name().to_owned();
                // A toolchain may have a directory of its own.
                let own = planned.plan.text(ConfigKey::Cwd).is_some();
                let cwd = if own { Path::new(&planned.settings.place.cwd) } else { cwd };
                let startable = match planned.plan.uses_workspace && !allowed {
                    true => Startable::NotAllowed,
                    false => self.can_start(&planned.settings, &planned.plan.engine, cwd),
                };
                (engine, startable)
            }
        };
        ListedToolchain { name, engine, what, origin, startable }
    }

    fn preview_toolchain(
        &self,
        configuration: &Configuration,
        session: &stead_protocol::SessionName,
        name: &str,
    ) -> Result<super::Planned, ClientError> {
        let asked = AskedStart { toolchain: Some(name.to_owned()), ..AskedStart::default() };
        self.preview(configuration, session, &asked)
    }

    /// Whether an interpreter for these settings is there, without a session.
    fn can_start(&self, settings: &Settings, engine: &PlannedEngine, cwd: &Path) -> Startable {
        let mut env: Vec<_> = std::env::vars_os().collect();
        for (name, value) in &settings.place.env {
            env.retain(|(known, _)| known != name.as_str());
            env.push((name.into(), value.into()));
        }
        let engine_settings = &settings.engine;
        let interpreter = engine_settings.interpreter.as_deref();
        let found = self.looking(interpreter, cwd, &env, |search| {
            match (engine, &engine_settings.bridge) {
                _ if !engine_settings.command.is_empty() => {
                    program(&engine_settings.command, engine_settings.bridge.as_deref(), search)
                }
                (PlannedEngine::Known(language), None) => match &engine_settings.environment {
                    Some(source) => stead_launch::find_in(source, language, search),
                    None => stead_launch::find(language, search),
                }
                .map(|found| self.told(&found, cwd)),
                (_, bridge) => {
                    let bridge = bridge.as_deref().unwrap_or_default();
                    stead_launch::find_program(bridge, search).map(named)
                }
            }
        });
        match found {
            Ok((interpreter, why)) => Startable::Yes { interpreter, why },
            Err(error) => {
                let trouble = error.trouble(engine.name());
                Startable::No { why: error.to_string(), trouble }
            }
        }
    }
}

/// Whether sessions of a built-in toolchain are reached by an address, so that none starts by its name alone.
fn needs_address(name: &str) -> bool {
    let language = stead_config::language(name);
    language.is_some_and(|it| matches!(it.finder, Finder::Server | Finder::Settings))
}

fn named(path: PathBuf) -> (String, String) {
    (path.to_string_lossy().into_owned(), "named by its definition".to_owned())
}

/// The program of a command. Whether it leads to an interpreter only a start can tell.
fn program(
    words: &[String],
    bridge: Option<&str>,
    search: &Search<'_>,
) -> Result<(String, String), FindError> {
    let Ok(template) = CommandTemplate::of_words(words.to_vec()) else {
        return Err(FindError::Named {
            path: words.join(" ").into(),
            why: "no command".to_owned(),
        });
    };
    let filled = template.fill(|place| match place {
        Placeholder::Cwd => search.cwd.to_string_lossy().into_owned(),
        Placeholder::Bridge => bridge.unwrap_or_default().to_owned(),
        Placeholder::Host => "localhost".to_owned(),
        Placeholder::Port => String::new(),
    });
    let program = stead_launch::find_program(&filled[0], search)?;
    // A bridge need not be executable, because the command may read the bridge's file itself.
    if let Some(bridge) = bridge.filter(|bridge| bridge.contains('/')) {
        let path = search.cwd.join(bridge);
        let why = |error: std::io::Error| FindError::Named {
            path: bridge.into(),
            why: error.to_string(),
        };
        path.metadata().map_err(why)?;
    }
    Ok(named(program))
}
