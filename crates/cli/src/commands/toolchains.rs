//! `stead toolchains`

use serde::Serialize;
use stead_client::{ListedToolchain, Startable};
use stead_screen::visible;

use crate::context::Context;
use crate::hints;
use crate::paint::{BAD, GOOD, Paint};
use crate::print::CommandResult;

/// List toolchains and say which can start here
///
/// A toolchain is a named way to start an interpreter: `stead launch python.poetry`, `stead eval -l
/// python.venv CODE`, or `toolchain = "python.uv"` in a configuration file. Those of your own stand in
/// a configuration file too (docs/toolchains.md). Each is looked for as a session in the current
/// directory would be.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead toolchains
  stead launch python.poetry -n ml
  stead launch python -n slow --cmd 'nice -n 10 python3'")]
pub(crate) struct ToolchainsArgs {}

#[derive(Debug, Serialize)]
struct ToolchainsData {
    toolchains: Vec<ToolchainEntry>,
}

#[derive(Debug, Serialize)]
struct ToolchainEntry {
    name: String,
    engine: String,
    origin: String,
    what: String,
    starts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreter: Option<String>,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl From<ListedToolchain> for ToolchainEntry {
    fn from(listed: ListedToolchain) -> ToolchainEntry {
        let (interpreter, why, hint) = match listed.startable {
            Startable::Yes { interpreter, why } => (Some(interpreter), why, None),
            Startable::No { why, trouble } => {
                (None, why, trouble.as_ref().and_then(hints::to_install))
            }
            Startable::Wrong(error) => (None, error.message(), hints::next_step(&error)),
            Startable::NotAllowed => {
                let why = "it came with the project, which is not allowed".to_owned();
                (None, why, Some("look at `.stead`, then `stead allow`".to_owned()))
            }
        };
        ToolchainEntry {
            name: listed.name,
            engine: listed.engine,
            origin: listed.origin.to_string(),
            what: listed.what,
            starts: interpreter.is_some(),
            interpreter,
            why,
            hint,
        }
    }
}

impl ToolchainsArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let inside = context.cwd.starts_with(context.client.workspace.path());
        let cwd = if inside { context.cwd.as_path() } else { context.client.workspace.path() };
        let listed = context.client.toolchains(cwd);
        let toolchains: Vec<ToolchainEntry> =
            listed.into_iter().map(ToolchainEntry::from).collect();
        let text = text(&toolchains);
        context.answer("complete", ToolchainsData { toolchains }, || text)
    }
}

fn text(toolchains: &[ToolchainEntry]) -> String {
    let paint = Paint::stdout();
    let width = toolchains.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for one in toolchains {
        let (style, word) = if one.starts { (GOOD, "starts") } else { (BAD, "no    ") };
        let word = paint.paint(style, word);
        let said = match &one.interpreter {
            Some(interpreter) => format!("{interpreter} ({})", one.why),
            None => one.why.clone(),
        };
        let said = visible(&said);
        text += &format!("{word}  {:<width$}  {said}\n", one.name);
        if let Some(hint) = &one.hint {
            text += &format!("{:width$}          do: {}\n", "", visible(hint));
        }
        if one.origin != "built in" {
            text += &format!("{:width$}          {}: {}\n", "", one.origin, visible(&one.what));
        }
    }
    text
}
