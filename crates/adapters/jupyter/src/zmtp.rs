//! ZMTP 3.0 with the NULL mechanism, as far as a Jupyter client needs it: bytes in, messages out, no IO.
//!
//! <https://rfc.zeromq.org/spec/23/>. Written by hand because the libraries for it bring a runtime or a C++ library.

use std::collections::VecDeque;

use thiserror::Error;

/// The first bytes of each side: signature, version 3.0, mechanism NULL, not a server, filler.
const GREETING: usize = 64;
/// No frame of a kernel is longer; a length above this is taken for garbage.
const MOST_FRAME: u64 = 1 << 40;
/// How many bytes all parts of one message may have together. A longer message is read to its end and left out.
const MOST_MESSAGE: u64 = 128 << 20;

/// Commands are a few words.
const MOST_COMMAND: u64 = 64 << 10;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The kind of socket that this side is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// Asks and is answered, in any order: shell, control, stdin.
    Dealer,
    /// Only listens: iopub.
    Subscriber,
    /// Asks and waits: heartbeat.
    Requester,
}

impl SocketKind {
    fn word(self) -> &'static str {
        match self {
            SocketKind::Dealer => "DEALER",
            SocketKind::Subscriber => "SUB",
            SocketKind::Requester => "REQ",
        }
    }

    /// The kind of socket that a kernel must have at the other end.
    fn fits(self, peer: &[u8]) -> bool {
        match self {
            SocketKind::Dealer => matches!(peer, b"ROUTER" | b"DEALER" | b"REP"),
            SocketKind::Subscriber => matches!(peer, b"PUB" | b"XPUB"),
            SocketKind::Requester => matches!(peer, b"REP" | b"ROUTER"),
        }
    }
}

/// Why what came is no ZMTP.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ZmtpError {
    /// The first bytes are of another protocol.
    #[error("what answers there does not speak ZeroMQ")]
    NoZmtp,
    /// It wants a password or a certificate.
    #[error("it wants the ZeroMQ mechanism `{mechanism}`, and kernels are spoken to without one")]
    Mechanism { mechanism: String },
    /// The socket is for something else.
    #[error("it is a `{kind}` socket, which is none of a kernel's")]
    WrongKind { kind: String },
    /// It refused us.
    #[error("it refused the connection: {why}")]
    Refused { why: String },
    /// A frame that cannot be.
    #[error("it sent a frame that is none: {what}")]
    Garbage { what: &'static str },
}

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handshake {
    /// The peer's greeting has not come as a whole.
    Greeting,
    /// Its READY has not come.
    Ready,
    /// Messages go both ways.
    Open,
}

/// One connection, from the client's side.
#[derive(Debug)]
pub(crate) struct ZmtpWire {
    kind: SocketKind,
    handshake: Handshake,
    /// What has come and was not understood yet; read from `begin` on.
    inbox: Vec<u8>,
    begin: usize,
    /// Parts of a message that is not whole yet, and their length. A message that is too big has no parts.
    parts: Vec<Vec<u8>>,
    size: u64,
    /// A frame of a message that is too big: how much of it has not come, and its flags.
    skipped: Option<(u64, u8)>,
    /// How many bytes of messages were left out because they were too big.
    left_out: u64,
    messages: VecDeque<Vec<Vec<u8>>>,
    /// What is to be sent.
    outbox: VecDeque<u8>,
    /// What is to be sent once the peer is ready: libzmq hangs up on anything that comes before (`ZMTP_UNEXPECTED_COMMAND`).
    held: Vec<u8>,
}

impl ZmtpWire {
    /// A connection that begins. `identity` is what a kernel's router knows the socket by.
    pub(crate) fn new(kind: SocketKind, identity: &[u8]) -> ZmtpWire {
        let mut greeting = [0; GREETING];
        greeting[0] = 0xff;
        greeting[8] = 1;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        greeting[12..16].copy_from_slice(b"NULL");
        let mut outbox: VecDeque<u8> = greeting.into_iter().collect();
        let mut ready = b"\x05READY".to_vec();
        property(&mut ready, "Socket-Type", kind.word().as_bytes());
        if kind == SocketKind::Dealer {
            property(&mut ready, "Identity", identity);
        }
        outbox.extend(frame(COMMAND, &ready));
        let mut held = Vec::new();
        if kind == SocketKind::Subscriber {
            // Subscribes to everything: in version 3.0 a subscription is a message that begins with a 1.
            held = frame(0, &[1]);
        }
        ZmtpWire {
            kind,
            handshake: Handshake::Greeting,
            inbox: Vec::new(),
            begin: 0,
            parts: Vec::new(),
            size: 0,
            skipped: None,
            left_out: 0,
            messages: VecDeque::new(),
            outbox,
            held,
        }
    }

    /// Whether the peer takes messages.
    pub(crate) fn is_open(&self) -> bool {
        self.handshake == Handshake::Open
    }

    /// Puts a message into the queue.
    pub(crate) fn send(&mut self, parts: &[Vec<u8>]) {
        let mut bytes = Vec::new();
        if self.kind == SocketKind::Requester {
            bytes.extend(frame(MORE, b""));
        }
        for (at, part) in parts.iter().enumerate() {
            let flags = if at + 1 < parts.len() { MORE } else { 0 };
            bytes.extend(frame(flags, part));
        }
        match self.handshake {
            Handshake::Open => self.outbox.extend(bytes),
            Handshake::Greeting | Handshake::Ready => self.held.extend(bytes),
        }
    }

    /// What is to be written to the connection.
    pub(crate) fn outgoing(&mut self) -> &mut VecDeque<u8> {
        &mut self.outbox
    }

    /// Whether something is to be written.
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// The next message that has come.
    pub(crate) fn next(&mut self) -> Option<Vec<Vec<u8>>> {
        self.messages.pop_front()
    }

    /// Takes what was read.
    pub(crate) fn push(&mut self, read: &[u8]) -> Result<(), ZmtpError> {
        self.inbox.extend_from_slice(read);
        while self.advance()? {}
        self.inbox.drain(..self.begin);
        self.begin = 0;
        Ok(())
    }

    /// How many bytes were left out since the last time.
    pub(crate) fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// Passes over what has come of a frame that is too big; whether that was its end.
    fn skip(&mut self, left: u64, flags: u8) -> bool {
        let come = (self.inbox.len() - self.begin) as u64;
        let passed = come.min(left);
        // `passed` fits into a `usize`, because it is no more than the length of the inbox.
        self.begin += passed as usize;
        self.skipped = (passed < left).then_some((left - passed, flags));
        if self.skipped.is_none() && flags & MORE == 0 {
            self.left_out += std::mem::take(&mut self.size);
        }
        self.skipped.is_none()
    }

    /// Understands the next piece; whether there was a whole one.
    fn advance(&mut self) -> Result<bool, ZmtpError> {
        if let Some((left, flags)) = self.skipped {
            return Ok(self.skip(left, flags));
        }
        let bytes = &self.inbox[self.begin..];
        if self.handshake == Handshake::Greeting {
            return self.greeting();
        }
        let Some(&flags) = bytes.first() else { return Ok(false) };
        let (head, length) = match flags & LONG {
            0 => match bytes.get(1) {
                Some(&length) => (2, u64::from(length)),
                None => return Ok(false),
            },
            _ => match bytes.get(1..9).and_then(|word| word.try_into().ok()) {
                Some(word) => (9, u64::from_be_bytes(word)),
                None => return Ok(false),
            },
        };
        if flags & !(MORE | LONG | COMMAND) != 0 {
            return Err(ZmtpError::Garbage { what: "its flags are not known" });
        }
        if length > MOST_FRAME {
            return Err(ZmtpError::Garbage { what: "it would have more than a terabyte" });
        }
        if flags & COMMAND == 0 && self.handshake != Handshake::Open {
            return Err(ZmtpError::Garbage { what: "a message came before READY" });
        }
        if flags & COMMAND == 0 && self.size + length > MOST_MESSAGE {
            self.parts.clear();
            self.size += length;
            self.begin += head;
            return Ok(self.skip(length, flags));
        }
        if flags & COMMAND != 0 && length > MOST_COMMAND {
            return Err(ZmtpError::Garbage { what: "its command is too long" });
        }
        // `length` fits into a `usize`, because it is no more than `MOST_MESSAGE`.
        let length = length as usize;
        let Some(body) = bytes.get(head..head + length) else {
            // A long frame comes in many pieces; the buffer grows once for all of them.
            let missing = head + length - bytes.len();
            self.inbox.reserve(missing);
            return Ok(false);
        };
        let body = body.to_vec();
        self.begin += head + length;
        if flags & COMMAND != 0 {
            return self.command(&body).map(|()| true);
        }
        self.size += length as u64;
        self.parts.push(body);
        if flags & MORE == 0 {
            self.size = 0;
            self.messages.push_back(std::mem::take(&mut self.parts));
        }
        Ok(true)
    }

    fn greeting(&mut self) -> Result<bool, ZmtpError> {
        let bytes = &self.inbox[self.begin..];
        // Another protocol is told by its first bytes, because its peer may never send as many bytes as a greeting has.
        let first = bytes.first().is_none_or(|&byte| byte == 0xff);
        if !first || bytes.get(9).is_some_and(|&byte| byte != 0x7f) {
            return Err(ZmtpError::NoZmtp);
        }
        if bytes.get(10).is_some_and(|&major| major < 3) {
            return Err(ZmtpError::NoZmtp);
        }
        let Some(greeting) = bytes.get(..GREETING) else { return Ok(false) };
        let mechanism = &greeting[12..32];
        let end = mechanism.iter().position(|&byte| byte == 0).unwrap_or(mechanism.len());
        if &mechanism[..end] != b"NULL" {
            let mechanism = String::from_utf8_lossy(&mechanism[..end]).into_owned();
            return Err(ZmtpError::Mechanism { mechanism });
        }
        self.begin += GREETING;
        self.handshake = Handshake::Ready;
        Ok(true)
    }

    fn command(&mut self, body: &[u8]) -> Result<(), ZmtpError> {
        let no_name = ZmtpError::Garbage { what: "a command without a name" };
        let (&length, rest) = body.split_first().ok_or(no_name.clone())?;
        let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or(no_name)?;
        match name {
            b"READY" => {
                let kind = socket_kind(rest);
                if let Some(kind) = kind.filter(|kind| !self.kind.fits(kind)) {
                    let kind = String::from_utf8_lossy(kind).into_owned();
                    return Err(ZmtpError::WrongKind { kind });
                }
                self.handshake = Handshake::Open;
                self.outbox.extend(std::mem::take(&mut self.held));
                Ok(())
            }
            b"ERROR" => {
                let why = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
                Err(ZmtpError::Refused { why })
            }
            b"PING" => {
                // A PING has two bytes of lifetime, then a context that is sent back.
                let context = rest.get(2..).unwrap_or_default();
                let pong = [b"\x04PONG".as_slice(), context].concat();
                self.outbox.extend(frame(COMMAND, &pong));
                Ok(())
            }
            // Commands of newer versions are skipped.
            _ => Ok(()),
        }
    }
}

fn property(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    // Names and values here are short constants and identities.
    out.push(name.len() as u8);
    out.extend(name.as_bytes());
    out.extend((value.len() as u32).to_be_bytes());
    out.extend(value);
}

/// The value of `Socket-Type` among the properties of a READY.
fn socket_kind(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (&length, after) = rest.split_first()?;
        let (name, after) = after.split_at_checked(usize::from(length))?;
        let (length, after) = after.split_at_checked(4)?;
        let length = u32::from_be_bytes(length.try_into().ok()?);
        let (value, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            return Some(value);
        }
        rest = after;
    }
}

fn frame(flags: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + 9);
    match u8::try_from(body.len()) {
        Ok(length) => bytes.extend([flags, length]),
        Err(_) => {
            bytes.push(flags | LONG);
            bytes.extend((body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel's socket of this kind sends first.
    fn peer(kind: &str) -> Vec<u8> {
        let mut bytes = vec![0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1];
        bytes.extend(b"NULL");
        bytes.resize(GREETING, 0);
        let mut ready = b"\x05READY".to_vec();
        property(&mut ready, "Identity", b"");
        property(&mut ready, "Socket-Type", kind.as_bytes());
        bytes.extend(frame(COMMAND, &ready));
        bytes
    }

    #[test]
    fn k1_nothing_but_greeting_and_ready_is_sent_before_the_peer_is_ready() {
        let mut wire = ZmtpWire::new(SocketKind::Subscriber, b"");
        wire.send(&[b"early".to_vec()]);
        let first: Vec<u8> = wire.outgoing().drain(..).collect();
        assert_eq!(
            first.len(),
            GREETING + frame(COMMAND, b"\x05READY\x0bSocket-Type\0\0\0\x03SUB").len()
        );
        assert!(!wire.is_open());
        wire.push(&peer("XPUB")).unwrap();
        assert!(wire.is_open());
        let then: Vec<u8> = wire.outgoing().drain(..).collect();
        assert_eq!(then, [frame(0, &[1]), frame(0, b"early")].concat());
    }

    #[test]
    fn k1_messages_are_whole_wherever_the_bytes_are_cut() {
        let long = vec![b'x'; 70_000];
        let mut bytes = peer("ROUTER");
        bytes.extend(frame(MORE, b"a"));
        bytes.extend(frame(COMMAND, b"\x04PING\0\0ctx"));
        bytes.extend(frame(0, &long));
        bytes.extend(frame(0, b""));
        for cut in (0..bytes.len()).step_by(97).chain(0..200) {
            let mut wire = ZmtpWire::new(SocketKind::Dealer, b"me");
            wire.push(&bytes[..cut]).unwrap();
            wire.push(&bytes[cut..]).unwrap();
            assert_eq!(wire.next().unwrap(), [b"a".to_vec(), long.clone()], "{cut}");
            assert_eq!(wire.next().unwrap(), [Vec::<u8>::new()]);
            assert!(wire.next().is_none());
            let sent: Vec<u8> = wire.outgoing().drain(..).collect();
            assert!(sent.ends_with(b"\x04PONGctx"), "{cut}");
        }
    }

    #[test]
    fn k1_a_message_that_is_too_big_is_passed_over_without_being_kept() {
        let mut wire = ZmtpWire::new(SocketKind::Dealer, b"me");
        wire.push(&peer("ROUTER")).unwrap();
        wire.push(&frame(MORE, b"head")).unwrap();
        let length = MOST_MESSAGE + 5;
        wire.push(&[&[LONG | MORE][..], &length.to_be_bytes()].concat()).unwrap();
        let piece = vec![0; 1 << 20];
        for _ in 0..MOST_MESSAGE >> 20 {
            wire.push(&piece).unwrap();
        }
        assert!(wire.inbox.capacity() <= 4 << 20, "{}", wire.inbox.capacity());
        wire.push(&[&[0; 5][..], &frame(0, b"tail"), &frame(0, b"next")].concat()).unwrap();
        assert_eq!(wire.next().unwrap(), [b"next".to_vec()]);
        assert_eq!(wire.take_left_out(), length + 8);
        assert_eq!(wire.take_left_out(), 0);
    }

    #[test]
    fn k1_what_is_no_kernel_is_told_at_once() {
        let error = |kind, bytes: &[u8]| ZmtpWire::new(kind, b"").push(bytes).unwrap_err();
        assert_eq!(error(SocketKind::Dealer, b"SSH-2.0-OpenSSH"), ZmtpError::NoZmtp);
        assert_eq!(error(SocketKind::Dealer, b"HTTP/1.1 400"), ZmtpError::NoZmtp);
        let wrong = error(SocketKind::Subscriber, &peer("ROUTER"));
        assert_eq!(wrong, ZmtpError::WrongKind { kind: "ROUTER".to_owned() });
        let mut curve = peer("ROUTER");
        curve[12..17].copy_from_slice(b"CURVE");
        assert!(matches!(error(SocketKind::Dealer, &curve), ZmtpError::Mechanism { .. }));
        let huge = [peer("ROUTER"), vec![LONG, 0xff, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert!(matches!(error(SocketKind::Dealer, &huge), ZmtpError::Garbage { .. }));
        let refused = [peer("ROUTER"), frame(COMMAND, b"\x05ERROR\x02no")].concat();
        let why = "no".to_owned();
        assert_eq!(error(SocketKind::Dealer, &refused), ZmtpError::Refused { why });
    }
}
