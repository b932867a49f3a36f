//! `stead install`

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use stead_install::{
    CLIENTS, ConfigScope, InstallAction, InstallDone, InstallMeans, InstallOrder, InstallPlan,
    McpClient, ServerEntry, UserPlaces, client_named,
};
use stead_protocol::ErrorCode;
use stead_screen::visible;

use crate::context::Context;
use crate::exit;
use crate::install_hints::install_failure;
use crate::paint::{BAD, GOOD, Paint};
use crate::print::{self, CliReply, CommandResult, Failure, Mode, bad_request};

/// Tell agents' programs of stead, so that they start its MCP server
///
/// Without `--client` it finds the programs that are on this machine and says what was done for each: Claude Code,
/// Claude Desktop, Codex, Cursor, VS Code, Copilot CLI, Gemini CLI, Zed, Goose, Windsurf and opencode. A program's own
/// command is used where there is one (`claude mcp add`), else its file is edited: comments, order, mode and links
/// stay as they are, and what changes is shown before it is written. An entry of stead that is there already keeps
/// everything but the path of the program; an entry of your own under this name is left alone. A copy of each file as it was is kept in stead's state directory.
///
/// `--remove` takes out this entry and nothing else. If nobody changed the file meanwhile, it is byte for byte as it was before,
/// with an entry of stead that was there before the install.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead install --dry-run                      show what would be done
  stead install                                for every program that is found here
  stead install --client codex --client zed
  stead install --scope project                in files of this project, to be shared with it
  stead install --remove")]
pub(crate) struct InstallArgs {
    /// Program to tell, as often as wanted
    #[arg(long, value_name = "NAME", value_delimiter = ',', ignore_case = true, value_parser = client_parser())]
    client: Vec<&'static McpClient>,
    /// Whose files: yours, for all projects, or those of this one
    #[arg(long, value_name = "SCOPE", value_parser = scope_parser(), default_value = "user")]
    scope: ConfigScope,
    /// Write nothing, only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Take the entry out again
    #[arg(long)]
    remove: bool,
    /// Program to write in place of the absolute path of this one
    #[arg(long, value_name = "PROGRAM", value_parser = program_named, conflicts_with = "remove")]
    command: Option<String>,
}

/// A program's name or path; nothing else can be started.
fn program_named(given: &str) -> Result<String, String> {
    match given.trim().is_empty() {
        true => Err("name a program, such as `stead` or its path".to_owned()),
        false => Ok(given.to_owned()),
    }
}

/// Clients by their ids, or by what people call them.
fn client_parser() -> impl TypedValueParser<Value = &'static McpClient> {
    let ids = CLIENTS.iter().map(|client| PossibleValue::new(client.id).aliases(client.aliases()));
    // The parser accepts only ids and aliases of the table, so `client_named` finds each of them.
    PossibleValuesParser::new(ids).try_map(|given| client_named(&given).ok_or("is not known"))
}

/// `user` or `project`.
pub(super) fn scope_parser() -> impl TypedValueParser<Value = ConfigScope> {
    PossibleValuesParser::new(["user", "project"]).map(|given| match given.as_str() {
        "project" => ConfigScope::Project,
        _ => ConfigScope::User,
    })
}

#[derive(Debug, Serialize)]
struct InstallData {
    clients: Vec<ClientData>,
    scope: &'static str,
    dry_run: bool,
    /// What is entered where nothing is there yet. What each client has then is told with the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct EntryData {
    command: String,
    args: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ClientData {
    client: &'static str,
    title: &'static str,
    /// `added`, `changed`, `removed`, `restored`, `unchanged`, `absent`, `skipped`, or `refused` with an error.
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// What the client starts afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryData>,
    /// `edit`, `restore`, or the client's own command as one would type it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl InstallArgs {
    /// The user's own files are the same everywhere.
    pub(super) fn needs_workspace(&self) -> bool {
        self.scope == ConfigScope::Project
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let places = user_places()?;
        let program = self.program(&places)?;
        let mut notes = Vec::new();
        let clients = self.clients(&places, context.client.workspace.path());
        if clients.is_empty() {
            notes.push(match self.remove {
                true => nothing_to_remove(self.scope),
                false => nothing_found(&program),
            });
        }
        if !self.remove
            && self.command.is_none()
            && stead_install::is_in_a_cache(Path::new(&program))
        {
            notes.push(format!(
                "`{program}` lies in a cache that may be emptied: install stead for good, then run `stead install` again"
            ));
        }
        let mut answers = Vec::new();
        for client in clients {
            let entry = self.entry(client.project_variable, &program, context);
            let order = InstallOrder {
                client,
                scope: self.scope,
                entry: (!self.remove).then_some(&entry),
                places: &places,
                workspace: context.client.workspace.path(),
                state: &context.client.dirs.state,
                dry_run: self.dry_run,
            };
            answers.push(self.answer_for(&order, context));
        }
        self.finish(context, answers, program, notes)
    }

    /// What is written as the program.
    fn program(&self, places: &UserPlaces) -> Result<String, Failure> {
        if let Some(command) = &self.command {
            return Ok(command.clone());
        }
        let failed = |why: String| {
            Failure::new(
                ErrorCode::Unsupported,
                format!("the path of this program cannot be written: {why}"),
            )
            .with_hint("name one: `stead install --command PROGRAM`")
        };
        let path = stead_install::own_path(places).map_err(|error| failed(error.to_string()))?;
        let path = path.into_os_string().into_string();
        path.map_err(|path| failed(format!("`{}` is not UTF-8", Path::new(&path).display())))
    }

    fn clients(&self, places: &UserPlaces, workspace: &Path) -> Vec<&'static McpClient> {
        // To remove: a client's file may have the entry though the client is not on this machine any more.
        let is_meant = |client: &&McpClient| {
            client.is_here(places)
                || self.remove && client.may_have_entry(self.scope, places, workspace)
        };
        let mut clients: Vec<&'static McpClient> = match self.client.is_empty() {
            true => CLIENTS.iter().filter(is_meant).collect(),
            false => self.client.clone(),
        };
        let mut seen = Vec::new();
        clients.retain(|client| {
            !seen.contains(&client.id) && {
                seen.push(client.id);
                true
            }
        });
        clients
    }

    /// How this client starts the server. A workspace is named only where the user named one or the client fills it in.
    fn entry(&self, variable: Option<&str>, program: &str, context: &Context) -> ServerEntry {
        let mut args = vec!["mcp".to_owned()];
        let workspace = match self.scope {
            ConfigScope::Project => variable.map(str::to_owned),
            ConfigScope::User => {
                let given = context.workspace_given;
                given.then(|| context.client.workspace.as_str().to_owned())
            }
        };
        args.extend(workspace.into_iter().flat_map(|dir| ["--workspace".to_owned(), dir]));
        ServerEntry { command: program.to_owned(), args }
    }

    fn answer_for(&self, order: &InstallOrder<'_>, context: &Context) -> ClientData {
        let client = order.client;
        let mut answer = ClientData {
            client: client.id,
            title: client.title,
            action: "skipped",
            path: None,
            entry: None,
            by: None,
            diff: String::new(),
            backup: None,
            note: None,
            error: None,
        };
        let no_file = client.file(self.scope, order.places, order.workspace).is_none();
        if no_file && self.client.is_empty() {
            answer.note = Some(format!("it has no {} file", self.scope.word()));
            say(context, &answer, self.dry_run);
            return answer;
        }
        let text = context.mode == Mode::Text;
        let mut before_writing = |plan: &InstallPlan| {
            if text {
                print::out(about(client, plan).as_bytes());
            }
        };
        match order.carry_out(&mut before_writing) {
            Ok(InstallDone { plan, backup }) => {
                answer.action = word(plan.action);
                answer.path = Some(plan.path.display().to_string());
                answer.entry = plan.entry.and_then(|known| {
                    Some(EntryData { command: known.command?, args: known.args })
                });
                answer.by = plan.means.as_ref().map(by);
                answer.diff = plan.diff;
                answer.note = plan.note;
                answer.backup = backup.map(|path: PathBuf| path.display().to_string());
            }
            Err(trouble) => {
                answer.action = "refused";
                answer.error = Some(install_failure(client, &trouble, order.entry));
            }
        }
        say(context, &answer, self.dry_run);
        answer
    }

    fn finish(
        &self,
        context: &Context,
        clients: Vec<ClientData>,
        program: String,
        notes: Vec<String>,
    ) -> CommandResult {
        let refused = clients.iter().filter_map(|it| Some((it.title, it.error.as_ref()?)));
        let refused: Vec<(&str, &Failure)> = refused.collect();
        let error = refused.first().map(|(title, first)| {
            let more = match refused.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let failure = Failure::new(first.code, format!("{title}: {}{more}", first.message));
            Failure { hint: first.hint.clone(), ..failure }
        });
        let code = if error.is_none() { exit::SUCCESS } else { exit::REQUEST_FAILED };
        if context.mode == Mode::Text {
            for note in &notes {
                print::out(format!("{note}\n").as_bytes());
            }
            return Ok(code);
        }
        let status = if error.is_none() { "complete" } else { "error" };
        let entry = (!self.remove).then(|| {
            let ServerEntry { command, args } = self.entry(None, &program, context);
            EntryData { command, args }
        });
        let scope = self.scope.word();
        let data = InstallData { clients, scope, dry_run: self.dry_run, entry, notes };
        print::json(&CliReply::verdict(context.command, status, error.as_ref(), data));
        Ok(code)
    }
}

/// Where the user's files are, or why that is not known.
pub(super) fn user_places() -> Result<UserPlaces, Failure> {
    UserPlaces::from_env().ok_or_else(|| {
        bad_request("HOME does not say where the home directory is")
            .with_hint("set HOME to an absolute path")
    })
}

fn nothing_found(program: &str) -> String {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    format!(
        "no agent's program was found here. `--client NAME` names one: {}. Any other: let it start `{program} mcp`",
        names.join(", ")
    )
}

fn nothing_to_remove(scope: ConfigScope) -> String {
    let (whose, other) = match scope {
        ConfigScope::User => ("your files", ConfigScope::Project),
        ConfigScope::Project => ("files of this project", ConfigScope::User),
    };
    format!("no entry of stead is in {whose}; `--scope {}` looks at the others", other.word())
}

fn word(action: InstallAction) -> &'static str {
    match action {
        InstallAction::Added => "added",
        InstallAction::Changed => "changed",
        InstallAction::Removed => "removed",
        InstallAction::Restored => "restored",
        InstallAction::Unchanged => "unchanged",
        InstallAction::Absent => "absent",
    }
}

fn by(means: &InstallMeans) -> String {
    match means {
        InstallMeans::OwnCommand(own) => own.shown(),
        InstallMeans::Edit => "edit".to_owned(),
        InstallMeans::Restore => "restore".to_owned(),
    }
}

/// What is about to happen, for people.
fn about(client: &McpClient, plan: &InstallPlan) -> String {
    let mut text = String::new();
    let Some(means) = &plan.means else { return text };
    let how = match means {
        InstallMeans::OwnCommand(own) => format!("$ {}", own.shown()),
        InstallMeans::Edit => "edit".to_owned(),
        InstallMeans::Restore => "as it was before the install".to_owned(),
    };
    let path = plan.path.to_string_lossy();
    text.push_str(&format!("{}: {} ({})\n", client.title, visible(&path), visible(&how)));
    for line in plan.diff.lines() {
        text.push_str(&format!("  {}\n", visible(line)));
    }
    text
}

/// What was done, for people.
fn say(context: &Context, answer: &ClientData, dry_run: bool) {
    if context.mode != Mode::Text {
        return;
    }
    let paint = Paint::stdout();
    let style = if answer.error.is_some() { BAD } else { GOOD };
    let would = if dry_run && answer.by.is_some() { "would be " } else { "" };
    let word = paint.paint(style, &format!("{would}{}", answer.action));
    let mut line = format!("{}: {word}", answer.title);
    match (&answer.error, &answer.note) {
        (Some(error), _) => {
            line.push_str(&format!(": {}", visible(&error.message)));
            if let Some(hint) = &error.hint {
                line.push_str(&format!("\n  hint: {}", hint.replace('\n', "\n  ")));
            }
        }
        (None, Some(note)) => line.push_str(&format!(", {}", visible(note))),
        (None, None) => {}
    }
    if let Some(backup) = &answer.backup {
        line.push_str(&format!(" (as it was: {})", visible(backup)));
    }
    print::out(format!("{line}\n").as_bytes());
}
