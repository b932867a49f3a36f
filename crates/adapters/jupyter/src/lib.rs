//! The adapter for Jupyter kernels (SPEC K-1): a bridge to the host, a client to the kernel.
//!
//! `talk` is the conversation, without IO; `zmtp` and `message` are how it travels; `kernel` starts or reaches one; `run` is
//! the loop around them.

mod bundle;
mod connection;
mod kernel;
mod message;
mod place;
mod process;
mod python;
mod quirks;
mod run;
mod runtime;
mod socket;
mod sockets;
mod talk;
mod transfer;
mod zmtp;

use std::path::Path;
use std::process::ExitCode;

use stead_host_side::HostSide;

pub use bundle::{ShownBundle, choose};
pub use message::{BadMessage, JupyterMessage, SigningKey, lenient_json};
pub use place::host_input;
pub use quirks::{InterruptWay, KernelQuirks, quirks};
pub use talk::{KernelChannel, KernelOwner, KernelTalk, TalkAction, TalkInput};
pub use transfer::{TransferFile, TransferOrder, TransferTrouble, Transferred};

use kernel::{Kernel, KernelEnd, StartFailure};
use run::{AdapterLoop, RunEnd};

/// The hidden mode `stead adapter jupyter kernel DIR`, `python FILE` or `connection-file FILE`: speaks for the kernel until the host is gone.
pub fn run_jupyter(target: &str, path: &Path) -> ExitCode {
    let Some(mut host) = HostSide::inherited() else { return ExitCode::FAILURE };
    let (kernel, talk) = match Kernel::begin(target, path, &host) {
        Ok(begun) => begun,
        Err(StartFailure::HostGone) => return ExitCode::FAILURE,
        Err(failure) => {
            host.not_ready("jupyter", failure.to_string(), failure.obstacle());
            return ExitCode::FAILURE;
        }
    };
    match AdapterLoop::new(host, kernel, talk).run() {
        RunEnd::Asked => ExitCode::SUCCESS,
        RunEnd::Kernel(KernelEnd::Exited(status)) => stead_host_side::end_like(status),
        RunEnd::Kernel(KernelEnd::Lost { .. }) => ExitCode::FAILURE,
    }
}
