//! Standard input and output without a thread for each, where they can be waited for: pipes, and the sockets
//! that some clients use instead. What is neither is read by the runtime's threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::unix::pipe;

use crate::sys::watch_descriptor;

/// What a client sends.
#[derive(Debug)]
pub(crate) enum Incoming {
    Pipe(pipe::Receiver),
    Socket(AsyncFd<OwnedFd>),
    Other(tokio::io::Stdin),
}

/// What is sent to a client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Pipe(pipe::Sender),
    Socket(AsyncFd<OwnedFd>),
    Other(tokio::io::Stdout),
}

impl Incoming {
    /// Standard input; needs a runtime.
    pub(crate) fn open() -> Self {
        let stdin = io::stdin();
        match kind(stdin.as_fd()) {
            FileType::Fifo => reopen(stdin.as_fd(), OFlags::RDONLY)
                .and_then(|fd| pipe::Receiver::from_owned_fd(fd).ok())
                .map(Incoming::Pipe),
            FileType::Socket => watched(stdin.as_fd(), Interest::READABLE).map(Incoming::Socket),
            _ => None,
        }
        .unwrap_or_else(|| Incoming::Other(tokio::io::stdin()))
    }

    /// Where to wait for more of it without reading; nowhere, if a thread of the runtime may read it first.
    pub(crate) fn descriptor(&self) -> Option<OwnedFd> {
        match self {
            Incoming::Pipe(pipe) => pipe.as_fd().try_clone_to_owned().ok(),
            Incoming::Socket(socket) => socket.get_ref().try_clone().ok(),
            Incoming::Other(_) => None,
        }
    }
}

impl Outgoing {
    /// Standard output; needs a runtime.
    pub(crate) fn open() -> Self {
        let stdout = io::stdout();
        match kind(stdout.as_fd()) {
            FileType::Fifo => reopen(stdout.as_fd(), OFlags::WRONLY)
                .and_then(|fd| pipe::Sender::from_owned_fd(fd).ok())
                .map(Outgoing::Pipe),
            FileType::Socket => watched(stdout.as_fd(), Interest::WRITABLE).map(Outgoing::Socket),
            _ => None,
        }
        .unwrap_or_else(|| Outgoing::Other(tokio::io::stdout()))
    }
}

fn kind(fd: BorrowedFd<'_>) -> FileType {
    rustix::fs::fstat(fd).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// Opens the same pipe once more, so that it does not block for us and still does for other processes.
fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Option<OwnedFd> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::open(path, flags | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// A socket cannot be opened again, but each call on it can say that it must not block.
fn watched(fd: BorrowedFd<'_>, interest: Interest) -> Option<AsyncFd<OwnedFd>> {
    watch_descriptor(fd.try_clone_to_owned().ok()?, interest).ok()
}

impl AsyncRead for Incoming {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = match self.get_mut() {
            Incoming::Pipe(pipe) => return Pin::new(pipe).poll_read(cx, buffer),
            Incoming::Other(stdin) => return Pin::new(stdin).poll_read(cx, buffer),
            Incoming::Socket(socket) => socket,
        };
        loop {
            let mut readable = ready!(socket.poll_read_ready(cx))?;
            let room = buffer.initialize_unfilled();
            match rustix::net::recv(readable.get_inner(), &mut *room, RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    // A short read has emptied the socket: the next read would only find that out.
                    if count > 0 && count < room.len() {
                        readable.clear_ready();
                    }
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(rustix::io::Errno::AGAIN) => readable.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let socket = match self.get_mut() {
            Outgoing::Pipe(pipe) => return Pin::new(pipe).poll_write(cx, bytes),
            Outgoing::Other(stdout) => return Pin::new(stdout).poll_write(cx, bytes),
            Outgoing::Socket(socket) => socket,
        };
        loop {
            let mut writable = ready!(socket.poll_write_ready(cx))?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match rustix::net::send(writable.get_inner(), bytes, flags) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(rustix::io::Errno::AGAIN) => writable.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Outgoing::Other(stdout) => Pin::new(stdout).poll_flush(cx),
            Outgoing::Pipe(_) | Outgoing::Socket(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Outgoing::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            Outgoing::Socket(_) => Poll::Ready(Ok(())),
            Outgoing::Other(stdout) => Pin::new(stdout).poll_shutdown(cx),
        }
    }
}
