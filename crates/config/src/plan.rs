//! From configuration files and what a caller asks for to what a session is started with (SPEC CF-1).
//!
//! ```text
//! what holds for all ─▶ toolchain, its base first ─▶ session ─▶ command line      the later value wins;
//! (user, workspace)                                 (user, workspace)             variables are merged one by one
//! ```

use std::collections::BTreeMap;

use stead_protocol::{EnvironmentSource, KernelChoice, SessionName};

use crate::file::{ConfigFile, ConfigTable, NamedTable, UnreadPart, dotted};
use crate::keys::{ConfigKey, nearest};
use crate::language::Language;
use crate::languages::{GATEWAY, JUPYTER, engine_of};
use crate::plan_checks::{problem_in_file, unfit};
use crate::problem::ConfigProblem;
use crate::session_plan::{PROGRAM, PlannedEngine, SessionPlan};
use crate::template::TemplateError;
use crate::value::{ConfigValue, Sourced, ValueOrigin};

/// The configuration files that count in a workspace.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The user's own.
    pub user: Option<ConfigFile>,
    /// The workspace's.
    pub workspace: Option<ConfigFile>,
}

/// What a caller asks for when it starts a session.
#[derive(Debug, Clone, Default)]
pub struct AskedStart {
    /// The language or toolchain.
    pub toolchain: Option<String>,
    /// The language where nothing else tells one.
    pub otherwise: Option<String>,
    /// The Jupyter kernel.
    pub kernel: Option<KernelChoice>,
    /// What else the caller sets.
    pub values: BTreeMap<ConfigKey, ConfigValue>,
}

/// Why no session can be started from the files and what the caller asks for.
#[derive(Debug, Clone)]
pub enum PlanError {
    /// Nothing tells what the session is to be.
    NothingTold,
    /// The caller named a toolchain that there is not.
    NoToolchain {
        /// What was given.
        given: String,
    },
    /// The caller named a kernel for a language that has none.
    NoKernels {
        /// The language.
        language: String,
    },
    /// The address of a server is given for a language that has none.
    NoServers {
        /// The language.
        language: String,
    },
    /// Nothing says which server is to run the code.
    NoServer,
    /// Nothing says which gateway has the session's kernel.
    GatewayMissing,
    /// The caller's command cannot be used.
    Template(TemplateError),
    /// The caller names another engine than the configuration.
    OtherEngine {
        /// What the configuration says.
        has: String,
        /// What the caller asks for.
        wanted: String,
        /// Where the configuration says it.
        at: ValueOrigin,
    },
    /// The session's name is that of another language: evals that name no session, or that language, would go there.
    NameOfOther {
        /// The language that has this name.
        language: String,
        /// What the caller asks for.
        wanted: String,
    },
    /// A file is wrong.
    File(Box<ConfigProblem>),
}

/// A toolchain that was followed to the language it starts.
struct ToolchainWay<'a> {
    engine: PlannedEngine,
    environment: Option<EnvironmentSource>,
    /// The tables of the toolchains on the way, the base first.
    tables: Vec<&'a NamedTable>,
}

impl Configuration {
    /// The files, the one that has the last word last.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = &ConfigFile> {
        self.user.iter().chain(&self.workspace)
    }

    /// The session that the files name so, as each of them says.
    pub fn session(&self, name: &SessionName) -> impl Iterator<Item = &NamedTable> {
        let alias = crate::language(name.as_str()).and_then(|it| it.alias.parse().ok());
        let name = alias.unwrap_or_else(|| name.clone());
        self.files().filter_map(move |file| file.sessions.get(&name))
    }

    /// The names of all sessions of the files.
    pub fn session_names(&self) -> Vec<SessionName> {
        let mut names: Vec<SessionName> =
            self.files().flat_map(|file| file.sessions.keys().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The toolchain of the files of this name.
    pub fn toolchain(&self, name: &str) -> Option<&NamedTable> {
        self.files().rev().find_map(|file| file.toolchains.get(name))
    }

    /// The names of all toolchains, those of the files among them, in order.
    pub fn toolchain_names(&self) -> Vec<String> {
        let languages = crate::LANGUAGES.iter().filter(|language| language.takes_code());
        let languages = languages.map(|language| language.name.to_owned());
        let special = crate::built_in_specials().map(|one| one.name.to_owned());
        let own = self.files().flat_map(|file| file.toolchains.keys().cloned());
        let mut names: Vec<String> = languages.chain(special).chain(own).collect();
        names.sort();
        names.dedup();
        names
    }

    /// What is wrong with the files taken together: toolchains and gateways that there are not, toolchains that go in
    /// circles, and keys that do not fit the engine. A session that nothing is wrong with can be started, as far as that
    /// can be told without looking for its program.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        for file in self.files() {
            for name in file.toolchains.keys().filter(|name| !self.is_wrong("toolchains", name)) {
                if let Err(PlanError::File(problem)) = self.follow(name, None) {
                    problems.push(*problem);
                }
            }
            for name in
                file.sessions.keys().filter(|name| !self.is_wrong("sessions", name.as_str()))
            {
                if let Err(PlanError::File(problem)) = self.plan(name, &AskedStart::default()) {
                    problems.push(*problem);
                }
            }
        }
        // A problem of a toolchain comes up for each session that uses it, and is told once.
        let mut seen: Vec<ConfigProblem> = Vec::new();
        problems.retain(|problem| {
            let new = !seen.contains(problem);
            seen.push(problem.clone());
            new
        });
        problems
    }

    /// Whether a file has a table of this kind and name with something wrong in it.
    fn is_wrong(&self, kind: &str, name: &str) -> bool {
        // A language and its alias name one session.
        let names = crate::language(name).map_or([name; 2], |it| [it.name, it.alias]);
        self.files().any(|file| match &file.unread {
            UnreadPart::Tables(tables) => {
                names.iter().any(|name| tables.contains(&dotted(kind, name)))
            }
            UnreadPart::All => false,
        })
    }

    /// Whether a file may have a table of this kind and name that was not understood.
    pub(crate) fn may_have(&self, kind: &str, name: &str) -> bool {
        self.is_wrong(kind, name) || self.files().any(|file| file.unread == UnreadPart::All)
    }

    /// What a session is started with.
    pub fn plan(&self, name: &SessionName, asked: &AskedStart) -> Result<SessionPlan, PlanError> {
        self.planned(name, asked).map_err(|error| match error {
            PlanError::File(mut problem) => {
                // Only here it is known which session named the toolchain.
                if problem.key.as_deref() == Some(ConfigKey::Toolchain.name()) {
                    let table = dotted("sessions", name.as_str());
                    problem.key = Some(dotted(&table, ConfigKey::Toolchain.name()));
                }
                PlanError::File(problem)
            }
            other => other,
        })
    }

    fn planned(&self, name: &SessionName, asked: &AskedStart) -> Result<SessionPlan, PlanError> {
        let sessions: Vec<&NamedTable> = self.session(name).collect();
        let said = |key: ConfigKey| {
            let found = sessions.iter().rev().find_map(|session| session.table.text(key));
            found.map(|(text, origin)| Sourced::new(text.to_owned(), origin.clone()))
        };
        // Where no toolchain is named, a gateway or a kernel tells the engine.
        let engine_by = |key: ConfigKey, engine: &str| {
            said(key).map(|found| Sourced::new(engine.to_owned(), found.origin))
        };
        let chosen = said(ConfigKey::Toolchain)
            .or_else(|| engine_by(ConfigKey::Gateway, GATEWAY.name))
            .or_else(|| engine_by(ConfigKey::Kernel, JUPYTER.name));
        let kernels = asked.kernel.as_ref().map(|kernel| engine_of(kernel).to_owned());
        let given = asked.toolchain.clone().or(kernels);
        let given = given.map(|it| Sourced::new(it, ValueOrigin::CommandLine));
        let implied = || {
            let known =
                crate::built_in(name.as_str()).is_some() || self.toolchain(name.as_str()).is_some();
            known.then(|| Sourced::new(name.to_string(), ValueOrigin::Default))
        };
        let otherwise = || asked.otherwise.clone().map(|it| Sourced::new(it, ValueOrigin::Default));
        let default = || {
            let default = crate::default_language().name.to_owned();
            (!sessions.is_empty()).then(|| Sourced::new(default, ValueOrigin::Default))
        };
        let configured = chosen.clone().or_else(implied);
        // A caller that names the session's language asks for no other toolchain: callers do that with sessions which
        // somebody else has set up.
        let fits = |given: &Sourced<String>| {
            let language = crate::language(&given.value)?;
            let configured = configured.clone().or_else(default)?;
            let has = self.follow(&configured.value, Some(&configured.origin)).ok()?;
            (has.engine.name() == language.name).then_some(configured)
        };
        let fitting = given.as_ref().filter(|_| !sessions.is_empty()).and_then(fits);
        let given = given.filter(|_| fitting.is_none());
        let toolchain = fitting
            .or_else(|| given.clone())
            .or(configured)
            .or_else(otherwise)
            .or_else(default)
            .ok_or(PlanError::NothingTold)?;
        let own_bridge = asked.values.contains_key(&ConfigKey::Bridge);
        let followed = match own_bridge && given.is_some() {
            // Only the user knows the language of a bridge of their own, so the name is taken as it is.
            true => ToolchainWay {
                engine: PlannedEngine::Own(toolchain.value.clone()),
                environment: None,
                tables: Vec::new(),
            },
            false => self.follow(&toolchain.value, Some(&toolchain.origin))?,
        };
        let followed_none = followed.tables.is_empty();
        if asked.kernel.as_ref().is_some_and(|it| followed.engine.name() != engine_of(it)) {
            return Err(PlanError::NoKernels { language: followed.engine.name().to_owned() });
        }
        if asked.kernel.is_some() && followed.environment.is_some() {
            let language = format!("`{}`, which has its own", toolchain.value);
            return Err(PlanError::NoKernels { language });
        }
        if let (Some(_), Some(chosen)) = (&given, &chosen) {
            let has = self.follow(&chosen.value, Some(&chosen.origin))?;
            if has.engine.name() != followed.engine.name() {
                let (has, wanted) = (has.engine.name().to_owned(), toolchain.value);
                let at = chosen.origin.clone();
                return Err(PlanError::OtherEngine { has, wanted, at });
            }
        }
        // Only a configuration file may give the name of a language to something else. Which language a kernel speaks, or a
        // bridge of the user's own, is not known here.
        let other = |language: &&Language| match &followed.engine {
            PlannedEngine::Known(known) => {
                language.name != known.name && ![JUPYTER.name, GATEWAY.name].contains(&known.name)
            }
            PlannedEngine::Own(_) => false,
        };
        let name_of = crate::language(name.as_str()).filter(|language| language.offered);
        if let (None, Some(language)) = (&chosen, name_of.filter(other)) {
            let (language, wanted) = (language.name.to_owned(), toolchain.value);
            return Err(PlanError::NameOfOther { language, wanted });
        }
        // A kernel that the caller names makes the kernel of a file void.
        let kernel = asked.kernel.clone();
        let mut plan = SessionPlan {
            engine: followed.engine,
            toolchain: None,
            language_at: None,
            environment: followed.environment,
            kernel: None,
            values: BTreeMap::new(),
            configured: !sessions.is_empty(),
            uses_workspace: false,
        };
        for file in self.files() {
            plan.layer(&file.top);
        }
        let passed = followed.tables.iter().map(|table| (*table, true));
        // A toolchain that the caller names brings its own program, so the session's table must not choose one.
        let program = given.is_none();
        for (table, program) in passed.chain(sessions.iter().map(|table| (*table, program))) {
            plan.uses_workspace |= table.origin.is_workspace();
            match program {
                true => plan.layer(&table.table),
                false => {
                    let mut rest = table.table.clone();
                    rest.values
                        .retain(|key, _| !PROGRAM.contains(key) && *key != ConfigKey::Kernel);
                    plan.layer(&rest);
                }
            }
        }
        let command_line = asked
            .values
            .iter()
            .map(|(key, value)| (*key, Sourced::new(value.clone(), ValueOrigin::CommandLine)));
        plan.layer(&ConfigTable { values: command_line.collect() });
        plan.check_command(&toolchain.value).map_err(PlanError::Template)?;
        plan.kernel = match kernel {
            Some(kernel) => {
                plan.values.remove(&ConfigKey::Kernel);
                Some(kernel)
            }
            None => plan.configured_kernel(name)?,
        };
        let told = match &toolchain.origin {
            origin @ ValueOrigin::File { .. } => Some(origin),
            ValueOrigin::CommandLine => None,
            // No key says what the session is, so its table is the place to name.
            _ => sessions.last().map(|table| &table.origin),
        };
        plan.check_interpreter(name)?;
        plan.check_server(name, told)?;
        plan.check_gateway(name, told, self)?;
        let is_language = crate::language(&toolchain.value).is_some() && followed_none;
        let named_at = said(ConfigKey::Toolchain).map(|named| named.origin);
        plan.language_at = named_at.filter(|at| is_language && *at == toolchain.origin);
        plan.toolchain = (!is_language && !own_bridge).then_some(toolchain);
        Ok(plan)
    }

    /// Follows a toolchain to the language that it starts. `at` is where it was named, if not by itself.
    fn follow(&self, name: &str, at: Option<&ValueOrigin>) -> Result<ToolchainWay<'_>, PlanError> {
        let mut way: Vec<(String, &NamedTable)> = Vec::new();
        let mut next = name.to_owned();
        let mut named_at = at.cloned();
        let (engine, environment) = loop {
            // What holds for a language holds for its alias.
            next = crate::language(&next).map_or(next, |language| language.name.to_owned());
            // A toolchain with the name of a built-in one is based on the built-in one.
            let itself = way.last().is_some_and(|(last, _)| *last == next);
            let built_in = crate::built_in(&next);
            let own = self.toolchain(&next).filter(|_| !(itself && built_in.is_some()));
            let own = own.filter(|_| !self.is_wrong("toolchains", &next));
            let Some(own) = own else {
                match built_in {
                    Some((language, environment)) => {
                        break (PlannedEngine::Known(language), environment);
                    }
                    None => return Err(self.unknown(&next, named_at.as_ref(), &way)),
                }
            };
            if let Some(first) = way.iter().position(|(known, _)| *known == next) {
                let mut names: Vec<&str> = way[first..].iter().map(|(name, _)| &**name).collect();
                names.push(&next);
                let problem = format!("toolchains go in a circle: {}", names.join(" → "));
                let fix = "let one of them name a language".to_owned();
                let table = way[first].1;
                return Err(problem_at(table, &way[first].0, ConfigKey::Engine, problem, fix));
            }
            way.push((next.clone(), own));
            let has_bridge = own.table.get(ConfigKey::Bridge).is_some();
            // A toolchain without an engine is the built-in one of its name with other settings.
            if let Some((engine, origin)) = own.table.text(ConfigKey::Engine) {
                if has_bridge && (engine == next || self.toolchain(engine).is_none()) {
                    break (PlannedEngine::Own(engine.to_owned()), None);
                }
                named_at = Some(origin.clone());
                next = engine.to_owned();
            }
        };
        for (name, table) in &way {
            if let Some((key, problem, fix)) = unfit(&engine, &table.table) {
                return Err(problem_at(table, name, key, problem, fix));
            }
        }
        let tables = way.into_iter().rev().map(|(_, table)| table).collect();
        Ok(ToolchainWay { engine, environment, tables })
    }

    fn unknown(
        &self,
        name: &str,
        at: Option<&ValueOrigin>,
        way: &[(String, &NamedTable)],
    ) -> PlanError {
        let told = at.filter(|_| !self.may_have("toolchains", name));
        let Some(ValueOrigin::File { path, line, .. }) = told else {
            return PlanError::NoToolchain { given: name.to_owned() };
        };
        let mut names = self.toolchain_names();
        names.retain(|known| known != name && way.iter().all(|(passed, _)| passed != known));
        let near = nearest(name, names.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let key = match way.last() {
            Some((toolchain, _)) => {
                dotted(&dotted("toolchains", toolchain), ConfigKey::Engine.name())
            }
            None => ConfigKey::Toolchain.name().to_owned(),
        };
        PlanError::File(Box::new(ConfigProblem {
            path: path.to_path_buf(),
            line: Some(*line),
            key: Some(key),
            problem: format!("there is no toolchain `{}`", name.escape_debug()),
            fix: Some(format!("{near}there are: {}", names.join(", "))),
        }))
    }
}

/// A problem with a key of a toolchain.
fn problem_at(
    table: &NamedTable,
    name: &str,
    key: ConfigKey,
    problem: String,
    fix: String,
) -> PlanError {
    let origin = table.table.get(key).map_or(&table.origin, |value| &value.origin);
    problem_in_file(origin, dotted(&dotted("toolchains", name), key.name()), problem, fix)
}
