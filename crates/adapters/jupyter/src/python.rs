//! Names of Python kernels: a small module in the kernel that is asked by `user_expressions`, which run no code of the user's
//! and leave nothing in the namespace or the history. What an eval did it also says by itself where the kernel lets it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use stead_protocol::Changed;

/// Where the helper lies in the kernel's `sys.modules`.
const MODULE: &str = "_stead_names";
/// The key of our expression.
const KEY: &str = "stead";

/// What an eval did to the names.
#[derive(Debug, Default)]
pub(crate) struct NamesTold {
    pub(crate) changed: Option<Changed>,
    pub(crate) variables: Option<u64>,
    /// The code could not be compiled because it ends too early.
    pub(crate) incomplete: bool,
    /// The type of the value that the eval had.
    pub(crate) type_name: Option<String>,
}

/// What the helper answers to a request about work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkTold {
    /// The helper was not sent the source of its saving part yet.
    NeedsText,
    /// The helper sees other files than we do: a save has made a copy there, a load wants one.
    Elsewhere { copy: Option<FarCopy>, report: Option<Value> },
    /// A piece of the copy.
    Piece(Vec<u8>),
    /// The helper has taken a piece of the copy, which is at this path.
    Taken { copy: String },
    /// The work is over.
    Ended { report: Option<Value>, how: WorkEnd },
    /// The work did not come to its end.
    Broken { name: String, message: String },
}

/// A file that was saved where the kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FarCopy {
    pub(crate) path: String,
    pub(crate) size: u64,
}

/// How work ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkEnd {
    Done,
    Interrupted,
    Failed { name: String, message: String, traceback: Option<String> },
}

/// An expression that puts the helper into the kernel. The helper knows our requests by the id of our `session`.
pub(crate) fn install(session: &str) -> String {
    let source = json!(stead_bridges::JUPYTER_NAMES).to_string();
    let session = json!(session);
    // A JSON string is a Python string, too, unless characters beyond the first plane are written as
    // surrogate pairs; serde_json does not write them so.
    format!(
        "(lambda sys, module: (sys.modules.__setitem__('{MODULE}', module), exec({source}, module.__dict__), \
         module.begin(globals(), {session}))[2])(__import__('sys'), type(__import__('sys'))('{MODULE}'))"
    )
}

/// An expression that calls a function of the helper with the user's namespace and a text.
pub(crate) fn call(function: &str, argument: Option<&str>) -> String {
    let argument = argument.map(|text| format!(", {}", json!(text))).unwrap_or_default();
    format!("__import__('sys').modules['{MODULE}'].{function}(globals(){argument})")
}

/// An expression that calls a function of the helper's saving part. `with_text` sends the source of that part
/// along, because the helper has not got it yet.
pub(crate) fn saving(function: &str, arguments: &[Value], with_text: bool) -> String {
    let text = match with_text {
        true => json!(stead_bridges::JUPYTER_SAVING).to_string(),
        false => "None".to_owned(),
    };
    let mut call = format!(
        "__import__('sys').modules['{MODULE}'].saving(globals(), {text}, {}",
        json!(function)
    );
    for argument in arguments {
        call += &format!(", {argument}");
    }
    call + ")"
}

/// The `user_expressions` of a request.
pub(crate) fn expressions(expression: &str) -> Value {
    json!({ KEY: expression })
}

/// A request that runs no code and asks the helper something.
pub(crate) fn silent(expression: &str) -> Value {
    json!({
        "code": "",
        "silent": true,
        "store_history": false,
        "user_expressions": expressions(expression),
        "allow_stdin": false,
        "stop_on_error": false,
    })
}

/// What the helper answered; the error that it raised if it did.
pub(crate) fn answer(reply: &Value) -> Option<Result<Value, String>> {
    let told = &reply["user_expressions"][KEY];
    match told["status"].as_str()? {
        "ok" => {
            // The repr of the helper's answer is JSON.
            let text = told["data"]["text/plain"].as_str()?;
            let value: Value = serde_json::from_str(text).ok()?;
            match value.get("error").and_then(Value::as_str) {
                Some(error) => Some(Err(error.to_owned())),
                None => Some(Ok(value)),
            }
        }
        _ => Some(Err(told["evalue"].as_str().unwrap_or("the kernel gave no answer").to_owned())),
    }
}

/// The helper's answer to work, from the reply; none if the kernel has not come to the helper.
pub(crate) fn work_told(reply: &Value) -> Option<WorkTold> {
    let told = &reply["user_expressions"][KEY];
    if told["status"].as_str()? != "ok" {
        let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
        return Some(WorkTold::Broken { name: text("ename"), message: text("evalue") });
    }
    let answer: Value = serde_json::from_str(told["data"]["text/plain"].as_str()?).ok()?;
    let report = answer.get("report").cloned();
    let copy = answer["copy"].as_str().map(str::to_owned);
    Some(match answer["status"].as_str()? {
        "needs" => WorkTold::NeedsText,
        "elsewhere" => {
            let size = answer["size"].as_u64().unwrap_or_default();
            WorkTold::Elsewhere { copy: copy.map(|path| FarCopy { path, size }), report }
        }
        "piece" => WorkTold::Piece(BASE64_STANDARD.decode(answer["data"].as_str()?).ok()?),
        "taken" => WorkTold::Taken { copy: copy? },
        "ok" => WorkTold::Ended { report, how: WorkEnd::Done },
        "interrupted" => WorkTold::Ended { report, how: WorkEnd::Interrupted },
        _ => {
            let trouble = &answer["trouble"];
            let text = |field: &str| trouble[field].as_str().map(str::to_owned);
            let how = WorkEnd::Failed {
                name: text("name").unwrap_or_default(),
                message: text("message").unwrap_or_default(),
                traceback: text("traceback"),
            };
            WorkTold::Ended { report, how }
        }
    })
}

/// What the helper has put into the reply by itself.
fn in_payload(reply: &Value) -> Option<Value> {
    let mut payload = reply["payload"].as_array()?.iter();
    let ours = payload.find(|one| one["source"] == KEY)?;
    serde_json::from_str(ours["text"].as_str()?).ok()
}

/// Whether the helper has put into the reply by itself what an eval did to the names.
pub(crate) fn has_names(reply: &Value) -> bool {
    in_payload(reply).is_some()
}

/// What an eval did to the names, from the reply to it. The helper writes the payload before it answers an
/// expression, and then has nothing new to tell, so the payload counts.
pub(crate) fn names_told(reply: &Value) -> NamesTold {
    let told = in_payload(reply).or_else(|| answer(reply)?.ok());
    let Some(told) = told else { return NamesTold::default() };
    let changed: Option<Changed> = serde_json::from_value(told["changed"].clone()).ok();
    NamesTold {
        changed: changed.filter(|changed| !changed.is_empty()),
        variables: told["variables"].as_u64(),
        incomplete: told["incomplete"] == Value::Bool(true),
        type_name: told["type"].as_str().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(text: &str) -> Value {
        json!({"status": "ok", "user_expressions": {"stead": {"status": "ok", "data": {"text/plain": text}}}})
    }

    #[test]
    fn e13_what_the_helper_says_is_read_and_anything_else_is_no_news() {
        let told = names_told(&replied(
            r#"{"changed":{"added":[{"name":"x","type":"int"}]},"variables":3}"#,
        ));
        assert_eq!(told.changed.unwrap().added[0].name, "x");
        assert_eq!(told.variables, Some(3));
        for reply in [
            json!({}),
            replied("<object>"),
            json!({"user_expressions": {"stead": {"status": "error"}}}),
        ] {
            let told = names_told(&reply);
            assert!(told.changed.is_none() && told.variables.is_none(), "{reply}");
        }
        assert_eq!(
            answer(&replied(r#"{"error":"no such name"}"#)),
            Some(Err("no such name".to_owned()))
        );
    }

    #[test]
    fn e13_what_stands_in_the_payload_counts() {
        let mut reply = replied(r#"{"changed":{},"variables":3}"#);
        assert!(!has_names(&reply));
        let text = r#"{"changed":{"removed":["x"]},"variables":2,"incomplete":true}"#;
        reply["payload"] = json!([{"source": "page"}, {"source": "stead", "text": text}]);
        assert!(has_names(&reply));
        let told = names_told(&reply);
        assert_eq!(told.changed.unwrap().removed, ["x"]);
        assert!(told.variables == Some(2) && told.incomplete);
        for wrong in [json!(5), json!([5]), json!([{"source": "stead", "text": "{"}])] {
            reply["payload"] = wrong;
            assert_eq!(names_told(&reply).variables, Some(3));
        }
    }

    #[test]
    fn st1_arguments_are_quoted() {
        assert!(call("inspect", Some("a'\n\"")).ends_with(r#"(globals(), "a'\n\"")"#));
    }
}
