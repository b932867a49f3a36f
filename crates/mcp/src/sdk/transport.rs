//! Messages on standard input and output, one a line.
//!
//! The SDK's own transport drops what it cannot read without a word, which leaves its sender waiting.
//! This one answers everything that has an id, and never holds more than one line of the longest kind.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientNotification, ClientRequest, GetMeta,
    JsonRpcMessage, JsonRpcRequest, MetaObject, NumberOrString, ProtocolVersion, RequestMetaObject,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::closing::Closing;
use super::eval_line::{self, AnswerLine, EvalLine};
use super::express::Express;
use super::outbox::{Outbox, Unread};
use super::requests::Requests;
use super::scan::{self, IdScan};
use super::shape::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Refused, check, is_known};

/// The longest message that is read (SPEC M-8).
pub(super) const LONGEST_LINE: usize = 64 << 20;
/// The least that is asked for at once.
const READ: usize = 16 << 10;
/// A buffer that grew beyond this is given back.
const KEPT_BUFFER: usize = 1 << 20;

/// The two pipes of a stdio server.
pub(super) struct Lines<R, W> {
    reader: R,
    outbox: Arc<Outbox<W>>,
    buffer: Vec<u8>,
    /// How much of the buffer is known to hold no line end.
    scanned: usize,
    /// Set while the rest of a line that is too long is passed over.
    skipping: Option<IdScan>,
    /// Whether the SDK takes more than requests by now.
    begun: bool,
    /// Whether the client has opened a session of the protocol, so that its calls need not say who it is.
    initialized: bool,
    open: Mutex<Requests>,
    express: Option<Express>,
    closing: Arc<Closing>,
}

impl<R, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(super) fn new(
        reader: R,
        writer: W,
        express: Option<Express>,
        closing: Arc<Closing>,
        unread: Arc<Unread>,
    ) -> Self {
        Lines {
            reader,
            outbox: Arc::new(Outbox::new(writer, unread)),
            buffer: Vec::new(),
            scanned: 0,
            skipping: None,
            begun: false,
            initialized: false,
            open: Mutex::default(),
            express,
            closing,
        }
    }

    /// The next whole line that was read, or that one was too long.
    fn take_line(&mut self) -> Option<Result<Vec<u8>, Refused>> {
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
            let Some(end) = end.map(|end| self.scanned + end) else {
                if self.buffer.len() > LONGEST_LINE || self.skipping.is_some() {
                    self.skipping.get_or_insert_default().feed(&self.buffer);
                    self.buffer.clear();
                    self.buffer.shrink_to(KEPT_BUFFER);
                }
                self.scanned = self.buffer.len();
                return None;
            };
            let rest = self.buffer.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.buffer, rest);
            self.scanned = 0;
            line.pop();
            if self.skipping.is_some() || line.len() > LONGEST_LINE {
                let mut scan = self.skipping.take().unwrap_or_default();
                scan.feed(&line);
                let message = format!(
                    "a message may have at most {} MiB; this one was not read",
                    LONGEST_LINE >> 20
                );
                return Some(Err(Refused { id: scan.finish(), code: INVALID_REQUEST, message }));
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok(line));
            }
        }
    }

    /// Reads on where a line was that is done with, if nothing came behind it.
    fn reuse(&mut self, mut line: Vec<u8>) {
        if self.buffer.is_empty() {
            line.clear();
            self.buffer = if line.capacity() > KEPT_BUFFER { Vec::new() } else { line };
        }
    }

    /// What a line says, if it is for the service.
    fn understand(&mut self, line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refused> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        match self.answer_at_once(line) {
            AtOnce::Answered => Ok(None),
            AtOnce::Begun(request) => self.admit(*request, line.len()).map(Some),
            AtOnce::No => self.read(line),
        }
    }

    /// What any line says, if it is for the service.
    fn read(&mut self, line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refused> {
        let mut value: Value = serde_json::from_slice(line).map_err(|error| Refused {
            id: scan::id(line),
            code: PARSE_ERROR,
            message: format!("not JSON: {error}"),
        })?;
        let id = check(&mut value)?;
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        let refuse = |code, message: String| Refused { id: id.clone(), code, message };
        let read = match tool_call(&mut value) {
            Some(call) => Ok(call),
            None => serde_json::from_value(value),
        };
        let mut message: RxJsonRpcMessage<RoleServer> = match read {
            Ok(message) => message,
            // A notification has nobody who waits; unknown ones are to be ignored.
            Err(_) if id.is_none() => return Ok(None),
            Err(error) => return Err(refuse(INVALID_PARAMS, format!("wrong parameters: {error}"))),
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                // The SDK takes a known method with parameters of the wrong shape for an unknown method.
                if let (ClientRequest::CustomRequest(_), Some(method)) = (&request.request, &method)
                    && is_known(method)
                {
                    let message = format!("`params` of `{method}` do not have the right fields");
                    return Err(refuse(INVALID_PARAMS, message));
                }
            }
            // Before that the SDK would leave; there is nothing that these could belong to.
            _ if !self.begun => return Ok(None),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::InitializedNotification(_) = &notification.notification {
                    self.initialized = true;
                }
                if let ClientNotification::CancelledNotification(cancelled) =
                    &mut notification.notification
                {
                    let id = cancelled.params.request_id.take();
                    cancelled.params.request_id = id.and_then(|id| self.open().cancel(&id));
                    if cancelled.params.request_id.is_none() {
                        return Ok(None);
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        match message {
            JsonRpcMessage::Request(request) => self.admit(request, line.len()).map(Some),
            other => Ok(Some(other)),
        }
    }

    /// Lets a request of this size in, under an id of ours.
    fn admit(
        &mut self,
        mut request: JsonRpcRequest<ClientRequest>,
        size: usize,
    ) -> Result<RxJsonRpcMessage<RoleServer>, Refused> {
        // Notifications that belong to a subscription name it by the client's id.
        let keep_id = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
        let ours = self.open().begin(&request.id, size, keep_id);
        let theirs = std::mem::replace(&mut request.id, NumberOrString::Number(0));
        request.id = ours.map_err(|message| Refused {
            id: Some(theirs.into_json_value()),
            code: INVALID_REQUEST,
            message,
        })?;
        self.begun |= begins(&request.request);
        Ok(JsonRpcMessage::Request(request))
    }

    /// Answers an eval that nothing else has to wait for, or begins it.
    fn answer_at_once(&self, line: &[u8]) -> AtOnce {
        let alone = self.buffer.is_empty() && self.open().is_empty() && self.outbox.is_idle();
        let Some(express) =
            self.express.as_ref().filter(|express| self.initialized && alone && express.is_free())
        else {
            return AtOnce::No;
        };
        let Some(call) = EvalLine::read(line) else { return AtOnce::No };
        let (id, arguments, meta) = call.into_parts();
        match express.eval(arguments, meta.get_progress_token().is_some()) {
            Ok(answer) => {
                if let Some(line) = AnswerLine::new(&id, &answer).write() {
                    self.write_beside(line);
                }
                AtOnce::Answered
            }
            Err(work) => AtOnce::Begun(Box::new(eval_line::request(id, meta, *work))),
        }
    }

    /// Writes a line: at once if there is room, else beside the loop, which can be dropped at any await.
    fn write_beside(&self, line: Vec<u8>) {
        let (outbox, closing) = (self.outbox.clone(), self.closing.clone());
        let line = outbox.take(line);
        let mut writing = Box::pin(async move {
            if outbox.write(line).await.is_err() {
                closing.lost();
            }
        });
        let mut context = Context::from_waker(Waker::noop());
        if writing.as_mut().poll(&mut context).is_pending() {
            tokio::spawn(writing);
        }
    }

    fn open(&self) -> MutexGuard<'_, Requests> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What came of a line that may be an eval.
enum AtOnce {
    Answered,
    /// What is left of it for the service.
    Begun(Box<JsonRpcRequest<ClientRequest>>),
    No,
}

/// A tool call, which is nearly all that comes. The SDK would try on it all messages that it knows, one
/// after another, each on a copy.
fn tool_call(value: &mut Value) -> Option<RxJsonRpcMessage<RoleServer>> {
    let fields = value.as_object_mut()?;
    if fields.len() != 4 || fields.get("method")?.as_str()? != "tools/call" {
        return None;
    }
    let id = match fields.get("id")? {
        Value::Number(number) => NumberOrString::Number(number.as_i64()?),
        Value::String(text) => NumberOrString::String(text.as_str().into()),
        _ => return None,
    };
    let params = fields.get_mut("params")?.as_object_mut()?;
    let plain = |key: &String| matches!(key.as_str(), "name" | "arguments" | "_meta");
    let objects =
        ["arguments", "_meta"].iter().all(|key| params.get(*key).is_none_or(Value::is_object));
    if !params.keys().all(plain) || !objects || !params.get("name")?.is_string() {
        return None;
    }
    let mut taken = |key| match params.remove(key) {
        Some(Value::Object(object)) => Some(object),
        _ => None,
    };
    let (arguments, meta) = (taken("arguments"), taken("_meta"));
    let Some(Value::String(name)) = params.remove("name") else { return None };
    let mut call = CallToolRequestParams::new(name);
    call.arguments = arguments;
    let mut request = CallToolRequest::new(call);
    if let Some(meta) = meta {
        request.extensions.insert(RequestMetaObject(MetaObject(meta)));
    }
    let request = ClientRequest::CallToolRequest(request);
    Some(JsonRpcMessage::Request(JsonRpcRequest::new(id, request)))
}

/// Whether the SDK's loop begins with this request, rather than answer it and wait for another.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let (meta, modern) = (other.get_meta(), ProtocolVersion::V_2026_07_28);
            meta.missing_required_keys(&modern).is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (outbox, closing) = (self.outbox.clone(), self.closing.clone());
        let line = match self.open().address(&mut item) {
            true => serde_json::to_vec(&item).map(|line| Some(outbox.take(line))),
            false => Ok(None),
        };
        async move {
            let Some(line) = line? else { return Ok(()) };
            let written = outbox.write(line).await;
            if written.is_err() {
                closing.lost();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while let Some(line) = self.take_line() {
                let understood = line.and_then(|line| {
                    let understood = self.understand(&line);
                    self.reuse(line);
                    understood
                });
                match understood {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(Refused { id, code, message }) => {
                        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
                        self.write_beside(error.to_string().into_bytes());
                    }
                }
            }
            self.outbox.has_room().await;
            if self.buffer.capacity() - self.buffer.len() < READ {
                self.buffer.reserve(READ);
            }
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => {
                    self.closing.ended();
                    return None;
                }
                Ok(_) => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken apart here is what the SDK would have made of it.
    #[test]
    fn m1_a_tool_call_is_read_as_the_sdk_reads_it() {
        let calls = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "eval"}}),
            json!({"jsonrpc": "2.0", "id": -7, "method": "tools/call", "params": {"name": "eval", "arguments": {}}}),
            json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "x", "arguments": {"code": "1"},
                "_meta": {"progressToken": 3, "io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}),
            json!({"jsonrpc": "2.0", "id": "", "method": "tools/call", "params": {"name": "x", "_meta": {}}}),
        ];
        for call in calls {
            let theirs: RxJsonRpcMessage<RoleServer> =
                serde_json::from_value(call.clone()).unwrap();
            let ours = tool_call(&mut call.clone()).unwrap();
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{call}");
            assert_eq!(json!(ours), json!(theirs), "{call}");
        }
        let others = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"name": "eval"}}),
            json!({"jsonrpc": "2.0", "id": 1.5, "method": "tools/call", "params": {"name": "eval"}}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "eval", "requestState": "s"}}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "eval", "arguments": []}}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 1}}),
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "eval"}}),
        ];
        for mut other in others {
            let before = other.clone();
            assert!(tool_call(&mut other).is_none(), "{before}");
            assert_eq!(other, before, "it is left as it was");
        }
    }
}
