//! Tool calls as the SDK hands them over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use stead_protocol::WireError;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::closing::Closing;
use super::lanes::{Lanes, Place};
use crate::{
    Answer, Call, INSTRUCTIONS, LONGEST_CALL, Line, Server, Tell, Ties, ToolSpec, Wish, tools,
};

/// Calls that may be open at once; more are refused.
const MOST_CALLS: usize = 4096;
/// What a call that will not end in time may take on top to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Answers the requests of a client.
#[derive(Debug, Clone)]
pub struct Handler {
    server: Arc<Server>,
    closing: Arc<Closing>,
    lanes: Arc<Lanes>,
    open: Arc<AtomicUsize>,
}

/// One open call, counted.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Handler {
    pub(super) fn new(server: Arc<Server>, closing: Arc<Closing>) -> Self {
        Handler { server, closing, lanes: Arc::default(), open: Arc::default() }
    }

    /// A handler for a transport whose end is the cancellation of its calls.
    pub fn detached(server: Server) -> Self {
        Handler::new(Arc::new(server), Arc::default())
    }

    async fn place(&self, call: &Call) -> Place {
        match call.session() {
            Some(name) => self.lanes.session(name, call.waits(), call.is_ordered()).await,
            None => self.lanes.quick().await,
        }
    }

    fn open(&self) -> Option<Open> {
        let open = Open(self.open.clone());
        (self.open.fetch_add(1, Ordering::AcqRel) < MOST_CALLS).then_some(open)
    }

    /// Runs one call on a thread of its own and stays in touch with the client meanwhile.
    async fn run(
        &self,
        call: Call,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let Some(open) = self.open() else {
            let message = format!("more than {MOST_CALLS} calls are open");
            let error = WireError::new(stead_protocol::ErrorCode::LimitExceeded, message);
            return Ok(Answer::failure(&error.with_hint("wait for some of them")));
        };
        let longest = Instant::now() + LONGEST_CALL;
        let mut place = tokio::select! {
            place = self.place(&call) => place,
            // Nothing was begun yet, so nothing is to be stopped.
            () = context.ct.cancelled() => return Ok(not_begun("the request was cancelled")),
            () = self.closing.leave() => return Ok(not_begun("the connection was closed")),
            () = sleep_until(longest) => return Ok(not_begun("too many calls on this session wait")),
        };
        let line =
            Line::new().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let (sender, mut news) = mpsc::channel(1);
        let token = context.meta.get_progress_token();
        let tell = token
            .is_some()
            .then(|| -> Tell { Box::new(move |message| drop(sender.try_send(message))) });
        let mut job = spawn_blocking({
            let (server, line) = (self.server.clone(), line.clone());
            let door = place.take_door();
            move || {
                let accepted = Box::new(move || drop(door));
                let answer = server.call(call, Ties { line, tell, accepted: Some(accepted) });
                drop((place, open));
                answer
            }
        });
        let (mut cancelled, mut left, mut progress) = (false, false, 0.0);
        loop {
            tokio::select! {
                answer = &mut job => {
                    return answer.map_err(|error| ErrorData::internal_error(error.to_string(), None));
                }
                () = context.ct.cancelled(), if !cancelled => {
                    cancelled = true;
                    // The end of the transport cancels too, and must not stop what runs.
                    line.say(if self.closing.is_set() { Wish::Leave } else { Wish::Cancel });
                }
                () = self.closing.leave(), if !left => {
                    left = true;
                    line.say(Wish::Leave);
                }
                () = sleep_until(longest), if !left => {
                    left = true;
                    line.say(Wish::Leave);
                }
                () = sleep_until(longest + LAST_WORDS), if left => {
                    return Ok(too_long());
                }
                Some(message) = news.recv() => {
                    if let Some(token) = token.clone() {
                        progress += 1.0;
                        let told = ProgressNotificationParam::new(token, progress).with_message(message);
                        let _ = context.peer.notify_progress(told).await;
                    }
                }
            }
        }
    }
}

fn not_begun(why: &str) -> Answer {
    let message = format!("{why}; this call did nothing");
    Answer::failure(&WireError::new(stead_protocol::ErrorCode::SessionBusy, message))
}

fn too_long() -> Answer {
    let message = "this takes longer than a call may; it goes on".to_owned();
    let error = WireError::new(stead_protocol::ErrorCode::Timeout, message);
    Answer::failure(&error.with_hint("call sessions to see how it stands"))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("stead", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools().into_iter().map(tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|spec| spec.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match Call::parse(&request.name, request.arguments.unwrap_or_default()) {
            Some(Ok(call)) => self.run(call, context).await?,
            Some(Err(error)) => Answer::failure(&error),
            None => {
                let names: Vec<&str> = tools().iter().map(|spec| spec.name).collect();
                let name: String = request.name.chars().take(100).collect();
                let message = format!("unknown tool `{name}`; tools: {}", names.join(", "));
                return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
            }
        };
        Ok(result(answer).into())
    }
}

fn result(answer: Answer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(answer.text)];
    content.extend(
        answer
            .images
            .into_iter()
            .map(|image| ContentBlock::image(STANDARD.encode(image.bytes), image.mime)),
    );
    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

fn tool(spec: ToolSpec) -> Tool {
    let schema = match spec.schema {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    let mut tool = Tool::new(spec.name, spec.description, Arc::new(schema));
    tool.annotations = Some(
        ToolAnnotations::with_title(spec.title)
            .read_only(spec.read_only)
            .destructive(spec.destructive)
            .idempotent(spec.idempotent)
            .open_world(spec.open_world),
    );
    tool
}
