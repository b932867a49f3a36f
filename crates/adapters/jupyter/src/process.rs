//! The kernel's own process: how it is started, interrupted and ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use stead_host_side::AdapterChild;
use stead_launch::family::Family;
use stead_launch::sys;
use stead_launch::{KernelSpec, tree};

/// A kernel that runs as our child.
pub(crate) struct KernelProcess {
    pub(crate) child: AdapterChild,
    /// The processes that are the kernel itself, and take its interrupts; known once it answers.
    core: Vec<tree::Process>,
}

impl KernelProcess {
    pub(crate) fn start(spec: &KernelSpec, connection_file: &Path) -> io::Result<KernelProcess> {
        let mut command = Command::new(program(spec));
        command.args(spec.argv[1..].iter().map(|word| filled(word, spec, connection_file)));
        if let Some(path) = path_of(spec) {
            command.env("PATH", path);
        }
        for (name, value) in &spec.env {
            command.env(name, with_variables(value));
        }
        command.env("JPY_PARENT_PID", std::process::id().to_string());
        Ok(KernelProcess { child: AdapterChild::start(command)?, core: Vec::new() })
    }

    /// The kernel answers. The started process may be a script or a launcher that waits for the kernel and
    /// would die of its interrupts, so interrupts go to the process that listens, or, where that is unknown,
    /// to the whole group, as Jupyter sends them. Processes that evals start later get none of these.
    pub(crate) fn answers(&mut self, listens: Option<u32>) {
        let started = self.child.id();
        let mut all = Family::below(started, None).members();
        all.push(started);
        let in_group = |pid: &u32| tree::look(*pid).is_some_and(|process| process.group == started);
        let core = match listens.filter(|pid| all.contains(pid)) {
            Some(pid) => vec![pid],
            None => all.into_iter().filter(in_group).collect(),
        };
        self.core = core.into_iter().filter_map(tree::look).collect();
    }

    /// Processes of the kernel that are still there.
    fn core(&self) -> impl Iterator<Item = u32> {
        let is_same = |known: &&tree::Process| {
            tree::look(known.pid).is_some_and(|now| now.start_ticks == known.start_ticks)
        };
        self.core.iter().filter(is_same).map(|process| process.pid)
    }

    /// Sends SIGINT. C's `system()` ignores SIGINT while its command runs, and an ignored signal is lost, so
    /// SIGURG is sent then: our helper in Python kernels takes it, and it does nothing to others. R
    /// interrupts itself when its command was interrupted.
    pub(crate) fn interrupt(&self) {
        for pid in self.core() {
            let deaf = tree::ignores(pid, Signal::INT);
            sys::signal_main_thread(pid, if deaf { Signal::URG } else { Signal::INT });
        }
    }

    pub(crate) fn interrupt_children(&self) {
        for child in self.core().flat_map(tree::children) {
            tree::signal(child, Signal::INT);
        }
    }

    /// Kills the kernel and its group.
    pub(crate) fn kill(&mut self) {
        if self.child.status().is_none() {
            self.child.kill();
        }
    }
}

/// The directory of programs that the kernel was installed with comes first: many specs name a plain `python3`.
fn path_of(spec: &KernelSpec) -> Option<OsString> {
    let bin = spec.prefix()?.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = [bin].into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(dirs).ok()
}

/// `Command` looks for a program on the PATH of this process, not on the one that it is given.
fn program(spec: &KernelSpec) -> OsString {
    let named = &spec.argv[0];
    if named.contains('/') {
        return named.into();
    }
    let path = path_of(spec).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(named)).find(|file| file.is_file());
    found.map_or_else(|| named.into(), Into::into)
}

fn filled(word: &str, spec: &KernelSpec, connection_file: &Path) -> OsString {
    let prefix = spec.prefix().unwrap_or(Path::new("")).to_string_lossy();
    word.replace("{connection_file}", &connection_file.to_string_lossy())
        .replace("{resource_dir}", &spec.dir.to_string_lossy())
        .replace("{prefix}", &prefix)
        .into()
}

/// The text with the values of `${NAME}`; what is not set stays as it is written.
fn with_variables(text: &str) -> OsString {
    let mut out = OsString::new();
    let mut rest = text;
    while let Some(begin) = rest.find("${") {
        let Some(end) = rest[begin..].find('}') else { break };
        let name = &rest[begin + 2..begin + end];
        out.push(&rest[..begin]);
        match std::env::var_os(name) {
            Some(value) => out.push(value),
            None => out.push(OsStr::new(&rest[begin..=begin + end])),
        }
        rest = &rest[begin + end + 1..];
    }
    out.push(rest);
    out
}
