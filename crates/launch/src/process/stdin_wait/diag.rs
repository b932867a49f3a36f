//! Asks the kernel what is at the other end of a socket: `NETLINK_SOCK_DIAG`.

use std::collections::HashSet;

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// What a socket waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Socket {
    /// The other one of a pair on this machine, by inode.
    Peer(u64),
    /// Anybody who connects.
    Listening,
    /// A program that cannot be looked at from here.
    Elsewhere,
}

const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const LISTEN: u8 = 10;
/// Show the peer's inode: both what is asked for and the attribute that answers.
const SHOW_PEER: u32 = 4;
const PEER: u16 = 2;
const HEADER: usize = 16;

/// What the socket with this inode waits for.
pub(super) fn socket(inode: u64) -> Socket {
    let Some(diag) = open() else { return Socket::Elsewhere };
    if let Some((state, peer)) = unix(&diag, inode) {
        return match peer {
            _ if state == LISTEN => Socket::Listening,
            Some(peer) => Socket::Peer(peer),
            None => Socket::Elsewhere,
        };
    }
    let listening = [AddressFamily::INET, AddressFamily::INET6]
        .into_iter()
        .any(|family| listeners(&diag, family).contains(&inode));
    if listening { Socket::Listening } else { Socket::Elsewhere }
}

fn open() -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG)).ok()
}

/// State and peer of a unix socket; `None` if it is none.
fn unix(diag: &OwnedFd, inode: u64) -> Option<(u8, Option<u64>)> {
    // struct unix_diag_req: family, protocol, padding, states, inode, show, cookie.
    let mut request = vec![libc::AF_UNIX as u8, 0, 0, 0];
    for number in [u32::MAX, u32::try_from(inode).ok()?, SHOW_PEER, u32::MAX, u32::MAX] {
        request.extend(number.to_ne_bytes());
    }
    let mut found = None;
    ask(diag, REQUEST, &request, |body| found = Some(read_unix(body)));
    found.flatten()
}

/// Reads struct unix_diag_msg: family, type, state, padding, inode, cookie, then attributes.
fn read_unix(body: &[u8]) -> Option<(u8, Option<u64>)> {
    let (state, mut rest) = (*body.get(2)?, body.get(16..)?);
    let mut peer = None;
    while let [a, b, c, d, ..] = *rest {
        let (len, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        if kind == PEER {
            let value = rest.get(4..8).and_then(|value| value.try_into().ok());
            peer = value.map(u32::from_ne_bytes).map(u64::from).filter(|peer| *peer != 0);
        }
        rest = rest.get(len.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    Some((state, peer))
}

/// Inodes of all TCP sockets that take connections.
fn listeners(diag: &OwnedFd, family: AddressFamily) -> HashSet<u64> {
    // struct inet_diag_req_v2: family, protocol, extensions, padding, states, socket id.
    let mut request = vec![family.as_raw() as u8, libc::IPPROTO_TCP as u8, 0, 0];
    request.extend((1_u32 << LISTEN).to_ne_bytes());
    request.extend([0; 48]);
    let mut found = HashSet::new();
    ask(diag, REQUEST | DUMP, &request, |body| {
        // struct inet_diag_msg ends with the inode.
        let inode = body.get(68..72).and_then(|inode| inode.try_into().ok());
        found.extend(inode.map(u32::from_ne_bytes).map(u64::from));
    });
    found
}

/// Sends a request and takes all answers, which the kernel has ready at once.
fn ask(diag: &OwnedFd, flags: u16, request: &[u8], mut take: impl FnMut(&[u8])) {
    let mut message = ((HEADER + request.len()) as u32).to_ne_bytes().to_vec();
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(request);
    if send(diag, &message, SendFlags::empty()).is_err() {
        return;
    }
    let mut buffer = [0; 16 << 10];
    while let Ok((read, _)) = recv(diag, &mut buffer[..], RecvFlags::empty()) {
        let mut rest = buffer.get(..read).unwrap_or_default();
        while rest.len() >= HEADER {
            let len = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let kind = u16::from_ne_bytes([rest[4], rest[5]]);
            if len < HEADER || kind == DONE || kind == ERROR {
                return;
            }
            take(rest.get(HEADER..len).unwrap_or_default());
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        if flags & DUMP == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn inode(fd: impl AsFd) -> u64 {
        rustix::fs::fstat(fd).unwrap().st_ino
    }

    #[test]
    fn e8_the_other_end_of_a_socket_is_known() {
        let (one, other) = UnixStream::pair().unwrap();
        assert_eq!(socket(inode(&one)), Socket::Peer(inode(&other)));
        let temp = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(temp.path().join("s")).unwrap();
        assert_eq!(socket(inode(&listener)), Socket::Listening);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(socket(inode(&listener)), Socket::Listening);
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(socket(inode(&stream)), Socket::Elsewhere);
    }
}
