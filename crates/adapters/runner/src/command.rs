//! One shell command.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Signal;
use stead_launch::cores;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::ShellPlace;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// The exit code as shells give it: 128 and the number of the signal.
    pub(crate) fn code(self) -> i32 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(signal) => 128 + signal,
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or(0)),
        }
    }
}

/// Runs a command in a shell of its own, with our standard streams, and waits for that shell.
pub(crate) fn run(shell: &str, code: &str, place: Option<ShellPlace>) -> Result<Ended, String> {
    if code.contains('\0') {
        return Err("the command contains a zero byte".to_owned());
    }
    let script =
        in_memory(shell, code).map_err(|error| format!("could not hold the command: {error}"))?;
    let questions = may_ask(shell, code)
        .then(|| in_memory(shell, &questions()))
        .transpose()
        .map_err(|error| format!("could not hold what `read` asks: {error}"))?;
    let mut command = Command::new(shell);
    command.arg("-c").arg(boot(
        shell,
        script.as_raw_fd(),
        questions.as_ref().map(AsRawFd::as_raw_fd),
    ));
    command.env_remove("STEAD_BRIDGE_FD");
    if let Some(place) = &place {
        command.env_clear();
        command.envs(place.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&place.cwd);
        let is_set =
            |name: &str| place.env.iter().any(|(known, value)| known == name && !value.is_empty());
        command.envs(stead_editor::environment(is_set));
    }
    // The host knows the session's processes by these variables.
    for name in ["STEAD_SESSION", "STEAD_SESSION_DIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    give_streams(&mut command);
    let given = [Some(&script), questions.as_ref()].map(|fd| fd.map(AsRawFd::as_raw_fd));
    sys::before_exec(&mut command, move || {
        for fd in given.into_iter().flatten() {
            sys::keep_at_exec(fd)?;
        }
        sys::on_signal(Signal::PIPE, OnSignal::Default);
        cores::restore();
        Ok(())
    });
    let mut child = command.spawn().map_err(|error| match &place {
        Some(place) if !std::path::Path::new(&place.cwd).is_dir() => {
            format!("the directory `{}` does not exist", place.cwd)
        }
        _ => format!("could not start `{shell}`: {error}"),
    })?;
    drop((script, questions));
    child.wait().map(Ended::from).map_err(|error| format!("could not wait for `{shell}`: {error}"))
}

/// Gives the command our streams as files that it alone has open. Whether a pipe blocks is a property of the
/// open file, and a program of an earlier command (Node does so) may have left it non-blocking.
fn give_streams(command: &mut Command) {
    if let Ok(stdin) = File::open("/proc/self/fd/0") {
        command.stdin(stdin);
    }
    let writable = |fd: u32| OpenOptions::new().write(true).open(format!("/proc/self/fd/{fd}"));
    if let Ok(stdout) = writable(1) {
        command.stdout(stdout);
    }
    if let Ok(stderr) = writable(2) {
        command.stderr(stderr);
    }
}

/// What a shell is told to do. Everyone can read its command line, so the command itself is not in it (SPEC
/// the shell reads the command from a descriptor. Bash takes the text as if it had been an argument,
/// and has closed the descriptor by the time the command runs; other shells know no way to read a file whole
/// without another program.
fn boot(shell: &str, script: RawFd, questions: Option<RawFd>) -> String {
    let first = questions.map_or_else(String::new, |fd| format!(". /dev/fd/{fd}; exec {fd}<&-; "));
    if is_bash(shell) {
        format!("{first}eval \"$(</dev/fd/{script})\" {script}<&-")
    } else {
        format!(". /dev/fd/{script}")
    }
}

/// Whether the command, or a file that it sources, may call `read -p`, whose question Bash shows to a terminal only.
fn may_ask(shell: &str, code: &str) -> bool {
    is_bash(shell) && ["read", "source ", ". "].iter().any(|word| code.contains(word))
}

/// A `read` that shows its question if it reads from our own stdin.
fn questions() -> String {
    let stdin = format!("__stead_stdin=/proc/{}/fd/0\n", std::process::id());
    stdin + stead_bridges::BASH_READ
}

fn is_bash(shell: &str) -> bool {
    shell.rsplit('/').next().is_some_and(|name| name == "bash")
}

/// The command as a file in memory, which has no path.
fn in_memory(shell: &str, code: &str) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("command", MemfdFlags::CLOEXEC)?);
    file.write_all(code.as_bytes())?;
    // Bash drops newlines at the end of the text, but a newline behind a backslash has a meaning.
    if is_bash(shell) && code.ends_with("\\\n") {
        file.write_all(b"\n#")?;
    }
    Ok(OwnedFd::from(file))
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
