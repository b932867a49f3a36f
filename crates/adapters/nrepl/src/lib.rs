//! The adapter for nREPL servers (SPEC K-3): a bridge to the host, a client to the server.
//!
//! `talk` is the conversation, without IO; `bencode` and `message` are how it travels; `server` starts or reaches one; `run` is
//! the loop around them.

mod bencode;
mod edn;
mod message;
mod process;
mod run;
mod server;
mod socket;
mod talk;
mod trace;

use std::process::ExitCode;

use rustix::process::Signal;
use stead_config::CommandTemplate;
use stead_launch::sys::{self, OnSignal};

pub use bencode::{BadBencode, Bencode, BencodeDecoder, MOST_MESSAGE};
pub use message::{NreplMessage, NreplRequest};
pub use talk::{NreplAction, NreplInput, NreplTalk, ServerOwner, SourceFile};

use run::{NreplEnd, NreplLoop};
use server::{ServerEnd, ServerFailure, ServerPlace};

/// The hidden mode `stead adapter nrepl command PROGRAM WORD…`, where words may have places to fill in, or `server HOST:PORT`:
/// speaks for the server until the host is gone.
pub fn run_nrepl(target: &str, words: Vec<String>) -> ExitCode {
    let given = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok());
    let Some(control) = given.and_then(sys::inherited) else {
        eprintln!("the adapter is started by a session's host");
        return ExitCode::FAILURE;
    };
    // Interrupts come as commands. A signal for the whole group is for others in it.
    sys::on_signal(Signal::INT, OnSignal::Wake);
    sys::on_signal(Signal::PIPE, OnSignal::Ignore);
    let place = match (target, words.as_slice()) {
        ("server", [address]) => ServerPlace::Runs { address: address.clone() },
        ("command", _) => match CommandTemplate::of_words(words) {
            Ok(template) => ServerPlace::Started { template },
            Err(error) => {
                eprintln!("the session's command cannot be used: {error}");
                return ExitCode::FAILURE;
            }
        },
        _ => {
            eprintln!("the adapter is started by a session's host");
            return ExitCode::FAILURE;
        }
    };
    match NreplLoop::begin(control, &place) {
        Ok((adapter, first)) => match adapter.run(first) {
            NreplEnd::Asked => ExitCode::SUCCESS,
            NreplEnd::Server(ServerEnd::Exited(status)) => stead_host_side::end_like(status),
            NreplEnd::Server(ServerEnd::Lost { .. }) => ExitCode::FAILURE,
        },
        Err(ServerFailure::HostGone) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
