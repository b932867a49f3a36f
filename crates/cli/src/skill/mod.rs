//! The skill that tells agents how to use stead, and a plugin for Claude Code around it (SPEC U-4).
//!
//! The list of commands is made from the help texts, and every command in the text is run by a test, so that
//! neither can be stale.

use clap::CommandFactory;
use serde_json::{Value, json};

use crate::Cli;

/// What the skill says before its list of commands.
const BODY: &str = include_str!("body.md");
/// Says to everyone who opens the file where it comes from. A file without this line is never overwritten.
pub(crate) const SKILL_MARK: &str = "Written by `stead skill`; a later version writes it anew.";
/// The same for the directory of a plugin, in its README.
pub(crate) const PLUGIN_MARK: &str = "Written by `stead skill --plugin DIR`";
/// What the skill is for and when to take it, for agents that choose by this alone.
const DESCRIPTION: &str = "Keeps Python, Bash and Node interpreters alive between calls. Use it when state should \
     last from one step to the next (loaded data, imports, variables, a working directory), when code runs for minutes \
     or asks for input, when output is too long to read whole, when a plot should be seen, or to find out what is still \
     running after the context was lost.";

/// A file of the plugin: its path in the plugin's directory, and what is in it.
#[derive(Debug)]
pub(crate) struct PluginFile {
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// The whole of SKILL.md.
pub(crate) fn skill() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut cli = Cli::command();
    cli.build();
    let commands: Vec<String> = cli
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .map(|command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            format!("- `stead {}`: {about}", command.get_name())
        })
        .collect();
    format!(
        "---\nname: stead\ndescription: {DESCRIPTION}\nlicense: Apache-2.0 OR MIT\n\
         compatibility: Linux with the program stead on the PATH or as an MCP server\n\
         metadata:\n  version: \"{version}\"\n---\n<!-- {SKILL_MARK} -->\n\n{BODY}\n\
         ## All commands\n\n`stead COMMAND --help` tells all about one, with examples.\n\n{}\n",
        commands.join("\n")
    )
}

/// All files of the plugin for Claude Code: the server, the skill, and a hook that shows the sessions at the start and
/// after a compaction.
pub(crate) fn plugin() -> Vec<PluginFile> {
    let manifest = json!({
        "name": "stead",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Persistent code sessions for agents: Python, Bash and Node that stay alive between calls",
        "author": { "name": "The stead authors" },
        "license": "Apache-2.0 OR MIT",
        "keywords": ["repl", "python", "bash", "node", "sessions", "mcp"],
    });
    let server = json!({ "mcpServers": { "stead": { "command": "stead", "args": ["mcp"] } } });
    // The model is given what a `SessionStart` hook prints; where stead is missing, the hook prints nothing.
    let list = "command -v stead >/dev/null && stead ls --text || true";
    let hook = json!({ "type": "command", "command": list, "timeout": 10 });
    let hooks = json!({
        "hooks": {
            "SessionStart": [{ "matcher": "startup|resume|clear|compact", "hooks": [hook] }],
        }
    });
    let file = |path, value: Value| PluginFile { path, text: format!("{value:#}\n") };
    vec![
        file(".claude-plugin/plugin.json", manifest),
        file(".mcp.json", server),
        file("hooks/hooks.json", hooks),
        PluginFile { path: "skills/stead/SKILL.md", text: skill() },
        PluginFile {
            path: "README.md",
            text: format!("{README}\n{PLUGIN_MARK}; a later version writes it anew.\n"),
        },
    ]
}

const README: &str = "# stead for Claude Code

The MCP server of stead, a skill that says how to use it, and a hook that shows the sessions of the project when a conversation
begins and after a compaction. The program `stead` has to be on the PATH.
";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn u4_the_skill_has_the_form_that_agents_ask_for() {
        let skill = skill();
        assert!(skill.lines().count() < 500, "{}", skill.lines().count());
        assert!(skill.starts_with("---\nname: stead\n"));
        assert!(DESCRIPTION.len() <= 1024 && !DESCRIPTION.contains(": "), "YAML takes it as it is");
        assert!(skill.contains("- `stead wait`: Wait until an eval has ended"));
    }

    #[test]
    fn u4_the_plugin_in_the_repository_is_the_one_that_is_written() {
        let bless = std::env::var_os("STEAD_BLESS").is_some();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
        for PluginFile { path, text } in plugin() {
            let path = root.join(path);
            if bless {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &text).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == text,
                "{} is stale; renew it with\n    STEAD_BLESS=1 cargo test -p stead-cli the_plugin",
                path.display()
            );
        }
    }
}
