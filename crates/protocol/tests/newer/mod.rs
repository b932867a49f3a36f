//! What messages of newer versions look like, for all wires (crates/interpreter/tests uses this too). Frames of editors
//! are no JSON; `crates/editor/src/frame.rs` has the same for them.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) const NEW: &str = "of_a_newer_version";

/// Fields whose value is one of a set of words: the tags of messages, and enums that are words.
const WORDS: [&str; 22] = [
    "op",
    "kind",
    "what",
    "ev",
    "order",
    "told",
    "state",
    "status",
    "stream",
    "effect",
    "listens",
    "code",
    "watch",
    "keeps",
    "by",
    "is",
    "from",
    "why",
    "environment",
    "log",
    "can",
    "bytes",
];

/// Fields of those that are enums of words, in whose place a newer version may also send an object.
const PLAIN_WORDS: [&str; 10] = [
    "stream",
    "effect",
    "listens",
    "watch",
    "status",
    "keeps",
    "environment",
    "log",
    "can",
    "bytes",
];

/// All places of a message, as JSON pointers.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                places(value, &format!("{at}/{i}"), all);
            }
        }
        _ => {}
    }
}

/// Reads the message as it is, with a new field in each object, and with each word replaced by one that is not known.
/// Fields around the place stay as they were.
pub(crate) fn walk<T: DeserializeOwned + Serialize + Debug>(message: &Value) -> usize {
    walk_with::<T>(message, &PLAIN_WORDS)
}

/// The same for a message whose enums of words stand in these fields.
pub(crate) fn walk_with<T: DeserializeOwned + Serialize + Debug>(
    message: &Value,
    plain: &[&str],
) -> usize {
    let read = |changed: &Value| -> Value {
        let read: T = serde_json::from_str(&changed.to_string())
            .unwrap_or_else(|error| panic!("{changed}: {error}"));
        serde_json::to_value(read).unwrap()
    };
    let known = read(message);
    let mut all = Vec::new();
    places(message, "", &mut all);
    let mut tried = 0;
    for place in &all {
        // The answer to a question has a form of its own, which is passed on as it is.
        if place.contains("/data") {
            continue;
        }
        let there = message.pointer(place).unwrap();
        let mut instead = Vec::new();
        if let Value::Object(fields) = there {
            let mut fields = fields.clone();
            fields.insert(NEW.to_owned(), json!({"a": [1, null]}));
            instead.push(Value::Object(fields));
        }
        // An item of a list has the name of the list.
        let is_index = |name: &&str| name.parse::<usize>().is_ok();
        let name = place.rsplit('/').find(|name| !is_index(name)).unwrap_or_default();
        if there.is_string() && WORDS.contains(&name) {
            instead.push(json!(NEW));
            if plain.contains(&name) {
                instead.extend([json!({NEW: {"why": "because"}}), json!([1]), json!(7)]);
            }
        }
        for value in instead {
            let mut changed = message.clone();
            let is_field = value.is_object() && there.is_object();
            *changed.pointer_mut(place).unwrap() = value;
            let read = read(&changed);
            tried += 1;
            if is_field {
                assert_eq!(read, known, "{changed}");
                continue;
            }
            // What is told by the word is not known now; everything outside its object is.
            let inside = place.rsplit_once('/').map_or("", |(object, _)| object);
            for other in &all {
                let is_leaf = known.pointer(other).is_some_and(|v| !v.is_object() && !v.is_array());
                if is_leaf && !other.starts_with(inside) {
                    assert_eq!(read.pointer(other), known.pointer(other), "{changed}: {other}");
                }
            }
        }
    }
    tried
}
