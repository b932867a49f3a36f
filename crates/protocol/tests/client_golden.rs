//! What clients and hosts say, line by line: each is read as what it is, and written again without a difference.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stead_protocol::client::{Event, FromHost, Reply, Request, ToHost};

const LINES: &str = include_str!("golden/client.jsonl");

fn again<T: DeserializeOwned + Serialize>(said: &Value) -> T {
    let read: T = serde_json::from_str(&said.to_string()).expect("it is of this protocol");
    let mut written = serde_json::to_value(&read).unwrap();
    without_null(&mut written);
    assert_eq!(&written, said);
    read
}

/// A field that is absent and one that is null say the same.
fn without_null(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(without_null);
    }
}

#[test]
fn every_line_between_client_and_host_is_read_and_written_the_same() {
    for line in LINES.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match (line.get("client"), line.get("host")) {
            (Some(said), None) => {
                let read: ToHost = again(said);
                assert!(!matches!(read.request, Request::Unknown), "{said}");
            }
            (None, Some(said)) => match again(said) {
                FromHost::Unknown
                | FromHost::Event(Event::Unknown)
                | FromHost::Reply { reply: Reply::Unknown, .. } => panic!("not known: {said}"),
                FromHost::Reply { .. } | FromHost::Error { .. } | FromHost::Event(_) => {}
            },
            _ => panic!("neither of the two: {line}"),
        }
    }
}
