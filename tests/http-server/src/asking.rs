//! Tools that need something of the client first and say so in their result (2026-07-28).
//!
//! The state that travels with the question comes back from the client, so it is sealed and checked.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CreateMessageRequest, CreateMessageRequestParams,
    ElicitRequest, ElicitRequestParams, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ListRootsRequest, RequestStateCodec, SamplingMessage,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::content::said;

const PREFIX: &str = "test_input_required_result_";
/// What keeps the state whole; no secret, since nothing depends on it.
const KEY: &[u8] = b"a key for tests that is long enough to seal with";

/// The tools of this kind, without their prefix.
pub(crate) const TOOLS: [&str; 8] = [
    "elicitation",
    "sampling",
    "list_roots",
    "request_state",
    "multiple_inputs",
    "multi_round",
    "tampered_state",
    "capabilities",
];

#[derive(Clone)]
pub(crate) struct Asking(RequestStateCodec);

impl Asking {
    pub(crate) fn new() -> Self {
        Asking(RequestStateCodec::new_unchecked(KEY))
    }

    pub(crate) fn is_tool(name: &str) -> bool {
        name.strip_prefix(PREFIX).is_some_and(|rest| TOOLS.contains(&rest))
    }

    pub(crate) fn name(tool: &str) -> String {
        format!("{PREFIX}{tool}")
    }

    pub(crate) fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = |key: &str| answer(request.input_responses.as_ref(), key);
        let state = self.open(request.request_state.as_deref())?;
        let user = || ("user_name", form("What is your name?", "name"));
        let greeting = || ("greeting", message("Say hello"));
        let roots = || ("client_roots", roots());
        match request.name.trim_start_matches(PREFIX) {
            "elicitation" => match given("user_name") {
                Some(given) => {
                    let name = given.get("content").and_then(|content| content["name"].as_str());
                    done(&format!("Hello, {}!", name.unwrap_or("friend")))
                }
                None => ask([user()]),
            },
            "sampling" => match given("capital_question") {
                Some(given) => done(&Value::Object(given.clone()).to_string()),
                None => ask([("capital_question", message("What is the capital of France?"))]),
            },
            "list_roots" => match given("client_roots") {
                Some(given) => done(&Value::Object(given.clone()).to_string()),
                None => ask([roots()]),
            },
            "request_state" | "tampered_state" => match state {
                Some(_) => done("state-ok"),
                None => {
                    self.ask_with(json!({"asked": "confirm"}), [("confirm", form("Sure?", "ok"))])
                }
            },
            "multiple_inputs" => {
                let all = ["user_name", "greeting", "client_roots"];
                if state.is_some() && all.iter().all(|key| given(key).is_some()) {
                    return done("All inputs received");
                }
                self.ask_with(json!({"asked": all}), [user(), greeting(), roots()])
            }
            "multi_round" => match state.as_ref().and_then(|state| state["round"].as_u64()) {
                None => self.ask_with(json!({"round": 1}), [("step1", form("Your name?", "name"))]),
                Some(1) => {
                    self.ask_with(json!({"round": 2}), [("step2", form("A color?", "color"))])
                }
                Some(_) => done("All rounds done"),
            },
            "capabilities" => {
                let can = context.meta.client_capabilities().unwrap_or_default();
                let wanted = [
                    can.elicitation.is_some().then(user),
                    can.sampling.is_some().then(greeting),
                    can.roots.is_some().then(roots),
                ];
                let wanted: Vec<_> = wanted.into_iter().flatten().collect();
                if wanted.is_empty() || request.input_responses.is_some() {
                    return done("Nothing more to ask");
                }
                ask(wanted)
            }
            name => Err(ErrorData::invalid_params(format!("no tool `{name}`"), None)),
        }
    }

    /// The state that came back, if it is what was given away.
    fn open(&self, sealed: Option<&str>) -> Result<Option<Value>, ErrorData> {
        let opened = sealed.map(|sealed| self.0.open_json(sealed)).transpose();
        opened.map_err(|_| ErrorData::invalid_params("`requestState` is not what was given", None))
    }

    fn ask_with(
        &self,
        state: Value,
        wanted: impl IntoIterator<Item = (&'static str, InputRequest)>,
    ) -> Result<CallToolResponse, ErrorData> {
        let sealed = self.0.seal_json(&state);
        let sealed = sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(InputRequiredResult::new(Some(requests(wanted)), Some(sealed)).into())
    }
}

fn done(text: &str) -> Result<CallToolResponse, ErrorData> {
    Ok(said(text).into())
}

fn ask(
    wanted: impl IntoIterator<Item = (&'static str, InputRequest)>,
) -> Result<CallToolResponse, ErrorData> {
    Ok(InputRequiredResult::from_input_requests(requests(wanted)).into())
}

fn requests(wanted: impl IntoIterator<Item = (&'static str, InputRequest)>) -> InputRequests {
    wanted.into_iter().map(|(key, request)| (key.to_owned(), request)).collect()
}

/// An answer of the client, if it has the shape of one.
pub(crate) fn answer<'a>(
    given: Option<&'a InputResponses>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    given?.get(key)?.as_object()
}

/// A question to the user with one field.
pub(crate) fn form(message: &str, field: &str) -> InputRequest {
    let kind = if field == "ok" { "boolean" } else { "string" };
    let schema = json!({
        "type": "object", "properties": {field: {"type": kind}}, "required": [field]
    });
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).expect("a schema of one field"),
    }))
}

fn message(prompt: &str) -> InputRequest {
    let messages = vec![SamplingMessage::user_text(prompt)];
    let params = CreateMessageRequestParams::new(messages, 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}
