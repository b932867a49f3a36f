//! Whether a plan has what its engine needs to be reached, and nothing that is for another.

use std::path::PathBuf;

use stead_protocol::{KernelChoice, SessionName};

use crate::keys::ConfigKey;
use crate::language::Language;
use crate::languages::{GATEWAY, JUPYTER, NREPL};
use crate::plan::PlanError;
use crate::problem::ConfigProblem;
use crate::session_plan::{PlannedEngine, SessionPlan};
use crate::template::{CommandTemplate, Placeholder, TemplateError};
use crate::value::{ConfigValue, Sourced, ValueOrigin};

impl SessionPlan {
    /// A server is started or reached in one way, and only where the language has servers.
    pub(crate) fn check_server(&self) -> Result<(), PlanError> {
        let is_known = |language: &Language| language.name == NREPL.name;
        let has_servers =
            matches!(self.engine, PlannedEngine::Known(language) if is_known(language));
        let server = self.text(ConfigKey::Server);
        let is_told = server.is_some() || self.command().is_some() || self.environment.is_some();
        match (has_servers, server) {
            (false, Some(_)) => {
                Err(PlanError::NoServers { language: self.engine.name().to_owned() })
            }
            (true, _) if !is_told => Err(PlanError::NoServer),
            _ => Ok(()),
        }
    }

    /// A gateway is for sessions that have one, and those need it.
    pub(crate) fn check_gateway(&self) -> Result<(), PlanError> {
        let has_gateway = self.text(ConfigKey::Gateway).is_some();
        match self.engine.name() == GATEWAY.name {
            true if !has_gateway && self.kernel.is_none() => Err(PlanError::GatewayMissing),
            false if has_gateway => {
                Err(PlanError::NoKernels { language: self.engine.name().to_owned() })
            }
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
        // Which kernel of a gateway is meant is looked up with the gateway.
        if self.engine.name() == GATEWAY.name {
            return Ok(None);
        }
        if self.engine.name() != JUPYTER.name {
            let (problem, fix) = not_for_kernels(&self.engine);
            return Err(problem_of_session(origin, name, ConfigKey::Kernel, problem, fix));
        }
        Ok(Some(KernelChoice::Name { name: kernel.clone() }))
    }

    /// A language of the user's own is its bridge, which no interpreter can take the place of.
    pub(crate) fn check_interpreter(&self, name: &SessionName) -> Result<(), PlanError> {
        match (&self.engine, self.values.get(&ConfigKey::Interpreter)) {
            (PlannedEngine::Own(engine), Some(Sourced { origin, .. }))
                if matches!(origin, ValueOrigin::File { .. }) =>
            {
                let problem = format!("{engine} sessions are run by a bridge");
                let fix = "use `cmd` to say how it is started: \"perl {bridge}\"".to_owned();
                Err(problem_of_session(origin, name, ConfigKey::Interpreter, problem, fix))
            }
            _ => Ok(()),
        }
    }
}

/// Why an engine cannot be started by this command.
pub(crate) fn check_command(
    engine: &PlannedEngine,
    command: &CommandTemplate,
    toolchain: &str,
) -> Result<(), TemplateError> {
    match engine {
        // What starts a kernel stands in its own description.
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
pub(crate) fn not_for_kernels(engine: &PlannedEngine) -> (String, String) {
    let problem = format!("{} sessions have no Jupyter kernel", engine.name());
    (problem, format!("take the toolchain out, or make it \"{}\"", JUPYTER.name))
}

/// A problem with a key that a session has, from its own table or from one below.
fn problem_of_session(
    origin: &ValueOrigin,
    name: &SessionName,
    key: ConfigKey,
    problem: String,
    fix: String,
) -> PlanError {
    problem_in_file(origin, format!("sessions.{name}.{}", key.name()), problem, fix)
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
