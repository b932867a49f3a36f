//! Tools that the suite calls by name.

use std::sync::Arc;

use rmcp::model::{
    AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    ContentBlock, CreateMessageRequestParams, ElicitRequestParams, InputRequests,
    InputRequiredResult, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    SamplingMessage, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::asking::{self, Asking, form};
use crate::content::{PNG, WAV, fields, said, text_of};
use crate::fixtures::Fixtures;

/// Tools without arguments.
const PLAIN: [&str; 16] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_missing_capability",
    "test_streaming_elicitation",
];

pub(crate) fn all() -> Vec<Tool> {
    let none = || json!({"type": "object", "properties": {}});
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let header = json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"]
    });
    let plain = PLAIN.iter().map(|name| (name.to_string(), none()));
    let asking = asking::TOOLS.iter().map(|tool| (Asking::name(tool), none()));
    let others = [
        ("test_sampling".to_owned(), one("prompt")),
        ("test_elicitation".to_owned(), one("message")),
        ("test_custom_header".to_owned(), header),
        ("json_schema_2020_12_tool".to_owned(), rich_schema()),
    ];
    let tools = plain.chain(asking).chain(others);
    tools.map(|(name, schema)| Tool::new(name, "A fixture", Arc::new(fields(schema)))).collect()
}

/// What a fixture answers; `None` if it is none.
pub(crate) async fn call(
    fixtures: &Fixtures,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let argument = |name: &str| -> String {
        let arguments = request.arguments.as_ref();
        arguments.and_then(|all| all.get(name)?.as_str()).unwrap_or_default().to_owned()
    };
    let result = match request.name.as_ref() {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => {
            CallToolResult::success(vec![ContentBlock::image(PNG, "image/png")])
        }
        "test_audio_content" => {
            CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))])
        }
        "test_embedded_resource" => CallToolResult::success(vec![ContentBlock::resource(text_of(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        ))]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            ContentBlock::resource(text_of(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            )),
        ]),
        "test_error_handling" => CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )]),
        "test_tool_with_logging" => {
            for line in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                log(context, LoggingLevel::Info, line).await;
            }
            said("Logged")
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "A level was asked for").await;
            }
            said("Logged")
        }
        "test_tool_with_progress" => {
            for progress in [0.0, 50.0, 100.0] {
                if let Some(token) = context.meta.get_progress_token() {
                    let told = ProgressNotificationParam::new(token, progress).with_total(100.0);
                    let _ = context.peer.notify_progress(told).await;
                }
            }
            said("Done")
        }
        "test_sampling" => sample(context, argument("prompt")).await,
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
                "required": ["username", "email"]
            });
            elicit(context, argument("message"), schema).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicit(context, "All have defaults".to_owned(), defaults()).await
        }
        "test_elicitation_sep1330_enums" => elicit(context, "Choose".to_owned(), choices()).await,
        "test_custom_header" => said(argument("value")),
        "json_schema_2020_12_tool" => said(format!("Hello, {}!", argument("name"))),
        "test_reconnection" => said("Reconnected"),
        "test_trigger_tool_change" => {
            for listener in fixtures.listeners() {
                let _ = listener.notify_tool_list_changed().await;
            }
            said("Told")
        }
        "test_trigger_prompt_change" => {
            for listener in fixtures.listeners() {
                let _ = listener.notify_prompt_list_changed().await;
            }
            said("Told")
        }
        "test_missing_capability" => {
            if context.meta.client_capabilities().unwrap_or_default().sampling.is_none() {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Some(Err(ErrorData::missing_required_client_capability(needed)));
            }
            said("It is there")
        }
        "test_streaming_elicitation" => {
            let mut asked = InputRequests::new();
            asked.insert("value".to_owned(), form("A value?", "value"));
            return Some(Ok(InputRequiredResult::from_input_requests(asked).into()));
        }
        _ => return None,
    };
    Some(Ok(result.into()))
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, line: &str) {
    let line = LoggingMessageNotificationParam::new(level, json!(line)).with_logger("fixture");
    let _ = context.peer.notify_logging_message(line).await;
}

async fn sample(context: &RequestContext<RoleServer>, prompt: String) -> CallToolResult {
    let messages = vec![SamplingMessage::user_text(prompt)];
    match context.peer.create_message(CreateMessageRequestParams::new(messages, 100)).await {
        Ok(result) => {
            let text = result.message.content.first().and_then(|content| content.as_text());
            said(format!("LLM response: {}", text.map_or("", |text| &text.text)))
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    message: String,
    schema: Value,
) -> CallToolResult {
    let asked = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: serde_json::from_value(schema).expect("a schema for forms"),
    };
    match context.peer.create_elicitation(asked).await {
        Ok(result) => said(format!("User response: {:?} {}", result.action, json!(result.content))),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}

/// A form in which every kind of field has a default.
fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true}
        }
    })
}

/// A form with every kind of choice.
fn choices() -> Value {
    let titled = |word: &str| -> Vec<Value> {
        let options = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
        let option = |(value, title): (&str, &str)| json!({"const": value, "title": format!("{title} {word}")});
        options.into_iter().map(option).collect()
    };
    let plain = ["option1", "option2", "option3"];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
        }
    })
}

/// A schema whose keywords must all reach the client.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
        "if": {"required": ["address"]},
        "then": {"properties": {"address": {"required": ["street"]}}},
        "else": {"required": ["name"]},
        "additionalProperties": false
    })
}
