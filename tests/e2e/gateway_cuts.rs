//! K-2: the connection to a server is cut at random moments while output flows and while code is sent.

use serde_json::Value;
use stead_testkit::{CuttingProxy, GatewayKind, GatewayServer, wait_for};

use crate::gateway::{Far, message, ok};

/// How often the connection is cut in each part; `./test --all` has 100.
fn cuts() -> u64 {
    std::env::var("STEAD_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Reads numbered lines and notes in order: where numbers are missing, a note stands between the last text before them and the
/// first one behind. The numbers that came, and how many cuts were told.
#[track_caller]
fn numbers(reply: &Value) -> (Vec<u64>, usize) {
    let (mut came, mut told, mut excused) = (Vec::new(), 0, true);
    for chunk in reply["data"]["chunks"].as_array().unwrap() {
        let text = chunk["content"].as_str().unwrap_or_default();
        if chunk["type"] == "err" {
            told += text.matches("the connection is back").count();
            excused |= text.contains("may be missing");
            continue;
        }
        for line in text.lines().filter(|_| chunk["type"] == "out") {
            // The kernel may send a number and the end of its line one after the other, and the first of them was lost.
            if line.is_empty() && excused {
                continue;
            }
            let number: u64 = line.parse().unwrap_or_else(|_| panic!("a torn line: {line:?}"));
            let next = came.last().map_or(0, |last| last + 1);
            assert!(number >= next, "{number} came after {next}: doubled or out of order");
            assert!(number == next || excused, "{next}..{number} is missing and nobody said so");
            came.push(number);
            excused = false;
        }
    }
    (came, told)
}

fn cut_while_output_flows(kind: GatewayKind) {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, kind, &[]);
    let proxy = CuttingProxy::to(server.port);
    ok(far.launch(
        &proxy.url(),
        "far",
        &["--kernel", "python3", "--env", "KERNEL_USERNAME=tester"],
    ));
    let mut dice = Dice(7);
    // Output flows while the connection is cut.
    let flag = far.env.root().join("enough");
    let code = format!(
        "import os, time\ni = 0\nwhile not os.path.exists({:?}):\n    print(i, flush=True); i += 1; time.sleep(0.004)\ni",
        flag.to_str().unwrap()
    );
    let eval = ok(far.env.json(["eval", "-n", "far", "--bg", "--", &code]));
    let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
    for cut in 0..cuts() {
        // Each second cut comes when output flows again, the others perhaps while the connection is being made.
        if cut % 2 == 0 {
            wait_for("output flows", || {
                let last = far.env.json(["output", &eval, "--tail", "1"]);
                last["data"]["chunks"][0]["type"] == "out"
            });
        }
        proxy.cut_after(1 + dice.below(30_000));
        wait_for("it is cut", || proxy.cuts() > cut);
    }
    std::fs::write(&flag, "").unwrap();
    let ended = far.env.json(["output", &eval, "--wait", "120s", "--full"]);
    let (came, told) = numbers(&ended);
    assert!(told >= 1 && told <= cuts() as usize, "{told} cuts told of {}", cuts());
    match ended["status"].as_str().unwrap() {
        "complete" => {
            let all: usize = ended["data"]["value"].as_str().unwrap().parse().unwrap();
            assert!(came.len() <= all && came.len() * 2 > all, "{} of {all} lines", came.len());
        }
        // The reply itself was lost.
        "error" => assert_eq!(ended["data"]["error"]["name"], "ConnectionLost", "{ended:#}"),
        other => panic!("{other}: {ended:#}"),
    }
    // Code is sent while the connection is cut: each eval has one outcome, and none runs twice.
    assert_eq!(far.eval("far", "done = []")["status"], "complete");
    let mut complete = Vec::new();
    for round in 0..cuts() {
        proxy.cut_after(1 + dice.below(4_000));
        let reply = far.eval("far", &format!("done.append({round}); print('said'); {round}"));
        match reply["status"].as_str().unwrap() {
            "complete" => complete.push(round),
            "error" => assert_eq!(reply["data"]["error"]["name"], "ConnectionLost", "{reply:#}"),
            other => panic!("{other}: {reply:#}"),
        }
        assert!(reply.to_string().matches("said\\n").count() <= 1, "{reply:#}");
    }
    proxy.cut_after(u64::MAX);
    let ran = far.value("far", "done");
    let ran: Vec<u64> = serde_json::from_str(&ran).unwrap();
    let mut once = ran.clone();
    once.dedup();
    assert_eq!(once, ran, "something ran twice");
    assert!(complete.iter().all(|round| ran.contains(round)), "{complete:?} {ran:?}");
}

#[test]
fn k2_a_cut_connection_is_taken_up_again_and_nothing_is_doubled() {
    cut_while_output_flows(GatewayKind::Server);
}

#[test]
#[ignore = "needs a Jupyter Kernel Gateway"]
fn all_k2_a_cut_connection_to_a_kernel_gateway() {
    cut_while_output_flows(GatewayKind::KernelGateway);
}

#[test]
#[ignore = "needs a Jupyter Enterprise Gateway"]
fn all_k2_a_cut_connection_to_an_enterprise_gateway() {
    cut_while_output_flows(GatewayKind::EnterpriseGateway);
}

#[test]
fn k2_what_the_server_kept_arrives_and_what_is_asked_meanwhile_is_done() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let proxy = CuttingProxy::to(server.port);
    ok(far.launch(&proxy.url(), "far", &["--kernel", "python3"]));
    let flag = far.env.root().join("go");
    // The code goes on while nobody can reach it, and asks for a line.
    let code = format!(
        "import os, time\nprint('up', flush=True)\nwhile not os.path.exists({:?}): time.sleep(0.01)\nprint('kept')\ninput('who? ')",
        flag.to_str().unwrap()
    );
    let eval = far.env.json(["eval", "-n", "far", "--bg", "--", &code]);
    let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for("it runs", || far.env.run(["output", &eval]).stdout.contains("up"));
    proxy.refuse(true);
    proxy.cut();
    wait_for("the cut is told", || {
        far.env.run(["output", &eval]).stdout.contains("the connection was lost")
    });
    std::fs::write(&flag, "").unwrap();
    proxy.refuse(false);
    let asks = far.env.json(["wait", &eval, "--input", "--timeout", "60s"]);
    assert_eq!(asks["ok"], true, "{asks:#}");
    let done = far.env.json(["input", "-n", "far", "me"]);
    assert_eq!(done["data"]["value"], "'me'", "{done:#}");
    let whole = far.env.json(["output", &eval, "--full"]).to_string();
    assert!(whole.contains("kept\\n") && whole.contains("may be missing"), "{whole}");
    // Cut while nothing runs: the next eval runs as ever, on the same kernel.
    far.eval("far", "x = 1");
    proxy.cut();
    assert_eq!(far.value("far", "x"), "1");
    // The kernel goes while nobody is connected.
    proxy.refuse(true);
    proxy.cut();
    for id in server.kernels() {
        server.ask("DELETE", &format!("api/kernels/{id}"), "");
    }
    proxy.refuse(false);
    wait_for("the session has ended", || {
        far.env.json(["status", "-n", "far"])["data"]["state"] == "ended"
    });
    let lost = far.eval("far", "x");
    assert!(message(&lost).contains("deleted or culled there"), "{lost:#}");
}

#[test]
fn k2_a_question_that_was_lost_with_the_connection_is_told_of_and_interrupted() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let proxy = CuttingProxy::to(server.port);
    ok(far.launch(&proxy.url(), "far", &["--kernel", "python3"]));
    let flag = far.env.root().join("go");
    let code = format!(
        "import os, time\nprint('up', flush=True)\nwhile not os.path.exists({:?}): time.sleep(0.01)\ninput('who? ')",
        flag.to_str().unwrap()
    );
    let eval = ok(far.env.json(["eval", "-n", "far", "--bg", "--", &code]));
    let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for("it runs", || far.env.run(["output", &eval]).stdout.contains("up"));
    // The server has passed the question on, and it never arrives.
    proxy.hold(true);
    std::fs::write(&flag, "").unwrap();
    wait_for("it asks", || proxy.has_swallowed("input_request"));
    proxy.cut();
    proxy.hold(false);
    wait_for("it is told", || {
        far.env.run(["output", &eval]).stdout.contains("if it asked for input when that was lost")
    });
    assert_eq!(far.env.json(["status", "-n", "far"])["data"]["state"], "running");
    let effect = far.env.json(["interrupt", &eval]);
    assert_eq!(effect["data"]["effect"], "interrupted", "{effect:#}");
    assert_eq!(far.value("far", "1"), "1");
}

#[test]
#[ignore = "waits for half a minute"]
fn all_k2_a_half_open_connection_is_noticed() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let proxy = CuttingProxy::to(server.port);
    ok(far.launch(&proxy.url(), "far", &["--kernel", "python3"]));
    let eval = far.env.json(["eval", "-n", "far", "--bg", "--", "x = input('who? ')"]);
    let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
    wait_for("it waits", || {
        far.env.json(["status", "-n", "far"])["data"]["state"] == "waiting_input"
    });
    proxy.hold(true);
    wait_for("the silence is told", || {
        far.env.run(["output", &eval]).stdout.contains("the server has said nothing for 15 s")
    });
    proxy.hold(false);
    wait_for("it is back", || far.env.run(["output", &eval]).stdout.contains("is back"));
    assert_eq!(far.env.json(["input", "-n", "far", "me"])["status"], "complete");
    assert_eq!(far.value("far", "x"), "'me'");
}
