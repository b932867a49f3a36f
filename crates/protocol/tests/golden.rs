//! The transcripts in `bridges/golden` are what both sides say: every line of the host comes out
//! of the encoder, every line of a bridge goes into the decoder and loses nothing.

use std::path::Path;

use serde_json::Value;
use stead_protocol::bridge::{BridgeEvent, Commands, VERSION};

/// What a kernel or a server says and is asked, what becomes of the connection, and a line of the session's input.
const ELSEWHERE: [&str; 5] = ["kernel", "server", "asked", "link", "input"];

#[test]
fn every_line_of_the_golden_transcripts_is_of_this_protocol() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bridges/golden");
    let mut lines = 0;
    for file in std::fs::read_dir(&dir).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            let line: Value = serde_json::from_str(line).expect(&place);
            match (line.get("host"), line.get("bridge")) {
                (Some(host), None) => host_says(host.as_str().expect(&place), &place),
                (None, Some(bridge)) => bridge_says(bridge, &place),
                // What an adapter hears and asks elsewhere is of another protocol.
                (None, None) if ELSEWHERE.iter().any(|key| line.get(key).is_some()) => {}
                _ => panic!("{place}: neither of the two"),
            }
            lines += 1;
        }
    }
    assert!(lines > 0, "no transcripts in {}", dir.display());
}

/// It is one command of this version, whose encoding is exactly these words and bytes.
fn host_says(text: &str, place: &str) {
    let mut commands = Commands::default();
    commands.push(text.as_bytes()).expect(place);
    let frame = commands.next_frame().unwrap_or_else(|| panic!("{place}: half a command"));
    let command = frame.command().unwrap_or_else(|| panic!("{place}: an unknown command"));
    assert_eq!(String::from_utf8(command.encode()).unwrap(), text, "{place}");
    assert!(commands.next_frame().is_none(), "{place}: two commands");
}

/// The event is known, and every field that the line has survives decoding.
fn bridge_says(event: &Value, place: &str) {
    let mut event = event.clone();
    // `*` stands for what differs from run to run; numbers of processes and threads are no texts.
    for name in ["pid", "tid", "behind"] {
        if event[name] == "*" {
            event[name] = 1.into();
        }
    }
    // How packages are installed depends on the machine.
    if event["missing"] == "*" {
        event["missing"] = serde_json::json!({"module": "x", "install": "pip install"});
    }
    let decoded: BridgeEvent = serde_json::from_value(event.clone()).expect(place);
    match &decoded {
        BridgeEvent::Unknown => panic!("{place}: an unknown event"),
        BridgeEvent::Hello { protocol, .. } => assert_eq!(*protocol, VERSION, "{place}"),
        _ => {}
    }
    let again = serde_json::to_value(&decoded).expect(place);
    for (name, value) in event.as_object().expect(place) {
        // What a bridge can do is a set; its order says nothing.
        if name == "can" {
            assert_eq!(sorted(&again[name]), sorted(value), "{place}");
            continue;
        }
        assert_eq!(&again[name], value, "{place}: `{name}`");
    }
}

fn sorted(list: &Value) -> Vec<&str> {
    let mut words: Vec<&str> = list.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    words.sort_unstable();
    words
}
