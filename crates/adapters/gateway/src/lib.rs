//! The adapter for kernels of a Jupyter Server, Kernel Gateway or Enterprise Gateway (SPEC K-2): a bridge to the host, a
//! client to the server.
//!
//! The conversation with the kernel is that of the jupyter adapter (`KernelTalk`); `link` is the life of the connection, without
//! IO; `frames` is how messages travel; `api` is what the server is asked for; `begin` gets a kernel of it; `run` is the loop
//! around them.

mod api;
mod begin;
mod errand;
mod fate;
mod frames;
#[cfg(test)]
mod golden_tests;
mod http;
mod left;
mod link;
mod names;
mod note;
mod run;
mod socket;
mod stream;
mod tls;
mod token;
mod trace;
mod trouble;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use stead_host_side::HostSide;
use stead_protocol::{GatewayKernel, Obstacle};
use thiserror::Error;

use begin::begin;
use run::{GatewayLoop, LoopEnd};
use trouble::ServerTrouble;

/// Why there is no kernel to speak to.
#[derive(Debug, Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Server(#[from] ServerTrouble),
    #[error("the session's kernel is reached in a way that this version does not know")]
    Newer,
    #[error("the host is gone")]
    HostGone,
    #[error("{0}")]
    Io(io::Error),
}

impl BeginError {
    /// The same for those who give advice.
    fn obstacle(&self) -> Obstacle {
        match self {
            BeginError::Server(trouble) => trouble.obstacle(),
            BeginError::Newer | BeginError::HostGone | BeginError::Io(_) => Obstacle::Other,
        }
    }
}

/// The hidden mode `stead adapter gateway KERNEL`, with a `GatewayKernel` as JSON: speaks for that kernel until the host is gone.
pub fn run_gateway(wanted: &str) -> ExitCode {
    let Some(mut host) = HostSide::inherited() else { return ExitCode::FAILURE };
    let begun = serde_json::from_str::<GatewayKernel>(wanted)
        .map_err(|_| BeginError::Newer)
        .and_then(|wanted| begin(&mut host, &wanted));
    let kernel = match begun {
        Ok(kernel) => kernel,
        Err(BeginError::HostGone) => return ExitCode::FAILURE,
        Err(error) => {
            host.not_ready("gateway", error.to_string(), error.obstacle());
            return ExitCode::FAILURE;
        }
    };
    match GatewayLoop::new(host, kernel).map(GatewayLoop::run) {
        Ok(LoopEnd::Asked) => ExitCode::SUCCESS,
        Ok(LoopEnd::Ended { .. }) | Err(_) => ExitCode::FAILURE,
    }
}

/// The hidden mode `stead adapter gateway-left DIRECTORY`: deletes the kernels that adapters of a session have noted there and could
/// not delete.
pub fn remove_left_kernels(session: &Path) -> ExitCode {
    let errors = left::remove_all(session);
    let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if said.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("{}", said.join("; "));
    ExitCode::FAILURE
}
