//! The first words: who the kernel is, and what a session in it can and cannot do.

use serde_json::Value;
use stead_protocol::bridge::BridgeEvent;
use stead_protocol::{Capabilities, Capability};

use super::{KernelFacts, KernelOwner, KernelTalk, TalkAction, TalkPhase};
use crate::quirks::{self, InterruptWay, KernelQuirks};

impl KernelTalk {
    /// The kernel has answered and is heard: the host may send code.
    pub(super) fn greeted(&mut self, info: &Value, out: &mut Vec<TalkAction>) {
        let (by_message, is_child) = match self.owner {
            KernelOwner::Ours { by_message } => (by_message, true),
            KernelOwner::Others => (false, false),
        };
        let spoken = &info["language_info"];
        let language = spoken["name"].as_str().unwrap_or("unknown").to_ascii_lowercase();
        let quirks = quirks::quirks(info, by_message, is_child);
        // Python's IPython and xeus both answer expressions; `ipython` is what older kernels say.
        let python = matches!(language.as_str(), "python" | "ipython");
        let mut can: Capabilities = [
            Capability::Inspect,
            Capability::Complete,
            Capability::Interrupts,
            Capability::OwnProcesses,
        ]
        .into();
        if !quirks.no_stdin {
            can.insert(Capability::OwnWaits);
        }
        if python {
            can.insert(Capability::Clear);
            can.insert(Capability::Vars);
            can.insert(Capability::Changed);
            can.insert(Capability::Save);
            can.insert(Capability::Load);
            // Requests are sent in order, so the next code finds the helper in the kernel.
            let install = crate::python::silent(&crate::python::install(&self.session));
            self.ask_shell("execute_request", install, out);
        }
        if !is_child {
            // The kernel's processes are not below us, so only this bridge can say that they cannot be paused.
            can.insert(Capability::Pauses);
        }
        let implementation = info["implementation"].as_str().unwrap_or_default();
        let release = info["implementation_version"].as_str().unwrap_or_default();
        let version = spoken["version"].as_str().unwrap_or_default();
        let words = |words: [&str; 2]| words.join(" ").trim().to_owned();
        let parts = [words([&language, version]), words([implementation, release])];
        let version = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
        out.push(TalkAction::Tell(BridgeEvent::Hello {
            protocol: stead_protocol::bridge::VERSION,
            language: language.clone(),
            version: version.join(", "),
            executable: self.executable.clone(),
            pid: std::process::id(),
            cannot: cannot(&can, &quirks, is_child),
            can,
            channel: None,
        }));
        self.facts = Some(KernelFacts { quirks, python, tells_names: false, language });
        self.phase = TalkPhase::Idle;
    }
}

/// What a session of this kernel cannot do, for `status`.
fn cannot(can: &Capabilities, quirks: &KernelQuirks, is_child: bool) -> Vec<String> {
    let mut list = Vec::new();
    if !can.has(&Capability::Vars) {
        list.push("tell or clear names: the protocol has no question for them");
    }
    match can.has(&Capability::Save) {
        true => list.push("go back: a kernel cannot be copied while it runs"),
        false => list.push("save, load or go back: the protocol has no way to keep state"),
    }
    match quirks.interrupt {
        InterruptWay::Never => {
            list.push("interrupt: the kernel dies of a signal and ignores the message")
        }
        InterruptWay::Message if !is_child => {
            list.push("pause, or kill what the code has started: the kernel runs elsewhere");
        }
        InterruptWay::Message | InterruptWay::Signal | InterruptWay::Children => {}
    }
    if quirks.no_stdin {
        list.push("give input: code that reads it hangs in this kernel");
    } else {
        list.push("see a child that reads standard input: the kernel's is empty");
    }
    if quirks.loses_output {
        list.push("be sure of much output: the kernel throws away what is not read in time");
    }
    if quirks.idle_early {
        list.push(
            "keep much output of an eval together: the kernel is done before it has published it",
        );
    }
    list.push("keep both streams in exact order where the kernel does not");
    list.into_iter().map(str::to_owned).collect()
}
