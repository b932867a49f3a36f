//! Our handler, with what the suite asks for beside it.
//!
//! The suite calls tools, prompts and resources by fixed names. Those are answered here; everything
//! else, and what is said about the server, is the handler's own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use stead_mcp::Handler;

use crate::asking::Asking;
use crate::{prompts, resources, tools};

/// The handler under test among fixtures.
#[derive(Clone)]
pub(crate) struct Fixtures {
    ours: Handler,
    asking: Asking,
    listeners: Arc<Mutex<HashMap<u64, SubscriptionSink>>>,
    next_listener: Arc<AtomicU64>,
}

impl Fixtures {
    pub(crate) fn new(ours: Handler) -> Self {
        Fixtures {
            ours,
            asking: Asking::new(),
            listeners: Arc::default(),
            next_listener: Arc::default(),
        }
    }

    /// Those who want to hear of changes.
    pub(crate) fn listeners(&self) -> Vec<SubscriptionSink> {
        let listeners = self.listeners.lock().unwrap_or_else(|e| e.into_inner());
        listeners.values().cloned().collect()
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
        let mut info = self.ours.get_info();
        info.capabilities = capabilities;
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.ours.list_tools(request, context).await?;
        listed.tools.extend(tools::all());
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.ours.get_tool(name).or_else(|| tools::all().into_iter().find(|tool| tool.name == name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if Asking::is_tool(&request.name) {
            return self.asking.call(&request, &context);
        }
        match tools::call(self, &request, &context).await {
            Some(result) => result,
            None => self.ours.call_tool(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = vec![format!("{}-value", request.argument.name)];
        let values =
            CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(values))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = self.next_listener.fetch_add(1, Ordering::Relaxed);
        let change = |sink: Option<SubscriptionSink>| {
            let mut listeners = self.listeners.lock().unwrap_or_else(|e| e.into_inner());
            match sink {
                Some(sink) => drop(listeners.insert(key, sink)),
                None => drop(listeners.remove(&key)),
            }
        };
        change(Some(context.sink().clone()));
        context.cancelled().await;
        change(None);
        Ok(())
    }
}
