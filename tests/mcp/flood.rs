//! M-8: long lines, many calls, and clients that do not read.

use std::collections::HashMap;

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;
use crate::rig::{Server, served};

const MIB: usize = 1 << 20;
/// The most memory a server may ever have had, in kilobytes.
const MEMORY: u64 = 200_000;

/// Sends an eval whose line is this long, with its id at the beginning or at the end.
fn long_line(server: &mut Server, id: &str, mib: usize, id_first: bool) {
    let id = format!("\"id\":\"{id}\"");
    let (first, last) = if id_first {
        (format!("{id},"), String::new())
    } else {
        (String::new(), format!(",{id}"))
    };
    let head = format!(
        "{{\"jsonrpc\":\"2.0\",{first}\"method\":\"tools/call\",\"params\":{{\"name\":\"eval\",\"arguments\":{{\"code\":\"#"
    );
    server.bytes(head.as_bytes());
    let block = vec![b'x'; MIB];
    (0..mib).for_each(|_| server.bytes(&block));
    server.line(&format!("\"}}}}{last}}}"));
}

#[test]
fn m8_lines_that_are_too_long_are_refused_and_not_kept() {
    let (_env, mut server) = served();
    for (id, mib, id_first) in [("a", 65, true), ("b", 65, false), ("c", 300, false)] {
        long_line(&mut server, id, mib, id_first);
        let answer = server.answer(id);
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        assert!(
            answer["error"]["message"].as_str().expect("a message").contains("64 MiB"),
            "{answer}"
        );
        server.ping();
    }
    // Without an end there is nobody to answer; without an id nobody by name.
    server.bytes(&vec![b'['; 65 * MIB]);
    server.line("");
    assert_eq!(server.answer(Value::Null)["error"]["code"], -32600);
    assert!(server.most_memory() < MEMORY, "{} kB", server.most_memory());
    server.eval("'next'").expect("'next'\n[py:1]");
}

#[test]
fn e15_code_of_16_mib_runs_and_one_byte_more_is_refused() {
    let (_env, mut server) = served();
    let code = |bytes: usize| format!("7\n#{}", "x".repeat(bytes - 3));
    let reply = server.call("eval", json!({"code": code(16 * MIB), "timeout_ms": 50000}));
    assert!(reply.text.starts_with("7\n[py:1"), "{}", reply.text);
    let reply = server.call("eval", json!({"code": code(16 * MIB + 1)}));
    assert!(reply.failed);
    assert!(
        reply.text.starts_with("[limit_exceeded: `code` has more than 16 MiB]\nhint: "),
        "{}",
        reply.text
    );
    // In characters that need escapes it is far longer on the line, and still fits.
    let code = format!("8\n#{}", "\u{1}".repeat(4 * MIB));
    let reply = server.call("eval", json!({"code": code, "timeout_ms": 50000}));
    assert!(reply.text.starts_with("8\n[py:2"), "{}", reply.text);
}

#[test]
fn m8_a_client_that_reads_late_finds_every_answer() {
    for unread in [Server::unread, Server::unread_over_sockets] {
        reads_late(unread);
    }
}

fn reads_late(unread: fn(&TestEnv) -> Server) {
    let env = TestEnv::new(STEAD);
    let mut server = unread(&env);
    // Enough answers to fill the pipe many times over.
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "rough", "version": "0"}}});
    server.message(&hello);
    let ids: Vec<i64> = (0..1000)
        .map(|n| match n % 4 {
            0 => server.send("eval", json!({"code": format!("print('x' * 2000)\n{n}")})),
            1 => server.request("tools/list", json!({})),
            2 => server.send("evil", json!({})),
            _ => server.send("sessions", json!({})),
        })
        .collect();
    server.read();
    for id in ids {
        let answer = server.answer(id);
        assert!(answer.get("result").is_some() != answer.get("error").is_some());
    }
    assert!(server.most_memory() < MEMORY, "{} kB", server.most_memory());
    server.eval("'last'").contains("'last'\n[py:");
}

#[test]
fn m8_a_client_that_never_reads_is_not_listened_to_for_ever() {
    for unread in [Server::unread, Server::unread_over_sockets] {
        never_reads(unread);
    }
}

fn never_reads(unread: fn(&TestEnv) -> Server) {
    let env = TestEnv::new(STEAD);
    let mut server = unread(&env);
    // Each line is answered with an error; a server that kept all answers would grow without end.
    let line = format!("{{\"id\":\"{}\"}}\n", "x".repeat(240)).repeat(1000);
    let writer = server.flood(line.into_bytes(), 80);
    // It stops reading, so the flood stands still at some time; then it must still be small.
    stead_testkit::wait_for("the flood to stand still", || writer.stands_still());
    assert!(server.most_memory() < MEMORY, "{} kB", server.most_memory());
    server.read();
    server.stand(writer);
    server.ping();
}

#[test]
fn m8_thousands_of_calls_at_once_get_one_answer_each() {
    let (_env, mut server) = served();
    server.eval("n = 0");
    let ids: Vec<i64> = (0..5000)
        .map(|n| match n % 10 {
            0 => server.send("eval", json!({"code": "n += 1\nn", "timeout_ms": 50000})),
            1 => server.send("control", json!({"target": "py:1", "action": "interrupt"})),
            2 => server.send("inspect", json!({"session": "nobody"})),
            3 => server.send("output", json!({"id": "py:1"})),
            _ => server.send("eval", json!({"code": 5})),
        })
        .collect();
    let mut kinds: HashMap<bool, usize> = HashMap::new();
    let mut values = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let reply = server.reply(*id);
        *kinds.entry(reply.failed).or_default() += 1;
        if n % 10 == 0 && !reply.failed {
            values.push(
                reply
                    .text
                    .lines()
                    .next()
                    .and_then(|line| line.parse::<u64>().ok())
                    .expect("a number"),
            );
        }
    }
    // Evals that ran did so once and in order.
    assert_eq!(values, (1..=values.len() as u64).collect::<Vec<_>>());
    assert!(values.len() >= 100, "{kinds:?}");
    assert!(ids.iter().all(|id| server.waiting(*id) == 0));
    server.eval("n").contains(&format!("{}\n[py:", values.len()));
    assert!(server.most_memory() < MEMORY, "{} kB", server.most_memory());
}
