//! Arguments of calls: what is wrong is named.

use std::fmt;

use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use stead_protocol::WireError;

use super::{Tool, bad_request};

/// Whether a call has only arguments that the tool knows, and all that it needs.
pub(super) fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), WireError> {
    let known = |name: &String| schema["properties"].get(name).is_some();
    if let Some(unknown) = arguments.keys().find(|name| !known(name)) {
        let names = schema["properties"].as_object().into_iter().flat_map(Map::keys);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        return Err(bad_request(format!(
            "wrong arguments: unknown field `{unknown}`, expected one of {names}"
        )));
    }
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in needed {
        if !arguments.contains_key(name) {
            return Err(bad_request(format!("wrong arguments: missing field `{name}`")));
        }
    }
    Ok(())
}

/// The arguments of one call, or which of them has the wrong type or value.
pub(super) fn read<T>(arguments: Map<String, Value>) -> Result<Box<dyn Tool>, WireError>
where
    T: Tool + DeserializeOwned + 'static,
{
    let arguments = Value::Object(arguments);
    // Nearly all arguments are right; the place of a wrong one is looked for only then.
    if let Ok(tool) = T::deserialize(&arguments) {
        return Ok(Box::new(tool));
    }
    match serde_path_to_error::deserialize::<_, T>(arguments) {
        Ok(tool) => Ok(Box::new(tool)),
        Err(error) => {
            let message = format!("wrong argument `{}`: {}", error.path(), error.inner());
            Err(bad_request(message))
        }
    }
}

/// A whole number that is not negative, as JSON writers spell it: `5000` or `5000.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number that is not negative")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
                Ok(Count(number))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Count, E> {
                if number.fract() == 0.0 && (0.0..=9e15).contains(&number) {
                    return Ok(Count(number as u64));
                }
                Err(E::invalid_value(de::Unexpected::Float(number), &self))
            }
        }
        deserializer.deserialize_any(Whole)
    }
}

/// A whole number above 0, spelled as a `Count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AboveZero(pub(super) u64);

impl<'de> Deserialize<'de> for AboveZero {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Count::deserialize(deserializer)? {
            Count(0) => Err(de::Error::custom("0 is too few, a whole number above 0 is expected")),
            Count(number) => Ok(AboveZero(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Call;

    fn error(tool: &str, arguments: serde_json::Value) -> String {
        let serde_json::Value::Object(arguments) = arguments else { panic!("an object") };
        Call::read(tool, arguments).unwrap().unwrap_err().message
    }

    #[test]
    fn m8_the_field_that_is_wrong_is_named() {
        assert!(error("eval", json!({})).contains("`code`"));
        assert!(error("eval", json!({"code": 1})).contains("`code`"));
        assert!(error("eval", json!({"code": "1", "cod": 1})).contains("`cod`"));
        for bad in [json!("5"), json!(-1), json!(1.5), json!([]), json!(1e300)] {
            let message = error("eval", json!({"code": "1", "timeout_ms": bad}));
            assert!(message.contains("`timeout_ms`"), "{message}");
        }
        assert!(
            error("control", json!({"target": "py", "action": "explode"})).contains("`action`")
        );
        assert!(error("open", json!({"language": "py", "env": {"A": 1}})).contains("`env.A`"));
    }

    #[test]
    fn o5_a_reply_of_no_characters_is_refused_with_the_field() {
        for (tool, mut arguments) in [
            ("eval", json!({"code": "1"})),
            ("shell", json!({"command": "true"})),
            ("output", json!({"id": "py:1"})),
        ] {
            arguments["max_chars"] = json!(0);
            let message = error(tool, arguments);
            assert!(message.contains("`max_chars`") && message.contains("above 0"), "{message}");
        }
    }

    #[test]
    fn numbers_may_be_spelled_with_a_point_and_nothing_means_absent() {
        let arguments = json!({"code": "1", "timeout_ms": 5000.0, "session": null});
        let serde_json::Value::Object(arguments) = arguments else { panic!("an object") };
        assert!(Call::read("eval", arguments).unwrap().is_ok());
        assert!(Call::read("evil", serde_json::Map::new()).is_none());
    }
}
