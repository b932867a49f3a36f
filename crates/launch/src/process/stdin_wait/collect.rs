//! Reads all that a decision needs of the session's processes.

use std::collections::{HashMap, HashSet};

use rustix::process::Signal;

use super::calls::{SystemCall, Which};
use super::descriptors::{Kind, held, kind, sources};
use super::facts::{End, FileCall, Scene, SeenProcess, Thread, ThreadDoing, WaitSource};
use super::threads::{ThreadCall, WatchedFile, is_limited, is_still, now, state, watched};
use super::{InputSession, PipeId};
use crate::process::tree;

/// What the processes do; `pids` are all members of the family.
pub(super) fn scene(
    session: InputSession<'_>,
    pids: &[u32],
    is_elder: impl Fn(u32) -> bool,
) -> Scene {
    let InputSession { family, interpreter, pipe, no_timers } = session;
    let mut scene = Scene { root: family.root(), interpreter, no_timers, ..Scene::default() };
    for &pid in pids {
        let Some(looked) = tree::look(pid) else { continue };
        let mut threads = Vec::new();
        for tid in tree::threads(pid) {
            // Only the interpreter has threads of earlier and of later evals in one process.
            let elder = pid == interpreter && is_elder(tid);
            threads.push(Thread { tid, elder, doing: doing(pid, tid, pipe) });
        }
        let polls = threads.iter().any(|thread| {
            matches!(thread.doing, ThreadDoing::Files { call: FileCall::Poll { .. }, .. })
        });
        let catches_sigchld = polls && tree::catches(pid, Signal::CHILD);
        let (parent, start_ticks) = (looked.parent, looked.start_ticks);
        let process = SeenProcess { parent, start_ticks, catches_sigchld, threads };
        scene.processes.insert(pid, process);
    }
    scene.holders = holders(&scene);
    scene
}

fn doing(pid: u32, tid: u32, pipe: PipeId) -> ThreadDoing {
    match state(pid, tid) {
        None => return ThreadDoing::Still,
        Some(state) if is_still(state) => return ThreadDoing::Still,
        Some(b'S') => {}
        // The thread runs, or waits for a disk.
        Some(_) => return ThreadDoing::Works,
    }
    let ThreadCall::In(call, abi) = now(pid, tid) else { return ThreadDoing::Works };
    let (kind, watches) = match call {
        SystemCall::Read { fd } => {
            (FileCall::Read, Some(vec![WatchedFile { fd, input: true, output: false }]))
        }
        SystemCall::Poll { timeout, .. } | SystemCall::Select { timeout, .. } => {
            (FileCall::Poll { limited: is_limited(pid, timeout) }, watched(pid, call, abi))
        }
        SystemCall::Epoll { fd, timeout } => {
            let watch = WatchedFile { fd, input: true, output: false };
            (FileCall::Poll { limited: is_limited(pid, timeout) }, Some(vec![watch]))
        }
        SystemCall::Futex { timed } => return ThreadDoing::Locked { timed },
        SystemCall::Children(which) => return children(pid, which),
        SystemCall::Signals => return ThreadDoing::Signals,
        SystemCall::Sleep | SystemCall::Restarted { .. } | SystemCall::Other => {
            return ThreadDoing::Works;
        }
    };
    let Some(watches) = watches else { return ThreadDoing::Works };
    let mut files = Vec::new();
    for watch in watches {
        sources(pid, watch, pipe, &mut files, 0);
    }
    ThreadDoing::Files { call: kind, files }
}

fn children(pid: u32, which: Which) -> ThreadDoing {
    match which {
        Which::Any => ThreadDoing::Children(None),
        Which::One(child) => ThreadDoing::Children(Some(child)),
        Which::Pidfd(fd) => match kind(pid, fd) {
            Some(Kind::Process(Some(child))) => ThreadDoing::Children(Some(child)),
            _ => ThreadDoing::Works,
        },
    }
}

/// The processes that hold ends which a thread waits for. All descriptors have to be looked at for that, so
/// it is done only if a thread waits for such an end.
fn holders(scene: &Scene) -> HashMap<End, Vec<u32>> {
    let threads = scene.processes.values().flat_map(|process| &process.threads);
    let files = threads.filter_map(|thread| match &thread.doing {
        ThreadDoing::Files { files, .. } => Some(files),
        _ => None,
    });
    let end =
        |source: &WaitSource| if let WaitSource::Holders(end) = source { Some(*end) } else { None };
    let wanted: HashSet<End> = files.flatten().filter_map(end).collect();
    let mut holders: HashMap<End, Vec<u32>> = HashMap::new();
    if wanted.is_empty() {
        return holders;
    }
    for pid in scene.processes.keys().copied().chain(scene.root) {
        held(pid, &|end| wanted.contains(&end), |end| {
            let holders = holders.entry(end).or_default();
            if !holders.contains(&pid) {
                holders.push(pid);
            }
        });
    }
    holders
}
