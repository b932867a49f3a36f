//! Memory, processor time and command lines of the session's processes.

use stead_launch::family::Family;
use stead_launch::tree;
use stead_protocol::bridge::Command;
use stead_protocol::{Capability, Usage};

use super::Near;
use super::interpreter::Interpreter;
use super::life::Life;
use crate::told::{CopiesTake, Figures};

/// How many background processes are listed.
const BACKGROUND_TOLD: usize = 8;

impl Near {
    pub(super) fn figures(&self) -> Figures {
        let interpreter = match &self.life {
            Life::Lives(interpreter) => Some(interpreter),
            Life::None | Life::Looks(_) | Life::Prepared(_) | Life::Sweeps(_) | Life::Wakes(_) => {
                None
            }
        };
        let elsewhere = interpreter.map(|interpreter| interpreter.elsewhere).unwrap_or_default();
        let pid = interpreter.map(|interpreter| interpreter.core());
        let idle = interpreter.filter(|interpreter| interpreter.run.is_none());
        let cwd = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
        let members = match &self.life {
            // Processes that a sweep is killing are soon gone, and a look at each of hundreds would delay the answer.
            Life::Sweeps(_) => Vec::new(),
            _ => self.family().members(),
        };
        let is_process = |member: &u32| {
            interpreter.is_none_or(|interpreter| !interpreter.is_becoming_copy(*member))
        };
        let members: Vec<u32> = members.into_iter().filter(is_process).collect();
        let wrappers = idle.map(|interpreter| interpreter.wrappers()).unwrap_or_default();
        let background = match idle {
            // While an eval runs, its processes cannot be told from those of earlier evals.
            None => Vec::new(),
            Some(interpreter) => members
                .iter()
                .filter(|member| Some(**member) != pid && !interpreter.own.contains(member))
                .filter(|member| !wrappers.contains(member))
                .filter_map(|member| tree::command_line(*member))
                .take(BACKGROUND_TOLD)
                .collect(),
        };
        let copies = interpreter.map(|interpreter| interpreter.copies_take()).unwrap_or_default();
        // Pages that a copy shares with the interpreter count once.
        let memory_bytes = copies.bytes.unwrap_or_default();
        let of_copies = Usage { memory_bytes, ..Usage::default() };
        Figures {
            pid,
            cwd: cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            stopped: self.clock.is_paused() || self.stands(),
            usage: sum(sum(usage(&members), elsewhere), of_copies),
            background,
            reads: idle.is_some_and(|interpreter| !interpreter.stdin_readers().is_empty()),
            copies,
        }
    }
}

impl Interpreter {
    fn copies_take(&self) -> CopiesTake {
        let pids = self.copies.pids();
        let bytes = match pids.is_empty() {
            true => None,
            false => stead_launch::memory::taken_by_copies(self.core(), &pids),
        };
        CopiesTake { count: pids.len() as u64, bytes }
    }

    /// Asks a bridge whose code runs elsewhere for its figures there, for the next time they are wanted.
    pub(super) fn ask_figures(&mut self) {
        if self.can(Capability::Figures) {
            self.send(&Command::Figures.encode());
        }
    }
}

/// Both together. A bridge may tell any number of what is elsewhere.
fn sum(here: Usage, elsewhere: Usage) -> Usage {
    Usage {
        processes: here.processes.saturating_add(elsewhere.processes),
        memory_bytes: here.memory_bytes.saturating_add(elsewhere.memory_bytes),
        cpu_ms: here.cpu_ms.saturating_add(elsewhere.cpu_ms),
    }
}

/// Processor time of all live processes.
pub(super) fn cpu_ms(family: &Family) -> u64 {
    usage(&family.members()).cpu_ms
}

fn usage(members: &[u32]) -> Usage {
    let page = rustix::param::page_size() as u64;
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second();
    let mut usage = Usage::default();
    for process in members.iter().copied().filter_map(tree::look) {
        usage.processes += 1;
        usage.memory_bytes += process.resident_pages * page;
        usage.cpu_ms += process.cpu_ticks * tick_ms;
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h2_figures_of_a_bridge_may_be_any_numbers() {
        let most = Usage { processes: u32::MAX, memory_bytes: u64::MAX, cpu_ms: u64::MAX };
        let some = Usage { processes: 1, memory_bytes: 2, cpu_ms: 3 };
        assert_eq!(sum(some, most), most);
        assert_eq!(sum(some, Usage::default()), some);
    }
}
