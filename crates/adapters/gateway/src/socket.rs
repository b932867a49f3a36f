//! The open WebSocket of a kernel: nothing here blocks, and what was not sent whole is known when it is cut.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use stead_jupyter::{JupyterMessage, KernelChannel};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message, WebSocket};

use crate::frames::WireForm;
use crate::stream::GatewayStream;

/// How many messages are read before the loop looks at something else.
const MOST_AT_ONCE: usize = 256;

/// A message for the kernel.
pub(crate) type UnsentMessage = (KernelChannel, JupyterMessage);

/// What was read.
#[derive(Default)]
pub(crate) struct HeardMessages {
    pub(crate) messages: Vec<(KernelChannel, JupyterMessage)>,
    /// Reasons why something that came is no message.
    pub(crate) odd: Vec<String>,
    /// Whether anything came, if only a sign of life.
    pub(crate) heard: bool,
    /// There may be more messages, which no poll would tell: their bytes have been read from the connection already.
    pub(crate) more: bool,
    /// Why there will be no more.
    pub(crate) cut: Option<String>,
}

/// An open WebSocket.
pub(crate) struct KernelWebSocket {
    socket: WebSocket<GatewayStream>,
    form: WireForm,
    /// The message that is being written: the server cannot have understood it before its last byte.
    writing: Option<UnsentMessage>,
    /// Bytes are left that the connection did not take.
    stuck: bool,
}

impl KernelWebSocket {
    pub(crate) fn new(socket: WebSocket<GatewayStream>, form: WireForm) -> KernelWebSocket {
        KernelWebSocket { socket, form, writing: None, stuck: false }
    }

    /// Writes messages, one after the other, as far as the connection takes them; an error says why it is cut.
    pub(crate) fn write(&mut self, queue: &mut VecDeque<UnsentMessage>) -> Result<(), String> {
        loop {
            if self.stuck || self.writing.is_some() {
                match self.socket.flush() {
                    Ok(()) => (self.writing, self.stuck) = (None, false),
                    Err(error) if is_blocked(&error) => {
                        self.stuck = true;
                        return Ok(());
                    }
                    Err(error) => return Err(cut_words(&error)),
                }
            }
            let Some((channel, message)) = queue.pop_front() else { return Ok(()) };
            let bytes = self.form.write(channel, &message);
            self.writing = Some((channel, message));
            match self.socket.write(bytes) {
                Ok(()) => {}
                Err(error) if is_blocked(&error) => {}
                Err(error) => return Err(cut_words(&error)),
            }
        }
    }

    /// Asks the server for a sign of life.
    pub(crate) fn ping(&mut self) {
        // A failed write is noticed when the connection is read.
        if self.socket.write(Message::Ping(Vec::new().into())).is_ok() {
            self.stuck = true;
        }
    }

    /// Reads what has come.
    pub(crate) fn read(&mut self) -> HeardMessages {
        let mut incoming = HeardMessages::default();
        for _ in 0..MOST_AT_ONCE {
            match self.socket.read() {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                    incoming.heard = true;
                    match self.form.read(&message) {
                        Ok(message) => incoming.messages.push(message),
                        Err(why) => incoming.odd.push(why),
                    }
                }
                Ok(Message::Close(frame)) => {
                    // A message that is too long for the server would be too long the next time, too, so it
                    // is not sent again.
                    if frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Size) {
                        self.writing = None;
                    }
                    let said = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
                    let said = if said.is_empty() { said } else { format!(": {said}") };
                    incoming.cut = Some(format!("the server closed it{said}"));
                    return incoming;
                }
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {
                    incoming.heard = true
                }
                Err(error) if is_blocked(&error) => return incoming,
                Err(error) => {
                    incoming.cut = Some(cut_words(&error));
                    return incoming;
                }
            }
        }
        incoming.more = true;
        incoming
    }

    /// Whether bytes wait for the connection to take them.
    pub(crate) fn wants_to_write(&self) -> bool {
        self.stuck || self.writing.is_some()
    }

    pub(crate) fn acknowledge_quickly(&mut self) {
        self.socket.get_mut().acknowledge_quickly();
    }

    /// The message that the server cannot have read whole.
    pub(crate) fn unsent(&mut self) -> Option<UnsentMessage> {
        self.writing.take()
    }
}

impl AsFd for KernelWebSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get_ref().as_fd()
    }
}

fn is_blocked(error: &Error) -> bool {
    matches!(error, Error::Io(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted))
}

fn cut_words(error: &Error) -> String {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => "the server closed it".to_owned(),
        Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            "the server hung up".to_owned()
        }
        Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server hung up".to_owned()
        }
        Error::Io(error) => {
            error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}
