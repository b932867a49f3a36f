//! H-2, S-3, M-7: many clients, many sessions, and one client that never reads.

use std::time::{Duration, Instant};

use stead_protocol::client::WatchFor;
use stead_protocol::{Outcome, SessionName};

use crate::STEAD;
use crate::rig::{self, Rig, connect, memory_kb, submit, value_of, wait_finished};

#[test]
fn h2_64_clients_at_once_each_get_their_own_results() {
    const CLIENTS: u64 = 64;
    const EACH: u64 = 15;
    let rig = Rig::new();
    rig.value("count = 0");
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let rig = &rig;
            scope.spawn(move || {
                for n in 0..EACH {
                    let code =
                        format!("count += 1\nprint('hello {client}/{n}')\n{client} * 1000 + {n}");
                    let view = rig.eval(&code);
                    assert_eq!(value_of(&view), (client * 1000 + n).to_string());
                    let out: Vec<u8> = view.content.chunks().next().unwrap().bytes.clone();
                    assert_eq!(out, format!("hello {client}/{n}\n").into_bytes());
                }
            });
        }
    });
    assert_eq!(rig.value("count"), (CLIENTS * EACH).to_string());
}

#[test]
fn s3_20_sessions_at_once_keep_apart() {
    const SESSIONS: u64 = 20;
    let env = stead_testkit::TestEnv::new(STEAD);
    std::thread::scope(|scope| {
        for n in 0..SESSIONS {
            let env = &env;
            scope.spawn(move || {
                let name = format!("s{n}");
                let started =
                    env.json(["eval", "-n", &name, "-l", "python", "--", &format!("me = {n}")]);
                assert_eq!(started["status"], "complete", "{started:#}");
                let (client, name): (_, SessionName) = (env.client(), name.parse().unwrap());
                for turn in 0..20 {
                    let view = rig::eval(&client, &name, &format!("me += 1\nprint('s{n}')\nme"));
                    assert_eq!(value_of(&view), (n + turn + 1).to_string());
                    assert_eq!(view.content.head[0].bytes, format!("s{n}\n").into_bytes());
                }
            });
        }
    });
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"].as_array().unwrap().len(), SESSIONS as usize);
}

#[test]
fn h2_a_client_that_never_reads_slows_nobody() {
    let rig = Rig::new();
    let host = rig.env.host_pid();
    let before = memory_kb(host, "VmHWM");
    let mut deaf = rig.connect();
    let code = "line = 'x' * 99\nfor _ in range(1_000_000): print(line)\n'through'";
    let seq = submit(&mut deaf, code, WatchFor::Output);
    // A second one asks for everything and takes nothing.
    let mut deafer = rig.connect();
    for _ in 0..2_000 {
        deafer.send(stead_protocol::client::Request::Status).unwrap();
    }
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    loop {
        let asked = Instant::now();
        let status = rig.client.status(&rig.name).unwrap();
        slowest = slowest.max(asked.elapsed());
        if !matches!(status.activity, stead_protocol::Activity::Running { .. }) {
            break;
        }
        assert!(began.elapsed() < rig::DEADLINE);
    }
    let mut watcher = connect(&rig.client, &rig.name);
    let watch = stead_protocol::client::Request::Watch { eval: seq, output: false, alone: false };
    watcher.request(watch, rig::deadline()).unwrap();
    assert_eq!(wait_finished(&mut watcher, seq).outcome, Outcome::Complete);
    let grown = memory_kb(host, "VmHWM") - before;
    eprintln!(
        "100 MB past a deaf client: {:.1?}, slowest status {slowest:.1?}, host +{grown} kB",
        began.elapsed()
    );
    assert!(grown < 16 << 10, "the host grew by {grown} kB");
    assert_eq!(rig.value("6 * 7"), "42");
    drop((deaf, deafer));
}
