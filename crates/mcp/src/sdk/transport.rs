//! Messages on standard input and output, one a line.
//!
//! The SDK's own transport drops what it cannot read without a word, which leaves its sender waiting.
//! This one answers everything that has an id, and never holds more than one line of the longest kind.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::closing::Closing;
use super::scan::{self, IdScan};

/// The longest message that is read (SPEC M-8).
pub(super) const LONGEST_LINE: usize = 64 << 20;
/// A buffer that grew beyond this is given back.
const KEPT_BUFFER: usize = 1 << 20;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// The two pipes of a stdio server.
pub(super) struct Lines<R, W> {
    reader: R,
    writer: Arc<tokio::sync::Mutex<W>>,
    buffer: Vec<u8>,
    /// How much of the buffer is known to hold no line end.
    scanned: usize,
    /// Set while the rest of a line that is too long is passed over.
    skipping: Option<IdScan>,
    begun: bool,
    open: Arc<Mutex<HashSet<RequestId>>>,
    closing: Arc<Closing>,
}

/// A message that is answered here and goes no further.
#[derive(Debug)]
struct Refused {
    id: Option<Value>,
    code: i64,
    message: String,
}

impl<R, W> Lines<R, W> {
    pub(super) fn new(reader: R, writer: W, closing: Arc<Closing>) -> Self {
        Lines {
            reader,
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            buffer: Vec::new(),
            scanned: 0,
            skipping: None,
            begun: false,
            open: Arc::default(),
            closing,
        }
    }

    /// The next whole line that was read, or that one was too long.
    fn take_line(&mut self) -> Option<Result<Vec<u8>, Refused>> {
        loop {
            let end = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n');
            let Some(end) = end.map(|end| self.scanned + end) else {
                if self.buffer.len() > LONGEST_LINE || self.skipping.is_some() {
                    self.skipping.get_or_insert_default().feed(&self.buffer);
                    self.buffer = Vec::new();
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

    /// What a line says, if it is for the service.
    fn understand(&mut self, line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refused> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let mut value: Value = serde_json::from_slice(line).map_err(|error| Refused {
            id: scan::id(line),
            code: PARSE_ERROR,
            message: format!("not JSON: {error}"),
        })?;
        let id = check(&mut value)?;
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        let refuse = |code, message: String| Refused { id: id.clone(), code, message };
        let message: RxJsonRpcMessage<RoleServer> = match serde_json::from_value(value) {
            Ok(message) => message,
            // A notification has nobody who waits; unknown ones are to be ignored.
            Err(_) if id.is_none() => return Ok(None),
            Err(error) => return Err(refuse(INVALID_PARAMS, format!("wrong parameters: {error}"))),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                // The SDK takes a known method with parameters of the wrong shape for an unknown method.
                if let (ClientRequest::CustomRequest(_), Some(method)) = (&request.request, &method)
                    && is_known(method)
                {
                    let message = format!("`params` of `{method}` do not have the right fields");
                    return Err(refuse(INVALID_PARAMS, message));
                }
                let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
                if !open.insert(request.id.clone()) {
                    return Err(refuse(
                        INVALID_REQUEST,
                        "`id` is in use by an open request".to_owned(),
                    ));
                }
                self.begun = true;
            }
            // Before the first request there is nothing that these could belong to.
            _ if !self.begun => return Ok(None),
            JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Response(_)
            | JsonRpcMessage::Error(_) => {
                if method.as_deref() == Some("notifications/cancelled") {
                    self.forget(line);
                }
            }
        }
        Ok(Some(message))
    }

    /// A cancelled request gets no answer, so its id is free again.
    fn forget(&self, line: &[u8]) {
        let id = serde_json::from_slice::<Value>(line)
            .ok()
            .and_then(|mut value| value.pointer_mut("/params/requestId").map(Value::take))
            .and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        if let Some(id) = id {
            self.open.lock().unwrap_or_else(|e| e.into_inner()).remove(&id);
        }
    }
}

/// Checks the shape of a message as far as the SDK would not name what is wrong with it; its id.
fn check(value: &mut Value) -> Result<Option<Value>, Refused> {
    let invalid = |id: Option<Value>, message: &str| Refused {
        id,
        code: INVALID_REQUEST,
        message: message.to_owned(),
    };
    let Value::Object(fields) = value else {
        let what = if value.is_array() {
            "batches are not supported"
        } else {
            "a message must be an object"
        };
        return Err(invalid(None, what));
    };
    let id = fields.get("id").cloned();
    let good = id.clone().filter(scan::is_id);
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid(good, "`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = fields.get("method") else {
        let answers = fields.contains_key("result") || fields.contains_key("error");
        return if answers { Ok(None) } else { Err(invalid(good, "`method` is missing")) };
    };
    let Some(method) = method.as_str() else {
        return Err(invalid(good, "`method` must be a string"));
    };
    if id.is_some() && good.is_none() {
        return Err(invalid(None, "`id` must be a string or an integer"));
    }
    let call = method == "tools/call";
    match fields.get_mut("params") {
        None if call => Err(Refused {
            id: good,
            code: INVALID_PARAMS,
            message: "`params` is missing".to_owned(),
        }),
        None => Ok(good),
        Some(Value::Object(params)) => match call.then(|| check_call(params)).transpose() {
            Ok(_) => Ok(good),
            Err(message) => Err(Refused { id: good, code: INVALID_PARAMS, message }),
        },
        Some(_) => Err(Refused {
            id: good,
            code: INVALID_PARAMS,
            message: "`params` must be an object".to_owned(),
        }),
    }
}

fn check_call(params: &mut Map<String, Value>) -> Result<(), String> {
    if !params.get("name").is_some_and(Value::is_string) {
        return Err("`params.name` must be the name of a tool".to_owned());
    }
    match params.get("arguments") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(Value::Null) => {
            params.remove("arguments");
            Ok(())
        }
        Some(_) => Err("`params.arguments` must be an object".to_owned()),
    }
}

fn is_known(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "tools/call"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "prompts/list"
            | "prompts/get"
            | "completion/complete"
            | "logging/setLevel"
    )
}

async fn write_line<W: AsyncWrite + Unpin>(
    writer: &tokio::sync::Mutex<W>,
    mut line: Vec<u8>,
) -> io::Result<()> {
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, closing) = (self.writer.clone(), self.closing.clone());
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.open.lock().unwrap_or_else(|e| e.into_inner()).remove(id);
        }
        let line = serde_json::to_vec(&item).map_err(io::Error::from);
        async move {
            let written = write_line(&writer, line?).await;
            if written.is_err() {
                closing.lost();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            while let Some(line) = self.take_line() {
                let understood = line.and_then(|line| self.understand(&line));
                if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BUFFER {
                    self.buffer = Vec::new();
                }
                match understood {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(Refused { id, code, message }) => {
                        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
                        // Written beside this loop: it can be dropped at any await.
                        let (writer, line) = (self.writer.clone(), error.to_string().into_bytes());
                        tokio::spawn(async move { write_line(&writer, line).await });
                    }
                }
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
        self.writer.lock().await.shutdown().await
    }
}
