//! Whether a client's entry works: starts what it says and asks for its tools, as the client would.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use thiserror::Error;

use crate::clients::{ConfigScope, McpClient, UserPlaces};
use crate::entry::KnownEntry;
use crate::file::ClientFile;
use crate::perform::InstallTrouble;

/// How long a server may take to list its tools; clients give it some 30 s.
const PATIENCE: Duration = Duration::from_secs(15);
/// More than any list of tools.
const MOST: usize = 4 << 20;

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveServer {
    /// What was started.
    pub program: PathBuf,
    /// What it calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How many tools it has.
    pub tools: usize,
}

/// Why an entry does not work.
#[derive(Debug, Error)]
pub enum ProbeTrouble {
    /// It names no program.
    #[error("it starts no program")]
    NoProgram,
    /// Its program is not there.
    #[error("it starts `{command}`, which is not there")]
    Missing {
        /// The program, as the entry names it.
        command: String,
    },
    /// Its program could not be run.
    #[error("it starts `{command}`, which could not be run: {source}")]
    NotRun {
        /// The program.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// Its program does not speak MCP.
    #[error("it starts `{command}`, which {what}")]
    NoServer {
        /// The program.
        command: String,
        /// What it did instead.
        what: String,
    },
}

impl McpClient {
    /// The entry for stead in the client's file of this scope, whatever its name, with the file.
    pub fn entry_in(
        &self,
        scope: ConfigScope,
        places: &UserPlaces,
        workspace: &Path,
    ) -> Result<Option<(PathBuf, KnownEntry)>, InstallTrouble> {
        let Some(path) = self.file(scope, places, workspace) else { return Ok(None) };
        let file = ClientFile::open(&path, false)?;
        let Some(text) = &file.text else { return Ok(None) };
        let known = self.format.look(text);
        let known =
            known.map_err(|trouble| InstallTrouble::Edit { path: path.clone(), trouble })?;
        Ok(known.map(|known| (path, known)))
    }

    /// Whether the client's file of this scope has an entry for stead, or is there and cannot be read.
    pub fn may_have_entry(
        &self,
        scope: ConfigScope,
        places: &UserPlaces,
        workspace: &Path,
    ) -> bool {
        !matches!(self.entry_in(scope, places, workspace), Ok(None))
    }
}

/// Whether an entry starts this very program as a server and does nothing else. A project's file comes from whoever
/// wrote the project, so only such an entry of it may be tried.
pub fn is_this_stead(entry: &KnownEntry, places: &UserPlaces, workspace: &Path) -> bool {
    let program = entry.command.as_deref().and_then(|it| find(it, places, workspace));
    let real = program.and_then(|program| program.canonicalize().ok());
    let own = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok();
    let args: Vec<&str> = entry.args.iter().map(String::as_str).collect();
    let only_serves = matches!(args[..], ["mcp"] | ["mcp", "--workspace", _]);
    real.is_some() && real == own && only_serves && entry.env.is_empty()
}

/// The program that an entry names.
fn find(command: &str, places: &UserPlaces, workspace: &Path) -> Option<PathBuf> {
    match command.contains('/') {
        true => Some(workspace.join(command)).filter(|path| path.exists()),
        false => places.program(command),
    }
}

/// Starts what an entry says, in the workspace, and asks it for its tools.
pub fn probe(
    entry: &KnownEntry,
    places: &UserPlaces,
    workspace: &Path,
) -> Result<LiveServer, ProbeTrouble> {
    let command = entry.command.clone().ok_or(ProbeTrouble::NoProgram)?;
    let program = find(&command, places, workspace);
    let program = program.ok_or_else(|| ProbeTrouble::Missing { command: command.clone() })?;
    let filled = |word: &String| word.replace("${workspaceFolder}", &workspace.to_string_lossy());
    let child = Command::new(&program)
        .args(entry.args.iter().map(filled))
        .envs(&entry.env)
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let child =
        child.map_err(|source| ProbeTrouble::NotRun { command: command.clone(), source })?;
    let mut server = StartedServer { child, read: Vec::new(), until: Instant::now() + PATIENCE };
    server.ask(program).map_err(|what| ProbeTrouble::NoServer { command, what })
}

/// A server that ends when this is dropped.
struct StartedServer {
    child: Child,
    read: Vec<u8>,
    until: Instant,
}

impl StartedServer {
    fn ask(&mut self, program: PathBuf) -> Result<LiveServer, String> {
        self.send(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "stead doctor", "version": env!("CARGO_PKG_VERSION") },
            },
        }))?;
        let hello = self.answer(1)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))?;
        let listed = self.answer(2)?;
        let text = |name: &str| hello["serverInfo"][name].as_str().unwrap_or("?").to_owned();
        let tools = listed["tools"].as_array().ok_or("lists no tools")?.len();
        Ok(LiveServer { program, name: text("name"), version: text("version"), tools })
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().ok_or("takes no input")?;
        let written = stdin.write_all(format!("{message}\n").as_bytes());
        written.map_err(|_| "ended before it answered".to_owned())
    }

    /// The result of the request with this id.
    fn answer(&mut self, id: u64) -> Result<Value, String> {
        loop {
            while let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                let Ok(mut message) = serde_json::from_slice::<Value>(&line) else {
                    let line = String::from_utf8_lossy(&line);
                    let line: String = line.trim_end().chars().take(80).collect();
                    return Err(format!("does not speak MCP: it wrote `{}`", line.escape_debug()));
                };
                if message["id"] == id {
                    return match message.get("error") {
                        Some(error) => Err(format!("refused: {}", error["message"])),
                        None => Ok(message["result"].take()),
                    };
                }
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Result<(), String> {
        let late = || format!("did not answer within {} s", PATIENCE.as_secs());
        let left = self.until.checked_duration_since(Instant::now()).ok_or_else(late)?;
        let stdout = self.child.stdout.as_mut().ok_or("gives no output")?;
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let ready = {
            let fd = stdout.as_fd();
            let mut wanted = [PollFd::new(&fd, PollFlags::IN)];
            poll(&mut wanted, Some(&left)).map_err(|error| error.to_string())?
        };
        if ready == 0 {
            return Err(late());
        }
        let mut piece = [0; 1 << 16];
        match stdout.read(&mut piece) {
            Ok(0) => Err("ended before it answered".to_owned()),
            Ok(length) if self.read.len() + length <= MOST => {
                self.read.extend_from_slice(&piece[..length]);
                Ok(())
            }
            Ok(_) => Err("wrote too much".to_owned()),
            Err(error) => Err(format!("could not be read: {error}")),
        }
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        // A server ends with its input; one that would not is no server of ours and has nothing to lose.
        drop(self.child.stdin.take());
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
