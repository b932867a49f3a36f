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

use rustix::process::Signal;
use stead_launch::sys::{self, OnSignal};

pub use bundle::{ShownBundle, choose};
pub use message::{BadMessage, JupyterMessage, SigningKey};
pub use place::host_input;
pub use quirks::{InterruptWay, KernelQuirks, quirks};
pub use talk::{KernelChannel, KernelOwner, KernelTalk, TalkAction, TalkInput};
pub use transfer::{TransferFile, TransferOrder, TransferTrouble, Transferred};

use kernel::{KernelEnd, StartFailure};
use run::{AdapterLoop, RunEnd};

/// The hidden mode `stead adapter jupyter kernel DIR`, `python FILE` or `connection-file FILE`: speaks for the kernel until the host is gone.
pub fn run_jupyter(target: &str, path: &Path) -> ExitCode {
    let given = std::env::var("STEAD_BRIDGE_FD").ok().and_then(|fd| fd.parse().ok());
    let Some(control) = given.and_then(sys::inherited) else {
        eprintln!("the adapter is started by a session's host");
        return ExitCode::FAILURE;
    };
    // Interrupts come as commands. A signal for the whole group is for others in it.
    sys::on_signal(Signal::INT, OnSignal::Wake);
    sys::on_signal(Signal::PIPE, OnSignal::Ignore);
    let mut adapter = match AdapterLoop::begin(control, target, path) {
        Ok(adapter) => adapter,
        Err(StartFailure::HostGone) => return ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    let first = adapter.take_first();
    match adapter.run(first) {
        RunEnd::Asked => ExitCode::SUCCESS,
        RunEnd::Kernel(KernelEnd::Exited(status)) => stead_host_side::end_like(status),
        RunEnd::Kernel(KernelEnd::Lost { .. }) => ExitCode::FAILURE,
    }
}
