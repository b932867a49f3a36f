//! `stdlib`

use std::fmt::Write;

use serde::Deserialize;
use serde_json::json;
use stead_client::{ClientError, Stdlib, StdlibChange, counted};
use stead_protocol::DefinitionKind;

use super::arguments::read;
use super::{Tool, ToolSpec, bad_request, language_names, object};
use crate::answer::Answer;
use crate::line::CallWatch;
use crate::server::Server;
use crate::text::{one_line, own_lines, word};

/// Most definitions that are listed.
const LISTED: usize = 200;

pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: "stdlib",
        title: "Standard library",
        description: "The user's own functions, kept per language, that new sessions begin with. add: the code must compile \
            and is not run; a definition replaces the one of its name.",
        schema: object(
            json!({
                "action": {"type": "string", "enum": ["list", "add", "remove", "show"]},
                "language": {"type": "string", "enum": language_names()},
                "code": {"type": "string"},
                "name": {"type": "string", "description": "For remove, show"}
            }),
            &["action"],
        ),
        read_only: false,
        destructive: true,
        idempotent: true,
        open_world: false,
        read: read::<StdlibTool>,
    }
}

/// Arguments of `stdlib`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StdlibTool {
    action: StdlibAction,
    language: Option<String>,
    code: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StdlibAction {
    List,
    Add,
    Remove,
    Show,
}

impl Tool for StdlibTool {
    fn run(
        self: Box<Self>,
        server: &Server,
        _watch: &mut CallWatch,
    ) -> Result<Answer, ClientError> {
        let (client, language) = (&server.client, self.language.as_deref());
        let text = match self.action {
            StdlibAction::List => listing(&client.stdlib(language)?),
            StdlibAction::Add => {
                let code =
                    self.code.as_deref().ok_or_else(|| bad_request("`code` must be given"))?;
                changed(&client.add_to_stdlib(language, code)?)
            }
            StdlibAction::Remove => {
                let name = self.name.ok_or_else(|| bad_request("`name` must be given"))?;
                changed(&client.remove_from_stdlib(language, &[name])?)
            }
            StdlibAction::Show => {
                let (path, source) = client.stdlib_text(language, self.name.as_deref())?;
                let mut text = String::new();
                own_lines(&mut text, &stead_screen::plain(source.trim_end().as_bytes()));
                let about = self.name.as_deref().map(|name| format!("{} in ", word(name)));
                let _ = write!(text, "[stdlib: {}{}]", about.unwrap_or_default(), path.display());
                text
            }
        };
        Ok(Answer::text(text))
    }
}

fn listing(stdlib: &Stdlib) -> String {
    let mut text = String::new();
    let kinds = [
        (DefinitionKind::Function, ""),
        (DefinitionKind::Class, "class "),
        (DefinitionKind::Module, "module "),
        (DefinitionKind::Other, "other "),
    ];
    let all = kinds.iter().flat_map(|(kind, head)| stdlib.of(*kind).map(move |one| (head, one)));
    let mut shown = 0;
    for (head, one) in all.take(LISTED) {
        shown += 1;
        let signature = one_line(one.signature.as_deref().unwrap_or_default());
        let name = word(&one.name);
        let line = match one.kind {
            DefinitionKind::Function => format!("{name}{signature}"),
            DefinitionKind::Class => format!("{head}{name}"),
            _ if one.name.is_empty() => format!("{head}{signature}"),
            _ => format!("{head}{name}: {signature}"),
        };
        let doc = one.doc.as_deref().map(|doc| format!(": {}", one_line(doc))).unwrap_or_default();
        own_lines(&mut text, &format!("{line}{doc}"));
    }
    let count = stdlib.count();
    let more = if count > shown { format!(", {shown} shown") } else { String::new() };
    let _ = write!(
        text,
        "[stdlib: {} for {}{more}, in {}]",
        counted(count as u64, "definition", "definitions"),
        stdlib.language.name,
        stdlib.path.display()
    );
    text
}

fn changed(change: &StdlibChange) -> String {
    let stdlib = &change.stdlib;
    let effect = match change.removed.is_empty() {
        true => "new sessions have it",
        false => "sessions that run keep it until they are cleared or restarted",
    };
    format!(
        "[stdlib: {}; {} for {}; {effect}]",
        one_line(&change.said()),
        counted(stdlib.count() as u64, "definition", "definitions"),
        stdlib.language.name
    )
}
