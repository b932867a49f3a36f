//! A `tools/call` as it stands on the line: the one reader for every call.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::{Map, Value};

use super::meta::CallMeta;
use super::requests::RequestId;

/// A call, not yet of any tool.
#[derive(Debug, PartialEq)]
pub(crate) struct CallLine {
    pub(crate) id: RequestId,
    /// The name of a tool, if there is such a tool.
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) meta: CallMeta,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    arguments: Option<Map<String, Value>>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
}

impl CallLine {
    /// The call on a line, if the line is a call and nothing is odd about it. Of other lines, `shape::check` finds
    /// out what is wrong, and `read_tidied` reads the calls that pass the check.
    pub(crate) fn read(line: &[u8]) -> Option<CallLine> {
        // To check the text once is less work than to check each string in it.
        let message: Message<'_> = serde_json::from_str(str::from_utf8(line).ok()?).ok()?;
        let Message { jsonrpc, id, method, params } = message;
        if jsonrpc != "2.0" || method != "tools/call" {
            return None;
        }
        Some(CallLine {
            id,
            tool: params.name,
            arguments: params.arguments.unwrap_or_default(),
            meta: CallMeta::new(params.meta.unwrap_or_default()),
        })
    }

    /// The call in a message, without fields that this server does not know: a client may say more than its
    /// server understands. A key that stood twice in the line has its last value here.
    pub(crate) fn read_tidied(mut message: Value) -> Option<CallLine> {
        let fields = message.as_object_mut()?;
        fields.retain(|name, _| matches!(name.as_str(), "jsonrpc" | "id" | "method" | "params"));
        let params = fields.get_mut("params")?.as_object_mut()?;
        params.retain(|name, _| matches!(name.as_str(), "name" | "arguments" | "_meta"));
        CallLine::read(message.to_string().as_bytes())
    }
}

impl<'de> Deserialize<'de> for RequestId {
    /// A string or an integer; `1.0` is none.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;
        impl Visitor<'_> for IdVisitor {
            type Value = RequestId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer of at most 64 bits")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<RequestId, E> {
                i64::try_from(number).map(RequestId::Number).map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
                Ok(RequestId::Text(text.into()))
            }
        }
        deserializer.deserialize_any(IdVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: Value, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    }

    fn read(message: &Value) -> Option<CallLine> {
        CallLine::read(message.to_string().as_bytes())
    }

    #[test]
    fn m8_calls_are_read_with_every_kind_of_id_in_any_order() {
        let eval = json!({"name": "eval", "arguments": {"code": "x\n\u{1f600}"}});
        for id in [json!(1), json!(-7), json!(i64::MAX), json!(i64::MIN), json!(""), json!("a\"b")]
        {
            let read = read(&call(id.clone(), eval.clone())).unwrap();
            assert_eq!(json!(read.id), id);
            assert_eq!(
                (read.tool.as_str(), Value::Object(read.arguments)),
                ("eval", eval["arguments"].clone())
            );
        }
        let line =
            br#" {"params":{"_meta":{"progressToken":3},"arguments":null,"name":"\u0065val"},
            "method":"tools\/call","id":"\u0061","jsonrpc":"2.0"}"#;
        let read = CallLine::read(line).unwrap();
        assert_eq!((read.id, read.tool.as_str()), (RequestId::Text("a".into()), "eval"));
        assert_eq!(read.meta.progress_token(), Some(RequestId::Number(3)));
    }

    #[test]
    fn m8_a_call_may_have_more_than_is_known_and_a_key_twice() {
        let line = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","more":[1],
            "params":{"name":"evil","name":"eval","arguments":{"code":"1","code":"2"},"requestState":"s"}}"#;
        assert_eq!(CallLine::read(line.as_bytes()), None);
        let read = CallLine::read_tidied(serde_json::from_str(line).unwrap()).unwrap();
        assert_eq!((read.id, read.tool.as_str()), (RequestId::Number(2), "eval"));
        assert_eq!(Value::Object(read.arguments), json!({"code": "2"}));
    }

    #[test]
    fn m8_what_is_no_call_is_left_to_others() {
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
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": eval, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            call(json!(1), Value::Null),
            call(json!(1), json!({})),
            with("name", json!(1)),
            with("arguments", json!([])),
            with("_meta", json!(5)),
        ];
        for id in [json!(1.0), json!(1.5), json!(u64::MAX), json!(null), json!([1]), json!(true)] {
            others.push(call(id, eval.clone()));
        }
        for other in others {
            assert_eq!(read(&other), None, "{other}");
        }
        for text in [
            "",
            "{",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"eval","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{}}} x"#,
        ] {
            assert_eq!(CallLine::read(text.as_bytes()), None, "{text}");
        }
    }
}
