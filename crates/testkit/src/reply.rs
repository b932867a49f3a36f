//! Replies of the command line, as tests read them.

use serde_json::Value;

/// The reply's chunks as pairs of kind and content. Where a chunk only marks the place of the value or the error,
/// the content is what `data` says of it (SPEC C-4).
pub fn chunks(reply: &Value) -> Vec<(&str, &str)> {
    let list = reply["data"]["chunks"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|chunk| pair(&reply["data"], chunk)).collect()
}

fn pair<'a>(data: &'a Value, chunk: &'a Value) -> (&'a str, &'a str) {
    let kind = chunk["type"].as_str().unwrap_or("?");
    let error = &data["error"];
    let elsewhere = match kind {
        "value" => data["value"].as_str(),
        "error" => error["traceback"].as_str().or(error["message"].as_str()),
        _ => None,
    };
    (kind, chunk["content"].as_str().or(elsewhere).unwrap_or("?"))
}
