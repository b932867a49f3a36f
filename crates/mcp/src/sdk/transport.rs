//! Messages on standard input and output: calls go their way, the SDK gets the rest.
//!
//! The SDK's own transport drops what it cannot read without a word, which leaves its sender waiting.
//! This transport answers every message that has an id.

use std::io;
use std::sync::{Arc, LazyLock};

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, NumberOrString, ProtocolVersion,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::AsyncReadExt;

use crate::line::{
    BoundedLines, CallLine, Calls, Cancelled, INVALID_PARAMS, INVALID_REQUEST, Incoming,
    PARSE_ERROR, Peer, RequestId, ShapeRefusal, check, id_of,
};

/// The two pipes of a stdio server.
pub(super) struct StdioTransport {
    reader: Incoming,
    lines: BoundedLines,
    peer: Arc<Peer>,
    calls: Arc<Calls>,
    lifecycle: Lifecycle,
}

/// The message that the SDK's loop was begun with, which decides what messages the SDK takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifecycle {
    /// No message yet: the SDK takes requests only, and would leave at anything else.
    New,
    /// A request that said itself who its client is, as all have to from then on.
    Stateless,
    /// A handshake, so that requests need not say who their client is.
    ShakenHands,
}

impl StdioTransport {
    pub(super) fn new(reader: Incoming, peer: Arc<Peer>, calls: Arc<Calls>) -> Self {
        let lines = BoundedLines::default();
        StdioTransport { reader, lines, peer, calls, lifecycle: Lifecycle::New }
    }

    /// What a line says, if it is for the SDK.
    fn understand(
        &mut self,
        line: &[u8],
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, ShapeRefusal> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if let Some(call) = CallLine::read(line) {
            return self.take_call(call, line.len()).map(|()| None);
        }
        let mut value: Value = serde_json::from_slice(line).map_err(|error| {
            ShapeRefusal::new(id_of(line), PARSE_ERROR, format!("not JSON: {error}"))
        })?;
        let id = check(&mut value)?;
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        match method.as_deref() {
            Some("tools/call") if id.is_some() => {
                let call =
                    CallLine::read_tidied(value).ok_or_else(|| wrong_params(&id, "tools/call"))?;
                self.take_call(call, line.len()).map(|()| None)
            }
            Some("notifications/cancelled") if id.is_none() => Ok(self.cancel(value)),
            _ => self.for_sdk(value, id, method, line.len()),
        }
    }

    fn take_call(&mut self, call: CallLine, bytes: usize) -> Result<(), ShapeRefusal> {
        let shaken_hands = self.lifecycle == Lifecycle::ShakenHands;
        let era = call.meta.era(shaken_hands, &SPOKEN);
        let era = era.map_err(|refused| ShapeRefusal { id: Some(call.id.to_json()), ..refused })?;
        if let Some(name) = call.meta.client_name() {
            self.calls.meet(name);
        }
        self.peer.take(&self.calls, call, era, bytes, self.lines.is_empty())
    }

    /// Cancels a request; what the SDK has to hear, if the request is its own.
    fn cancel(&mut self, mut value: Value) -> Option<RxJsonRpcMessage<RoleServer>> {
        let named = value.get_mut("params")?.get_mut("requestId")?;
        let Cancelled::Other(number) =
            self.peer.requests().cancel(&RequestId::from_json(named)?)?
        else {
            return None;
        };
        *named = number.into();
        serde_json::from_value(value).ok()
    }

    /// A message that is no call, as the SDK wants it.
    fn for_sdk(
        &mut self,
        value: Value,
        id: Option<Value>,
        method: Option<String>,
        bytes: usize,
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, ShapeRefusal> {
        let mut message: RxJsonRpcMessage<RoleServer> = match serde_json::from_value(value) {
            Ok(message) => message,
            // No client waits for an answer to a notification; unknown ones are to be ignored.
            Err(_) if id.is_none() => return Ok(None),
            Err(error) => {
                return Err(ShapeRefusal::new(
                    id,
                    INVALID_PARAMS,
                    format!("wrong parameters: {error}"),
                ));
            }
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                // The SDK takes a known method with parameters of the wrong shape for an unknown method.
                if let (ClientRequest::CustomRequest(_), Some(method)) = (&request.request, &method)
                    && is_known(method)
                {
                    return Err(wrong_params(&id, method));
                }
                let named = id.as_ref().and_then(RequestId::from_json);
                let Some(named) = named else { return Ok(None) };
                let number = self.peer.requests().open_other(&named, bytes);
                let number =
                    number.map_err(|message| ShapeRefusal::new(id, INVALID_REQUEST, message))?;
                request.id = NumberOrString::Number(number as i64);
                self.lifecycle = self.lifecycle.after(&request.request);
            }
            JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Response(_)
            | JsonRpcMessage::Error(_) => {
                // Before its first request the SDK would leave at such a message, which belongs to nothing.
                if self.lifecycle == Lifecycle::New {
                    return Ok(None);
                }
                // The SDK knows requests by other ids than the client, so `cancel` deals with cancellations.
                if let JsonRpcMessage::Notification(notification) = &message
                    && let ClientNotification::CancelledNotification(_) = notification.notification
                {
                    return Ok(None);
                }
            }
        }
        Ok(Some(message))
    }
}

impl Lifecycle {
    /// The lifecycle once the SDK has this request.
    fn after(self, request: &ClientRequest) -> Lifecycle {
        match (self, request) {
            (_, ClientRequest::InitializeRequest(_)) => Lifecycle::ShakenHands,
            (Lifecycle::ShakenHands | Lifecycle::Stateless, _) => self,
            (Lifecycle::New, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)) => {
                Lifecycle::New
            }
            (Lifecycle::New, other) => {
                let meta = other.get_meta();
                let complete =
                    meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
                let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
                match complete && meta.protocol_version().is_some_and(known) {
                    true => Lifecycle::Stateless,
                    false => Lifecycle::New,
                }
            }
        }
    }
}

/// The versions of the protocol that calls may come in.
static SPOKEN: LazyLock<Vec<&str>> =
    LazyLock::new(|| ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect());

fn wrong_params(id: &Option<Value>, method: &str) -> ShapeRefusal {
    let message = format!("`params` of `{method}` do not have the right fields");
    ShapeRefusal::new(id.clone(), INVALID_PARAMS, message)
}

/// Whether the SDK knows this method.
fn is_known(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete"
            | "logging/setLevel"
    )
}

impl Transport<RoleServer> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = match address(&self.peer, &mut item) {
            true => serde_json::to_vec(&item).map(|line| Some(self.peer.send(line))),
            false => Ok(None),
        };
        async move {
            match line? {
                Some(sent) => sent.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while let Some(line) = self.lines.take() {
                match line.and_then(|line| self.understand(&line)) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(refused) => self.peer.refuse(&refused),
                }
            }
            self.peer.has_room().await;
            match self.reader.read_buf(self.lines.room()).await {
                Ok(0) | Err(_) => {
                    self.peer.ended();
                    return None;
                }
                Ok(_) => {}
            }
        }
    }

    /// The line outlives the SDK's loop, since calls may still have to be answered.
    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives an answer of the SDK the client's id and closes its request; whether anybody waits for it.
fn address(peer: &Peer, message: &mut TxJsonRpcMessage<RoleServer>) -> bool {
    let id = match message {
        JsonRpcMessage::Response(response) => &mut response.id,
        JsonRpcMessage::Error(error) => match &mut error.id {
            Some(id) => id,
            None => return true,
        },
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return true,
    };
    let NumberOrString::Number(number) = *id else { return false };
    let Some(theirs) = peer.requests().close(number as u64) else { return false };
    *id = match theirs {
        RequestId::Number(number) => NumberOrString::Number(number),
        RequestId::Text(text) => NumberOrString::String(text),
    };
    true
}
