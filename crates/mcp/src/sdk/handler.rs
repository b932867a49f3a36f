//! Tool calls as the SDK hands them over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
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
use stead_client::Stage;
use stead_protocol::WireError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::closing::Closing;
use super::express::Carried;
use super::lanes::{Lanes, Place};
use super::outbox::Unread;
use crate::{
    Answer, Call, INSTRUCTIONS, Image, LONGEST_CALL, Line, Quick, Server, Tell, Ties, ToolSpec,
    Wish, Work, tools,
};

/// Calls that may be open at once; more are refused.
const MOST_CALLS: usize = 4096;
/// What a call that will not end in time may take on top to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long an eval is waited for without a thread.
pub(super) const QUICK_TIME: Duration = Duration::from_millis(250);

/// Answers the requests of a client.
#[derive(Debug, Clone)]
pub struct Handler {
    server: Arc<Server>,
    closing: Arc<Closing>,
    unread: Arc<Unread>,
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
    pub(super) fn new(server: Arc<Server>, closing: Arc<Closing>, unread: Arc<Unread>) -> Self {
        Handler { server, closing, unread, lanes: Arc::default(), open: Arc::default() }
    }

    /// A handler for a transport whose end is the cancellation of its calls.
    pub fn detached(server: Server) -> Self {
        Handler::new(Arc::new(server), Arc::default(), Arc::default())
    }

    /// How many calls are under way.
    pub(super) fn open_calls(&self) -> Arc<AtomicUsize> {
        self.open.clone()
    }

    async fn place(&self, work: &Work) -> Place {
        match (work, work.session()) {
            (_, None) => self.lanes.quick().await,
            (Work::Call(call), Some(name)) => {
                self.lanes.session(name, call.waits(), call.is_ordered()).await
            }
            (Work::Begun(_), Some(name)) => self.lanes.session(name, true, true).await,
        }
    }

    fn open(&self) -> Option<Open> {
        let open = Open(self.open.clone());
        (self.open.fetch_add(1, Ordering::AcqRel) < MOST_CALLS).then_some(open)
    }

    /// Waits on no thread for an eval that its host has in hand: most are over in no time. One that is
    /// not comes back.
    async fn watch(
        &self,
        quick: Box<Quick>,
        place: &mut Place,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Box<Quick>> {
        let patience = Instant::now() + QUICK_TIME;
        let deadline = quick.begun.deadline().map(Instant::from_std);
        let until = sleep_until(deadline.map_or(patience, |at| at.min(patience)));
        tokio::pin!(until);
        // SAFETY: what was begun owns its connection, and keeps the same one until it is finished.
        let watched = unsafe { AsyncFd::register_with_interest(quick, Interest::READABLE) };
        let mut watched = match watched {
            Ok(watched) => watched,
            Err(error) => return Err(error.into_parts().0),
        };
        // Who began it may have heard of it already.
        let mut stage = watched.get_mut().begun.advance();
        loop {
            match stage {
                Ok(Stage::Sent) => {}
                Ok(Stage::Accepted) => drop(place.take_door()),
                Ok(Stage::Over) => {
                    let ties = Ties { line: None, tell: None, accepted: None };
                    return Ok(self.server.finish(watched.into_inner(), ties));
                }
                Ok(Stage::Unclear) | Err(_) => break,
            }
            stage = tokio::select! {
                biased;
                ready = watched.readable_mut() => match ready {
                    Ok(mut ready) => {
                        let stage = ready.get_inner_mut().begun.advance();
                        ready.clear_ready();
                        stage
                    }
                    Err(_) => break,
                },
                () = context.ct.cancelled() => break,
                () = self.closing.leave() => break,
                () = &mut until => break,
            };
        }
        Err(watched.into_inner())
    }

    /// Runs one call on a thread of its own and stays in touch with the client meanwhile.
    async fn run(
        &self,
        work: Work,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let Some(open) = self.open() else {
            let message = format!("more than {MOST_CALLS} calls are open");
            let error = WireError::new(stead_protocol::ErrorCode::LimitExceeded, message);
            return Ok(Answer::failure(&error.with_hint("wait for some of them")));
        };
        let longest = Instant::now() + LONGEST_CALL;
        let mut place = tokio::select! {
            biased;
            // A client that reads no answers is given no more of them to keep.
            place = async {
                let place = self.place(&work).await;
                self.unread.has_room().await;
                place
            } => place,
            // Nothing was begun yet, so nothing is to be stopped.
            () = context.ct.cancelled() => return Ok(not_begun("the request was cancelled")),
            () = self.closing.leave() => return Ok(not_begun("the connection was closed")),
            () = sleep_until(longest) => return Ok(not_begun("too many calls on this session wait")),
        };
        let token = context.meta.get_progress_token();
        let work = match work {
            Work::Call(call) => self.server.begin(call, token.is_some()),
            begun => begun,
        };
        let work = match work {
            Work::Begun(quick) => match self.watch(quick, &mut place, &context).await {
                Ok(answer) => return Ok(answer),
                Err(quick) => Work::Begun(quick),
            },
            call => call,
        };
        let line =
            Line::new().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let (sender, mut news) = mpsc::channel(1);
        let tell = token
            .is_some()
            .then(|| -> Tell { Box::new(move |message| drop(sender.try_send(message))) });
        let mut job = spawn_blocking({
            let (server, line) = (self.server.clone(), line.clone());
            let door = place.take_door();
            move || {
                let accepted = Box::new(move || drop(door));
                let ties = Ties { line: Some(line), tell, accepted: Some(accepted) };
                let answer = match work {
                    Work::Call(call) => server.call(call, ties),
                    Work::Begun(quick) => server.finish(quick, ties),
                };
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
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(work) = context.extensions.get::<Carried>().and_then(Carried::take) {
            return Ok(result(self.run(work, context).await?).into());
        }
        let answer = match Call::parse(&request.name, request.arguments.unwrap_or_default()) {
            Some(Ok(call)) => self.run(Work::Call(call), context).await?,
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

/// What a client is answered.
pub(super) fn result(answer: Answer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(answer.text)];
    content.extend(answer.images.iter().map(image));
    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

pub(super) fn image(image: &Image) -> ContentBlock {
    ContentBlock::image(STANDARD.encode(&image.bytes), &*image.mime)
}

/// The tools as the SDK wants them.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| tools().iter().map(tool).collect());

fn tool(spec: &ToolSpec) -> Tool {
    let schema = match &spec.schema {
        Value::Object(schema) => schema.clone(),
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
