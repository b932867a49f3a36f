//! Speaks with one session through the real binary, as the list's behaviours need it.

use std::fs;

use serde_json::Value;
use stead_testkit::{Ran, TestEnv, mcp_call, wait_for, wait_for_some};

use crate::column::Column;
use crate::reply::Reply;

/// How long a call waits that should come back much sooner.
const LONG: &str = "60s";

pub(crate) struct Talk<'a> {
    pub(crate) env: &'a TestEnv,
    pub(crate) column: &'static Column,
    pub(crate) history: SessionHistory,
}

/// What has happened to the session before each behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionHistory {
    Nothing,
    /// It went back to a checkpoint (SPEC ST-3).
    RolledBack,
    /// An eval was undone (SPEC ST-5).
    Undone,
}

impl Talk<'_> {
    /// Each behaviour begins with a session that has an empty namespace and where nothing runs, and with an empty workspace.
    pub(crate) fn begin(&self) {
        for entry in fs::read_dir(self.env.workspace()).expect("the workspace is there").flatten() {
            let _ = fs::remove_file(entry.path());
        }
        // A session that died under the behaviour before tells that first.
        self.eval("");
        match self.column.cannot("S-7 clear empties the namespace") {
            None => self.command(["clear"]).ok(),
            // Only a new interpreter has an empty namespace.
            Some(_) => self.command(["restart"]).ok(),
        };
        match self.history {
            SessionHistory::Nothing => {}
            SessionHistory::RolledBack => {
                self.command(["checkpoint"]).ok();
                self.eval(self.column.set("gone", 1)).complete();
                self.command(["rollback"]).ok();
            }
            SessionHistory::Undone => {
                wait_for("a copy of the session as it is", || {
                    let undo = self.command(["status"]).0["data"]["undo"].clone();
                    if undo["kept"] != true && !undo["off"].is_null() {
                        // A behaviour has left what keeps the session from being copied, or has started it without undo.
                        self.command(["stop"]).ok();
                        self.eval("");
                    }
                    undo["kept"] == true
                });
                self.eval(self.column.set("gone", 1)).complete();
                self.command(["undo"]).ok();
            }
        }
    }

    /// A new session that keeps no copies for undo: what a crash loses is lost (SPEC S-6).
    pub(crate) fn without_copies(&self) {
        self.command(["stop"]).ok();
        self.json(&["launch", self.column.language, "-n", self.column.session, "--no-undo"]).ok();
    }

    fn json(&self, arguments: &[&str]) -> Reply {
        Reply(self.env.json(arguments))
    }

    /// A command on this session.
    #[track_caller]
    pub(crate) fn command<const N: usize>(&self, arguments: [&str; N]) -> Reply {
        let [command, rest @ ..] = &arguments[..] else { unreachable!("a command has a name") };
        self.json(&[&[*command, "-n", self.column.session], rest].concat())
    }

    /// Runs code until it ends or waits for input.
    pub(crate) fn eval(&self, code: impl AsRef<str>) -> Reply {
        self.eval_with(["--timeout", LONG], code)
    }

    pub(crate) fn eval_with<const N: usize>(
        &self,
        options: [&str; N],
        code: impl AsRef<str>,
    ) -> Reply {
        let name = ["eval", "-n", self.column.session];
        // The name of a session tells no kernel.
        let kernel = ["-l", self.column.kernel];
        let kernel = if self.column.kernel.is_empty() { &[][..] } else { &kernel };
        self.json(&[&name[..], kernel, &options, &["--", code.as_ref()]].concat())
    }

    /// Runs code whose whole output must be this.
    #[track_caller]
    pub(crate) fn says(&self, code: impl AsRef<str>, text: &str) {
        self.eval(code).complete().out(text);
    }

    /// Starts code and goes on.
    #[track_caller]
    pub(crate) fn start(&self, code: impl AsRef<str>) -> String {
        self.eval_with(["--bg"], code).ok().id()
    }

    /// Says `up`, then runs the code; goes on once that was written.
    #[track_caller]
    pub(crate) fn start_up(&self, code: &str) -> String {
        let id = self.start(format!("{}\n{code}", self.column.say("up")));
        // With its line end: a kernel may send the two apart.
        wait_for("up", || self.output(&id, []).written("out").contains("up\n"));
        id
    }

    #[track_caller]
    pub(crate) fn wait_for_output(&self, id: &str, text: &str) {
        wait_for(text, || self.env.run(["output", id]).stdout.contains(text));
    }

    /// Whether any eval of the session, or what runs beside them, has written this.
    pub(crate) fn was_written(&self, text: &str) -> bool {
        let found = self.command(["output", "--session", "--grep", text]).ok();
        found.data()["matches"] != 0
    }

    /// What an eval has come to, once it has ended or waits for input.
    pub(crate) fn end(&self, id: &str) -> Reply {
        self.json(&["output", id, "--wait", LONG])
    }

    /// What an eval has come to so far.
    pub(crate) fn output<const N: usize>(&self, id: &str, options: [&str; N]) -> Reply {
        self.json(&[&["output", id], &options[..]].concat())
    }

    /// The bytes that an eval wrote.
    pub(crate) fn raw(&self, id: &str) -> Ran {
        self.env.run(["output", id, "--raw"])
    }

    /// Asks to interrupt an eval and says what came of that.
    #[track_caller]
    pub(crate) fn interrupt(&self, id: &str) -> Reply {
        self.json(&["interrupt", id]).ok()
    }

    /// Answers the eval that waits.
    pub(crate) fn input(&self, text: &str) -> Reply {
        self.command(["input", "--timeout", LONG, "--", text])
    }

    /// Ends the input of the eval that waits.
    pub(crate) fn eof(&self) -> Reply {
        self.command(["input", "--timeout", LONG, "--eof"])
    }

    pub(crate) fn status(&self) -> Value {
        self.command(["status"]).ok().0["data"].take()
    }

    #[track_caller]
    pub(crate) fn wait_for_state(&self, state: &str) {
        wait_for(state, || self.status()["state"] == state);
    }

    /// What an agent is told that calls a tool.
    #[track_caller]
    pub(crate) fn mcp(&self, tool: &str, arguments: Value) -> String {
        let result = mcp_call(self.env.command(["mcp"]), tool, arguments);
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text: {result:#}")).to_owned()
    }

    /// Names and types that `vars` lists, sorted.
    pub(crate) fn vars(&self) -> Vec<(String, String)> {
        let reply = self.command(["vars"]).ok();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let listed = reply.data()["vars"].as_array().cloned().unwrap_or_default();
        let mut listed: Vec<_> =
            listed.iter().map(|var| (text(&var["name"]), text(&var["type"]))).collect();
        listed.sort();
        listed
    }

    /// Brings a file's names into this session.
    pub(crate) fn load(&self, file: &str) -> Reply {
        self.json(&["load", file, "--into", self.column.session])
    }

    pub(crate) fn make_file(&self, name: &str) {
        fs::write(self.env.workspace().join(name), "").expect("the workspace is there");
    }

    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.env.workspace().join(name).exists()
    }

    pub(crate) fn wait_for_file(&self, name: &str) {
        wait_for(name, || self.has_file(name));
    }

    /// The process id that a child wrote to a file, whole.
    pub(crate) fn pid_in(&self, name: &str) -> u32 {
        wait_for_some(name, || {
            let text = fs::read_to_string(self.env.workspace().join(name)).ok()?;
            text.strip_suffix('\n')?.parse().ok()
        })
    }

    /// One more than the number of starts so far.
    pub(crate) fn generation(&self) -> u64 {
        self.status()["generation"].as_u64().expect("a generation")
    }
}
