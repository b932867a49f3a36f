//! Whether a plan has what its engine needs to be reached, and nothing that is for another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stead_protocol::{GatewayUrl, KernelChoice, SessionName};

use crate::file::{ConfigTable, NamedTable, dotted};
use crate::keys::{ConfigKey, nearest};
use crate::language::Start;
use crate::languages::{GATEWAY, JUPYTER, NREPL};
use crate::plan::{Configuration, PlanError};
use crate::problem::ConfigProblem;
use crate::session_plan::{PlannedEngine, SessionPlan};
use crate::template::{CommandTemplate, Placeholder, TemplateError};
use crate::value::{ConfigValue, Sourced, ValueOrigin};

impl SessionPlan {
    /// A server is started or reached in one way, and only where the language has servers. `told` is where the files
    /// say what the session is, if they do.
    pub(crate) fn check_server(
        &self,
        name: &SessionName,
        told: Option<&ValueOrigin>,
    ) -> Result<(), PlanError> {
        let has_servers = has_servers(&self.engine);
        let server = self.values.get(&ConfigKey::Server);
        let is_told = server.is_some() || self.command().is_some() || self.environment.is_some();
        match (has_servers, server, told) {
            (false, Some(Sourced { origin: origin @ ValueOrigin::File { .. }, .. }), _) => {
                let (problem, fix) = not_for_servers(&self.engine);
                Err(problem_of_session(origin, name, ConfigKey::Server, problem, fix))
            }
            (false, Some(_), _) => {
                Err(PlanError::NoServers { language: self.engine.name().to_owned() })
            }
            (true, _, Some(told)) if !is_told => {
                let problem =
                    format!("nothing says which {} server is to run the code", self.engine.title());
                let fix = "name one that runs, in your own file (server = \"localhost:7888\"), or a toolchain that starts one (\"clojure.bb\")".to_owned();
                Err(problem_of_session(told, name, ConfigKey::Toolchain, problem, fix))
            }
            (true, _, None) if !is_told => Err(PlanError::NoServer),
            _ => Ok(()),
        }
    }

    /// A gateway is for sessions that have one, and those need it. `told` is where the files say what the session is, if
    /// they do.
    pub(crate) fn check_gateway(
        &self,
        name: &SessionName,
        told: Option<&ValueOrigin>,
        files: &Configuration,
    ) -> Result<(), PlanError> {
        let is_gateways = self.engine.name() == GATEWAY.name;
        match (self.values.get(&ConfigKey::Gateway), told) {
            (Some(Sourced { value: ConfigValue::Text(gateway), origin }), _) => {
                let wrong = match is_gateways {
                    false => Some(not_for_gateways(&self.engine)),
                    true if self.kernel.is_some() => None,
                    true => unknown_gateway(gateway, files),
                };
                wrong.map_or(Ok(()), |(problem, fix)| {
                    Err(problem_of_session(origin, name, ConfigKey::Gateway, problem, fix))
                })
            }
            (_, Some(told)) if is_gateways && self.kernel.is_none() => {
                let problem = "nothing says which gateway has its kernel".to_owned();
                let fix =
                    "name it: gateway = \"NAME\", as `[gateways.NAME]` of your own file calls it";
                Err(problem_of_session(told, name, ConfigKey::Toolchain, problem, fix.to_owned()))
            }
            (_, None) if is_gateways && self.kernel.is_none() => Err(PlanError::GatewayMissing),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_command(&self, toolchain: &str) -> Result<(), TemplateError> {
        self.command().map_or(Ok(()), |command| check_command(&self.engine, command, toolchain))
    }

    /// The kernel that a file names.
    pub(crate) fn configured_kernel(
        &self,
        name: &SessionName,
    ) -> Result<Option<KernelChoice>, PlanError> {
        let Some(Sourced { value: ConfigValue::Text(kernel), origin }) =
            self.values.get(&ConfigKey::Kernel)
        else {
            return Ok(None);
        };
        // For a gateway the key names one of its kernels, which is looked up with the gateway.
        if self.engine.name() == GATEWAY.name {
            return Ok(None);
        }
        if self.engine.name() != JUPYTER.name {
            let (problem, fix) = not_for_kernels(&self.engine);
            return Err(problem_of_session(origin, name, ConfigKey::Kernel, problem, fix));
        }
        if self.environment.is_some() {
            let problem = "its toolchain has a kernel of its own".to_owned();
            let fix = format!("take it out, or make the toolchain \"{}\"", JUPYTER.name);
            return Err(problem_of_session(origin, name, ConfigKey::Kernel, problem, fix));
        }
        Ok(Some(KernelChoice::Name { name: kernel.clone() }))
    }

    /// A session with a bridge of the user's own, or with an engine that stead only speaks to, has no interpreter to choose.
    pub(crate) fn check_interpreter(&self, name: &SessionName) -> Result<(), PlanError> {
        let Some(Sourced { origin: origin @ ValueOrigin::File { .. }, .. }) =
            self.values.get(&ConfigKey::Interpreter)
        else {
            return Ok(());
        };
        match not_for_interpreters(&self.engine) {
            Some((problem, fix)) => {
                Err(problem_of_session(origin, name, ConfigKey::Interpreter, problem, fix))
            }
            None => Ok(()),
        }
    }
}

/// The key of a toolchain that does not fit the engine it comes to, what is wrong with it, and what to write instead.
pub(crate) fn unfit(
    engine: &PlannedEngine,
    table: &ConfigTable,
) -> Option<(ConfigKey, String, String)> {
    let has = |key: ConfigKey| table.get(key).is_some();
    if let Some(ConfigValue::Command(command)) = table.get(ConfigKey::Cmd).map(|it| &it.value)
        && let Err(error) = check_command(engine, command, engine.name())
    {
        return Some((ConfigKey::Cmd, error.to_string(), error.fix()));
    }
    let (key, (problem, fix)) = if has(ConfigKey::Kernel) && !has_kernels(engine) {
        (ConfigKey::Kernel, not_for_kernels(engine))
    } else if has(ConfigKey::Server) && !has_servers(engine) {
        (ConfigKey::Server, not_for_servers(engine))
    } else if has(ConfigKey::Interpreter) {
        (ConfigKey::Interpreter, not_for_interpreters(engine)?)
    } else {
        return None;
    };
    Some((key, problem, fix))
}

fn has_servers(engine: &PlannedEngine) -> bool {
    matches!(engine, PlannedEngine::Known(language) if matches!(language.start, Start::Server(_)))
}

fn has_kernels(engine: &PlannedEngine) -> bool {
    [JUPYTER.name, GATEWAY.name].contains(&engine.name())
}

/// Why an engine cannot be started by this command.
fn check_command(
    engine: &PlannedEngine,
    command: &CommandTemplate,
    toolchain: &str,
) -> Result<(), TemplateError> {
    match engine {
        // A kernel's own description says how it is started.
        PlannedEngine::Known(language) if [JUPYTER.name, GATEWAY.name].contains(&language.name) => {
            Err(TemplateError::Kernel)
        }
        PlannedEngine::Known(language)
            if command.has(Placeholder::Port) && !language.start.listens() =>
        {
            Err(TemplateError::NoPort { engine: toolchain.to_owned() })
        }
        PlannedEngine::Known(_) | PlannedEngine::Own(_) => Ok(()),
    }
}

/// What is wrong with a kernel for an engine that has none, and what to write instead.
fn not_for_kernels(engine: &PlannedEngine) -> (String, String) {
    let problem = format!("{} sessions have no Jupyter kernel", engine.name());
    (problem, format!("take the toolchain out, or make it \"{}\"", JUPYTER.name))
}

/// What is wrong with the address of a server for an engine that has none, and what to write instead.
fn not_for_servers(engine: &PlannedEngine) -> (String, String) {
    let problem = format!(
        "the address of a server is for nREPL sessions, and these are in {}",
        engine.name()
    );
    (problem, format!("take it out, or make the toolchain \"{}\"", NREPL.name))
}

/// What is wrong with an interpreter for an engine that has none to choose, and what to write instead.
fn not_for_interpreters(engine: &PlannedEngine) -> Option<(String, String)> {
    let (problem, fix) = match engine {
        PlannedEngine::Own(engine) => (
            format!("{engine} sessions are run by a bridge"),
            "use `cmd` to say how it is started: \"perl {bridge}\"",
        ),
        PlannedEngine::Known(language) if language.option.is_some() => return None,
        PlannedEngine::Known(language) => (
            format!("{} sessions have no interpreter to choose", language.name),
            match language.start {
                Start::Server(_) => "use `cmd` or `server` to name the server",
                Start::Fed(_) | Start::Mode(_) | Start::Adapter(_) => {
                    "use `kernel` to name the kernel"
                }
            },
        ),
    };
    Some((problem, fix.to_owned()))
}

fn not_for_gateways(engine: &PlannedEngine) -> (String, String) {
    let problem = format!("{} sessions have no gateway", engine.name());
    (problem, "keep `toolchain` or `gateway`, not both".to_owned())
}

/// What is wrong with the name of a gateway that the user has not, and what to write instead.
fn unknown_gateway(given: &str, files: &Configuration) -> Option<(String, String)> {
    let gateways = files.user.as_ref().map(|file| &file.gateways);
    let address = GatewayUrl::parse(given).ok();
    let has_address = |table: &NamedTable| {
        let url = table.table.text(ConfigKey::Url).and_then(|(url, _)| GatewayUrl::parse(url).ok());
        url.is_some() && url == address
    };
    let mut known = gateways.into_iter().flatten();
    if known.any(|(name, table)| name == given || has_address(table))
        || files.may_have("gateways", given)
    {
        return None;
    }
    let problem = format!("there is no gateway `{}` in your own file", given.escape_debug());
    let names: Vec<&str> =
        gateways.into_iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    let fix = match nearest(given, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "add `[gateways.NAME]` with its `url` there".to_owned(),
        None => {
            format!("add `[gateways.NAME]` with its `url` there; there are: {}", names.join(", "))
        }
    };
    Some((problem, fix))
}

/// A problem with a key that a session has, from its own table or from one below.
fn problem_of_session(
    origin: &ValueOrigin,
    name: &SessionName,
    key: ConfigKey,
    problem: String,
    fix: String,
) -> PlanError {
    let table = dotted("sessions", name.as_str());
    problem_in_file(origin, dotted(&table, key.name()), problem, fix)
}

/// A problem with a key where it is set.
pub(crate) fn problem_in_file(
    origin: &ValueOrigin,
    key: String,
    problem: String,
    fix: String,
) -> PlanError {
    let (path, line) = match origin {
        ValueOrigin::File { path, line, .. } => (path.to_path_buf(), Some(*line)),
        _ => (PathBuf::new(), None),
    };
    let problem = ConfigProblem { path, line, key: Some(key), problem, fix: Some(fix) };
    PlanError::File(Box::new(problem))
}
