//! The interpreter of sessions that run shell commands (SPEC J-1): a bridge that starts a fresh shell for
//! each eval and waits for that shell alone, so that a server it leaves behind holds up nothing.

mod channel;
mod command;
mod environment;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use channel::HostChannel;
use command::Ended;
use rustix::process::Signal;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::bridge::{BridgeEvent, Command, Done, DoneStatus, VERSION};
use stead_protocol::{Capability, EvalId, ShellPlace};

/// The hidden mode `stead adapter runner SHELL CACHE`: takes commands on the control channel until it closes. What
/// is found out about the environments of projects is kept in the directory `cache`.
pub fn run_runner(shell: &str, cache: Option<PathBuf>) -> ExitCode {
    let given = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok());
    let Some(fd) = given.and_then(sys::inherited) else {
        eprintln!("the runner is started by a session's host");
        return ExitCode::FAILURE;
    };
    let Ok(channel) = HostChannel::new(fd) else { return ExitCode::FAILURE };
    // An interrupt is meant for the command, not for us. An ignored signal would be inherited by it, so a
    // handler is set.
    sys::on_signal(Signal::INT, OnSignal::Wake);
    serve(channel, shell, cache.as_deref());
    ExitCode::SUCCESS
}

/// Says hello and carries out commands until the host is gone or says `exit`.
fn serve(mut channel: HostChannel, shell: &str, cache: Option<&Path>) {
    channel.send(&BridgeEvent::Hello {
        protocol: VERSION,
        language: "shell".to_owned(),
        version: shell.rsplit('/').next().unwrap_or_default().to_owned(),
        executable: shell.to_owned(),
        pid: std::process::id(),
        can: [Capability::GoesOn].into(),
        cannot: Vec::new(),
        channel: None,
    });
    let mut place = None;
    while let Some(frame) = channel.next() {
        match frame.command() {
            Some(Command::Place(next)) => {
                let mut next = next.clone();
                environment::activate(&mut next, cache);
                place = Some(next);
            }
            Some(Command::Eval { id, code }) => run(&mut channel, shell, place.take(), id, code),
            Some(Command::Query { seq, .. } | Command::Clear { seq }) => {
                refuse(&mut channel, seq, "a shell command has no names to look at");
            }
            Some(Command::Copy { seq }) => {
                refuse(&mut channel, seq, "a shell command has no state to copy");
            }
            Some(Command::Work { id, what, .. }) => {
                let message = format!("`{what}` is not possible for shell commands");
                fail(&mut channel, id, "Unsupported", message);
            }
            Some(Command::Pause { seq } | Command::Resume { seq }) => {
                refuse(&mut channel, seq, "processes of shell commands are paused from outside");
            }
            Some(Command::Exit) => break,
            // These commands ask nothing of a runner, and commands of newer hosts are skipped.
            Some(
                Command::Ack
                | Command::Last
                | Command::Interrupt { .. }
                | Command::InterruptQuery
                | Command::Figures,
            )
            | None => {}
        }
    }
}

fn refuse(channel: &mut HostChannel, seq: u64, why: &str) {
    channel.send(&BridgeEvent::Reply { seq, data: None, error: Some(why.to_owned()) });
}

fn run(
    channel: &mut HostChannel,
    shell: &str,
    place: Option<ShellPlace>,
    eval: &EvalId,
    code: &str,
) {
    let ended = command::run(shell, code, place);
    let (status, exit_code) = match ended {
        // The host sends `interrupt` before the signal, so that command is here already if the signal ended
        // the shell, with whatever code. The host knows whether the signal came in time.
        Ok(ended) if channel.was_interrupted(eval) => (DoneStatus::Interrupted, Some(ended.code())),
        Ok(Ended::Code(0)) => (DoneStatus::Ok, Some(0)),
        Ok(ended) => (DoneStatus::Error, Some(ended.code())),
        Err(error) => return fail(channel, eval, "ShellError", error),
    };
    done(channel, eval, status, exit_code);
}

/// Ends an eval with an error.
fn fail(channel: &mut HostChannel, eval: &EvalId, name: &str, message: String) {
    channel.send(&BridgeEvent::Error {
        name: name.to_owned(),
        message,
        traceback: None,
        incomplete: false,
        missing: None,
    });
    done(channel, eval, DoneStatus::Error, None);
}

fn done(channel: &mut HostChannel, eval: &EvalId, status: DoneStatus, exit_code: Option<i32>) {
    channel.send(&BridgeEvent::Done(Done { exit_code, ..Done::new(eval.to_string(), status) }));
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    use serde_json::Value;

    use super::*;

    #[test]
    fn j1_the_golden_transcript_is_what_the_runner_says() {
        let golden = include_str!("../../../../bridges/golden/adapter-runner.jsonl");
        let (mut host, bridge) = UnixStream::pair().unwrap();
        let runner =
            std::thread::spawn(|| serve(HostChannel::new(bridge.into()).unwrap(), "/bin/sh", None));
        let mut says = BufReader::new(host.try_clone().unwrap()).lines();
        for line in golden.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(command) = line["host"].as_str() {
                host.write_all(command.as_bytes()).unwrap();
                continue;
            }
            let said: Value = serde_json::from_str(&says.next().unwrap().unwrap()).unwrap();
            for (name, value) in line["bridge"].as_object().unwrap() {
                assert!(value == "*" || said[name] == *value, "{name}: {said} is not {line}");
            }
        }
        assert!(says.next().is_none());
        runner.join().unwrap();
    }
}
