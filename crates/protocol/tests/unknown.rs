//! Messages of newer versions: a kind, a word or a field that this version does not know, in every place of every
//! wire, is no error and costs nothing of the message it stands in.

use std::path::Path;

mod newer;

use newer::{NEW, walk, walk_with};
use serde_json::{Value, json};
use stead_protocol::bridge::BridgeEvent;
use stead_protocol::client::{FromHost, ToHost};
use stead_protocol::{Definition, HostReady, HostSpec, Meta, StdlibReport};

fn finished() -> Value {
    json!({
        "outcome": {"kind": "ended", "reason": {"kind": "signal", "signal": 9}},
        "generation": 2, "start": 4, "end": 9, "duration_ms": 7, "exit_code": 3,
        "changed": {"added": [{"name": "a", "type": "int"}], "removed": ["b"]},
        "notice": "n"
    })
}

#[test]
fn requests_of_newer_clients_are_read() {
    let mut tried = 0;
    for request in [
        json!({"op": "hello", "protocol": 1, "versions": {"oldest": 1, "newest": 9}, "program": "9.0", "client": "cli", "rests": true}),
        json!({"op": "submit", "code": "1", "key": "k", "watch": "output", "hold": true, "no_queue": false}),
        json!({"op": "watch", "eval": 3, "output": true}),
        json!({"op": "input", "eval": 3, "text": "x", "eof": false}),
        json!({"op": "interrupt", "eval": 3}),
        json!({"op": "query", "what": "inspect", "name": "df"}),
        json!({"op": "clear"}),
        json!({"op": "stop"}),
    ] {
        tried += walk::<ToHost>(&json!({"id": 3, "request": request}));
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn what_newer_hosts_say_is_read() {
    let status = json!({
        "kind": "status", "name": "py", "workspace": "/w", "language": "python", "interpreter": "/p", "why": "w",
        "state": "running", "eval": 3, "elapsed_ms": 1, "last_line": "x", "paused": false,
        "background_waiting": false, "generation": 1, "cwd": "/", "started_ms": 1, "last_used_ms": 2, "evals": 3,
        "usage": {"processes": 1, "memory_bytes": 2, "cpu_ms": 3}, "sandbox": "off", "idle_timeout_ms": 0,
        "spool_end": 7, "clients": 1
    });
    let mut tried = 0;
    for reply in [
        json!({"kind": "hello", "protocol": 2, "versions": {"oldest": 1, "newest": 9}, "program": "9.0", "generation": 1, "evals": 6}),
        json!({"kind": "accepted", "eval": 7, "generation": 1, "behind": 6, "finished": finished()}),
        json!({"kind": "interrupt", "effect": "interrupted", "eval": 7, "killed": 2}),
        json!({"kind": "query", "data": 7}),
        json!({"kind": "done"}),
        status,
    ] {
        tried += walk::<FromHost>(&json!({"reply": {"id": 3, "reply": reply}}));
    }
    for event in [
        json!({"kind": "queued", "eval": 7, "behind": 6}),
        json!({"kind": "started", "eval": 7, "start": 4, "listens": "alone"}),
        json!({"kind": "output", "eval": 7, "end": 9}),
        json!({"kind": "waiting", "eval": 7, "prompt": "? ", "end": 9}),
        json!({"kind": "finished", "eval": 7, "finished": finished()}),
    ] {
        tried += walk::<FromHost>(&json!({"event": event}));
    }
    let error = json!({"code": "session_busy", "message": "m", "hint": "h"});
    tried += walk::<FromHost>(&json!({"error": {"id": 3, "error": error}}));
    for new in [json!({NEW: {"id": 3, "reply": {"kind": "done"}}}), json!({NEW: 1}), json!(NEW)] {
        let read: FromHost = serde_json::from_value(new).unwrap();
        assert!(matches!(read, FromHost::Unknown));
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn what_newer_bridges_say_is_read() {
    let mut tried = 0;
    for event in [
        json!({"ev": "hello", "protocol": 1, "language": "toy", "version": "1", "executable": "/t", "pid": 3, "can": ["vars", "clear"]}),
        json!({"ev": "value", "text": "2", "type": "int", "ack": true}),
        json!({"ev": "error", "name": "E", "message": "m"}),
        json!({"ev": "display", "mime": "text/html", "data": "<b>", "ack": false}),
        json!({"ev": "background", "stream": "err", "text": "late", "eval": "py:1"}),
        json!({"ev": "done", "eval": "py:7", "status": "interrupted", "exit_code": 1, "variables": 3}),
        json!({"ev": "reply", "seq": 3, "data": 7}),
        json!({"ev": "log", "text": "x"}),
        json!({"ev": "waits", "prompt": "name? ", "secret": true, "eval": "py:7"}),
        json!({"ev": "interrupted", "eval": "py:7", "error": "no"}),
        json!({"ev": "figures", "memory_bytes": 7}),
        json!({"ev": "lost", "reason": "reset"}),
        json!({"ev": "found", "reason": "again", "gap": true}),
    ] {
        tried += walk::<BridgeEvent>(&event);
    }
    assert!(tried > 25, "{tried}");
    assert!(walk::<StdlibReport>(&json!({"names": 3, "line": 2})) > 0);
    assert_eq!(StdlibReport::read(&json!({"names": 3})).line, None);
    let definition = json!({"name": "a", "kind": "function", "from": 1, "to": 2, "head": true});
    assert!(walk_with::<Definition>(&definition, &["kind"]) > 4);
    let read: BridgeEvent =
        serde_json::from_value(json!({"ev": "background", "stream": NEW, "text": "late"})).unwrap();
    assert!(matches!(read, BridgeEvent::Background { text, .. } if text == "late"));
}

#[test]
fn what_newer_programs_start_hosts_with_is_read() {
    let meta = json!({
        "version": 1, "program": "9.0", "name": "py", "workspace": "/w", "created_ms": 1, "stopped": false,
        "settings": {"language": "python", "cwd": "/w", "idle_timeout_ms": 5, "quota_bytes": 7, "keeps": "nothing", "log": "info",
            "environment": "uv", "kernel": {"by": "name", "name": "ir"}},
        "found": {"path": "/p", "why": "w"}
    });
    let spec = json!({"protocol": 1, "versions": {"oldest": 1, "newest": 9}, "dir": "/d", "socket": "/s", "meta": meta});
    let tried = walk::<HostSpec>(&spec) + walk::<Meta>(&meta);
    assert!(tried > 8, "{tried}");
    assert!(walk::<HostReady>(&json!({"ready": {"pid": 3}})) > 0);
    assert!(walk::<HostReady>(&json!({"failed": {"code": "launch_failed", "message": "m"}})) > 0);
    let read: HostReady = serde_json::from_value(json!({NEW: {"pid": 3}})).unwrap();
    assert!(matches!(read, HostReady::Unknown));
}

#[test]
fn every_line_of_the_transcripts_is_read_with_something_newer_in_it() {
    let mut tried = 0;
    for line in include_str!("golden/client.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        tried += match (line.get("client"), line.get("host")) {
            (Some(said), None) => walk::<ToHost>(said),
            (None, Some(said)) => walk::<FromHost>(said),
            _ => panic!("neither of the two: {line}"),
        };
    }
    assert!(tried > 100, "{tried}");
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bridges/golden");
    let mut events = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path()).unwrap().lines() {
            // `*` stands for what differs from run to run.
            let line: Value = serde_json::from_str(&line.replace(r#":"*""#, ":1")).unwrap();
            let Some(event) = line.get("bridge") else { continue };
            if serde_json::from_value::<BridgeEvent>(event.clone()).is_ok() {
                events += walk::<BridgeEvent>(event);
            }
        }
    }
    assert!(events > 500, "{events}");
}
