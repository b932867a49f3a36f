//! A machine of its own for one test, as far as stead can tell.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use stead_client::{Client, Dirs, Workspace};
use stead_protocol::SessionName;
use tempfile::TempDir;

use crate::{pause, program, python, tagged};

/// How long a session's processes may take to be gone after it was stopped.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// Own home, state, runtime and workspace directories, removed in the end.
pub struct TestEnv {
    root: TempDir,
    program: PathBuf,
    python: PathBuf,
    tag: String,
}

/// A finished command.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Ran {
    /// Standard output as the one JSON object it must be.
    ///
    /// # Panics
    /// When it is anything else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl TestEnv {
    /// An environment for the binary that cargo built, or that `STEAD_BIN` names, with the newest Python.
    pub fn new(program: impl AsRef<Path>) -> TestEnv {
        TestEnv::with_python(program, &python())
    }

    /// The same with a certain Python as `python3` on the PATH.
    ///
    /// # Panics
    /// When the directories cannot be made.
    pub fn with_python(program: impl AsRef<Path>, python: &Path) -> TestEnv {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let root = tempfile::Builder::new().prefix("stead-test-").tempdir().expect("a temp dir");
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let tag = format!("STEAD_TEST={}-{count}-{}", std::process::id(), root.path().display());
        for dir in ["home", "ws", "bin"] {
            std::fs::create_dir(root.path().join(dir)).expect("a directory");
        }
        // A wrapper script would be taken for a shim; a link keeps the interpreter's own home.
        std::os::unix::fs::symlink(python, root.path().join("bin/python3")).expect("a link");
        let program = program::program(program.as_ref());
        TestEnv { root, program, python: python.to_owned(), tag }
    }

    /// The same with a certain Node as `node` on the PATH.
    ///
    /// # Panics
    /// When the directories cannot be made.
    pub fn with_node(program: impl AsRef<Path>, node: &Path) -> TestEnv {
        let env = TestEnv::new(program);
        std::os::unix::fs::symlink(node, env.root.path().join("bin/node")).expect("a link");
        env
    }

    /// The directory that holds everything.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The binary under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The workspace, where commands run.
    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("ws")
    }

    /// The state directory.
    pub fn state_dir(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// The runtime directory.
    pub fn runtime_dir(&self) -> PathBuf {
        self.root.path().join("run")
    }

    /// The Python of this environment.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// The `NAME=value` that everything started from here has in its environment.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Processes that were started from here and still live.
    pub fn processes(&self) -> Vec<u32> {
        tagged(&self.tag)
    }

    /// A command of the binary, ready to run: cleared environment, own directories.
    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(&self.program);
        let (name, value) = self.tag.split_once('=').expect("the tag has a value");
        command
            .args(arguments)
            .env_clear()
            .env(name, value)
            .env("HOME", self.root.path().join("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.root.path().join("bin").display()))
            .env("LANG", "C.UTF-8")
            .env("STEAD_STATE_DIR", self.state_dir())
            .env("STEAD_RUNTIME_DIR", self.runtime_dir())
            .current_dir(self.workspace())
            .stdin(Stdio::null());
        command
    }

    /// Another program, ready to run with the same environment and directories.
    pub fn other(&self, program: &str) -> Command {
        let ours = self.command::<_, &str>([]);
        let mut command = Command::new(program);
        command.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command
    }

    /// A command of the binary that a shell becomes after it has run `setup`: limits, ignored signals.
    pub fn after(&self, setup: &str, arguments: &[&str]) -> Command {
        let mut shell = self.other("/bin/sh");
        shell.args(["-c", &format!("{setup}; exec \"$@\""), "sh"]);
        shell.arg(&self.program).args(arguments);
        shell
    }

    /// Runs a line that begins with `stead`, as a shell would.
    ///
    /// # Panics
    /// When no shell can be started.
    #[track_caller]
    pub fn in_shell(&self, line: &str) -> Ran {
        let line = line.replacen("stead", &self.program.display().to_string(), 1);
        self.other("/bin/sh").args(["-c", &line]).output().expect("a shell runs").into()
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn run<I, S>(&self, arguments: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command(arguments).output().expect("the binary runs").into()
    }

    /// Runs a command with something on its standard input.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn run_with<I, S>(&self, arguments: I, stdin: &[u8]) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        let writer = std::thread::spawn({
            let stdin = stdin.to_vec();
            move || drop(pipe.write_all(&stdin))
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("the writer ends");
        output.into()
    }

    /// Starts a command and goes on.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn<I, S>(&self, arguments: I) -> Child
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary runs")
    }

    /// Runs a command and takes its one JSON object.
    #[track_caller]
    pub fn json<I, S>(&self, arguments: I) -> Value
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.run(arguments).json()
    }

    /// Runs code in session `py` and takes the reply's object.
    #[track_caller]
    pub fn eval(&self, code: &str) -> Value {
        self.json(["eval", "-n", "py", "--", code])
    }

    /// Runs code in session `py` that must complete, and takes its value's text.
    ///
    /// # Panics
    /// When it does not complete.
    #[track_caller]
    pub fn value(&self, code: &str) -> String {
        let reply = self.eval(code);
        assert_eq!(reply["status"], "complete", "{code}: {reply:#}");
        reply["data"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// What session `py` is doing.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.json(["status", "-n", "py"])["data"].clone()
    }

    /// The process id of session `py`'s host.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn host_pid(&self) -> u32 {
        let status = self.status();
        status["host_pid"].as_u64().unwrap_or_else(|| panic!("no host: {status:#}")) as u32
    }

    /// The process id of session `py`'s interpreter.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn interpreter_pid(&self) -> u32 {
        let status = self.status();
        status["pid"].as_u64().unwrap_or_else(|| panic!("no interpreter: {status:#}")) as u32
    }

    /// A client in this process, for tests that make many calls. The session must have been
    /// started by a command, so that it has this environment and not the test's own.
    ///
    /// # Panics
    /// When the workspace cannot be found.
    pub fn client(&self) -> Client {
        let workspace = Workspace::find(Some(&self.workspace()), &self.workspace());
        Client {
            dirs: Dirs::new(self.state_dir(), self.runtime_dir()),
            workspace: workspace.expect("the workspace is there"),
            kind: "test",
            by: Arc::default(),
            program: Some(self.program.clone()),
            kept: None,
        }
    }

    /// The directory of a session's records.
    ///
    /// # Panics
    /// When the name is none.
    pub fn session_dir(&self, name: &str) -> PathBuf {
        let client = self.client();
        let name: SessionName = name.parse().expect("a session name");
        client.dirs.session(&client.workspace, &name)
    }

    /// Stops every session.
    pub fn stop_all(&self) {
        let listed = self.run(["ls", "--all", "--json"]);
        let Ok(reply) = serde_json::from_str::<Value>(&listed.stdout) else { return };
        for session in reply["data"]["sessions"].as_array().into_iter().flatten() {
            let name = session["name"].as_str().unwrap_or_default();
            let workspace = session["workspace"].as_str().unwrap_or_default();
            self.run(["stop", "-n", name, "--workspace", workspace]);
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        }
        self.stop_all();
        let deadline = Instant::now() + GONE_WITHIN;
        let mut left = self.processes();
        while !left.is_empty() && Instant::now() < deadline {
            pause(Duration::from_millis(5));
            left = self.processes();
        }
        for pid in &left {
            let pid = rustix::process::Pid::from_raw(*pid as i32).expect("a pid is not zero");
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        if !left.is_empty() && !std::thread::panicking() {
            panic!("processes were left behind: {left:?}");
        }
    }
}

impl TestEnv {
    /// The hosts' logs, for a failed test's output.
    fn show_logs(&self) {
        let Ok(workspaces) = std::fs::read_dir(self.state_dir().join("sessions")) else { return };
        let sessions = workspaces.flatten().filter_map(|dir| std::fs::read_dir(dir.path()).ok());
        for session in sessions.flat_map(Iterator::flatten) {
            let log = std::fs::read_to_string(session.path().join("host.log")).unwrap_or_default();
            eprintln!("--- host.log of {}\n{log}", session.path().display());
        }
    }
}
