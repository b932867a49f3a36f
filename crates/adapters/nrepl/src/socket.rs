//! The connection to a server. Nothing here blocks but the beginning.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use thiserror::Error;

use crate::bencode::{BadBencode, BencodeDecoder};
use crate::message::{NreplMessage, NreplRequest};

/// A machine that is gone is noticed after this time and three questions without an answer.
const QUIET: Duration = Duration::from_secs(15);
const ASKED_EVERY: Duration = Duration::from_secs(5);
/// How many bytes are read before something else has its turn.
const AT_A_TIME: usize = 1 << 20;

/// Why nothing comes from the server any more.
#[derive(Debug, Error)]
pub(crate) enum SocketEnd {
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection failed: {0}")]
    Io(io::Error),
    #[error("the server does not keep to the protocol: {0}")]
    Garbage(#[from] BadBencode),
}

/// A connection.
pub(crate) struct NreplSocket {
    stream: TcpStream,
    decoder: BencodeDecoder,
    unsent: VecDeque<u8>,
}

impl NreplSocket {
    pub(crate) fn connect(address: &SocketAddr, within: Duration) -> io::Result<NreplSocket> {
        let stream = TcpStream::connect_timeout(address, within)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        // If the system refuses one of these options, a dead machine is only noticed later.
        let _ = sockopt::set_socket_keepalive(&stream, true);
        let _ = sockopt::set_tcp_keepidle(&stream, QUIET);
        let _ = sockopt::set_tcp_keepintvl(&stream, ASKED_EVERY);
        let _ = sockopt::set_tcp_keepcnt(&stream, 3);
        let _ = sockopt::set_tcp_user_timeout(&stream, 30_000);
        Ok(NreplSocket { stream, decoder: BencodeDecoder::default(), unsent: VecDeque::new() })
    }

    pub(crate) fn send(&mut self, request: &NreplRequest) -> Result<(), SocketEnd> {
        let mut bytes = Vec::new();
        request.write(&mut bytes);
        self.unsent.extend(bytes);
        self.flush()
    }

    /// Sends what can be sent now.
    pub(crate) fn flush(&mut self) -> Result<(), SocketEnd> {
        while !self.unsent.is_empty() {
            match self.stream.write(self.unsent.as_slices().0) {
                Ok(0) => return Err(SocketEnd::Closed),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ended(error)),
            }
        }
        Ok(())
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Has incoming bytes acknowledged at once: servers send a reply in two pieces, and send the second only
    /// after that.
    pub(crate) fn hurry(&self) {
        let _ = sockopt::set_tcp_quickack(&self.stream, true);
    }

    /// Ends the connection so that the server is not cut off in the middle of a word: a connection that is
    /// closed with bytes unread is reset, and some servers die of a reset.
    pub(crate) fn part(&mut self, within: Duration) {
        let until = Instant::now() + within;
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut bytes = vec![0; 64 << 10];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_duration_since(Instant::now());
                    let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
                    let polled = poll(&mut fds, Timespec::try_from(left).ok().as_ref());
                    if !matches!(polled, Ok(1..)) {
                        return;
                    }
                }
                Err(_) => return,
            }
            if until <= Instant::now() {
                return;
            }
        }
    }

    /// Reads what has come. Messages that came before an end are there all the same.
    pub(crate) fn read(&mut self, messages: &mut VecDeque<NreplMessage>) -> Result<(), SocketEnd> {
        let mut bytes = vec![0; 64 << 10];
        let mut count = 0;
        while count < AT_A_TIME {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(SocketEnd::Closed),
                Ok(read) => {
                    count += read;
                    self.decoder.push(&bytes[..read]);
                    while let Some(message) = self.decoder.next_message()? {
                        messages.push_back(NreplMessage(message));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ended(error)),
            }
        }
        Ok(())
    }
}

fn ended(error: io::Error) -> SocketEnd {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => SocketEnd::Closed,
        _ => SocketEnd::Io(error),
    }
}

impl AsFd for NreplSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
