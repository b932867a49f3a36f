//! Kernels that sessions have left at servers (SPEC K-2): an adapter that was killed could not delete its own.

use std::process::{Command, Stdio};

use stead_protocol::SessionName;
use stead_spool::retention;

use crate::{Client, ClientError, ConnectionTrouble};

impl Client {
    /// Whether a session has left kernels at servers.
    pub(crate) fn has_left_kernel(&self, name: &SessionName) -> bool {
        retention::has_left_kernel(self.dir(name).path())
    }

    /// Deletes the kernels that a session without a host has left at servers, if it has; an error if one stays.
    ///
    /// The adapter is started for that, because nothing else speaks HTTP.
    pub(crate) fn remove_left_kernel(&self, name: &SessionName) -> Result<(), ClientError> {
        if !self.has_left_kernel(name) {
            return Ok(());
        }
        let left = |said: String| {
            ClientError::from(ConnectionTrouble::KernelLeft { name: name.clone(), said })
        };
        let program = match &self.program {
            Some(program) => program.clone(),
            None => "/proc/self/exe".into(),
        };
        let done = Command::new(program)
            .args(["adapter", "gateway-left"])
            .arg(self.dir(name).path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| left(format!("a kernel at its server ({error})")))?;
        match done.status.success() {
            true => Ok(()),
            false => Err(left(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    }
}
