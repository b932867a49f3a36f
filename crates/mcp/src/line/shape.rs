//! Whether a message has the shape that the protocol asks for, and what is wrong with it if not: the SDK
//! would not name it.

use serde_json::{Map, Value, json};

use super::scan;

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;

/// A message that is answered with an error and goes no further.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShapeRefusal {
    pub(crate) id: Option<Value>,
    pub(crate) code: i64,
    pub(crate) message: String,
    /// More about it, for programs.
    pub(crate) data: Option<Value>,
}

impl ShapeRefusal {
    pub(crate) fn new(id: Option<Value>, code: i64, message: impl Into<String>) -> Self {
        ShapeRefusal { id, code, message: message.into(), data: None }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        ShapeRefusal { data: Some(data), ..self }
    }
}

/// Checks a message and corrects harmless mistakes; returns its id.
pub(crate) fn check(value: &mut Value) -> Result<Option<Value>, ShapeRefusal> {
    let invalid =
        |id: Option<Value>, message: &str| ShapeRefusal::new(id, INVALID_REQUEST, message);
    let Value::Object(fields) = value else {
        let what = if value.is_array() {
            "batches are not supported"
        } else {
            "a message must be an object"
        };
        return Err(invalid(None, what));
    };
    // Some clients write `null` for no parameters.
    if fields.get("params").is_some_and(Value::is_null) {
        fields.remove("params");
    }
    let id = fields.get("id").cloned();
    let good = id.clone().filter(scan::is_id);
    if fields.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid(good, "`jsonrpc` must be \"2.0\""));
    }
    let answers = fields.contains_key("result") || fields.contains_key("error");
    let Some(method) = fields.get("method") else {
        return if answers { Ok(None) } else { Err(invalid(good, "`method` is missing")) };
    };
    let Some(method) = method.as_str() else {
        return Err(invalid(good, "`method` must be a string"));
    };
    if id.is_some() && good.is_none() {
        // A number that may not be an id is sent back all the same: the client may recognise it.
        let echo = id.filter(Value::is_number);
        return Err(invalid(echo, "`id` must be a string or an integer of at most 64 bits"));
    }
    if answers {
        return Err(invalid(good, "a request has neither `result` nor `error`"));
    }
    let call = method == "tools/call";
    match fields.get("params") {
        None if call => Err(ShapeRefusal::new(good, INVALID_PARAMS, "`params` is missing")),
        None => Ok(good),
        Some(Value::Object(params)) => match call.then(|| check_call(params)).transpose() {
            Ok(_) => Ok(good),
            Err(message) => Err(ShapeRefusal::new(good, INVALID_PARAMS, message)),
        },
        Some(_) => Err(ShapeRefusal::new(good, INVALID_PARAMS, "`params` must be an object")),
    }
}

fn check_call(params: &Map<String, Value>) -> Result<(), String> {
    if !params.get("name").is_some_and(Value::is_string) {
        return Err("`params.name` must be the name of a tool".to_owned());
    }
    for name in ["arguments", "_meta"] {
        match params.get(name) {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(_) => return Err(format!("`params.{name}` must be an object")),
        }
    }
    Ok(())
}
