//! What the SDK is told about this server, and calls that come over a transport of the SDK's own.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, LazyLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::line::{Caller, Calls, unknown_tool};
use crate::place::directory;
use crate::{Answer, Call, INSTRUCTIONS, Server, ToolSpec, tools};

/// Answers the requests of a client.
#[derive(Debug, Clone)]
pub struct Handler {
    calls: Arc<Calls>,
}

impl Handler {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Handler { calls }
    }

    /// A handler for a transport whose end is the cancellation of its calls.
    pub fn detached(server: Server) -> Self {
        Handler::new(Arc::new(Calls::new(server, Arc::default(), Arc::default())))
    }
}

impl Handler {
    /// Asks a client that has roots for them, where they would change the workspace (SPEC M-11). A call waits for
    /// the answer for at most `ROOTS_TIME`.
    #[expect(deprecated, reason = "clients of the handshake have nothing else to say it with")]
    async fn ask_roots(&self, context: NotificationContext<RoleServer>) {
        let has_roots =
            context.peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some());
        if !has_roots || !self.calls.place().expect_roots() {
            return;
        }
        let roots = context.peer.list_roots().await.map(|listed| listed.roots).unwrap_or_default();
        let roots: Vec<_> = roots.iter().filter_map(|root| directory(&root.uri)).collect();
        self.calls.place().take_roots(&roots);
    }
}

/// The client of a call that came over a transport of the SDK's own.
struct SdkCaller {
    context: RequestContext<RoleServer>,
    /// Whether it was heard that the call is cancelled.
    heard: bool,
    /// How often it was told of progress.
    told: f64,
}

impl Caller for SdkCaller {
    fn is_alone(&self) -> bool {
        false
    }

    fn next_words(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn wants_progress(&self) -> bool {
        self.context.meta.get_progress_token().is_some()
    }

    async fn cancelled(&mut self) {
        if self.heard {
            return std::future::pending().await;
        }
        self.context.ct.cancelled().await;
        self.heard = true;
    }

    async fn tell(&mut self, message: String) {
        if let Some(token) = self.context.meta.get_progress_token() {
            self.told += 1.0;
            let told = ProgressNotificationParam::new(token, self.told).with_message(message);
            let _ = self.context.peer.notify_progress(told).await;
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("stead", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.calls.meet(&request.client_info.name);
        if request.capabilities.roots.is_some() {
            self.calls.place().expect_roots();
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.ask_roots(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.ask_roots(context).await;
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
        let call = match Call::read(&request.name, request.arguments.unwrap_or_default()) {
            Some(Ok(call)) => call,
            Some(Err(error)) => return Ok(result(Answer::failure(&error)).into()),
            None => {
                let message = unknown_tool(&request.name);
                return Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None));
            }
        };
        let mut caller = SdkCaller { context, heard: false, told: 0.0 };
        let answer = self.calls.carry_out(call, &mut caller).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error, None))?;
        if caller.context.ct.is_cancelled() {
            self.calls.take_back(answer.clone());
        }
        Ok(result(answer).into())
    }
}

/// An answer as the SDK wants it.
pub(crate) fn result(answer: Answer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(answer.text)];
    let image =
        |image: &crate::Image| ContentBlock::image(STANDARD.encode(&image.bytes), &*image.mime);
    content.extend(answer.images.iter().map(image));
    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) }
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
