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

use stead_config::CommandTemplate;
use stead_host_side::HostSide;

pub use bencode::{BadBencode, Bencode, BencodeDecoder, MOST_MESSAGE};
pub use message::{NreplMessage, NreplRequest};
pub use talk::{NreplAction, NreplInput, NreplTalk, ServerOwner, SourceFile};

use run::{NreplEnd, NreplLoop};
use server::{NreplServer, ServerEnd, ServerFailure, ServerPlace};

/// The hidden mode `stead adapter nrepl command PROGRAM WORD…`, where words may have places to fill in, or `server HOST:PORT`:
/// speaks for the server until the host is gone.
pub fn run_nrepl(target: &str, words: Vec<String>) -> ExitCode {
    let Some(mut host) = HostSide::inherited() else { return ExitCode::FAILURE };
    let place = match (target, words.as_slice()) {
        ("server", [address]) => Ok(ServerPlace::Runs { address: address.clone() }),
        _ => CommandTemplate::of_words(words)
            .map(|template| ServerPlace::Started { template })
            .map_err(ServerFailure::Command),
    };
    match place.and_then(|place| NreplServer::begin(&place, &mut host)) {
        Ok((server, talk, first)) => match NreplLoop::new(host, server, talk).run(first) {
            NreplEnd::Asked => ExitCode::SUCCESS,
            NreplEnd::Server(ServerEnd::Exited(status)) => stead_host_side::end_like(status),
            NreplEnd::Server(ServerEnd::Lost { .. }) => ExitCode::FAILURE,
        },
        Err(ServerFailure::HostGone) => ExitCode::FAILURE,
        Err(failure) => {
            host.not_ready("nrepl", failure.to_string(), failure.obstacle());
            ExitCode::FAILURE
        }
    }
}
