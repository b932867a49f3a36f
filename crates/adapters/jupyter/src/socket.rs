//! One socket of a kernel: a stream that does not block, with ZMTP on it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use thiserror::Error;

use crate::connection::KernelAddress;
use crate::zmtp::{SocketKind, ZmtpError, ZmtpWire};

/// A machine that does not answer is given up after this time.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// A large buffer, since a kernel may publish faster than it is read, and throws away messages that do not fit.
const RECEIVE_BUFFER: usize = 4 << 20;
/// How much is read at once.
const PIECE: usize = 256 << 10;
/// A kernel that publishes without end must not keep us from everything else.
const MOST_AT_ONCE: usize = 8 << 20;

/// Why a socket is of no more use.
#[derive(Debug, Error)]
pub(crate) enum KernelSocketError {
    #[error("the kernel closed the connection")]
    Closed,
    #[error("the connection to the kernel failed: {0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Zmtp(#[from] ZmtpError),
}

#[derive(Debug)]
enum KernelStream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A socket that is connected.
#[derive(Debug)]
pub(crate) struct KernelSocket {
    stream: KernelStream,
    wire: ZmtpWire,
    /// The buffer for reading. It is made once, because so large a buffer comes from the system and goes back
    /// to it each time.
    piece: Vec<u8>,
}

impl KernelSocket {
    /// Connects to a kernel; an error if nobody listens there (yet).
    pub(crate) fn connect(
        address: &KernelAddress,
        kind: SocketKind,
        identity: &[u8],
    ) -> io::Result<KernelSocket> {
        let stream = match address {
            KernelAddress::Path(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&stream, RECEIVE_BUFFER);
                KernelStream::Unix(stream)
            }
            KernelAddress::Tcp(host, port) => {
                let found = (host.as_str(), *port).to_socket_addrs()?.next();
                let address = found.ok_or(io::ErrorKind::AddrNotAvailable)?;
                let stream = TcpStream::connect_timeout(&address, CONNECT_WITHIN)?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&stream, RECEIVE_BUFFER);
                KernelStream::Tcp(stream)
            }
        };
        Ok(KernelSocket { stream, wire: ZmtpWire::new(kind, identity), piece: vec![0; PIECE] })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.wire.is_open()
    }

    /// How many bytes of messages that were too big were left out since the last call.
    pub(crate) fn take_left_out(&mut self) -> u64 {
        self.wire.take_left_out()
    }

    /// The process that listens at the other end of a Unix socket; a TCP port does not tell it.
    pub(crate) fn listener(&self) -> Option<u32> {
        match &self.stream {
            KernelStream::Unix(stream) => {
                let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
                u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
            }
            KernelStream::Tcp(_) => None,
        }
    }

    /// Puts a message into the queue and sends what can be sent.
    pub(crate) fn send(&mut self, parts: &[Vec<u8>]) -> Result<(), KernelSocketError> {
        self.wire.send(parts);
        self.flush()
    }

    /// Whether something waits to be written.
    pub(crate) fn wants_to_write(&self) -> bool {
        self.wire.has_outgoing()
    }

    pub(crate) fn flush(&mut self) -> Result<(), KernelSocketError> {
        let KernelSocket { stream, wire, .. } = self;
        let outgoing = wire.outgoing();
        while !outgoing.is_empty() {
            let (piece, _) = outgoing.as_slices();
            match stream.write(piece) {
                Ok(0) => return Err(KernelSocketError::Closed),
                Ok(count) => drop(outgoing.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(closed(error)),
            }
        }
        Ok(())
    }

    /// Reads what there is into `messages`, also the messages that came before an error or the end.
    pub(crate) fn read(
        &mut self,
        messages: &mut VecDeque<Vec<Vec<u8>>>,
    ) -> Result<(), KernelSocketError> {
        let bytes = &mut self.piece;
        let mut left = MOST_AT_ONCE;
        let ended = loop {
            match self.stream.read(bytes) {
                Ok(0) => break Err(KernelSocketError::Closed),
                Ok(count) => {
                    left = left.saturating_sub(count);
                    if let Err(error) = self.wire.push(&bytes[..count]) {
                        break Err(error.into());
                    }
                    if count < bytes.len() || left == 0 {
                        break Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(closed(error)),
            }
        };
        while let Some(message) = self.wire.next() {
            messages.push_back(message);
        }
        ended?;
        // The peer may just have become ready for messages that were held back.
        self.flush()
    }
}

fn closed(error: io::Error) -> KernelSocketError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => KernelSocketError::Closed,
        _ => KernelSocketError::Io(error),
    }
}

impl KernelStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            KernelStream::Unix(stream) => stream.write(bytes),
            KernelStream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            KernelStream::Unix(stream) => stream.read(bytes),
            KernelStream::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            KernelStream::Unix(stream) => stream.as_fd(),
            KernelStream::Tcp(stream) => stream.as_fd(),
        }
    }
}
