//! Packets with descriptors, over a SEQPACKET socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Most descriptors of a packet.
pub const MOST_DESCRIPTORS: usize = 8;
/// Most bytes of a packet.
const MOST_BYTES: usize = 32 << 10;

/// A packet that came.
#[derive(Debug)]
pub struct Packet {
    /// What it says.
    pub bytes: Vec<u8>,
    /// The descriptors that came with it, close-on-exec.
    pub descriptors: Vec<OwnedFd>,
}

/// Sends a packet with descriptors, without waiting.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop).map_err(io::Error::from),
        }
    }
}

/// Takes the next packet, without waiting. `None` if none has come, or if none will: the other side is gone.
pub fn receive(socket: impl AsFd) -> Option<Packet> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; MOST_BYTES];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Err(Errno::INTR) => {}
            received => break received.ok()?,
        }
    };
    if received.bytes == 0 {
        return None;
    }
    bytes.truncate(received.bytes);
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Some(Packet { bytes, descriptors })
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use rustix::pipe::pipe;

    use super::*;

    #[test]
    fn st3_a_packet_keeps_its_descriptors_and_the_end_is_none() {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .unwrap();
        assert!(receive(&ours).is_none(), "nothing has come");
        let (reading, writing) = pipe().unwrap();
        send(&theirs, b"one", &[writing.as_fd(), reading.as_fd()]).unwrap();
        send(&theirs, b"two", &[]).unwrap();
        drop((reading, writing));
        let one = receive(&ours).unwrap();
        assert_eq!(one.bytes, b"one");
        let [writing, reading] = <[OwnedFd; 2]>::try_from(one.descriptors).unwrap();
        rustix::io::write(&writing, b"x").unwrap();
        let mut read = [0; 4];
        assert_eq!(rustix::io::read(&reading, &mut read), Ok(1));
        let two = receive(&ours).unwrap();
        assert_eq!((two.bytes.as_slice(), two.descriptors.len()), (&b"two"[..], 0));
        // Not just dropped: a child that another test starts at this moment would have it still.
        rustix::net::shutdown(&theirs, rustix::net::Shutdown::Both).unwrap();
        assert!(receive(&ours).is_none(), "the other side is gone");
        assert!(send(&ours, b"three", &[]).is_err());
    }
}
