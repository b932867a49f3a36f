//! The session host: the process that owns one session and survives every client.
//!
//! One thread, one `poll`, one loop. What can happen to the session is `state::Input`; what is
//! done about it is `state::Action`. Bytes go to the spool; messages carry offsets.

mod actions;
mod background_input;
mod bridge_events;
mod clients;
mod clock;
mod compiled;
mod disk;
mod displays;
mod editor;
mod ending;
mod guard;
mod host;
mod ledger;
mod listening;
mod nudge;
mod pace;
mod pause;
mod probe;
mod prompt;
mod requests;
mod start;
mod state;
#[cfg(test)]
mod state_tests;
mod status;
mod step;
mod unsaved;

use std::io::{Read, Write};
use std::process::ExitCode;

use stead_protocol::{FILES_VERSION, HostReady, HostSpec, Refusal, Speaker, Versions};

/// The hidden mode `stead host`: reads a `HostSpec` from standard input, answers with one
/// `HostReady` line on standard output and then lives in the background.
pub fn run_host() -> ExitCode {
    start::leave_the_family();
    let started = read_spec().and_then(|spec| start::start(&spec));
    match started {
        Ok(mut host) => {
            answer(&HostReady::Ready { pid: std::process::id() });
            start::leave_the_caller();
            pause::point("ready");
            host.run();
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            answer(&HostReady::Failed(refusal.into()));
            ExitCode::SUCCESS
        }
    }
}

fn read_spec() -> Result<HostSpec, Refusal> {
    let bad = |problem: String| Refusal::NotARequest { problem };
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| bad(format!("could not read the host's specification: {error}")))?;
    let spec: HostSpec = serde_json::from_str(&text)
        .map_err(|error| bad(format!("a host is started by its client: {error}")))?;
    let theirs = Versions::of_peer(spec.protocol, spec.versions);
    let client = Speaker { program: spec.program.clone(), versions: theirs };
    if Versions::OURS.common(theirs).is_none() {
        return Err(Refusal::OtherVersion { host: Speaker::this(), client });
    }
    if spec.meta.version > FILES_VERSION {
        let (files, reads) = (spec.meta.version, FILES_VERSION);
        return Err(Refusal::NewerFiles { files, reads, client });
    }
    Ok(spec)
}

fn answer(ready: &HostReady) {
    if let Ok(mut line) = serde_json::to_vec(ready) {
        line.push(b'\n');
        // A client that is gone does not matter: the session lives for the next one.
        let _ = std::io::stdout().write_all(&line);
        let _ = std::io::stdout().flush();
    }
}

/// An error with its causes, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
