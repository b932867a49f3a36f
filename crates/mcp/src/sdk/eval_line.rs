//! An eval and its answer as they stand on the line, read and written without the SDK's types in between.
//!
//! What cannot be read here is left to the general way, which also tells what is wrong with it.

use std::fmt;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonRpcRequest, NumberOrString,
    RequestMetaObject,
};
use serde::de::{self, Deserializer, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use super::express::Carried;
use super::handler;
use crate::tools::EvalArgs;
use crate::{Answer, Work};

/// Longer lines are not read in passing.
const LONGEST: usize = 64 << 10;
/// What a short answer has around its text, and some escapes in it.
const AROUND_TEXT: usize = 160;
/// How the protocol's own fields of `_meta` begin. A call that has some goes by other rules.
const PROTOCOL_META: &str = "io.modelcontextprotocol/";

/// A call of `eval`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvalLine<'a> {
    jsonrpc: &'a str,
    #[serde(deserialize_with = "id")]
    pub(super) id: NumberOrString,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: &'a str,
    arguments: EvalArgs,
    #[serde(rename = "_meta", default)]
    meta: RequestMetaObject,
}

impl<'a> EvalLine<'a> {
    /// The call of `eval` that a line is, if it is a plain one.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        if line.len() > LONGEST {
            return None;
        }
        // To check the text once is less work than to check each string in it.
        let call: EvalLine<'_> = serde_json::from_str(str::from_utf8(line).ok()?).ok()?;
        let plain = call.jsonrpc == "2.0"
            && call.method == "tools/call"
            && call.params.name == "eval"
            && !call.params.meta.0.0.keys().any(|key| key.starts_with(PROTOCOL_META));
        plain.then_some(call)
    }

    /// Its id, its arguments, and what else was said with it.
    pub(super) fn into_parts(self) -> (NumberOrString, EvalArgs, RequestMetaObject) {
        (self.id, self.params.arguments, self.params.meta)
    }
}

/// The answer to a call, as the SDK writes it for clients of before 2026-07-28.
#[derive(Debug, Serialize)]
pub(super) struct AnswerLine<'a> {
    jsonrpc: &'static str,
    id: &'a NumberOrString,
    result: CallResult<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(serialize_with = "content")]
    content: &'a Answer,
    is_error: bool,
}

impl<'a> AnswerLine<'a> {
    pub(super) fn new(id: &'a NumberOrString, answer: &'a Answer) -> Self {
        let result = CallResult { content: answer, is_error: answer.failed };
        AnswerLine { jsonrpc: "2.0", id, result }
    }

    /// The line, without its end.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let mut line = Vec::with_capacity(self.result.content.text.len() + AROUND_TEXT);
        serde_json::to_writer(&mut line, self).ok()?;
        Some(line)
    }
}

fn content<S: Serializer>(answer: &&Answer, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Text<'a> {
        r#type: &'static str,
        text: &'a str,
    }
    let mut blocks = serializer.serialize_seq(Some(1 + answer.images.len()))?;
    blocks.serialize_element(&Text { r#type: "text", text: &answer.text })?;
    for picture in &answer.images {
        blocks.serialize_element(&handler::image(picture))?;
    }
    blocks.end()
}

/// The request that remains of a call that was begun, as the SDK wants it.
pub(super) fn request(
    id: NumberOrString,
    meta: RequestMetaObject,
    work: Work,
) -> JsonRpcRequest<ClientRequest> {
    let mut call = CallToolRequest::new(CallToolRequestParams::new("eval"));
    call.extensions.insert(meta);
    call.extensions.insert(Carried::new(work));
    JsonRpcRequest::new(id, ClientRequest::CallToolRequest(call))
}

/// An id as `check` allows it: the SDK would take `1.0` for one too.
fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NumberOrString, D::Error> {
    struct Id;
    impl Visitor<'_> for Id {
        type Value = NumberOrString;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or an integer")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<NumberOrString, E> {
            Ok(NumberOrString::Number(number))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<NumberOrString, E> {
            i64::try_from(number).map(NumberOrString::Number).map_err(E::custom)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<NumberOrString, E> {
            Ok(NumberOrString::String(text.into()))
        }
    }
    deserializer.deserialize_any(Id)
}

#[cfg(test)]
mod tests {
    use rmcp::RoleServer;
    use rmcp::model::{JsonRpcMessage, ServerResult};
    use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
    use serde_json::{Value, json};

    use super::*;
    use crate::Image;
    use crate::sdk::shape::check;

    /// What is written here is what the SDK would have written.
    #[test]
    fn m1_an_answer_is_written_as_the_sdk_writes_it() {
        let picture = Image { mime: "image/png".to_owned(), bytes: vec![0, 1, 2, 255] };
        let odd = "a \"b\" \\ \n\t\u{1} \u{1f600} \u{2028}";
        let answers = [
            Answer::text(""),
            Answer::text(odd.repeat(100)),
            Answer { images: vec![picture.clone(), picture], ..Answer::text(odd) },
            Answer { failed: true, ..Answer::text("[bad_request: no]") },
        ];
        for (n, answer) in answers.into_iter().enumerate() {
            for id in [NumberOrString::Number(-1 - n as i64), NumberOrString::String(odd.into())] {
                let ours = AnswerLine::new(&id, &answer).write().unwrap();
                let mut result = ServerResult::CallToolResult(handler::result(answer.clone()));
                result.strip_result_type_for_legacy_peer();
                let theirs: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::response(result, id);
                assert_eq!(ours, serde_json::to_vec(&theirs).unwrap(), "{answer:?}");
            }
        }
    }

    fn call(id: Value, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    }

    /// What is read here is what the general way would have made of it.
    #[test]
    fn m1_an_eval_is_read_as_the_sdk_reads_it() {
        let all = json!({"code": "x\n\u{1f600}", "session": "a", "language": "python", "timeout_ms": 5.0, "key": null});
        let calls = [
            call(json!(1), json!({"name": "eval", "arguments": {"code": "1"}})),
            call(json!(-7), json!({"name": "eval", "arguments": all})),
            call(json!(i64::MAX), json!({"name": "eval", "arguments": {"code": ""}, "_meta": {}})),
            call(
                json!("a\"b"),
                json!({"name": "eval", "arguments": {"code": "1"}, "_meta": {"progressToken": 3}}),
            ),
        ];
        for call in calls {
            let theirs: RxJsonRpcMessage<RoleServer> =
                serde_json::from_value(call.clone()).unwrap();
            let JsonRpcMessage::Request(theirs) = theirs else { panic!("a request") };
            let ClientRequest::CallToolRequest(request) = theirs.request else { panic!("a call") };
            let line = call.to_string();
            let (id, arguments, meta) = EvalLine::read(line.as_bytes()).unwrap().into_parts();
            let theirs_meta = request.extensions.get().cloned().unwrap_or_default();
            assert_eq!((id, meta), (theirs.id, theirs_meta), "{call}");
            let parsed = crate::Call::parse("eval", request.params.arguments.unwrap());
            let ours = crate::Call::Eval(arguments);
            assert_eq!(format!("{ours:?}"), format!("{:?}", parsed.unwrap().unwrap()), "{call}");
        }
    }

    #[test]
    fn m8_everything_else_is_left_to_the_general_way() {
        let eval = json!({"name": "eval", "arguments": {"code": "1"}});
        let with = |field: &str, value: Value| {
            let mut params = eval.clone();
            params[field] = value;
            call(json!(1), params)
        };
        let mut others = vec![
            json!([call(json!(1), eval.clone())]),
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": eval}),
            json!({"jsonrpc": "2.1", "id": 1, "method": "tools/call", "params": eval}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": eval}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": eval, "more": 1}),
            call(json!(1), json!({"name": "eval"})),
            call(json!(1), Value::Null),
            with("name", json!("shell")),
            with("arguments", json!({"code": 1})),
            with("arguments", json!({"code": "1", "cod": 1})),
            with("arguments", Value::Null),
            with("requestState", json!("s")),
            with("_meta", Value::Null),
            with("_meta", json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"})),
            call(json!(1), json!({"name": "eval", "arguments": {"code": "x".repeat(LONGEST)}})),
        ];
        // What the general way takes for no id is none here.
        for id in [json!(1.0), json!(u64::MAX), json!(null), json!([1])] {
            let mut call = call(id, eval.clone());
            assert!(check(&mut call.clone()).is_err(), "{call}");
            others.push(call.take());
        }
        for other in others {
            assert!(EvalLine::read(other.to_string().as_bytes()).is_none(), "{other}");
        }
        for text in [
            "",
            "{",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}}} x"#,
        ] {
            assert!(EvalLine::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
