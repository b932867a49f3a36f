//! The control channel, from the bridge's side (docs/PROTOCOL.md).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{FdFlags, fcntl_setfd};
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, CommandFrame, Commands};

pub(crate) struct HostChannel {
    file: File,
    commands: Commands,
}

impl HostChannel {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(HostChannel { file: File::from(fd), commands: Commands::default() })
    }

    pub(crate) fn send(&mut self, event: &BridgeEvent) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        if self.file.write_all(&line).is_err() {
            std::process::exit(70);
        }
    }

    /// The next command; `None` once the host is gone.
    pub(crate) fn next(&mut self) -> Option<CommandFrame> {
        loop {
            if let Some(frame) = self.commands.next_frame() {
                return Some(frame);
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// Whether an interrupt of this eval has come; the interrupt is taken out, even if other commands came before it.
    pub(crate) fn was_interrupted(&mut self, eval: &EvalId) -> bool {
        while rustix::io::ioctl_fionread(self.file.as_fd()).is_ok_and(|count| count > 0) {
            if !self.fill() {
                break;
            }
        }
        self.commands.take(|command| *command == Command::Interrupt { id: eval })
    }

    /// Reads what there is; whether there was something that makes sense.
    fn fill(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        loop {
            match self.file.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => return self.commands.push(&bytes[..count]).is_ok(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}
