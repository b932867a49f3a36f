//! The adapter for kernels of a Jupyter Server, Kernel Gateway or Enterprise Gateway (SPEC K-2): a bridge to the host, a
//! client to the server.
//!
//! The conversation with the kernel is that of the jupyter adapter (`KernelTalk`); `link` is the life of the connection, without
//! IO; `frames` is how messages travel; `api` is what the server is asked for; `run` is the loop around them.

mod api;
mod errand;
mod fate;
mod frames;
mod http;
mod left;
mod link;
mod names;
mod run;
mod socket;
mod stream;
mod tls;
mod token;
mod trouble;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use rustix::process::Signal;
use stead_launch::sys::{self, OnSignal};
use stead_protocol::GatewayKernel;
use thiserror::Error;

use left::LeftKernel;
use run::{GatewayLoop, LoopEnd};
use trouble::ServerTrouble;

/// Why there is no kernel to speak to.
#[derive(Debug, Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Server(#[from] ServerTrouble),
    #[error("the session's kernel is reached in a way that this version does not know")]
    Newer,
    #[error("{0}")]
    Io(io::Error),
}

/// The hidden mode `stead adapter gateway KERNEL`, with a `GatewayKernel` as JSON: speaks for that kernel until the host is gone.
pub fn run_gateway(wanted: &str) -> ExitCode {
    let given = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok());
    let Some(control) = given.and_then(sys::inherited) else {
        eprintln!("the adapter is started by a session's host");
        return ExitCode::FAILURE;
    };
    // Interrupts come as commands. A signal for the whole group is for others in it.
    sys::on_signal(Signal::INT, OnSignal::Wake);
    sys::on_signal(Signal::PIPE, OnSignal::Ignore);
    let begun = serde_json::from_str::<GatewayKernel>(wanted)
        .map_err(|_| BeginError::Newer)
        .and_then(|wanted| GatewayLoop::begin(control, &wanted));
    let adapter = match begun {
        Ok(adapter) => adapter,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match adapter.run() {
        LoopEnd::Asked => ExitCode::SUCCESS,
        LoopEnd::Ended { reason } => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
        LoopEnd::Silent { within } => {
            eprintln!("the kernel did not answer in {} s", within.as_secs());
            ExitCode::FAILURE
        }
    }
}

/// The hidden mode `stead adapter gateway-left NOTE`: deletes the kernel that an adapter has noted and could not delete.
pub fn remove_left_kernel(note: &Path) -> ExitCode {
    match LeftKernel::remove(note) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
