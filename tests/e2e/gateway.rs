//! K-2, X-6: kernels of a real Jupyter Server, by REST and WebSocket. Cuts, TLS and bad servers are in `gateway_cuts` and
//! `gateway_bad`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use stead_testkit::{GatewayKind, GatewayServer, TEST_TOKEN, TestEnv, chunks, wait_for};

use crate::STEAD;

/// An environment with a file that has the token.
pub(crate) struct Far {
    pub(crate) env: TestEnv,
    pub(crate) token_file: String,
}

impl Far {
    pub(crate) fn new() -> Far {
        let env = TestEnv::new(STEAD);
        let token_file = env.root().join("token").to_str().unwrap().to_owned();
        std::fs::write(&token_file, format!("{TEST_TOKEN}\n")).unwrap();
        Far { env, token_file }
    }

    /// `launch gateway` with the token's file.
    pub(crate) fn launch(&self, url: &str, name: &str, more: &[&str]) -> Value {
        let words = ["launch", "gateway", "--url", url, "-n", name, "--token-file"];
        self.env
            .json(words.into_iter().chain([self.token_file.as_str()]).chain(more.iter().copied()))
    }

    pub(crate) fn attach(&self, url: &str, name: &str, id: &str) -> Value {
        let words = ["start", "gateway", url, "--attach", id, "-n", name, "--token-file"];
        self.env.json(words.into_iter().chain([self.token_file.as_str()]))
    }

    pub(crate) fn eval(&self, name: &str, code: &str) -> Value {
        self.env.json(["eval", "-n", name, "--timeout", "60s", "--", code])
    }

    pub(crate) fn value(&self, name: &str, code: &str) -> String {
        let reply = self.eval(name, code);
        reply["data"]["value"].as_str().unwrap_or_else(|| panic!("{reply:#}")).to_owned()
    }
}

#[track_caller]
pub(crate) fn message(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {reply:#}"))
}

#[track_caller]
pub(crate) fn ok(reply: Value) -> Value {
    assert_eq!(reply["ok"], true, "{reply:#}");
    reply
}

/// What the session says of kernels that have to be deleted.
pub(crate) fn notes(far: &Far, name: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(far.env.session_dir(name)).into_iter().flatten().flatten();
    let note = |name: &str| name.starts_with("gateway-") && name.ends_with(".json");
    files.filter(|file| note(file.file_name().to_str().unwrap())).map(|file| file.path()).collect()
}

pub(crate) fn kill(env: &TestEnv, pid: &Value) {
    let pid = pid.as_u64().unwrap().to_string();
    assert!(env.other("kill").args(["-9", &pid]).status().unwrap().success());
}

/// What every server has to do.
pub(crate) fn is_a_session(kind: GatewayKind) {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, kind, &[]);
    let url = server.url();
    let more = ["--kernel", "python3", "--env", "KERNEL_USERNAME=tester"];
    let launched = ok(far.launch(&url, "far", &more));
    assert_eq!(launched["data"]["runs_at"], url.as_str());
    assert!(launched["data"]["why"].as_str().unwrap().contains("deleted with it"), "{launched:#}");
    assert_eq!(server.kernels().len(), 1);
    // Output, values, names, errors.
    let said =
        far.eval("far", "import sys; x = 41; print('out'); print('err', file=sys.stderr); x + 1");
    assert_eq!(said["data"]["value"], "42");
    assert_eq!(said["data"]["changed"]["added"][0]["name"], "sys", "{said:#}");
    let both = chunks(&said);
    assert!(both.contains(&("out", "out\n")) && both.contains(&("err", "err\n")), "{said:#}");
    assert_eq!(far.eval("far", "1/0")["data"]["error"]["name"], "ZeroDivisionError");
    // A figure.
    let png = "from IPython.display import Image, display\nimport base64\n\
        display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))";
    let shown = far.eval("far", png);
    let figure = shown["data"]["chunks"].as_array().unwrap();
    let figure = figure.iter().find(|chunk| chunk["mime"] == "image/png");
    let path =
        figure.unwrap_or_else(|| panic!("{shown:#}"))["content"].as_str().unwrap().to_owned();
    assert!(std::fs::metadata(path).is_ok());
    // Input, plain and secret.
    let asked = far.eval("far", "import getpass\n(input('who? '), getpass.getpass('key? '))");
    assert_eq!(
        (&asked["status"], &asked["data"]["prompt"]),
        (&json!("waiting_input"), &json!("who? "))
    );
    let asked = far.env.json(["input", "-n", "far", "me"]);
    assert_eq!(asked["data"]["secret"], true, "{asked:#}");
    assert_eq!(far.env.json(["input", "-n", "far", "hidden"])["data"]["value"], "('me', 'hidden')");
    // Interrupts, also of what waits for input; the state stays.
    for code in ["print('up', flush=True)\nwhile True: pass", "print('up', flush=True); input()"] {
        let id = far.env.json(["eval", "-n", "far", "--bg", "--", code]);
        let id = id["data"]["eval_id"].as_str().unwrap().to_owned();
        wait_for("it runs", || far.env.run(["output", &id]).stdout.contains("up"));
        let effect = far.env.json(["interrupt", &id]);
        assert_eq!(effect["data"]["effect"], "interrupted", "{effect:#}");
    }
    assert_eq!(far.value("far", "x"), "41");
    // A saved file is one of ours, also if the kernel had others; it takes two pieces.
    far.eval(
        "far",
        "sys.modules['_stead_names'].boot_id = lambda: 'another'; big = 'x' * 4_000_000",
    );
    ok(far.env.json(["save", "-n", "far", "far.stead", "x", "big"]));
    far.eval("far", "del x, big");
    ok(far.env.json(["load", "far.stead", "--into", "far"]));
    assert_eq!(far.value("far", "x + len(big)"), "4000041");
    assert!(message(&far.env.json(["pause", "-n", "far"])).contains("runs elsewhere"));
    // A restart is a new kernel, and the old one is gone.
    let old = server.kernels();
    ok(far.env.json(["restart", "-n", "far"]));
    assert_eq!(far.eval("far", "x")["data"]["error"]["name"], "NameError");
    wait_for("one kernel is left", || server.kernels().len() == 1);
    assert_ne!(server.kernels(), old);
    ok(far.env.json(["stop", "-n", "far"]));
    wait_for("the kernel is gone", || server.kernels().is_empty());
    // A wrong token.
    std::fs::write(&far.token_file, "wrong").unwrap();
    let refused = far.launch(&url, "no", &more);
    assert!(message(&refused).contains("refuses the token of `"), "{refused:#}");
    assert!(!refused.to_string().contains("\"wrong\""), "{refused:#}");
}

#[test]
fn k2_a_kernel_of_a_jupyter_server_is_a_session() {
    is_a_session(GatewayKind::Server);
}

#[test]
#[ignore = "needs a Jupyter Kernel Gateway"]
fn all_k2_a_kernel_of_a_kernel_gateway_is_a_session() {
    is_a_session(GatewayKind::KernelGateway);
}

#[test]
#[ignore = "needs a Jupyter Enterprise Gateway"]
fn all_k2_a_kernel_of_an_enterprise_gateway_is_a_session() {
    is_a_session(GatewayKind::EnterpriseGateway);
}

#[test]
fn k2_two_servers_with_two_kernels_each_stand_behind_one_workspace() {
    let far = Far::new();
    // The second one wants no token.
    let servers = [&[][..], &["--IdentityProvider.token="]]
        .map(|more| GatewayServer::start(&far.env, GatewayKind::Server, more));
    let attached = servers.each_ref().map(GatewayServer::start_kernel);
    for (at, server) in servers.iter().enumerate() {
        let name = format!("own{at}");
        ok(match at {
            0 => far.launch(&server.url(), &name, &["--kernel", "python3"]),
            _ => far.env.json(["launch", "gateway", "--url", &server.url(), "-n", &name]),
        });
        ok(far.attach(&server.url(), &format!("theirs{at}"), &attached[at]));
        for name in [format!("own{at}"), format!("theirs{at}")] {
            assert_eq!(far.value(&name, &format!("here = {at}; here")), at.to_string());
        }
    }
    let listed = far.env.json(["ls"]);
    let sessions = listed["data"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 4, "{listed:#}");
    for session in sessions {
        let at = usize::from(session["name"].as_str().unwrap().ends_with('1'));
        assert_eq!(session["runs_at"], servers[at].url().as_str(), "{session:#}");
    }
    let text = far.env.run(["ls", "--text"]).stdout;
    assert!(servers.iter().all(|server| text.contains(&server.url())), "{text}");
    // Another client of the kernel that was attached to sees the same state; both may leave.
    ok(far.attach(&servers[0].url(), "again", &attached[0]));
    assert_eq!(far.value("again", "here"), "0");
    kill(&far.env, &far.env.json(["status", "-n", "again"])["data"]["host_pid"]);
    for name in ["own0", "theirs0", "own1", "theirs1"] {
        ok(far.env.json(["stop", "-n", name]));
    }
    for (server, id) in servers.iter().zip(&attached) {
        wait_for("only the attached kernel is left", || server.kernels() == [id.clone()]);
    }
    // It is alive and usable.
    ok(far.attach(&servers[0].url(), "last", &attached[0]));
    assert_eq!(far.value("last", "here"), "0");
}

#[test]
fn k2_restarts_deletions_deaths_and_culling_are_seen() {
    let far = Far::new();
    let culling = [
        "--MappingKernelManager.cull_idle_timeout=3",
        "--MappingKernelManager.cull_interval=1",
        "--MappingKernelManager.cull_connected=True",
    ];
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &culling);
    let lost = |name: &str| {
        wait_for("the session has ended", || {
            far.env.json(["status", "-n", name])["data"]["state"] == "ended"
        });
        let lost = far.eval(name, "1");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        message(&lost).to_owned()
    };
    // An idle kernel is culled; the session says so, and the next eval has a fresh one.
    ok(far.launch(&server.url(), "culled", &["--kernel", "python3"]));
    assert!(lost("culled").contains("was shut down at its server"));
    assert_eq!(far.value("culled", "1"), "1");
    // Somebody deletes, or restarts, a kernel whose code runs.
    for (name, method, path, reason) in [
        ("deleted", "DELETE", "", "was shut down at its server"),
        ("restarted", "POST", "/restart", "started anew"),
    ] {
        let id = server.start_kernel();
        ok(far.attach(&server.url(), name, &id));
        let eval = far.env.json([
            "eval",
            "-n",
            name,
            "--bg",
            "--",
            "print('up', flush=True)\nwhile True: pass",
        ]);
        let eval = eval["data"]["eval_id"].as_str().unwrap().to_owned();
        wait_for("it runs", || far.env.run(["output", &eval]).stdout.contains("up"));
        server.ask(method, &format!("api/kernels/{id}{path}"), "");
        let ended = far.env.json(["output", &eval, "--wait", "60s"]);
        assert_eq!(ended["status"], "ended", "{ended:#}");
        assert!(ended.to_string().contains(reason), "{ended:#}");
    }
    // A kernel that dies is started anew by its server: its state is lost, and that is told.
    ok(far.launch(&server.url(), "dies", &["--kernel", "python3"]));
    let died = far.eval("dies", "import os; os._exit(3)");
    assert_eq!(died["status"], "ended", "{died:#}");
    assert!(died.to_string().contains("its state is gone"), "{died:#}");
    assert_eq!(far.value("dies", "2"), "2");
}

#[test]
fn k2_s9_a_kernel_of_ours_is_deleted_whoever_was_killed() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let pids = |name: &str| far.env.json(["status", "-n", name])["data"].take();
    // The host is killed: the next start, and the stop of a session that has none, delete what it left.
    ok(far.launch(&server.url(), "a", &["--kernel", "python3"]));
    kill(&far.env, &pids("a")["host_pid"]);
    ok(far.env.json(["stop", "-n", "a"]));
    wait_for("nothing is left", || server.kernels().is_empty());
    // The adapter is killed with code that runs, and a hard timeout kills one whose kernel takes no interrupt.
    ok(far.launch(&server.url(), "b", &["--kernel", "python3"]));
    far.eval("b", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)");
    let late = far.env.json([
        "eval",
        "-n",
        "b",
        "--hard-timeout",
        "300ms",
        "--timeout",
        "60s",
        "--",
        "while True: pass",
    ]);
    assert_eq!(late["status"], "timeout", "{late:#}");
    assert_eq!(far.value("b", "5"), "5");
    wait_for("one kernel is left", || server.kernels().len() == 1);
    kill(&far.env, &pids("b")["pid"]);
    wait_for("the session has ended", || pids("b")["state"] == "ended");
    // The server does not answer: stop says what is left, and where.
    let [note] = notes(&far, "b").try_into().unwrap();
    let text = std::fs::read_to_string(&note).unwrap();
    std::fs::write(&note, text.replace(&server.port.to_string(), "1")).unwrap();
    let left = far.env.json(["stop", "-n", "b"]);
    assert_eq!(left["error"]["code"], "connection_failed", "{left:#}");
    assert!(message(&left).contains("nothing listens there"), "{left:#}");
    std::fs::write(&note, text).unwrap();
    ok(far.env.json(["stop", "-n", "b"]));
    wait_for("nothing is left", || server.kernels().is_empty());
}

#[test]
fn x6_m2_open_takes_a_gateway_of_the_users_configuration_only() {
    let far = Far::new();
    let server = GatewayServer::start(&far.env, GatewayKind::Server, &[]);
    let config = far.env.root().join("home/.config/stead");
    std::fs::create_dir_all(&config).unwrap();
    let text = format!(
        "[gateways.big]\nurl = \"{}\"\ntoken = \"{TEST_TOKEN}\"\nkernel = \"python3\"\n",
        server.url()
    );
    std::fs::write(config.join("config.toml"), text).unwrap();
    let call = |tool: &str, arguments: Value| {
        let said = stead_testkit::mcp_call(far.env.command(["mcp"]), tool, arguments);
        said["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let opened = call("open", json!({"url": "big", "name": "g"}));
    assert!(
        opened.contains("[g: open, python3 ") && opened.contains("of the gateway `big`"),
        "{opened}"
    );
    assert!(call("eval", json!({"session": "g", "code": "6*7"})).contains("42"));
    assert!(call("sessions", json!({})).contains(&format!("at {}", server.url())));
    // Its address is as good as its name; any other is refused before anything is sent there.
    assert!(
        call("open", json!({"url": server.url(), "kernel": "python3", "name": "h"}))
            .contains("[h: open")
    );
    let refused = call("open", json!({"url": "http://127.0.0.1:1/", "name": "i"}));
    assert!(
        refused.contains("only if it is in the user's own configuration")
            && refused.contains("big"),
        "{refused}"
    );
    // A session of the configuration that has a gateway starts by its name alone.
    let path = config.join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "\n[sessions.train]\ngateway = \"big\"\n").unwrap();
    assert!(call("eval", json!({"session": "train", "code": "8*8"})).contains("64"));
    let shown = far.env.run(["config", "train", "--text"]).stdout;
    assert!(shown.contains("gateway") && !shown.contains(TEST_TOKEN), "{shown}");
    // A person may name it on the command line, too. The token is in no process's arguments and in no file of the session.
    ok(far.env.json(["launch", "gateway", "--url", "big", "-n", "p"]));
    let seen = Command::new("ps").args(["axww", "-o", "args"]).output().unwrap().stdout;
    let seen = String::from_utf8_lossy(&seen).into_owned();
    let adapters: Vec<_> = seen.lines().filter(|line| line.contains("adapter gateway")).collect();
    assert!(adapters.iter().any(|line| line.contains(&server.url())), "{seen}");
    assert!(adapters.iter().all(|line| !line.contains(TEST_TOKEN)), "{adapters:#?}");
    for entry in std::fs::read_dir(far.env.session_dir("p")).unwrap().flatten() {
        let text =
            String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default()).into_owned();
        assert!(!text.contains(TEST_TOKEN), "{}", entry.path().display());
    }
    let shown = far.env.run(["config", "p"]).stdout + &far.env.run(["status", "-n", "p"]).stdout;
    assert!(!shown.contains(TEST_TOKEN), "{shown}");
}
