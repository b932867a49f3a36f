//! The transcripts in `bridges/golden` are what both sides say: every line of the host comes out
//! of the encoder, every line of a bridge goes into the decoder and loses nothing.

use std::path::Path;

use serde_json::Value;
use stead_protocol::EvalId;
use stead_protocol::bridge::{BridgeEvent, Command, VERSION};

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
                _ => panic!("{place}: neither of the two"),
            }
            lines += 1;
        }
    }
    assert!(lines > 0, "no transcripts in {}", dir.display());
}

/// The words and bytes are exactly what the encoder makes of them.
fn host_says(text: &str, place: &str) {
    let (head, payload) = text.split_once('\n').expect(place);
    let words: Vec<&str> = head.split(' ').collect();
    let id = |word: &str| word.parse::<EvalId>().expect(place);
    let number = |word: &str| word.parse().expect(place);
    let again = match words[..] {
        ["eval", eval, _] => Command::Eval { id: &id(eval), code: payload }.encode(),
        ["interrupt", eval, "0"] => Command::Interrupt { id: &id(eval) }.encode(),
        ["query", seq, what, _] => Command::Query { seq: number(seq), what, arg: payload }.encode(),
        ["clear", seq, "0"] => Command::Clear { seq: number(seq) }.encode(),
        ["ack", "0"] => Command::Ack.encode(),
        ["exit", "0"] => Command::Exit.encode(),
        _ => panic!("{place}: no command of this version: {head}"),
    };
    assert_eq!(String::from_utf8(again).unwrap(), text, "{place}");
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
    let decoded: BridgeEvent = serde_json::from_value(event.clone()).expect(place);
    match &decoded {
        BridgeEvent::Unknown => panic!("{place}: an unknown event"),
        BridgeEvent::Hello { protocol, .. } => assert_eq!(*protocol, VERSION, "{place}"),
        _ => {}
    }
    let again = serde_json::to_value(&decoded).expect(place);
    for (name, value) in event.as_object().expect(place) {
        assert_eq!(&again[name], value, "{place}: `{name}`");
    }
}
