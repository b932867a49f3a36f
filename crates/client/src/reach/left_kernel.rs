//! Kernels that sessions have left at servers (SPEC K-2): an adapter that was killed could not delete its own.

use std::process::{Command, Stdio};

use stead_protocol::{LEFT_KERNEL, SessionName};

use crate::{Client, ClientError, ConnectionTrouble};

impl Client {
    /// Whether a session has left a kernel at its server.
    pub(crate) fn has_left_kernel(&self, name: &SessionName) -> bool {
        self.dir(name).path().join(LEFT_KERNEL).symlink_metadata().is_ok()
    }

    /// Deletes the kernel that a session without a host has left at its server, if it has; an error if it stays.
    ///
    /// The adapter is started for that, because nothing else speaks HTTP.
    pub(crate) fn remove_left_kernel(&self, name: &SessionName) -> Result<(), ClientError> {
        if !self.has_left_kernel(name) {
            return Ok(());
        }
        let note = self.dir(name).path().join(LEFT_KERNEL);
        let left = |said: String| {
            ClientError::from(ConnectionTrouble::KernelLeft { name: name.clone(), said })
        };
        let program = match &self.program {
            Some(program) => program.clone(),
            None => "/proc/self/exe".into(),
        };
        let done = Command::new(program)
            .args(["adapter", "gateway-left"])
            .arg(&note)
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
