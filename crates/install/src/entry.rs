//! What stands in a client's file for one server, in the form that this client wants.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The name under which stead is entered everywhere.
pub const SERVER_NAME: &str = "stead";

/// How a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// The fields that an entry has, which differ from client to client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryShape {
    /// `command` and `args`.
    Plain,
    /// These with `"type": "stdio"` before them.
    Typed,
    /// Copilot's: a local server, all of whose tools may be used.
    Copilot,
    /// opencode's: one list with the command and its arguments.
    OneList,
    /// Goose's: `cmd`, and a name and a description for people.
    Goose,
}

impl EntryShape {
    /// The fields of a new entry, in the order in which they are written.
    pub(crate) fn fields(self, entry: &ServerEntry) -> Vec<(&'static str, Value)> {
        let (command, args) = (json!(entry.command), json!(entry.args));
        match self {
            EntryShape::Plain => vec![("command", command), ("args", args)],
            EntryShape::Typed => {
                vec![("type", json!("stdio")), ("command", command), ("args", args)]
            }
            EntryShape::Copilot => vec![
                ("type", json!("local")),
                ("command", command),
                ("args", args),
                ("tools", json!(["*"])),
            ],
            EntryShape::OneList => vec![
                ("type", json!("local")),
                ("command", json!(one_list(entry))),
                ("enabled", json!(true)),
            ],
            EntryShape::Goose => vec![
                ("enabled", json!(true)),
                ("type", json!("stdio")),
                ("name", json!(SERVER_NAME)),
                ("description", json!("Persistent code sessions")),
                ("cmd", command),
                ("args", args),
                ("envs", json!({})),
                ("timeout", json!(300)),
            ],
        }
    }

    /// The fields of a known entry that have to change so that it starts this server, with their new values. Other
    /// arguments for stead, a workspace for example, are the user's and stay.
    pub(crate) fn vital(
        self,
        known: &KnownEntry,
        entry: &ServerEntry,
    ) -> Vec<(&'static str, Value)> {
        let name = if self == EntryShape::Goose { "cmd" } else { "command" };
        let args = known.args_for(entry);
        match self {
            EntryShape::OneList => {
                let entry = ServerEntry { args, ..entry.clone() };
                vec![(name, json!(one_list(&entry)))]
            }
            _ if args == known.args => vec![(name, json!(entry.command))],
            _ => vec![(name, json!(entry.command)), ("args", json!(args))],
        }
    }

    /// Reads an entry that is there, also in forms that older versions of the client had.
    pub(crate) fn read(self, value: &Value) -> KnownEntry {
        let words = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut args = value.get("args").map(words).unwrap_or_default();
        let mut command = text("command").or_else(|| text("cmd"));
        match value.get("command") {
            Some(list @ Value::Array(_)) => {
                let mut list = words(list).into_iter();
                command = list.next();
                args = list.collect();
            }
            // Zed's older form: {"command": {"path": …, "args": […]}}.
            Some(nested @ Value::Object(_)) => {
                command = nested.get("path").and_then(Value::as_str).map(str::to_owned);
                args = nested.get("args").map(words).unwrap_or_default();
            }
            _ => {}
        }
        let env = ["env", "envs", "environment"].iter().find_map(|name| value.get(name));
        let env = env.and_then(Value::as_object).into_iter().flatten();
        let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let off = value.get("enabled") == Some(&Value::Bool(false))
            || value.get("disabled") == Some(&Value::Bool(true));
        let has_url =
            ["url", "uri", "serverUrl", "httpUrl"].iter().any(|name| text(name).is_some());
        KnownEntry { command, args, env: env.collect(), off, has_url }
    }
}

fn one_list(entry: &ServerEntry) -> Vec<&str> {
    let words = [&entry.command].into_iter().chain(&entry.args);
    words.map(String::as_str).collect()
}

/// An entry for stead that is in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEntry {
    /// The program; `None` if it starts none.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that the client sets for it.
    pub env: BTreeMap<String, String>,
    /// Whether the client was told not to start it.
    pub off: bool,
    /// Whether the client reaches the server by a URL.
    pub has_url: bool,
}

impl KnownEntry {
    /// Whether this starts the same program, whatever else was given to it: a workspace, for example.
    pub(crate) fn starts(&self, entry: &ServerEntry) -> bool {
        self.command.as_deref() == Some(&entry.command) && self.serves()
    }

    /// What it does, for a sentence.
    pub(crate) fn does(&self) -> String {
        match &self.command {
            Some(command) => format!("it starts `{command}`"),
            None if self.has_url => "it starts no program, but is reached by a URL".to_owned(),
            None => "it starts no program".to_owned(),
        }
    }

    /// Whether its arguments make stead serve by MCP.
    pub(crate) fn serves(&self) -> bool {
        self.args.iter().any(|word| word == "mcp")
    }

    /// Whether the program is called stead, wherever it lies.
    pub(crate) fn is_called_stead(&self) -> bool {
        self.command.as_deref().is_some_and(is_stead)
    }

    /// Whether it starts stead: itself, or by a program that fetches packages, as `uvx stead mcp`. Anything else under
    /// our name is somebody's own, also what starts stead in a container or on another machine.
    pub fn is_ours(&self) -> bool {
        let fetches = self.command.as_deref().is_some_and(|command| {
            FETCHERS.contains(&command.rsplit('/').next().unwrap_or_default())
        });
        self.is_called_stead()
            || (fetches && self.serves() && self.args.iter().any(|word| is_stead(word)))
    }

    /// The arguments for this server: those of the known entry, if they make stead serve.
    pub(crate) fn args_for(&self, entry: &ServerEntry) -> Vec<String> {
        let at = self.args.iter().position(|word| word == "mcp");
        match at.map(|at| &self.args[at..]) {
            Some(_) if self.is_called_stead() => self.args.clone(),
            Some(own @ [_, _, ..]) if self.is_ours() => own.to_vec(),
            _ => entry.args.clone(),
        }
    }
}

/// Programs that fetch a package and start it.
const FETCHERS: [&str; 6] = ["uvx", "uv", "npx", "bunx", "pnpm", "pipx"];

/// Whether a word names stead: a path to it, or its package with or without a version.
fn is_stead(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.split(['@', '=']).next() == Some(SERVER_NAME)
}
