//! The programs that stead can be entered into: where their files are, how they look, what command they have for it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::edit::ConfigFormat;
use crate::entry::{EntryShape, SERVER_NAME, ServerEntry};

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    /// The user's, for all projects.
    User,
    /// The project's, which is shared with everyone who has it.
    Project,
}

impl ConfigScope {
    /// The word for it, which is also the one that clients use.
    pub fn word(self) -> &'static str {
        match self {
            ConfigScope::User => "user",
            ConfigScope::Project => "project",
        }
    }
}

/// Where the user's files are.
#[derive(Debug, Clone)]
pub struct UserPlaces {
    home: PathBuf,
    config: PathBuf,
    /// Directories that a client was told to use in place of its usual one, by the client's id.
    moved: Vec<(&'static str, PathBuf)>,
    path: OsString,
}

impl UserPlaces {
    /// As the environment says; `None` if it does not say where the home directory is.
    pub fn from_env() -> Option<Self> {
        let dir = |name: &str| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let home = dir("HOME")?;
        let named = [
            ("claude-code", "CLAUDE_CONFIG_DIR"),
            ("codex", "CODEX_HOME"),
            ("copilot-cli", "COPILOT_HOME"),
        ];
        let moved = named.into_iter().filter_map(|(id, name)| Some((id, dir(name)?)));
        Some(UserPlaces {
            config: dir("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            moved: moved.collect(),
            path: env::var_os("PATH").unwrap_or_default(),
            home,
        })
    }

    /// The home directory.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The first program of this name on PATH.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let runs = |path: &PathBuf| {
            path.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        let dirs = env::split_paths(&self.path).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(name)).find(runs)
    }

    fn moved(&self, client: &str) -> Option<&Path> {
        let found = self.moved.iter().find(|(id, _)| *id == client);
        found.map(|(_, dir)| dir.as_path())
    }
}

/// A program that starts MCP servers for an agent.
#[derive(Debug, PartialEq, Eq)]
pub struct McpClient {
    /// What it is called on our command line.
    pub id: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// How its files are written.
    pub format: ConfigFormat,
    /// Programs that show that it is here.
    programs: &'static [&'static str],
    /// Files or directories that show that it is here: below the home directory, or below that for configuration.
    signs: &'static [(Below, &'static str)],
    /// The user's file: the first of these that exists, else the last.
    user: &'static [(Below, &'static str)],
    /// The project's file, in the same way; none if it has no such file.
    project: &'static [&'static str],
    /// What the client puts in for the project's directory in arguments of a project's file.
    pub project_variable: Option<&'static str>,
}

/// Where a path of the table begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Home,
    Config,
}

use Below::{Config, Home};

const PLAIN: ConfigFormat = ConfigFormat::Json { table: "mcpServers", shape: EntryShape::Plain };

/// All of them, in the order in which they are named to people.
pub static CLIENTS: &[McpClient] = &[
    McpClient {
        id: "claude-code",
        title: "Claude Code",
        format: ConfigFormat::Json { table: "mcpServers", shape: EntryShape::Typed },
        programs: &["claude"],
        signs: &[(Home, ".claude.json"), (Home, ".claude")],
        user: &[(Home, ".claude.json")],
        project: &[".mcp.json"],
        project_variable: None,
    },
    McpClient {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: PLAIN,
        programs: &["claude-desktop"],
        signs: &[(Config, "Claude")],
        user: &[(Config, "Claude/claude_desktop_config.json")],
        project: &[],
        project_variable: None,
    },
    McpClient {
        id: "codex",
        title: "Codex",
        format: ConfigFormat::Toml,
        programs: &["codex"],
        signs: &[(Home, ".codex")],
        user: &[(Home, ".codex/config.toml")],
        project: &[".codex/config.toml"],
        project_variable: None,
    },
    McpClient {
        id: "cursor",
        title: "Cursor",
        format: PLAIN,
        programs: &["cursor", "cursor-agent"],
        signs: &[(Home, ".cursor")],
        user: &[(Home, ".cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
        project_variable: Some("${workspaceFolder}"),
    },
    McpClient {
        id: "vscode",
        title: "VS Code",
        format: ConfigFormat::Json { table: "servers", shape: EntryShape::Typed },
        programs: &["code"],
        signs: &[(Config, "Code/User")],
        user: &[(Config, "Code/User/mcp.json")],
        project: &[".vscode/mcp.json"],
        project_variable: Some("${workspaceFolder}"),
    },
    McpClient {
        id: "copilot-cli",
        title: "Copilot CLI",
        format: ConfigFormat::Json { table: "mcpServers", shape: EntryShape::Copilot },
        programs: &["copilot"],
        signs: &[(Home, ".copilot")],
        user: &[(Home, ".copilot/mcp-config.json")],
        project: &[".github/mcp.json"],
        project_variable: None,
    },
    McpClient {
        id: "gemini-cli",
        title: "Gemini CLI",
        format: PLAIN,
        programs: &["gemini"],
        signs: &[(Home, ".gemini/settings.json")],
        user: &[(Home, ".gemini/settings.json")],
        project: &[".gemini/settings.json"],
        project_variable: None,
    },
    McpClient {
        id: "zed",
        title: "Zed",
        format: ConfigFormat::Json { table: "context_servers", shape: EntryShape::Plain },
        programs: &["zed", "zeditor"],
        signs: &[(Config, "zed")],
        user: &[(Config, "zed/settings.json")],
        project: &[".zed/settings.json"],
        project_variable: None,
    },
    McpClient {
        id: "goose",
        title: "Goose",
        format: ConfigFormat::Yaml,
        // A tool for databases is called `goose` too, so a program of this name proves nothing.
        programs: &[],
        signs: &[(Config, "goose")],
        user: &[(Config, "goose/config.yaml")],
        project: &[],
        project_variable: None,
    },
    McpClient {
        id: "windsurf",
        title: "Windsurf",
        format: PLAIN,
        programs: &["windsurf"],
        signs: &[(Home, ".codeium/windsurf")],
        user: &[(Home, ".codeium/windsurf/mcp_config.json")],
        project: &[],
        project_variable: None,
    },
    McpClient {
        id: "opencode",
        title: "opencode",
        format: ConfigFormat::Json { table: "mcp", shape: EntryShape::OneList },
        programs: &["opencode"],
        signs: &[(Config, "opencode")],
        user: &[(Config, "opencode/opencode.jsonc"), (Config, "opencode/opencode.json")],
        project: &["opencode.jsonc", "opencode.json"],
        project_variable: None,
    },
];

/// A client by its id or one of its aliases.
pub fn client_named(given: &str) -> Option<&'static McpClient> {
    let is = |name: &str| name.eq_ignore_ascii_case(given);
    CLIENTS.iter().find(|client| is(client.id) || client.aliases().into_iter().any(is))
}

impl McpClient {
    /// What else people call it.
    pub fn aliases(&self) -> Vec<&'static str> {
        let short: &[&str] = match self.id {
            "claude-code" => &["claude", "claudecode"],
            "claude-desktop" => &["claudedesktop"],
            "vscode" => &["code", "vs-code"],
            "copilot-cli" => &["copilot"],
            "gemini-cli" => &["gemini"],
            _ => &[],
        };
        [&[self.title], short].concat()
    }

    /// Whether it is on this machine, as far as its program and its files show.
    pub fn is_here(&self, places: &UserPlaces) -> bool {
        self.programs.iter().any(|name| places.program(name).is_some())
            || self.signs.iter().any(|(below, sign)| self.at(*below, sign, places).exists())
    }

    /// The file in which servers are entered; `None` if it has none of this scope.
    pub fn file(
        &self,
        scope: ConfigScope,
        places: &UserPlaces,
        workspace: &Path,
    ) -> Option<PathBuf> {
        let all: Vec<PathBuf> = match scope {
            ConfigScope::User => {
                self.user.iter().map(|(below, path)| self.at(*below, path, places)).collect()
            }
            ConfigScope::Project => self.project.iter().map(|path| workspace.join(path)).collect(),
        };
        let there = all.iter().find(|path| path.symlink_metadata().is_ok());
        there.or(all.last()).cloned()
    }

    fn at(&self, below: Below, path: &str, places: &UserPlaces) -> PathBuf {
        if let Some(dir) = places.moved(self.id) {
            // Claude Code keeps this one file beside its directory, unless the directory was moved.
            return match path.split_once('/') {
                Some((_, rest)) => dir.join(rest),
                None if path == ".claude.json" => dir.join(path),
                None => dir.to_owned(),
            };
        }
        match below {
            Below::Home => places.home.join(path),
            Below::Config => places.config.join(path),
        }
    }

    /// The client's own program and the words that make it enter stead.
    pub fn own_add(&self, scope: ConfigScope, entry: &ServerEntry) -> Option<OwnCommand> {
        let whole = || [&entry.command].into_iter().chain(&entry.args).cloned();
        let add = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (program, words) = match (self.id, scope) {
            ("claude-code", _) => {
                let words = add(&["mcp", "add", "-s", scope.word(), SERVER_NAME, "--"]);
                ("claude", words.into_iter().chain(whole()).collect())
            }
            ("codex", ConfigScope::User) => {
                let words = add(&["mcp", "add", SERVER_NAME, "--"]);
                ("codex", words.into_iter().chain(whole()).collect())
            }
            ("copilot-cli", ConfigScope::User) => {
                let words = add(&["mcp", "add", SERVER_NAME, "--"]);
                ("copilot", words.into_iter().chain(whole()).collect())
            }
            ("gemini-cli", _) => {
                let mut words = add(&["mcp", "add", "-s", scope.word(), SERVER_NAME]);
                let (first, options) = entry.args.split_at(entry.args.len().min(1));
                words.push(entry.command.clone());
                words.extend_from_slice(first);
                // Behind `--` the parser of Gemini takes no word for an option of its own.
                words.extend((!options.is_empty()).then(|| "--".to_owned()));
                words.extend_from_slice(options);
                ("gemini", words)
            }
            ("vscode", ConfigScope::User) => {
                let entry = json!({
                    "name": SERVER_NAME, "type": "stdio", "command": entry.command, "args": entry.args,
                });
                ("code", vec!["--add-mcp".to_owned(), entry.to_string()])
            }
            _ => return None,
        };
        Some(OwnCommand { program, words })
    }

    /// The client's own program and the words that make it forget stead.
    pub fn own_remove(&self, scope: ConfigScope) -> Option<OwnCommand> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let scoped = ["mcp", "remove", "-s", scope.word(), SERVER_NAME];
        let plain = ["mcp", "remove", SERVER_NAME];
        let (program, words) = match (self.id, scope) {
            ("claude-code", _) => ("claude", words(&scoped)),
            ("gemini-cli", _) => ("gemini", words(&scoped)),
            ("codex", ConfigScope::User) => ("codex", words(&plain)),
            ("copilot-cli", ConfigScope::User) => ("copilot", words(&plain)),
            _ => return None,
        };
        Some(OwnCommand { program, words })
    }
}

/// A client's own program with the arguments that it is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCommand {
    /// The program's name on PATH.
    pub program: &'static str,
    /// Its arguments.
    pub words: Vec<String>,
}

impl OwnCommand {
    /// As one would type it.
    pub fn shown(&self) -> String {
        let quoted = |word: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:@%+,".contains(c);
            match !word.is_empty() && word.chars().all(plain) {
                true => word.clone(),
                false => format!("'{}'", word.replace('\'', r"'\''")),
            }
        };
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        format!("{} {}", self.program, words.join(" "))
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &OsStr> {
        self.words.iter().map(|word| OsStr::new(word.as_str()))
    }
}
