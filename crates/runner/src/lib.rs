//! The interpreter of sessions that run shell commands (SPEC J-1): a bridge that starts a fresh shell for
//! each eval and waits for that shell alone, so that a server it leaves behind holds up nothing.

mod channel;
mod command;

use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;

use channel::{Channel, Order};
use command::{Ended, Place};
use stead_protocol::bridge::{BridgeEvent, Done, DoneStatus, VERSION};

/// The hidden mode `stead runner SHELL`: takes commands on the control channel until it closes.
pub fn run_runner(shell: &str) -> ExitCode {
    let Some(fd) = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok()) else {
        eprintln!("`stead runner` is started by stead itself");
        return ExitCode::FAILURE;
    };
    // SAFETY: the host gave this descriptor to us alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let Ok(mut channel) = Channel::new(fd) else { return ExitCode::FAILURE };
    // An interrupt is for the command. A handler, and not an ignored signal, since that would be inherited.
    // SAFETY: the handler does nothing.
    unsafe {
        let handler: extern "C" fn(i32) = noop;
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
    }
    channel.send(&BridgeEvent::Hello {
        protocol: VERSION,
        language: "shell".to_owned(),
        version: shell.rsplit('/').next().unwrap_or_default().to_owned(),
        executable: shell.to_owned(),
        pid: std::process::id(),
        can: vec![],
    });
    let mut place = None;
    while let Some(order) = channel.next() {
        match order {
            Order::Place(next) => place = Some(next),
            Order::Eval { id, code } => run(&mut channel, shell, place.take(), &id, &code),
            Order::Query { seq } => channel.send(&BridgeEvent::Reply {
                seq,
                data: None,
                error: Some("a shell command has no names to look at".to_owned()),
            }),
            Order::Exit => break,
            Order::Nothing => {}
        }
    }
    ExitCode::SUCCESS
}

extern "C" fn noop(_: i32) {}

fn run(channel: &mut Channel, shell: &str, place: Option<Place>, id: &str, code: &str) {
    let ended = command::run(shell, code, place);
    let (status, exit_code) = match ended {
        // The word comes before the signal, so it is here if the command ended because of it, with
        // whatever code. Whether the signal came in time the host knows.
        Ok(ended) if channel.was_interrupted(id) => (DoneStatus::Interrupted, Some(ended.code())),
        Ok(Ended::Code(0)) => (DoneStatus::Ok, Some(0)),
        Ok(ended) => (DoneStatus::Error, Some(ended.code())),
        Err(error) => {
            channel.send(&BridgeEvent::Error {
                name: "ShellError".to_owned(),
                message: error,
                traceback: None,
            });
            (DoneStatus::Error, None)
        }
    };
    channel.send(&BridgeEvent::Done(Done {
        eval: id.to_owned(),
        status,
        exit_code,
        changed: None,
        variables: None,
        notice: None,
    }));
}
