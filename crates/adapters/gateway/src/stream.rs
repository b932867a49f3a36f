//! One connection to the server, plain or by TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use stead_protocol::GatewayUrl;

use crate::names;
use crate::trouble::ServerTrouble;

/// A connection. Until it is `set_free` every read and write ends at a time that was given; then none of them blocks.
pub(crate) enum GatewayStream {
    Plain(TimedStream),
    Secure(Box<StreamOwned<ClientConnection, TimedStream>>),
}

/// A connection whose reads and writes end in time.
pub(crate) struct TimedStream {
    tcp: TcpStream,
    by: Option<Instant>,
}

impl GatewayStream {
    /// Connects to the server; with TLS if its address says so.
    pub(crate) fn connect(
        url: &GatewayUrl,
        tls: Option<&Arc<ClientConfig>>,
        by: Instant,
    ) -> Result<GatewayStream, ServerTrouble> {
        let addresses = names::addresses(&url.host, url.port, by)?;
        let tcp = first_that_answers(&addresses, by)
            .map_err(|source| ServerTrouble::NoServer { url: url.to_string(), source })?;
        let _ = tcp.set_nodelay(true);
        let mut timed = TimedStream { tcp, by: Some(by) };
        let Some(tls) = tls else { return Ok(GatewayStream::Plain(timed)) };
        let failed = |source: io::Error| ServerTrouble::tls(url, source);
        let name = ServerName::try_from(url.host.clone())
            .map_err(|_| failed(io::Error::other("the host's name cannot be in a certificate")))?;
        let mut connection = ClientConnection::new(tls.clone(), name)
            .map_err(|error| failed(io::Error::other(error)))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut timed).map_err(failed)?;
        }
        Ok(GatewayStream::Secure(Box::new(StreamOwned::new(connection, timed))))
    }

    /// From now on nothing blocks.
    pub(crate) fn set_free(&mut self) -> io::Result<()> {
        let timed = self.timed();
        timed.by = None;
        timed.tcp.set_nonblocking(true)
    }

    /// Reads and writes end at this time.
    pub(crate) fn end_by(&mut self, by: Instant) {
        self.timed().by = Some(by);
    }

    /// Has the next bytes of the server acknowledged at once. The server waits for that before it sends more, and the
    /// kernel would wait for 40 ms to do so. The setting does not last, so it is made before each wait.
    pub(crate) fn acknowledge_quickly(&mut self) {
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.timed().tcp, true);
    }

    fn timed(&mut self) -> &mut TimedStream {
        match self {
            GatewayStream::Plain(timed) => timed,
            GatewayStream::Secure(stream) => &mut stream.sock,
        }
    }
}

/// Servers often have two addresses of which one does not answer: each gets its share of the time.
fn first_that_answers(addresses: &[SocketAddr], by: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (at, address) in addresses.iter().enumerate() {
        let left = by.saturating_duration_since(Instant::now());
        let share = left / (addresses.len() - at) as u32;
        if share.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(tcp) => return Ok(tcp),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl TimedStream {
    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(by) = self.by else { return Ok(None) };
        let left = by.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(Some(left)),
        }
    }
}

/// Turns `WouldBlock`, with which a socket reports that its time is over, into `TimedOut`.
fn over(result: io::Result<usize>, timed: bool) -> io::Result<usize> {
    match result {
        Err(error) if timed && error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::ErrorKind::TimedOut.into())
        }
        other => other,
    }
}

impl Read for TimedStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        if left.is_some() {
            self.tcp.set_read_timeout(left)?;
        }
        over(self.tcp.read(into), left.is_some())
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        if left.is_some() {
            self.tcp.set_write_timeout(left)?;
        }
        over(self.tcp.write(bytes), left.is_some())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

impl Read for GatewayStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            GatewayStream::Plain(stream) => stream.read(into),
            GatewayStream::Secure(stream) => stream.read(into),
        }
    }
}

impl Write for GatewayStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            GatewayStream::Plain(stream) => stream.write(bytes),
            GatewayStream::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            GatewayStream::Plain(stream) => stream.flush(),
            GatewayStream::Secure(stream) => stream.flush(),
        }
    }
}

impl AsFd for GatewayStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            GatewayStream::Plain(stream) => stream.tcp.as_fd(),
            GatewayStream::Secure(stream) => stream.sock.tcp.as_fd(),
        }
    }
}
