//! The lower half in a process of its own (`examples/outpost.rs`), for tests.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Far beyond what a telling takes on a loaded machine.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);

/// A lower half whose orders and tellings are lines of JSON.
pub(crate) struct Outpost {
    pub(crate) child: Child,
    orders: UnixStream,
    told: BufReader<UnixStream>,
    /// All that was told so far, for the message of a test that fails.
    pub(crate) all: Vec<Value>,
    _dir: tempfile::TempDir,
}

impl Outpost {
    pub(crate) fn begin() -> Outpost {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(DEADLINE)).unwrap();
        let stdout: OwnedFd = theirs.try_clone().unwrap().into();
        let child = Command::new(program())
            .arg(dir.path())
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::from(stdout))
            .spawn()
            .expect("`cargo test` builds examples/outpost.rs");
        let told = BufReader::new(ours.try_clone().unwrap());
        Outpost { child, orders: ours, told, all: Vec::new(), _dir: dir }
    }

    /// One whose interpreter of this language is ready.
    pub(crate) fn ready(language: &str) -> Outpost {
        let mut outpost = Outpost::begin();
        outpost.prepare(language);
        outpost.order(json!({"order": "start"}));
        outpost.until("ready");
        outpost
    }

    /// One whose interpreter is ready, and is a bridge of its own.
    pub(crate) fn bridged(bridge: &str) -> Outpost {
        let mut outpost = Outpost::begin();
        outpost.prepare_with(json!({"language": "own", "bridge": bridge}));
        outpost.order(json!({"order": "start"}));
        outpost.until("ready");
        outpost
    }

    pub(crate) fn prepare(&mut self, language: &str) {
        self.prepare_with(json!({"language": language}));
    }

    fn prepare_with(&mut self, mut settings: Value) {
        for (name, value) in
            [("cwd", json!("/")), ("idle_timeout_ms", json!(0)), ("quota_bytes", json!(0))]
        {
            settings[name] = value;
        }
        self.order(json!({"order": "prepare", "name": "far", "settings": settings}));
        self.until("prepared");
    }

    pub(crate) fn order(&mut self, order: Value) {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
    }

    pub(crate) fn run(&mut self, number: u64, code: &str) {
        self.order(json!({"order": "run", "eval": format!("far:{number}"), "code": code}));
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = self.told.read_line(&mut line);
        assert!(matches!(read, Ok(1..)), "nothing more is told ({read:?}) after {:#?}", self.all);
        let told: Value = serde_json::from_str(&line).unwrap();
        self.all.push(told.clone());
        told
    }

    /// All tellings up to the first of this kind.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut told = Vec::new();
        loop {
            told.push(self.next());
            if told.last().is_some_and(|last| last["told"] == kind) {
                return told;
            }
        }
    }

    /// The last telling of `until`.
    pub(crate) fn wait(&mut self, kind: &str) -> Value {
        self.until(kind).pop().unwrap()
    }
}

impl Drop for Outpost {
    fn drop(&mut self) {
        let _ = self.orders.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    // This test is in `deps`, examples are beside it.
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().join("examples/outpost")
}

/// The text of all output that was told.
pub(crate) fn output(told: &[Value]) -> String {
    let texts = told.iter().filter(|told| told["told"] == "output");
    texts.map(|told| told["bytes"].as_str().unwrap_or("\u{fffd}")).collect()
}

pub(crate) fn lives(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
