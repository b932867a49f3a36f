//! K-2, S-9: no kernel that was made for a session stays when `stop` has said that it has ended, whatever the moment was.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stead_testkit::{CuttingProxy, GatewayKind, GatewayServer, pause, wait_for};

use crate::gateway::{Far, kill, message, notes, ok};

/// `launch gateway` that is not waited for.
fn launching(far: &Far, url: &str, name: &str) -> Child {
    let words = ["launch", "gateway", "--url", url, "-n", name, "--kernel", "python3"];
    let more = ["--env", "KERNEL_USERNAME=tester", "--token-file", far.token_file.as_str()];
    let mut command = far.env.command(words.into_iter().chain(more));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn status(far: &Far, name: &str) -> Value {
    far.env.json(["status", "-n", name])["data"].take()
}

/// Stops at moments of a start.
fn stopped_while_it_starts(kind: GatewayKind) {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, kind, &[]);
    for (round, after) in [0, 20, 40, 60, 80, 110, 150, 200, 300, 500].into_iter().enumerate() {
        let name = format!("s{round}");
        let mut launch = launching(&far, &server.url(), &name);
        wait_for("it has begun", || far.env.session_dir(&name).join("meta.json").exists());
        pause(Duration::from_millis(after));
        ok(far.env.json(["stop", "-n", &name]));
        let left = server.kernels();
        assert!(left.is_empty(), "{after} ms: {left:?}");
        assert!(notes(&far, &name).is_empty(), "{after} ms");
        launch.wait().unwrap();
    }
    // Nothing that was under way has come since.
    assert!(server.kernels().is_empty());
}

#[test]
fn k2_s9_stop_leaves_no_kernel_whatever_the_start_was_at() {
    stopped_while_it_starts(GatewayKind::Server);
}

#[test]
#[ignore = "needs a Jupyter Server 1"]
fn all_k2_s9_stop_leaves_no_kernel_at_an_old_server() {
    stopped_while_it_starts(GatewayKind::OldServer);
}

#[test]
#[ignore = "needs a Jupyter Kernel Gateway"]
fn all_k2_s9_stop_leaves_no_kernel_at_a_kernel_gateway() {
    stopped_while_it_starts(GatewayKind::KernelGateway);
}

#[test]
#[ignore = "needs a Jupyter Enterprise Gateway"]
fn all_k2_s9_stop_leaves_no_kernel_at_an_enterprise_gateway() {
    stopped_while_it_starts(GatewayKind::EnterpriseGateway);
}

/// The server has made a kernel, and its answer never arrives.
fn made_and_never_told(kind: GatewayKind) {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, kind, &[]);
    let others = server.start_kernel();
    let proxy = CuttingProxy::to(server.port);
    for killed in [None, Some("host_pid"), Some("pid")] {
        let name = killed.unwrap_or("none").replace('_', "-");
        proxy.mute(Some("POST"));
        let mut launch = launching(&far, &proxy.url(), &name);
        wait_for("the kernel is there", || server.kernels().len() == 2);
        if let Some(which) = killed {
            kill(&far.env, &status(&far, &name)[which]);
            wait_for("the session has ended", || status(&far, &name)["state"] == "ended");
            assert_eq!(notes(&far, &name).len(), 1);
        }
        // While the server cannot be asked, nobody says that nothing is left.
        if killed == Some("pid") {
            proxy.refuse(true);
            let left = far.env.json(["stop", "-n", &name]);
            assert!(message(&left).contains("a kernel may be left at "), "{left:#}");
            proxy.refuse(false);
        }
        ok(far.env.json(["stop", "-n", &name]));
        assert_eq!(server.kernels(), std::slice::from_ref(&others), "{name}");
        assert!(notes(&far, &name).is_empty());
        launch.wait().unwrap();
        proxy.mute(None);
    }
    // The next start finds it, too.
    proxy.mute(Some("POST"));
    let mut launch = launching(&far, &proxy.url(), "again");
    wait_for("the kernel is there", || server.kernels().len() == 2);
    let old = server.kernels();
    kill(&far.env, &status(&far, "again")["pid"]);
    launch.wait().unwrap();
    proxy.mute(None);
    assert_eq!(far.value("again", "1"), "1");
    assert_eq!(server.kernels().len(), 2);
    assert_ne!(server.kernels(), old);
}

#[test]
fn k2_s9_a_kernel_whose_making_was_never_answered_is_found_and_deleted() {
    made_and_never_told(GatewayKind::Server);
}

#[test]
#[ignore = "needs a Jupyter Server 1"]
fn all_k2_s9_a_kernel_that_an_old_server_made_is_found() {
    made_and_never_told(GatewayKind::OldServer);
}

#[test]
#[ignore = "needs a Jupyter Kernel Gateway"]
fn all_k2_s9_a_kernel_that_a_kernel_gateway_made_is_found() {
    made_and_never_told(GatewayKind::KernelGateway);
}

#[test]
#[ignore = "needs a Jupyter Enterprise Gateway"]
fn all_k2_s9_a_kernel_that_an_enterprise_gateway_made_is_found() {
    made_and_never_told(GatewayKind::EnterpriseGateway);
}

#[test]
fn k2_s9_a_session_that_comes_back_after_its_kernel_was_deleted_leaves_none() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    ok(far.launch(&server.url(), "nat", &["--kernel", "python3"]));
    let [id] = server.kernels().try_into().unwrap();
    server.ask("DELETE", &format!("api/kernels/{id}"), "");
    wait_for("the session has ended", || status(&far, "nat")["state"] == "ended");
    assert_eq!(far.eval("nat", "1")["error"]["code"], "session_lost");
    ok(far.env.json(["stop", "-n", "nat"]));
    assert!(server.kernels().is_empty());
}

/// A server that takes its time to make a kernel, chooses its id itself, and may have sessions; what it was asked.
fn slow_server(takes: Option<Duration>, sessions: bool) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = heard.clone();
    std::thread::spawn(move || {
        let (mut waiting, mut asked_at, mut path): (Vec<TcpStream>, Option<Instant>, Value) =
            Default::default();
        for mut stream in listener.incoming().flatten() {
            let mut asked = String::new();
            let mut bytes = [0; 4096];
            while !asked.contains("\r\n\r\n")
                || (asked.starts_with("POST") && !asked.ends_with('}'))
            {
                match stream.read(&mut bytes) {
                    Ok(count) if count > 0 => asked += &String::from_utf8_lossy(&bytes[..count]),
                    _ => break,
                }
            }
            kept.lock().unwrap().push_str(&asked);
            let line = asked.lines().next().unwrap_or_default();
            let made = asked_at.zip(takes).is_some_and(|(at, takes)| at.elapsed() >= takes);
            let answer = match line.trim_end_matches(" HTTP/1.1") {
                "GET /api/kernelspecs" => Some((200, json!({"kernelspecs": {}}))),
                "GET /api/status" if sessions => Some((200, json!({"kernels": 0}))),
                "GET /api/sessions" if sessions => Some((
                    200,
                    match made {
                        true => json!([{"path": path, "kernel": {"id": "its-own"}}]),
                        false => json!([]),
                    },
                )),
                "DELETE /api/kernels/its-own" if made => Some((204, Value::Null)),
                line if line.starts_with("POST") => {
                    let body = asked.split_once("\r\n\r\n").unwrap().1;
                    path = serde_json::from_str::<Value>(body).unwrap()["path"].take();
                    asked_at = Some(Instant::now());
                    None
                }
                _ => Some((404, json!({}))),
            };
            let Some((status, body)) = answer else {
                waiting.push(stream);
                continue;
            };
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    (port, heard)
}

#[test]
fn k2_s9_stop_waits_for_a_kernel_that_is_being_made_under_an_id_of_the_servers() {
    let far = Far::new();
    let (port, heard) = slow_server(Some(Duration::from_secs(3)), true);
    let mut launch = launching(&far, &format!("http://127.0.0.1:{port}/"), "slow");
    wait_for("it is asked for", || heard.lock().unwrap().contains("POST /api/sessions"));
    ok(far.env.json(["stop", "-n", "slow"]));
    assert!(heard.lock().unwrap().contains("DELETE /api/kernels/its-own "));
    launch.wait().unwrap();
}

#[test]
fn k2_s9_stop_never_says_ok_where_nobody_can_know() {
    let far = Far::new();
    let (port, heard) = slow_server(None, false);
    let mut launch = launching(&far, &format!("http://127.0.0.1:{port}/"), "dark");
    wait_for("it is asked for", || heard.lock().unwrap().contains("POST /api/kernels"));
    let left = far.env.json(["stop", "-n", "dark"]);
    assert!(message(&left).contains("may still be being made"), "{left:#}");
    launch.wait().unwrap();
    // Later, too, and each time.
    let [note] = notes(&far, "dark").try_into().unwrap();
    let mut text: Value = serde_json::from_slice(&std::fs::read(&note).unwrap()).unwrap();
    text["known"]["at"] = json!(1);
    std::fs::write(&note, text.to_string()).unwrap();
    for words in [["stop", "-n", "dark"], ["stop", "-n", "dark"]] {
        let left = far.env.json(words);
        let said = message(&left);
        assert!(said.contains("nobody can tell from here"), "{left:#}");
        assert!(said.contains(note.to_str().unwrap()), "{left:#}");
    }
    let left = far.env.json(["rm", "dark"]);
    assert!(message(&left).contains("nobody can tell from here"), "{left:#}");
    std::fs::remove_file(&note).unwrap();
    ok(far.env.json(["rm", "dark"]));
}
