//! The golden transcript has what a server says and is asked beside what host and adapter say to each other.

use std::collections::VecDeque;

use serde_json::Value;
use stead_protocol::bridge::Commands;

use super::{NreplAction, NreplInput, NreplTalk, ServerOwner};
use crate::bencode::Bencode;
use crate::message::NreplMessage;

/// What stands in the transcript, as a server sends it.
fn bencode(value: &Value) -> Bencode {
    match value {
        Value::Array(items) => Bencode::List(items.iter().map(bencode).collect()),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| (key.clone(), bencode(value));
            Bencode::Dictionary(fields.iter().map(field).collect())
        }
        Value::Number(number) => Bencode::Integer(number.as_i64().unwrap()),
        other => Bencode::from(other.as_str().unwrap()),
    }
}

#[test]
fn k3_the_golden_transcript_is_what_the_adapter_says() {
    let golden = include_str!("../../../../../bridges/golden/adapter-nrepl.jsonl");
    let mut talk = NreplTalk::new(ServerOwner::Ours, "bb");
    let (mut said, mut asked) = (VecDeque::new(), VecDeque::new());
    let mut actions = talk.greet();
    let mut left = false;
    for line in golden.lines() {
        for action in std::mem::take(&mut actions) {
            match action {
                NreplAction::Tell(event) => said.push_back(serde_json::to_value(event).unwrap()),
                NreplAction::Send(request) => asked.push_back(request),
                NreplAction::Print(..)
                | NreplAction::Listen(_)
                | NreplAction::Wake(_)
                | NreplAction::Leave { .. }
                | NreplAction::Left => {}
            }
        }
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(command) = line["host"].as_str() {
            let mut commands = Commands::default();
            commands.push(command.as_bytes()).unwrap();
            let frame = commands.next_frame().unwrap();
            actions = talk.step(NreplInput::Host(&frame.command().unwrap()));
        } else if let Some(text) = line["input"].as_str() {
            actions = talk.step(NreplInput::Line(Some(text.to_owned())));
        } else if line["server"].is_object()
            && let Bencode::Dictionary(fields) = bencode(&line["server"])
        {
            actions = talk.step(NreplInput::Server(NreplMessage(fields)));
        } else if let Some(expected) = line["bridge"].as_object() {
            let event: Value =
                said.pop_front().unwrap_or_else(|| panic!("nothing is said: {line}"));
            for (name, value) in expected {
                assert!(value == "*" || event[name] == *value, "{name}: {event} is not {line}");
            }
        } else {
            let request = asked.pop_front().unwrap_or_else(|| panic!("nothing is asked: {line}"));
            for (name, value) in line["asked"].as_object().unwrap() {
                assert_eq!(request.text(name).as_deref(), value.as_str(), "{name}: {line}");
            }
        }
        left |= actions.iter().any(|action| matches!(action, NreplAction::Left));
    }
    assert!(said.is_empty() && asked.is_empty() && left, "{said:?} {asked:?}");
}
