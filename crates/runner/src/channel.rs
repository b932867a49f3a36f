//! The control channel, from the bridge's side (docs/PROTOCOL.md).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{FdFlags, fcntl_setfd};
use stead_protocol::bridge::BridgeEvent;

use crate::command::Place;

/// What the host wants.
#[derive(Debug)]
pub(crate) enum Order {
    /// Where the next eval runs.
    Place(Place),
    Eval {
        id: String,
        code: String,
    },
    Query {
        seq: u64,
    },
    Exit,
    /// Something that is no concern of ours.
    Nothing,
}

pub(crate) struct Channel {
    file: File,
    inbox: Vec<u8>,
}

impl Channel {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
        Ok(Channel { file: File::from(fd), inbox: Vec::new() })
    }

    pub(crate) fn send(&mut self, event: &BridgeEvent) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        if self.file.write_all(&line).is_err() {
            std::process::exit(70);
        }
    }

    /// The next order; `None` once the host is gone.
    pub(crate) fn next(&mut self) -> Option<Order> {
        loop {
            if let Some((words, payload)) = self.take() {
                return Some(understand(&words, payload));
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// Whether an interrupt of this eval has come; it is taken out with all that came before it.
    pub(crate) fn was_interrupted(&mut self, id: &str) -> bool {
        while rustix::io::ioctl_fionread(self.file.as_fd()).is_ok_and(|count| count > 0) {
            if !self.fill() {
                break;
            }
        }
        let word = format!("interrupt {id} 0\n");
        let found = self.inbox.windows(word.len()).position(|window| window == word.as_bytes());
        if let Some(at) = found {
            self.inbox.drain(at..at + word.len());
        }
        found.is_some()
    }

    fn fill(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        loop {
            match self.file.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => {
                    self.inbox.extend_from_slice(&bytes[..count]);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    fn take(&mut self) -> Option<(Vec<String>, Vec<u8>)> {
        let end = self.inbox.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&self.inbox[..end]).into_owned();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let length: usize = words.last().and_then(|word| word.parse().ok()).unwrap_or(0);
        if self.inbox.len() < end + 1 + length {
            return None;
        }
        let payload = self.inbox[end + 1..end + 1 + length].to_vec();
        self.inbox.drain(..end + 1 + length);
        Some((words, payload))
    }
}

fn understand(words: &[String], payload: Vec<u8>) -> Order {
    let word = |at: usize| words.get(at).cloned().unwrap_or_default();
    match word(0).as_str() {
        "place" => Order::Place(Place::decode(&payload)),
        "eval" => Order::Eval { id: word(1), code: String::from_utf8_lossy(&payload).into_owned() },
        "query" | "clear" => Order::Query { seq: word(1).parse().unwrap_or(0) },
        "exit" => Order::Exit,
        _ => Order::Nothing,
    }
}
