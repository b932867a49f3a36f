//! How a process that an adapter started has ended, and what the system says of a failure, in words.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;
use stead_launch::sys;
use stead_protocol::signal_words;

/// How much of what a process writes before it is ready is kept for an error.
const KEPT: usize = 4 << 10;

/// Ends this process the way its child ended, so that the host sees what it would have seen of an interpreter.
pub fn end_like(status: ExitStatus) -> ! {
    let signal = status.signal().and_then(Signal::from_named_raw);
    if let Some(signal) = signal {
        sys::standard_signals();
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}

/// How a process ended, in words.
pub fn ended_how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by {}", signal_words(signal.unwrap_or(0))),
    }
}

/// What the system says of a failure, without the number that only programs need.
pub fn plainly(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "it does not answer in time".to_owned()
        }
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::UnexpectedEof => "it hung up".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}

/// The end of what was written, for an error.
pub fn tail(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(KEPT);
    String::from_utf8_lossy(&bytes[from..]).trim().to_owned()
}
