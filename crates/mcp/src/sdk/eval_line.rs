//! An eval as it stands on the line, read without any of the SDK's types in between.
//!
//! What cannot be read here is left to the general way, which also tells what is wrong with it.

use std::fmt;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonRpcRequest, NumberOrString,
    RequestMetaObject,
};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::express::Carried;
use crate::Work;
use crate::tools::EvalArgs;

/// Longer lines are not read in passing.
const LONGEST: usize = 64 << 10;
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
        let call: EvalLine<'_> = serde_json::from_slice(line).ok()?;
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
    use rmcp::model::JsonRpcMessage;
    use rmcp::service::RxJsonRpcMessage;
    use serde_json::{Value, json};

    use super::*;
    use crate::sdk::shape::check;

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
