//! CF-3: named ways to start an interpreter, those that are built in and those of one's own.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stead_testkit::{TestEnv, ipykernel};

use crate::STEAD;
use crate::config::{value, write, write_users};

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Makes an environment without anything in it.
fn venv(env: &TestEnv, at: &Path) {
    let made = Command::new(env.python()).args(["-m", "venv", "--without-pip"]).arg(at).status();
    assert!(made.unwrap().success());
}

#[track_caller]
fn refused(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run(arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    ran.json()["error"].clone()
}

#[test]
fn cf3_the_list_says_what_can_start_here_and_why_not() {
    let env = TestEnv::new(STEAD);
    write_users(
        &env,
        "[toolchains.gone]\nengine = \"python\"\ncmd = \"no-such-program x\"\n[toolchains.nice]\nengine = \"python\"\ncmd = \"nice python3\"\n",
    );
    let list = || env.json(["toolchains"])["data"]["toolchains"].clone();
    let one = |name: &str| {
        let list = list();
        let found = list.as_array().unwrap().iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {list:#}")).clone()
    };
    let names: Vec<String> =
        list().as_array().unwrap().iter().map(|one| text(&one["name"]).to_owned()).collect();
    assert!(names.is_sorted() && names.len() >= 9, "{names:?}");
    for (name, hint) in [
        ("python.venv", "python3 -m venv"),
        ("python.uv", "uv init"),
        ("python.poetry", "poetry init"),
        ("python.conda", "activate"),
        ("gone", "install `no-such-program`"),
    ] {
        let one = one(name);
        assert_eq!(one["starts"], false, "{one:#}");
        assert!(text(&one["hint"]).contains(hint) && !text(&one["why"]).is_empty(), "{one:#}");
    }
    for name in ["python", "bash", "nice"] {
        assert_eq!(one(name)["starts"], true, "{:#}", one(name));
    }
    // What is reached by an address can be named, and starts nowhere by its name.
    assert_eq!(one("jupyter")["engine"], "jupyter", "{:#}", one("jupyter"));
    assert!(!text(&one("jupyter")["why"]).is_empty(), "{:#}", one("jupyter"));
    assert!(!names.contains(&"nrepl".to_owned()) && !names.contains(&"gateway".to_owned()));
    let error = refused(&env, &["launch", "cobol"]);
    for name in ["jupyter", "nrepl", "gateway"] {
        assert!(text(&error["hint"]).contains(name), "{error:#}");
    }
    assert!(text(&one("nice")["origin"]).ends_with("config.toml:4"), "{:#}", one("nice"));
    venv(&env, &env.workspace().join(".venv"));
    let found = one("python.venv");
    assert!(text(&found["interpreter"]).ends_with("ws/.venv/bin/python"), "{found:#}");
    let shown = env.run(["--text", "toolchains"]).stdout;
    assert!(shown.contains("starts  python.venv") && shown.contains("do: "), "{shown}");
    let error = refused(&env, &["launch", "python.poetry"]);
    assert_eq!(error["code"], "launch_failed", "{error:#}");
    assert!(text(&error["hint"]).contains("poetry init"), "{error:#}");
}

#[test]
fn s11_what_a_file_chose_is_named_with_its_line_by_status_and_where_a_start_fails() {
    let env = TestEnv::new(STEAD);
    let users = write_users(
        &env,
        "[sessions.a]\ncwd = \"nope\"\n[sessions.b]\ninterpreter = \"/nope/python\"\n[sessions.c]\ntoolchain = \"bash\"\n[sessions.d]\ntoolchain = \"gone\"\n[toolchains.gone]\nengine = \"python\"\ncmd = \"no-such-program\"\n[sessions.e]\nkernel = \"none\"\n[toolchains.own]\nengine = \"own\"\nbridge = \"none.pl\"\n[sessions.f]\ntoolchain = \"own\"\n",
    );
    let at = |line: usize| format!("{}:{line}", users.display());
    for (name, said) in [
        ("a", format!("{}: `cwd`: the session's directory `", at(2))),
        ("b", format!("(`interpreter` of {})", at(4))),
        ("d", format!("(`cmd` of {}, toolchain `gone` ({}))", at(11), at(8))),
        ("e", format!("(`kernel` of {})", at(13))),
        ("f", format!("(`bridge` of {}, toolchain `own` ({}))", at(16), at(18))),
    ] {
        let error = refused(&env, &["eval", "-n", name, "1"]);
        assert!(text(&error["message"]).contains(&said), "{said}: {error:#}");
        assert!(!text(&error["hint"]).is_empty(), "{error:#}");
        let twice = text(&error["message"]).matches("os error").count() > 1;
        assert!(!twice, "{error:#}");
    }
    let launched = env.json(["launch", "-n", "c"]);
    let why = text(&launched["data"]["why"]);
    assert!(why.ends_with(&format!("toolchain `bash` ({})", at(6))), "{launched:#}");
    let error = refused(&env, &["launch", "python", "-n", "g", "--cwd", "nope"]);
    assert!(text(&error["hint"]).contains("--cwd"), "{error:#}");
}

#[test]
fn cf3_a_toolchain_is_started_by_name_and_by_language() {
    let env = TestEnv::new(STEAD);
    venv(&env, &env.workspace().join(".venv"));
    let prefix = env.workspace().join(".venv").display().to_string();
    // By the name of the session, as a language, and without a name.
    let seen =
        value(&env, "python.venv", "import sys, os; [sys.prefix, os.environ['VIRTUAL_ENV']]");
    assert_eq!(seen, format!("['{prefix}', '{prefix}']"));
    let reply = env.json(["eval", "-n", "x", "-l", "python.venv", "import sys; sys.prefix"]);
    assert_eq!(text(&reply["data"]["value"]), format!("'{prefix}'"), "{reply:#}");
    let launched = env.json(["launch", "python.venv"]);
    assert_eq!(launched["data"]["name"], "python.venv-2", "{launched:#}");
    assert!(text(&launched["data"]["why"]).contains("`.venv` in"), "{launched:#}");
    assert!(text(&launched["data"]["why"]).contains("toolchain `python.venv`"), "{launched:#}");
    // A session of another toolchain is not taken for it.
    env.json(["launch", "python", "-n", "plain", "--interpreter", env.python().to_str().unwrap()]);
    let error = refused(&env, &["eval", "-n", "plain", "-l", "python.venv", "1"]);
    assert!(text(&error["message"]).contains("`plain` is in python, not python.venv"), "{error:#}");
    assert_eq!(env.json(["eval", "-n", "x", "-l", "python", "1"])["status"], "complete");
    let ran = env.json(["run", "python.venv", "import sys; sys.prefix"]);
    assert_eq!(text(&ran["data"]["value"]), format!("'{prefix}'"), "{ran:#}");
    let error = refused(&env, &["launch", "python.vnev"]);
    assert_eq!(error["code"], "bad_request");
    assert!(text(&error["hint"]).contains("did you mean `python.venv`?"), "{error:#}");
}

#[test]
fn cf3_a_command_of_ones_own_is_started_without_a_shell() {
    let env = TestEnv::new(STEAD);
    let odd = env.workspace().join("a b;touch x");
    fs::create_dir(&odd).unwrap();
    let show = "import sys, os; [os.environ.get('AT'), os.environ.get('N')]";
    let launched = env.json([
        "launch",
        "python",
        "-n",
        "a",
        "--cwd",
        odd.to_str().unwrap(),
        "--cmd",
        "env 'AT={cwd}|$HOME|{{x}}' env N=3 python3",
    ]);
    assert_eq!(launched["ok"], true, "{launched:#}");
    assert!(text(&launched["data"]["why"]).contains("started by the command"), "{launched:#}");
    // S-11: what runs, and not what the command begins with.
    let runs = value(&env, "a", "import sys; sys.executable");
    let told = env.json(["status", "-n", "a"])["data"]["interpreter"].clone();
    assert_eq!(format!("'{}'", text(&told)), runs);
    assert_eq!(launched["data"]["interpreter"], told);
    assert_eq!(value(&env, "a", show), format!("['{}|$HOME|{{x}}', '3']", odd.display()));
    assert!(!odd.join("x").exists() && !env.workspace().join("x").exists());
    env.json(["eval", "-n", "a", "x = 1"]);
    assert_eq!(env.json(["restart", "a"])["ok"], true);
    assert!(value(&env, "a", show).ends_with(", '3']"), "a restart has the same command");
    // The boot code as a file, where the command says so, in each language.
    for (language, command, code, expected) in [
        (
            "python",
            "nice python3 -X utf8 {bridge}",
            "import sys; (sys.argv, sys.path[0], '__file__' in globals())",
            "([''], '', False)",
        ),
        ("bash", "nice bash {bridge}", "echo ${BASH_VERSINFO[0]} >/dev/null; x=7; echo $x", "7\n"),
    ] {
        let name = format!("{language}-file");
        let launched = env.json(["launch", language, "-n", &name, "--cmd", command]);
        assert_eq!(launched["ok"], true, "{launched:#}");
        let data = env.json(["eval", "-n", &name, code])["data"].clone();
        let got = data["value"].as_str().or(data["chunks"][0]["content"].as_str());
        assert_eq!(got, Some(expected), "{data:#}");
    }
    for (command, message) in [
        ("python3 {port}", "python sessions use no port"),
        ("python3 {brigde}", "`{brigde}`"),
        ("python3 'x", "not closed"),
        ("", "empty"),
    ] {
        let error = refused(&env, &["launch", "python", "-n", "b", "--cmd", command]);
        assert_eq!(error["code"], "bad_request", "{error:#}");
        assert!(
            text(&error["message"]).contains(message) && error["hint"].is_string(),
            "{error:#}"
        );
    }
    let error = refused(&env, &["launch", "python", "-n", "b", "--cmd", "no-such-program"]);
    assert!(text(&error["message"]).contains("no-such-program"), "{error:#}");
}

#[test]
fn cf3_a_wrapper_that_stays_is_no_obstacle_to_an_interrupt_or_to_input() {
    let env = TestEnv::new(STEAD);
    write_users(
        &env,
        "[toolchains.wrapped]\nengine = \"python\"\ncmd = ['sh', '-c', '\"$0\" \"$@\"; exit $?', 'python3']\n",
    );
    let wrapped =
        value(&env, "wrapped", "x = 1; import os; open(f'/proc/{os.getppid()}/comm').read()");
    assert_eq!(wrapped, "'sh\\n'");
    // Status is about the interpreter: its place and its process are its own, and it is no process in the background.
    let pid = value(&env, "wrapped", "os.mkdir('below'); os.chdir('below'); os.getpid()");
    let status = env.json(["status", "-n", "wrapped"])["data"].clone();
    assert_eq!(status["pid"].to_string(), pid, "{status:#}");
    assert!(text(&status["cwd"]).ends_with("/below"), "{status:#}");
    assert_eq!(status["background"], Value::Null, "{status:#}");
    let code = "print('up', flush=True)\nwhile True: pass";
    let id = env.json(["eval", "-n", "wrapped", "--bg", code])["data"]["eval_id"].clone();
    env.json(["wait", text(&id), "--match", "up"]);
    assert_eq!(env.json(["interrupt", "wrapped"])["data"]["effect"], "interrupted");
    assert_eq!(value(&env, "wrapped", "x"), "1");
    let asked = env.json(["eval", "-n", "wrapped", "input('who? ')"]);
    assert_eq!(asked["status"], "waiting_input", "{asked:#}");
    assert_eq!(env.json(["input", "-n", "wrapped", "me"])["data"]["value"], "'me'");
    // Copies are of the interpreter, not of the wrapper.
    assert_eq!(env.json(["checkpoint", "-n", "wrapped", "a"])["ok"], true);
    value(&env, "wrapped", "x = 2");
    assert_eq!(env.json(["rollback", "-n", "wrapped", "a"])["ok"], true);
    assert_eq!(value(&env, "wrapped", "x"), "1");
    assert_eq!(env.json(["restart", "wrapped"])["ok"], true);
    // Its end is the session's.
    let ended = env.json(["eval", "-n", "wrapped", "exit(3)"]);
    assert_eq!(ended["status"], "ended", "{ended:#}");
}

#[test]
fn cf3_toolchains_of_ones_own_build_on_others_and_replace_built_in_ones() {
    let env = TestEnv::new(STEAD);
    venv(&env, &env.workspace().join(".venv"));
    venv(&env, &env.workspace().join("other"));
    write_users(
        &env,
        "[toolchains.ds]\nengine = \"python.venv\"\ninit = \"answer = 42\"\nenv = { A = \"toolchain\", B = \"toolchain\" }\n[toolchains.python]\ninterpreter = \"other\"\n[sessions.s]\ntoolchain = \"ds\"\nenv = { B = \"session\" }\n",
    );
    let seen = value(
        &env,
        "s",
        "import os, sys; [answer, os.environ['A'], os.environ['B'], os.path.basename(sys.prefix)]",
    );
    assert_eq!(seen, "[42, 'toolchain', 'session', '.venv']");
    assert_eq!(value(&env, "py", "import os, sys; os.path.basename(sys.prefix)"), "'other'");
    assert!(text(&env.status()["why"]).contains("`interpreter` of "), "{:#}", env.status());
    // A language of one's own, by its bridge.
    let bridge = write(&env, "tools/bridge.pl", &fs::read_to_string(TOY).unwrap());
    write_users(
        &env,
        "[toolchains.perl]\nengine = \"perl\"\nbridge = \"tools/bridge.pl\"\ncmd = \"perl {bridge}\"\n[toolchains.slow]\nengine = \"perl\"\ncmd = \"nice perl {bridge}\"\n",
    );
    let listed = |name: &str| {
        let list = env.json(["toolchains"])["data"]["toolchains"].clone();
        list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(listed("perl")["starts"], true, "{:#}", listed("perl"));
    fs::rename(&bridge, env.workspace().join("moved")).unwrap();
    assert_eq!(listed("perl")["starts"], false, "{:#}", listed("perl"));
    fs::rename(env.workspace().join("moved"), &bridge).unwrap();
    let launched = env.json(["launch", "perl"]);
    assert_eq!(launched["data"]["language"], "perl", "{launched:#}");
    assert_eq!(text(&launched["data"]["interpreter"]), bridge.to_str().unwrap());
    assert_eq!(env.json(["eval", "-n", "perl", "1"])["status"], "complete");
    assert_eq!(env.json(["eval", "-n", "slow", "1"])["status"], "complete");
}

#[test]
fn k1_a_file_names_the_kernel_of_a_session() {
    let env = TestEnv::new(STEAD);
    env.install_kernel("ipython", &ipykernel());
    write_users(
        &env,
        "[sessions.book]\nkernel = \"ipython\"\ninit = \"z = 41\"\n[toolchains.nb]\nengine = \"jupyter\"\nkernel = \"ipython\"\n[sessions.gone]\nkernel = \"no-such\"\n",
    );
    for (session, code, shown) in [("book", "z + 1", "42"), ("nb", "6 * 7", "42")] {
        let reply = env.json(["eval", "-n", session, "--timeout", "60s", "--", code]);
        assert_eq!(reply["data"]["value"], shown, "{reply:#}");
        assert_eq!(env.json(["status", session])["data"]["language"], "ipython");
    }
    let error = refused(&env, &["eval", "-n", "gone", "1"]);
    assert!(text(&error["message"]).contains("no Jupyter kernel `no-such`"), "{error:#}");
    env.run(["stop", "book"]);
    env.run(["stop", "nb"]);
}
