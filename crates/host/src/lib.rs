//! The session host: the process that owns one session and survives every client.
//!
//! One thread, one `poll`, one loop (`run.rs`). This crate is the upper half: state, queue, record, spool, clients. What touches
//! the interpreter is the lower half, `stead-interpreter`: it is given orders and tells what happened (`told.rs`). What can happen
//! to the session is `session::state::Input`; what is done about it is `Action`. Bytes go to the spool; messages carry offsets.

mod attention;
mod clients;
mod host;
mod life;
mod record;
mod requests;
mod run;
mod session;
mod told;

use std::io::{Read, Write};
use std::process::ExitCode;

use stead_interpreter::pause;
use stead_protocol::{FILES_VERSION, HostReady, HostSpec, Refusal, Speaker, Versions, with_causes};

use life::start;

/// The hidden mode `stead host`: reads a `HostSpec` from standard input, answers with one
/// `HostReady` line on standard output and then lives in the background.
pub fn run_host() -> ExitCode {
    start::leave_the_family();
    let started = read_spec().and_then(|spec| start::start(&spec));
    match started {
        Ok(mut session) => {
            answer(&HostReady::Ready { pid: std::process::id() });
            start::leave_the_caller();
            pause::point("ready");
            session.run();
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
