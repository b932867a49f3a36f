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
#[path = "read_tests.rs"]
mod tests;
