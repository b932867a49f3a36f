//! The five sockets of a kernel, and messages on them.

use std::collections::VecDeque;
use std::io;

use crate::connection::{KernelAddress, KernelConnection};
use crate::message::{BadMessage, JupyterMessage, SigningKey};
use crate::socket::{KernelSocket, KernelSocketError};
use crate::talk::KernelChannel;
use crate::zmtp::SocketKind;

/// The channels in the order in which they are read: what is published first, since a kernel throws away what is not read in
/// time.
pub(crate) const CHANNELS: [KernelChannel; 4] =
    [KernelChannel::Published, KernelChannel::Stdin, KernelChannel::Control, KernelChannel::Shell];

/// How many bytes may wait to be looked at.
const MOST_HELD: usize = 64 << 20;

/// A kernel that is connected.
pub(crate) struct KernelSockets {
    key: SigningKey,
    published: KernelSocket,
    stdin: KernelSocket,
    control: KernelSocket,
    shell: KernelSocket,
    pub(crate) heartbeat: KernelSocket,
    /// What has come and was not looked at yet, by channel.
    raw: [VecDeque<Vec<Vec<u8>>>; 4],
    /// How many bytes these have.
    held: usize,
    /// How many messages had a wrong signature.
    pub(crate) unsigned: u64,
}

/// Nobody listens at an address of the kernel.
#[derive(Debug)]
pub(crate) struct NotListening {
    pub(crate) address: KernelAddress,
    pub(crate) source: io::Error,
}

impl KernelSockets {
    /// Connects all sockets. The kernel finds us by `identity`, and sends its questions to the socket on the
    /// stdin channel that has the same identity as our socket on the shell channel.
    pub(crate) fn connect(
        connection: &KernelConnection,
        identity: &str,
    ) -> Result<KernelSockets, NotListening> {
        let open = |address: &KernelAddress, kind| {
            KernelSocket::connect(address, kind, identity.as_bytes())
                .map_err(|source| NotListening { address: address.clone(), source })
        };
        Ok(KernelSockets {
            key: connection.key.clone(),
            shell: open(&connection.shell, SocketKind::Dealer)?,
            control: open(&connection.control, SocketKind::Dealer)?,
            published: open(&connection.published, SocketKind::Subscriber)?,
            stdin: open(&connection.stdin, SocketKind::Dealer)?,
            heartbeat: open(&connection.heartbeat, SocketKind::Requester)?,
            raw: Default::default(),
            held: 0,
            unsigned: 0,
        })
    }

    pub(crate) fn socket(&mut self, channel: KernelChannel) -> &mut KernelSocket {
        match channel {
            KernelChannel::Shell => &mut self.shell,
            KernelChannel::Control => &mut self.control,
            KernelChannel::Published => &mut self.published,
            KernelChannel::Stdin => &mut self.stdin,
        }
    }

    pub(crate) fn at(&self, channel: KernelChannel) -> &KernelSocket {
        match channel {
            KernelChannel::Shell => &self.shell,
            KernelChannel::Control => &self.control,
            KernelChannel::Published => &self.published,
            KernelChannel::Stdin => &self.stdin,
        }
    }

    /// Whether every handshake is over.
    pub(crate) fn are_open(&self) -> bool {
        CHANNELS.iter().all(|channel| self.at(*channel).is_open())
    }

    pub(crate) fn send(
        &mut self,
        channel: KernelChannel,
        message: &JupyterMessage,
    ) -> Result<(), KernelSocketError> {
        let parts = self.key.encode(message);
        self.socket(channel).send(&parts)
    }

    /// Takes messages of a channel out of the socket, without looking at them: a kernel that publishes fast
    /// throws away messages that are not taken in time. Messages that came before an error count. Beyond a
    /// bound, published messages are left with the kernel.
    pub(crate) fn fill(&mut self, channel: KernelChannel) -> Result<(), KernelSocketError> {
        if channel == KernelChannel::Published && self.is_full() {
            return Ok(());
        }
        let mut come = VecDeque::new();
        let read = self.socket(channel).read(&mut come);
        self.held += come.iter().map(|parts| size(parts)).sum::<usize>();
        self.raw[place(channel)].append(&mut come);
        read
    }

    /// Whether so much waits to be looked at that no more is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.held > MOST_HELD
    }

    /// How many bytes of messages were left out because one of them was too big.
    pub(crate) fn take_left_out(&mut self) -> u64 {
        CHANNELS.iter().map(|channel| self.socket(*channel).take_left_out()).sum()
    }

    /// The process that has the kernel's sockets, where that can be told.
    pub(crate) fn listener(&self) -> Option<u32> {
        self.shell.listener()
    }

    /// Whether messages wait to be looked at.
    pub(crate) fn has_messages(&self) -> bool {
        self.raw.iter().any(|raw| !raw.is_empty())
    }

    /// The next message, published ones first. Something that is no message is told in words.
    pub(crate) fn next(&mut self) -> Option<(KernelChannel, Result<JupyterMessage, String>)> {
        let channel = *CHANNELS.iter().find(|channel| !self.raw[place(**channel)].is_empty())?;
        let parts = self.raw[place(channel)].pop_front()?;
        self.held -= size(&parts);
        let message = self.key.decode(&parts).map_err(|error| {
            self.unsigned += u64::from(error == BadMessage::Signature);
            format!("the kernel sent {error}")
        });
        Some((channel, message))
    }
}

fn size(parts: &[Vec<u8>]) -> usize {
    parts.iter().map(Vec::len).sum()
}

/// Where the messages of a channel are.
fn place(channel: KernelChannel) -> usize {
    match channel {
        KernelChannel::Published => 0,
        KernelChannel::Stdin => 1,
        KernelChannel::Control => 2,
        KernelChannel::Shell => 3,
    }
}
