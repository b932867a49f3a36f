//! What the session tells about itself, whatever its interpreter does.

use stead_launch::tree;
use stead_protocol::{Activity, Status, Usage};

use crate::host::Host;
use crate::state::{Listening, Phase};

/// How many processes in the background are told of by name.
const BACKGROUND_TOLD: usize = 8;

impl Host {
    pub(crate) fn status(&self) -> Status {
        let pid = self.bridge.as_ref().map(stead_interpreter::Bridge::pid);
        let looked = pid.and_then(tree::look);
        let cwd = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
        let found = self.meta.found.clone();
        let waiting_outside = |bridge: &stead_interpreter::Bridge| {
            self.state.running().is_none() && !bridge.stdin_readers(std::process::id()).is_empty()
        };
        Status {
            name: self.meta.name.clone(),
            workspace: self.meta.workspace.clone(),
            language: self.meta.settings.engine.language.clone(),
            version: self.facts.version.clone(),
            interpreter: found.as_ref().map(|found| found.path.clone()).unwrap_or_default(),
            why: found.map(|found| found.reason()).unwrap_or_default(),
            activity: self.activity(),
            paused: self.clock.is_paused() || looked.is_some_and(|process| process.state == b'T'),
            background_waiting: self.bridge.as_ref().is_some_and(waiting_outside),
            generation: self.ledger.generation(),
            pid,
            host_pid: Some(std::process::id()),
            cwd: cwd
                .map(|cwd| cwd.to_string_lossy().into_owned())
                .unwrap_or_else(|| self.meta.settings.place.cwd.clone()),
            started_ms: self.facts.started_ms,
            last_used_ms: self.facts.last_used_ms,
            evals: self.ledger.evals(),
            queued: self.state.queue.iter().map(|eval| eval.seq).collect(),
            usage: usage(),
            background: self.background(pid),
            variables: self.facts.variables,
            sandbox: "off".to_owned(),
            idle_timeout_ms: self.meta.settings.policy.idle_timeout_ms,
            spool_end: self.ledger.end(),
            unrecorded: self.ledger.unsaved().told(),
            // The one who asks is not counted.
            clients: self.connections.len().saturating_sub(1) as u32,
        }
    }

    /// What earlier evals left running, by command line. While an eval runs nobody could tell.
    fn background(&self, interpreter: Option<u32>) -> Vec<String> {
        if !matches!(self.state.phase, Phase::Idle { .. }) {
            return Vec::new();
        }
        let others = tree::descendants(std::process::id()).into_iter();
        others
            .filter(|pid| Some(*pid) != interpreter)
            .filter_map(tree::command_line)
            .take(BACKGROUND_TOLD)
            .collect()
    }

    fn activity(&self) -> Activity {
        let elapsed_ms = self.ledger.began_ms().map_or(0, |began| self.clock.now() - began);
        match &self.state.phase {
            Phase::Starting { .. } => Activity::Starting,
            Phase::Idle { .. } => Activity::Idle,
            Phase::Querying { .. } => Activity::Querying,
            Phase::Running(run) => match &run.listening {
                Listening::Waits { prompt } => {
                    Activity::WaitingInput { eval: run.eval, elapsed_ms, prompt: prompt.clone() }
                }
                listening @ (Listening::No | Listening::May) => Activity::Running {
                    eval: run.eval,
                    elapsed_ms,
                    last_line: self.ledger.last_line(),
                    listens: *listening == Listening::May,
                },
            },
            Phase::Ending { .. } => Activity::Ending,
            Phase::Ended { reason } => Activity::Ended { reason: reason.clone() },
        }
    }
}

/// Processor time of all that lives below the host.
pub(crate) fn cpu_ms(host: u32) -> u64 {
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second();
    let processes = tree::descendants(host).into_iter().filter_map(tree::look);
    processes.map(|process| process.cpu_ticks * tick_ms).sum()
}

/// What everything below the host uses.
fn usage() -> Usage {
    let page = rustix::param::page_size() as u64;
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second();
    let mut usage = Usage::default();
    for process in tree::descendants(std::process::id()).into_iter().filter_map(tree::look) {
        usage.processes += 1;
        usage.memory_bytes += process.resident_pages * page;
        usage.cpu_ms += process.cpu_ticks * tick_ms;
    }
    usage
}
