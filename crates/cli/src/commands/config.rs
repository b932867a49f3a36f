//! `stead config`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stead_client::ReadConfig;
use stead_config::{
    AskedStart, ConfigKey, ConfigProblem, ConfigTable, ConfigValue, Configuration, FileOwner,
    SessionPlan, Sourced, read_partly,
};
use stead_protocol::ErrorCode;
use stead_screen::visible;

use crate::config_edit;
use crate::context::Context;
use crate::exit;
use crate::paint::{BAD, Paint};
use crate::print::{self, CliReply, CommandResult, Failure, Mode};

/// Show the configuration and where each value came from
///
/// Settings stand in `.stead/config.toml` of the workspace and in `config.toml` of your own configuration
/// directory. A later one wins: what holds for all, the toolchain, the session (yours, then the workspace's),
/// the command line. All keys are in docs/config.md. What a workspace sets up takes effect after `stead allow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead config                         what holds here, and where it was set
  stead config ml                      what the session `ml` is started with
  stead config --check                 what is wrong with the files: line, key and fix
  stead config --check other.toml      the same for any file
  stead config --edit                  the workspace's file in your editor, checked afterwards
  stead config --edit --user           your own file
  stead config --schema > stead.json   a JSON schema for editors")]
pub(crate) struct ConfigArgs {
    /// Session to show; with --check a file to check
    #[arg(value_name = "NAME")]
    what: Option<String>,
    /// Say what is wrong with the files; exit code 2 if anything is
    #[arg(long, conflicts_with_all = ["edit", "schema"], group = "file_wanted")]
    check: bool,
    /// Open the workspace's file in your editor; it is made if there is none
    #[arg(long, conflicts_with_all = ["schema", "what"], group = "file_wanted")]
    edit: bool,
    /// With --edit or --check: your own file instead
    #[arg(long, requires = "file_wanted")]
    user: bool,
    /// Print a JSON schema of configuration files
    #[arg(long, conflicts_with = "what")]
    schema: bool,
    /// Show the values of environment variables, too
    #[arg(long)]
    show_env: bool,
}

/// A value as it is shown.
#[derive(Debug, Serialize)]
struct ShownValue {
    value: serde_json::Value,
    origin: String,
    #[serde(skip)]
    text: String,
}

type Table = BTreeMap<String, ShownValue>;

#[derive(Debug, Serialize)]
struct FileData {
    owner: &'static str,
    path: String,
    exists: bool,
    /// Whether it could be read and understood.
    #[serde(skip)]
    understood: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
}

#[derive(Debug, Serialize)]
struct ConfigData {
    files: Vec<FileData>,
    values: Table,
    sessions: BTreeMap<String, Table>,
    toolchains: BTreeMap<String, Table>,
    problems: Vec<ProblemData>,
}

#[derive(Debug, Serialize)]
struct ProblemData {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    problem: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl From<&ConfigProblem> for ProblemData {
    fn from(problem: &ConfigProblem) -> ProblemData {
        ProblemData {
            path: problem.path.display().to_string(),
            line: problem.line,
            key: problem.key.clone(),
            problem: problem.problem.clone(),
            fix: problem.fix.clone(),
        }
    }
}

impl ConfigArgs {
    /// The schema and the user's own file are the same everywhere.
    pub(super) fn needs_workspace(&self) -> bool {
        !self.schema && !self.user
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        if self.schema {
            let schema = serde_json::to_string_pretty(&stead_config::schema()).unwrap_or_default();
            print::out(format!("{schema}\n").as_bytes());
            return Ok(exit::SUCCESS);
        }
        if self.edit {
            let edited = config_edit::edit(context, self.user)?;
            return check(context, vec![edited.path], &edited.problems, edited.notice);
        }
        if self.check {
            return match &self.what {
                Some(file) => {
                    let path = context.path(Path::new(file));
                    let problems = check_file(context, &path, self.user);
                    check(context, vec![path], &problems, None)
                }
                None => {
                    let mut read = context.client.read_config();
                    let users = read.user_path.clone();
                    if self.user {
                        read.problems.retain(|problem| Some(&problem.path) == users.as_ref());
                    }
                    let workspaces = (!self.user).then_some(read.workspace_path);
                    let files = users.into_iter().chain(workspaces);
                    let files = files.filter(|path| path.symlink_metadata().is_ok());
                    check(context, files.collect(), &read.problems, None)
                }
            };
        }
        self.show(context)
    }

    fn show(&self, context: &Context) -> CommandResult {
        let read = context.client.read_config();
        let mut sessions = BTreeMap::new();
        let names = match &self.what {
            Some(name) => vec![context.session_named(name)?],
            None => read.configuration.session_names(),
        };
        for name in names {
            let asked = AskedStart::default();
            match context.client.preview(&read.configuration, &name, &asked) {
                Ok(planned) => {
                    let table = self.planned(&planned.plan, &planned.settings);
                    sessions.insert(name.to_string(), table);
                }
                Err(error) if self.what.is_some() => return Err(error.into()),
                // The reason why a session cannot be planned is among the problems.
                Err(_) => {}
            }
        }
        let mut values = Table::new();
        let mut toolchains = BTreeMap::new();
        if self.what.is_none() {
            for file in read.configuration.files() {
                values.extend(self.table(&file.top));
                let own = file.toolchains.iter();
                toolchains.extend(own.map(|(name, one)| (name.clone(), self.table(&one.table))));
            }
        }
        let data = ConfigData {
            files: files(context, &read),
            values,
            sessions,
            toolchains,
            problems: read.problems.iter().map(ProblemData::from).collect(),
        };
        let text = text(&data, &read.problems, self.what.is_some());
        context.answer("complete", data, || text)
    }

    /// What a table says.
    fn table(&self, table: &ConfigTable) -> Table {
        table.values.iter().flat_map(|(key, value)| self.rows(*key, value)).collect()
    }

    fn rows(&self, key: ConfigKey, value: &Sourced<ConfigValue>) -> Vec<(String, ShownValue)> {
        match &value.value {
            ConfigValue::Variables(all) => all
                .iter()
                .map(|(name, variable)| {
                    let said =
                        if self.show_env { variable.value.clone() } else { "…".to_owned() };
                    let origin = variable.origin.to_string();
                    let text = ConfigValue::Text(said.clone()).shown();
                    let text = if self.show_env { text } else { said.clone() };
                    (
                        format!("{}.{name}", key.name()),
                        ShownValue { value: said.into(), origin, text },
                    )
                })
                .collect(),
            other => {
                let shown = ShownValue {
                    value: json_value(other),
                    origin: value.origin.to_string(),
                    text: other.shown(),
                };
                vec![(key.name().to_owned(), shown)]
            }
        }
    }

    /// What a session is started with, with what holds where nothing is said.
    fn planned(&self, plan: &SessionPlan, settings: &stead_protocol::Settings) -> Table {
        let mut table: Table =
            plan.values.iter().flat_map(|(key, value)| self.rows(*key, value)).collect();
        let mut default = |key: ConfigKey, value: ConfigValue, origin: String| {
            table.entry(key.name().to_owned()).or_insert_with(|| ShownValue {
                value: json_value(&value),
                origin,
                text: value.shown(),
            });
        };
        let text = |text: &str| ConfigValue::Text(text.to_owned());
        let unsaid = || "default".to_owned();
        let toolchain = plan.toolchain.as_ref();
        let name = toolchain.map_or(plan.engine.name(), |toolchain| &toolchain.value);
        let origin = toolchain.map_or_else(unsaid, |toolchain| toolchain.origin.to_string());
        default(ConfigKey::Toolchain, text(name), origin);
        default(ConfigKey::Engine, text(plan.engine.name()), unsaid());
        default(ConfigKey::Cwd, text(&settings.place.cwd), unsaid());
        default(ConfigKey::Stdlib, ConfigValue::Flag(true), unsaid());
        default(ConfigKey::Figures, ConfigValue::Flag(true), unsaid());
        let idle = ConfigValue::Millis(settings.policy.idle_timeout_ms);
        default(ConfigKey::IdleTimeout, idle, unsaid());
        // The quota in force is larger than this 1 GiB of output by the room for frames of records.
        default(ConfigKey::Quota, ConfigValue::Bytes(1 << 30), unsaid());
        table
    }
}

fn json_value(value: &ConfigValue) -> serde_json::Value {
    match value {
        ConfigValue::Text(text) => text.as_str().into(),
        ConfigValue::Flag(flag) => (*flag).into(),
        ConfigValue::Command(command) => command.words().into(),
        ConfigValue::Millis(number) | ConfigValue::Bytes(number) => (*number).into(),
        ConfigValue::Variables(all) => all.keys().cloned().collect::<Vec<_>>().into(),
    }
}

fn files(context: &Context, read: &ReadConfig) -> Vec<FileData> {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let understood = |path: &Path| read.configuration.files().any(|file| &*file.path == path);
    let user = read.user_path.iter().map(|path| FileData {
        owner: "user",
        path: path.display().to_string(),
        exists: exists(path),
        understood: understood(path),
        allowed: None,
    });
    let there = read.project.is_some() || read.trouble.is_some();
    let workspace = FileData {
        owner: "workspace",
        path: read.workspace_path.display().to_string(),
        exists: exists(&read.workspace_path),
        understood: understood(&read.workspace_path),
        allowed: there.then(|| context.client.is_in_force(read)),
    };
    user.chain([workspace]).collect()
}

fn text(data: &ConfigData, problems: &[ConfigProblem], one: bool) -> String {
    let mut text = String::new();
    for file in data.files.iter().filter(|_| !one) {
        let state = match (file.exists, file.allowed) {
            (false, _) => "not there",
            _ if !file.understood => "not in force: see what is wrong below",
            (true, Some(false)) => "not allowed: `stead allow`",
            (true, _) => "in force",
        };
        text += &format!("{:<10} {} ({state})\n", file.owner, visible(&file.path));
    }
    let mut rows = |title: Option<String>, table: &Table| {
        if table.is_empty() && title.is_none() {
            return;
        }
        text.push('\n');
        text.extend(title.map(|title| format!("{title}\n")));
        let lines: Vec<String> =
            table.iter().map(|(key, it)| format!("{} = {}", visible(key), it.text)).collect();
        let width = lines.iter().map(String::len).max().unwrap_or_default().min(60);
        for (line, shown) in lines.iter().zip(table.values()) {
            text += &format!("{line:<width$}  # {}\n", shown.origin);
        }
    };
    rows(None, &data.values);
    for (name, table) in &data.sessions {
        rows(Some(header("sessions", name)), table);
    }
    for (name, table) in &data.toolchains {
        rows(Some(header("toolchains", name)), table);
    }
    if !problems.is_empty() {
        text.push('\n');
        text += &problems_text(problems);
    }
    text
}

fn header(kind: &str, name: &str) -> String {
    match name.contains('.') {
        true => format!("[{kind}.\"{name}\"]"),
        false => format!("[{kind}.{name}]"),
    }
}

fn problems_text(problems: &[ConfigProblem]) -> String {
    let paint = Paint::stdout();
    let mut text = String::new();
    for problem in problems {
        text += &format!("{} {problem}\n", paint.paint(BAD, "problem"));
        if let Some(fix) = &problem.fix {
            text += &format!("     do: {}\n", visible(fix));
        }
    }
    text
}

/// What is wrong with a file, by itself and with the toolchains that there are here.
fn check_file(context: &Context, path: &Path, is_users: bool) -> Vec<ConfigProblem> {
    let owner = if is_users { FileOwner::User } else { FileOwner::Workspace };
    let (file, mut problems) = match stead_files::read_users_text(path, stead_config::MOST_CONFIG) {
        Ok(text) => read_partly(&text, path, owner),
        Err(error) => return vec![stead_client::unreadable(path, &error)],
    };
    let user = context.client.read_config().configuration.user;
    let all = match owner {
        FileOwner::User => Configuration { user: Some(file), workspace: None },
        FileOwner::Workspace => Configuration { user, workspace: Some(file) },
    };
    problems.extend(all.problems().into_iter().filter(|problem| problem.path == path));
    problems
}

/// Says what is wrong with these files, and what else there is to say of them.
fn check(
    context: &Context,
    files: Vec<PathBuf>,
    problems: &[ConfigProblem],
    notice: Option<String>,
) -> CommandResult {
    #[derive(Serialize)]
    struct Checked {
        files: Vec<String>,
        problems: Vec<ProblemData>,
        #[serde(skip_serializing_if = "Option::is_none")]
        notice: Option<String>,
    }
    let notice_text = notice.as_deref().map(|notice| format!("[{}]\n", visible(notice)));
    let error = problems.first().map(|first| {
        let message = match problems.len() {
            1 => first.to_string(),
            count => format!("{first} (and {} more)", count - 1),
        };
        let failure = Failure::new(ErrorCode::BadRequest, message);
        match &first.fix {
            Some(fix) => failure.with_hint(fix),
            None => failure,
        }
    });
    let status = if error.is_none() { "complete" } else { "error" };
    match context.mode {
        Mode::Json => {
            let data = Checked {
                files: files.iter().map(|path| path.display().to_string()).collect(),
                problems: problems.iter().map(ProblemData::from).collect(),
                notice,
            };
            print::json(&CliReply::verdict(context.command, status, error.as_ref(), data));
        }
        Mode::Text if problems.is_empty() => {
            let said: String = match files.is_empty() {
                true => "there are no configuration files\n".to_owned(),
                false => files
                    .iter()
                    .map(|path| format!("ok  {}\n", visible(&path.to_string_lossy())))
                    .collect(),
            };
            print::out((said + &notice_text.unwrap_or_default()).as_bytes());
        }
        Mode::Text => {
            let said = problems_text(problems) + &notice_text.unwrap_or_default();
            print::out(said.as_bytes());
        }
    }
    Ok(if error.is_none() { exit::SUCCESS } else { exit::REQUEST_FAILED })
}
