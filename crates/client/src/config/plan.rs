//! What a session is started with: the files, the user's permission and what the caller asks for, put together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stead_config::{
    AskedStart, CommandTemplate, ConfigKey, ConfigProblem, ConfigValue, Configuration, PlanError,
    PlannedEngine, SessionPlan, Sourced, ValueOrigin,
};
use stead_protocol::{
    DEFAULT_IDLE_TIMEOUT_MS, DEFAULT_QUOTA_BYTES, Engine, FromProject, GatewayTarget, Keeps,
    KernelChoice, Limits, LogLevel, Policy, SessionName, SessionPlace, Settings, Startup,
};

use super::gateway::{AskedGateway, GatewayChoice};
use super::trust::Unallowed;
use super::{PROJECT_DIR, ProjectDir, ReadConfig, TrustStanding, first_problem, unreadable};
use crate::reach::kernel;
use crate::reach::start::check_cwd;
use crate::{Client, ClientError, LaunchOptions, RequestError, language, stdlib};

/// What a session would be started with, and why.
#[derive(Debug)]
pub struct Planned {
    /// The values, each with its origin.
    pub plan: SessionPlan,
    /// The same, as a host is told it.
    pub settings: Settings,
}

/// If this variable is set, new sessions keep no copies for undo, as with `--no-undo`.
const NO_UNDO: &str = "STEAD_NO_UNDO";
/// The variable that tells a bridge to show no figures.
const FIGURES_VARIABLE: &str = "STEAD_FIGURES";

impl Client {
    /// What a session of this name is started with.
    pub(crate) fn planned(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Planned, ClientError> {
        let planned = self.put_together(name, launch)?;
        check_configured_cwd(&planned)?;
        Ok(planned)
    }

    fn put_together(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Planned, ClientError> {
        let asked = asked(launch)?;
        // Sessions that stead makes for itself are not configured.
        if launch.unconfigured || stead_config::is_shell(name) {
            let plan = self.plan_of(&Configuration::default(), name, &asked);
            let plan = plan.or_else(|_| shell_plan(name, &asked));
            return self.settled(
                plan.map_err(|error| self.refused(name, error, &[]))?,
                launch,
                None,
            );
        }
        if let Some(configuration) = self.glance_at_config()
            && let Ok(plan) = self.plan_of(&configuration, name, &asked)
            && !plan.uses_workspace
        {
            return self.planned_without(configuration, name, launch, &asked);
        }
        let ReadConfig { configuration, problems, project, trouble, .. } = self.read_config();
        let broken = problems.into_iter().filter(|problem| {
            // A mistake in the table of one toolchain or session does not keep other sessions from starting.
            let of_one = problem.key.as_deref().unwrap_or_default();
            !(of_one.starts_with("toolchains.") || of_one.starts_with("sessions."))
                || configuration_lacks(&configuration, &problem.path)
        });
        let dir = self.workspace.path().join(PROJECT_DIR);
        let (theirs, ours): (Vec<_>, Vec<_>) =
            broken.partition(|problem| problem.path.starts_with(&dir));
        if let Some(error) = first_problem(ours) {
            return Err(error);
        }
        // A broken project directory that was never allowed stops only the sessions that need it.
        let left_out = theirs.first().map(|problem| {
            format!("`{}` is left out, because something in it is wrong: {problem}", dir.display())
        });
        let mut theirs = first_problem(theirs);
        if theirs.is_some()
            && self.allow_note().is_some()
            && let Some(error) = theirs.take()
        {
            return Err(error);
        }
        let plan = self.plan_of(&configuration, name, &asked);
        let known = configuration.session_names();
        let plan = plan.map_err(|error| self.refused(name, error, &known));
        let plan = match (plan, theirs) {
            (Err(_), Some(error)) => return Err(error),
            (plan, _) => plan?,
        };
        if let Some(trouble) = trouble.filter(|_| plan.uses_workspace) {
            return Err(RequestError::Config { problem: Box::new(trouble), more: 0 }.into());
        }
        let Some(project) = project else {
            let mut planned = self.settled(plan, launch, None)?;
            planned.settings.startup.notice = left_out;
            return Ok(planned);
        };
        let standing = self.trust(&project);
        if standing == TrustStanding::Allowed {
            return self.settled(plan, launch, Some(&project));
        }
        let workspace = configuration.workspace.as_ref();
        let unallowed = || Unallowed::new(&project, workspace, standing);
        if plan.uses_workspace {
            let unallowed = unallowed();
            if !launch.consent.is_some_and(|ask| ask(&unallowed)) {
                let (name, unallowed) = (name.clone(), Box::new(unallowed));
                return Err(ClientError::NotAllowed { name, unallowed });
            }
            self.allow(&project)?;
            return self.settled(plan, launch, Some(&project));
        }
        let mut planned = self.planned_without(configuration, name, launch, &asked)?;
        let startup = &mut planned.settings.startup;
        startup.notice = left_out.or(startup.notice.take());
        Ok(planned)
    }

    /// The plan of a session that does not depend on the workspace's directory: the directory is not allowed, so
    /// the session starts as if there were none.
    fn planned_without(
        &self,
        configuration: Configuration,
        name: &SessionName,
        launch: &LaunchOptions,
        asked: &AskedStart,
    ) -> Result<Planned, ClientError> {
        let known = configuration.session_names();
        let Configuration { user, workspace } = configuration;
        let without = Configuration { user, workspace: None };
        let plan = self.plan_of(&without, name, asked);
        let plan = plan.map_err(|error| self.refused(name, error, &known))?;
        let mut planned = self.settled(plan, launch, None)?;
        let dir = self.workspace.path().join(PROJECT_DIR);
        let library = stdlib_file(&planned.plan, launch);
        let has_library = library.is_some_and(|file| dir.join("stdlib").join(file).is_file());
        // A one-off run is over before a setting for all sessions could matter to it.
        let has_settings =
            !launch.once && workspace.is_some_and(|file| !file.top.values.is_empty());
        let what = match (has_library, has_settings) {
            (false, false) => return Ok(planned),
            (true, false) => "standard library is not loaded",
            (false, true) => "settings for all sessions are left out",
            (true, true) => {
                "standard library is not loaded and its settings for all sessions are left out"
            }
        };
        let why = match self.allow_note() {
            Some(_) => "has changed since it was allowed",
            None => "is not allowed",
        };
        let notice = format!("the project's {what}, because `{}` {why} (`allow`)", dir.display());
        planned.settings.startup.notice = Some(notice);
        Ok(planned)
    }

    /// A plan in which the name of a Jupyter kernel may stand for a language, where there is no toolchain of that name.
    fn plan_of(
        &self,
        configuration: &Configuration,
        name: &SessionName,
        asked: &AskedStart,
    ) -> Result<SessionPlan, PlanError> {
        match configuration.plan(name, asked) {
            Err(PlanError::NoToolchain { given }) if asked.kernel.is_none() => {
                let Some(spec) = kernel::named(&given, self.workspace.path()) else {
                    return Err(PlanError::NoToolchain { given });
                };
                let kernel = Some(KernelChoice::Name { name: spec.name });
                let asked = AskedStart { toolchain: None, kernel, ..asked.clone() };
                let plan = configuration.plan(name, &asked)?;
                self.check_kernel_name(configuration, name, &asked).map(|()| plan)
            }
            planned => {
                let plan = planned?;
                self.check_kernel_name(configuration, name, asked).map(|()| plan)
            }
        }
    }

    /// Refuses a kernel that the caller names for a session with the name of another language.
    fn check_kernel_name(
        &self,
        configuration: &Configuration,
        name: &SessionName,
        asked: &AskedStart,
    ) -> Result<(), PlanError> {
        let name_of = language::implied(name).filter(|language| language.offered);
        let (Some(language), Some(KernelChoice::Name { name: kernel })) = (name_of, &asked.kernel)
        else {
            return Ok(());
        };
        let is_configured = configuration.session(name).next().is_some();
        // A kernel that there is not is refused when it is started.
        let Some(spec) = kernel::named(kernel, self.workspace.path()).filter(|_| !is_configured)
        else {
            return Ok(());
        };
        let spoken = spec.language.to_lowercase();
        let mut names = language.also_called.iter().chain([&language.name, &language.alias]);
        match names.any(|name| *name == spoken) {
            true => Ok(()),
            false => Err(PlanError::NameOfOther {
                language: language.name.to_owned(),
                wanted: kernel.clone(),
            }),
        }
    }

    /// What a session would be started with if everything were allowed, to be shown.
    pub fn preview(
        &self,
        configuration: &Configuration,
        name: &SessionName,
        asked: &AskedStart,
    ) -> Result<Planned, ClientError> {
        let launch = LaunchOptions::default();
        let plan = configuration.plan(name, asked);
        let known = || configuration.session_names();
        let plan = plan.map_err(|error| self.refused(name, error, &known()))?;
        self.settled(plan, &launch, None)
    }

    /// The settings that a plan comes to.
    fn settled(
        &self,
        plan: SessionPlan,
        launch: &LaunchOptions,
        project: Option<&ProjectDir>,
    ) -> Result<Planned, ClientError> {
        let (language, keeps, known) = match &plan.engine {
            PlannedEngine::Known(language) => (language.name, language.keeps, Some(*language)),
            // Only the user knows whether a bridge of their own keeps state, so it is assumed to.
            PlannedEngine::Own(name) => (name.as_str(), Keeps::State, None),
        };
        let wants_stdlib = stdlib_file(&plan, launch).is_some();
        let users = known.filter(|_| wants_stdlib).and_then(stdlib::path);
        let mut notice = None;
        let projects = match (project, stdlib_file(&plan, launch)) {
            (Some(project), Some(file)) => match project.stdlib(file) {
                Ok(text) => text,
                Err(error) => {
                    let path = project.path.join("stdlib").join(file);
                    notice = Some(format!(
                        "the project's standard library is not loaded: {}",
                        unreadable(&path, &error)
                    ));
                    None
                }
            },
            _ => None,
        };
        let cwd = match plan.values.get(&ConfigKey::Cwd) {
            Some(Sourced { value: ConfigValue::Text(cwd), origin }) => {
                self.config_path(cwd, origin)
            }
            _ if plan.configured => self.workspace.path().to_owned(),
            _ => launch.here.clone().unwrap_or_else(|| self.workspace.path().to_owned()),
        };
        let program = |key: ConfigKey| match plan.values.get(&key)? {
            Sourced { value: ConfigValue::Text(text), origin } => {
                let named = !text.contains('/') && !text.starts_with('~');
                let is_program = named && !self.workspace.path().join(text).is_dir();
                match origin {
                    ValueOrigin::File { .. } if !is_program || key == ConfigKey::Bridge => {
                        Some(self.config_path(text, origin))
                    }
                    _ => Some(PathBuf::from(text)),
                }
            }
            _ => None,
        };
        let text = |path: Option<PathBuf>| path.as_deref().map(path_text).transpose();
        let mut env = plan.variables();
        if plan.flag(ConfigKey::Figures) == Some(false) {
            env.push((FIGURES_VARIABLE.to_owned(), "off".to_owned()));
        }
        let kernel = match (&plan.kernel, plan.text(ConfigKey::Gateway)) {
            (Some(kernel), _) => Some(kernel.clone()),
            (None, Some(gateway)) => {
                let kernel = plan.text(ConfigKey::Kernel).map(str::to_owned);
                let (server, wanted) = (gateway.to_owned(), GatewayTarget::Started { kernel });
                let asked = AskedGateway { server, wanted, token: None, ca_file: None };
                Some(self.gateway_kernel(asked, GatewayChoice::Configured)?)
            }
            (None, None) => None,
        };
        let command = plan.command().cloned().map(|command| self.beside_workspace(command, &plan));
        let settings = Settings {
            engine: Engine {
                language: language.to_owned(),
                toolchain: plan.toolchain.as_ref().map(|toolchain| toolchain.value.clone()),
                bridge: text(program(ConfigKey::Bridge))?,
                interpreter: text(program(ConfigKey::Interpreter))?,
                command: command.map(|it| it.words().to_vec()).unwrap_or_default(),
                environment: plan.environment.clone(),
                kernel,
                server: plan.text(ConfigKey::Server).map(str::to_owned),
                because: plan.because(),
                keeps,
            },
            place: SessionPlace { cwd: path_text(&cwd)?, env, via: Vec::new() },
            startup: Startup {
                init: plan.text(ConfigKey::Init).map(str::to_owned),
                stdlib: users.and_then(|path| path.to_str().map(str::to_owned)),
                from_project: project.filter(|_| plan.uses_workspace || projects.is_some()).map(
                    |project| FromProject {
                        hash: project.hash.clone(),
                        sets_up: plan.uses_workspace,
                    },
                ),
                project_stdlib: projects,
                notice,
            },
            policy: Policy {
                idle_timeout_ms: plan
                    .number(ConfigKey::IdleTimeout)
                    .unwrap_or(DEFAULT_IDLE_TIMEOUT_MS),
                once: launch.once,
                no_undo: launch.no_undo
                    || std::env::var_os(NO_UNDO).is_some_and(|set| !set.is_empty()),
                log: plan.text(ConfigKey::Log).and_then(LogLevel::named),
            },
            limits: Limits {
                quota_bytes: plan.number(ConfigKey::Quota).unwrap_or(DEFAULT_QUOTA_BYTES),
            },
        };
        Ok(Planned { plan, settings })
    }

    /// A path from a configuration file: `~/` is the home directory, a relative path begins at the workspace. Paths
    /// from the command line are absolute already.
    fn config_path(&self, text: &str, origin: &ValueOrigin) -> PathBuf {
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        match (origin, text.strip_prefix("~/")) {
            (ValueOrigin::CommandLine, _) => PathBuf::from(text),
            (_, Some(rest)) => home().map_or_else(|| PathBuf::from(text), |home| home.join(rest)),
            (_, None) if text == "~" => home().unwrap_or_else(|| PathBuf::from(text)),
            (_, None) => self.workspace.path().join(text),
        }
    }

    fn beside_workspace(&self, command: CommandTemplate, plan: &SessionPlan) -> CommandTemplate {
        let origin = plan.values.get(&ConfigKey::Cmd).map(|sourced| &sourced.origin);
        match origin {
            Some(ValueOrigin::CommandLine) | None => command,
            Some(_) => command.beside(self.workspace.as_str()),
        }
    }

    /// Why no session can be started, in the words of this crate.
    fn refused(&self, name: &SessionName, error: PlanError, known: &[SessionName]) -> ClientError {
        match error {
            PlanError::NothingTold => self.not_startable(name, known.to_vec()),
            PlanError::NoToolchain { given } => self.no_toolchain(given),
            PlanError::NoServers { language } => RequestError::NoServers { language }.into(),
            PlanError::NoServer => RequestError::NoServer.into(),
            PlanError::NoKernels { language } => RequestError::NoKernels { language }.into(),
            PlanError::GatewayMissing => RequestError::GatewayMissing.into(),
            PlanError::Template(error) => RequestError::Command { error }.into(),
            PlanError::OtherEngine { has, wanted, at } => {
                let (name, at) = (name.clone(), at.to_string());
                RequestError::OtherConfigured { name, has, wanted, at }.into()
            }
            PlanError::NameOfOther { language, wanted } => {
                let free = language::session_name(&wanted).ok();
                RequestError::NameOfOther { name: name.clone(), language, wanted, free }.into()
            }
            PlanError::File(problem) => RequestError::Config { problem, more: 0 }.into(),
        }
    }

    pub(crate) fn no_toolchain(&self, given: String) -> ClientError {
        let configuration = self.read_config().configuration;
        let is_session = configuration.session_names().iter().any(|name| name.as_str() == given);
        let known = configuration.toolchain_names();
        RequestError::NoSuchToolchain { is_session, given, known }.into()
    }
}

/// Refuses a `cwd` of a configuration file that cannot be used; here the line that names it is still known.
fn check_configured_cwd(planned: &Planned) -> Result<(), ClientError> {
    let cwd = planned.plan.values.get(&ConfigKey::Cwd).map(|cwd| &cwd.origin);
    let Some(ValueOrigin::File { path, line, .. }) = cwd else { return Ok(()) };
    let Err(error) = check_cwd(&planned.settings.place) else { return Ok(()) };
    let problem = Box::new(ConfigProblem {
        path: path.to_path_buf(),
        line: Some(*line),
        key: Some(ConfigKey::Cwd.name().to_owned()),
        problem: error.to_string(),
        fix: Some("make it, or write another; a relative path begins at the workspace".to_owned()),
    });
    Err(RequestError::Config { problem, more: 0 }.into())
}

/// Whether a file that is wrong was left out as a whole.
fn configuration_lacks(configuration: &Configuration, path: &Path) -> bool {
    !configuration.files().any(|file| &*file.path == path)
}

/// Shell sessions have a language that is not offered for evals.
fn shell_plan(name: &SessionName, asked: &AskedStart) -> Result<SessionPlan, PlanError> {
    let language = asked.toolchain.as_deref().unwrap_or(name.as_str());
    let Some(language) = stead_config::language(language) else {
        return Err(PlanError::NoToolchain { given: language.to_owned() });
    };
    let values = asked
        .values
        .iter()
        .map(|(key, value)| (*key, Sourced::new(value.clone(), ValueOrigin::CommandLine)));
    Ok(SessionPlan {
        engine: PlannedEngine::Known(language),
        toolchain: None,
        language_at: None,
        environment: None,
        kernel: None,
        values: values.collect(),
        configured: false,
        uses_workspace: false,
    })
}

/// The file name of the standard libraries that a session is to have.
fn stdlib_file(plan: &SessionPlan, launch: &LaunchOptions) -> Option<&'static str> {
    match &plan.engine {
        // A one-off run shares nothing with sessions, not even the standard library.
        PlannedEngine::Known(language)
            if !launch.once && plan.flag(ConfigKey::Stdlib) != Some(false) =>
        {
            language.stdlib
        }
        _ => None,
    }
}

/// What the caller asks for, as the layer above all files.
fn asked(launch: &LaunchOptions) -> Result<AskedStart, ClientError> {
    let mut values = BTreeMap::new();
    let path = |path: &Path| path_text(path).map(ConfigValue::Text);
    if let Some(bridge) = &launch.bridge {
        values.insert(ConfigKey::Bridge, ConfigValue::Text(bridge.clone()));
    }
    if let Some(interpreter) = &launch.interpreter {
        values.insert(ConfigKey::Interpreter, ConfigValue::Text(interpreter.clone()));
    }
    if let Some(server) = &launch.server {
        values.insert(ConfigKey::Server, ConfigValue::Text(server.clone()));
    }
    if let Some(command) = &launch.command {
        values.insert(ConfigKey::Cmd, ConfigValue::Command(command.clone()));
    }
    if let Some(cwd) = &launch.cwd {
        values.insert(ConfigKey::Cwd, path(cwd)?);
    }
    if !launch.env.is_empty() {
        let of = |(name, value): &(String, String)| {
            (name.clone(), Sourced::new(value.clone(), ValueOrigin::CommandLine))
        };
        let variables = launch.env.iter().map(of).collect();
        values.insert(ConfigKey::Env, ConfigValue::Variables(variables));
    }
    if let Some(init) = &launch.init {
        values.insert(ConfigKey::Init, ConfigValue::Text(init.clone()));
    }
    if launch.no_stdlib {
        values.insert(ConfigKey::Stdlib, ConfigValue::Flag(false));
    }
    if let Some(millis) = launch.idle_timeout_ms {
        values.insert(ConfigKey::IdleTimeout, ConfigValue::Millis(millis));
    }
    if let Some(bytes) = launch.quota_bytes {
        values.insert(ConfigKey::Quota, ConfigValue::Bytes(bytes));
    }
    Ok(AskedStart {
        toolchain: launch.language.clone(),
        otherwise: launch.otherwise.clone(),
        kernel: launch.kernel.clone(),
        values,
    })
}

fn path_text(path: &Path) -> Result<String, ClientError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| RequestError::NotUtf8 { path: path.to_owned() }.into())
}
