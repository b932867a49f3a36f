//! Lines of a running command, one by one as they come.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Far beyond what any line takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Lines that something writes.
pub struct ReadLines(Receiver<String>);

impl ReadLines {
    /// Reads from now on, also while nobody asks.
    pub fn of(from: impl Read + Send + 'static) -> ReadLines {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        ReadLines(receive)
    }

    /// Waits for the next line; `None` at the end.
    ///
    /// # Panics
    /// When neither comes within a minute.
    #[track_caller]
    pub fn next_line(&self) -> Option<String> {
        match self.0.recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(error) => panic!("no line: {error}"),
        }
    }
}
