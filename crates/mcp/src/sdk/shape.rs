//! Whether a message has the shape that the protocol asks for, and what is wrong with it if not: the SDK
//! would not name it.

use serde_json::{Map, Value, json};

use super::scan;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const INVALID_PARAMS: i64 = -32602;

/// A message that is answered here and goes no further.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) id: Option<Value>,
    pub(super) code: i64,
    pub(super) message: String,
}

/// Checks a message and puts right what is harmless; its id.
pub(super) fn check(value: &mut Value) -> Result<Option<Value>, Refused> {
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
    // No parameters, as some writers spell it.
    if fields.get("params").is_some_and(Value::is_null) {
        fields.remove("params");
    }
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
        // Its sender may still know it again.
        let echo = id.filter(Value::is_number);
        return Err(invalid(echo, "`id` must be a string or an integer of at most 64 bits"));
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

/// Whether the SDK knows this method.
pub(super) fn is_known(method: &str) -> bool {
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
