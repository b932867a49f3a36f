//! CF-4 after the first start: what a session has of its project meets the user's permission at every start.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{Mode, mkfifoat};
use serde_json::Value;
use stead_testkit::{Terminal, TestEnv};

use crate::STEAD;
use crate::config::{value, write, write_users};

const TOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/toy_bridge.pl");

#[track_caller]
fn refused(env: &TestEnv, arguments: &[&str], said: &str, hint: &str) {
    let ran = env.run(arguments);
    assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
    let error = ran.json()["error"].clone();
    let has = |key: &str, part: &str| error[key].as_str().unwrap_or_default().contains(part);
    assert!(has("message", said) && has("hint", hint), "{arguments:?}: {error:#}");
}

#[track_caller]
fn ok(reply: &Value) {
    assert_eq!(reply["ok"], true, "{reply:#}");
}

fn run_by(program: &Path, text: &str) {
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(program, text).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn cf4_a_program_of_the_project_that_has_changed_is_not_started_again() {
    let env = TestEnv::new(STEAD);
    let canary = env.root().join("canary");
    let toy = fs::read_to_string(TOY).unwrap();
    let bridge = env.workspace().join(".stead/bridge.pl");
    run_by(&bridge, &toy);
    write(
        &env,
        ".stead/config.toml",
        "[toolchains.perl]\nengine = \"perl\"\nbridge = \".stead/bridge.pl\"\ncmd = \"perl {bridge}\"\n",
    );
    ok(&env.json(["allow"]));
    ok(&env.json(["eval", "-n", "perl", "1"]));
    ok(&env.json(["restart", "perl"]));
    run_by(&bridge, &format!("open(my $f, '>', '{}');\n{toy}", canary.display()));
    // One that lives is not ended for a restart that is refused.
    refused(&env, &["restart", "perl"], "has changed since it was allowed", "stead allow");
    ok(&env.json(["eval", "-n", "perl", "1"]));
    env.run(["kill", "perl"]);
    refused(&env, &["eval", "-n", "perl", "1"], "has changed since it was allowed", "stead allow");
    refused(&env, &["restart", "perl"], "has changed since it was allowed", "stead allow");
    assert!(!canary.exists(), "nothing of it ran");
    ok(&env.json(["allow"]));
    ok(&env.json(["restart", "perl"]));
    assert!(canary.exists());
}

#[test]
fn cf4_what_is_no_longer_allowed_starts_no_session_again() {
    let env = TestEnv::new(STEAD);
    write(
        &env,
        ".stead/config.toml",
        "[sessions.ml]\ninit = \"z = 41\"\nenv = { FROM = \"project\" }\n",
    );
    write(&env, ".stead/stdlib/python.py", "def ours(): return 1\n");
    ok(&env.json(["allow"]));
    assert_eq!(value(&env, "ml", "z + 1"), "42");
    assert_eq!(env.value("ours()"), "1");
    ok(&env.json(["allow", "--remove"]));
    // What runs goes on.
    assert_eq!(value(&env, "ml", "z + 1"), "42");
    refused(&env, &["restart", "ml"], "is not allowed", "stead allow");
    env.run(["kill", "ml"]);
    refused(&env, &["eval", "-n", "ml", "z"], "is not allowed", "stead allow");
    // A session that has only the project's library starts without it, and says so.
    ok(&env.json(["restart", "py"]));
    let reply = env.eval("'ours' in globals()");
    assert_eq!(reply["data"]["value"], "False", "{reply:#}");
    let notice = reply["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("standard library is left out"), "{reply:#}");
    // Whoever sits at a terminal is asked in place.
    let mut terminal = Terminal::run(env.command(["eval", "-n", "ml", "z + 1"]));
    terminal.wait_for("Allow it? [y/N]");
    terminal.type_keys("y\n");
    let (exit, shown) = terminal.finish();
    assert!(exit == Some(0) && shown.contains("42"), "{shown}");
    // What was allowed before the last change still starts what it has set up, until it is taken back.
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"z = 1\"\n");
    ok(&env.json(["allow"]));
    ok(&env.json(["restart", "ml"]));
    assert_eq!(value(&env, "ml", "z + 1"), "42");
    ok(&env.json(["allow", "--remove"]));
    env.run(["kill", "ml"]);
    refused(&env, &["eval", "-n", "ml", "z"], "not allowed any more", "stead stop ml");
    ok(&env.json(["stop", "ml"]));
    ok(&env.json(["allow"]));
    assert_eq!(value(&env, "ml", "z + 1"), "2");
}

#[test]
fn cf4_what_editors_leave_stops_no_start_and_asks_nobody_again() {
    let env = TestEnv::new(STEAD);
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"z = 41\"\n");
    ok(&env.json(["allow"]));
    symlink("me@machine.1234:1700000000", env.workspace().join(".stead/.#config.toml")).unwrap();
    write(&env, ".stead/#config.toml#", "[sessions.");
    write(&env, ".stead/.config.toml.swp", "b0VIM");
    assert_eq!(value(&env, "ml", "z + 1"), "42");
    assert_eq!(env.json(["allow", "--show"])["data"]["allowed"], true);
}

#[test]
fn cf4_an_odd_directory_that_nobody_allowed_keeps_only_its_own_sessions_from_starting() {
    let env = TestEnv::new(STEAD);
    let canary = env.root().join("canary");
    let config = format!(
        "[sessions.ml]\ninit = \"open('{}', 'w')\"\n[toolchains.own]\nengine = \"python\"\ncmd = \"python3\"\n",
        canary.display()
    );
    write(&env, ".stead/config.toml", &config);
    let pipe = env.workspace().join(".stead/pipe");
    mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
    let reply = env.eval("1 + 1");
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    let notice = reply["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("is left out") && notice.contains("pipe"), "{reply:#}");
    refused(&env, &["eval", "-n", "ml", "1"], "neither a file nor a directory", "files themselves");
    refused(&env, &["allow"], "neither a file nor a directory", "files themselves");
    let listed = env.json(["toolchains"])["data"]["toolchains"].clone();
    let own = listed.as_array().unwrap().iter().find(|one| one["name"] == "own").unwrap();
    assert_eq!(own["starts"], false, "{own:#}");
    assert_eq!(env.json(["config"])["data"]["files"][1]["allowed"], false);
    fs::remove_file(&pipe).unwrap();
    // A file that cannot be understood says nothing about any session, so only those are refused that need it.
    env.run(["stop", "py"]);
    write(&env, ".stead/config.toml", "[sessions.ml\n");
    write_users(&env, "[sessions.mine]\ninit = \"x = 7\"\n");
    assert_eq!(value(&env, "mine", "x"), "7");
    refused(&env, &["eval", "-n", "ml", "1"], "config.toml:1", "close the bracket");
    // Once it was allowed, what is wrong with it is not passed over.
    fs::write(env.workspace().join(".stead/config.toml"), &config).unwrap();
    ok(&env.json(["allow"]));
    write(&env, ".stead/config.toml", "[sessions.ml\n");
    refused(&env, &["eval", "-n", "py", "1"], "config.toml:1", "close the bracket");
    assert!(!canary.exists(), "nothing of it ran");
}

#[test]
fn cf4_a_directory_that_was_never_allowed_is_not_read_as_a_whole_for_other_sessions() {
    let env = TestEnv::new(STEAD);
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"z = 41\"\n");
    // More than may be read: whoever did would say so.
    let large = fs::File::create(env.workspace().join(".stead/data")).unwrap();
    large.set_len(65 << 20).unwrap();
    let reply = env.eval("1 + 1");
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    assert_eq!(reply["data"].get("notice"), None, "{reply:#}");
    refused(&env, &["eval", "-n", "ml", "1"], "64 MiB", "keep only settings there");
    refused(&env, &["allow"], "64 MiB", "keep only settings there");
}

#[test]
fn cf4_nothing_of_a_project_is_run_by_who_only_looks() {
    let env = TestEnv::new(STEAD);
    let canary = env.root().join("canary");
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\nsleep 1000\n", canary.display());
    for python in [".venv/bin/python", "tools/python"] {
        run_by(&env.workspace().join(python), &script);
    }
    write_users(&env, "[toolchains.near]\nengine = \"python\"\ninterpreter = \"tools/python\"\n");
    let listed = env.json(["toolchains"])["data"]["toolchains"].clone();
    let why = |name: &str| {
        let one = listed.as_array().unwrap().iter().find(|one| one["name"] == name);
        one.unwrap_or_else(|| panic!("{listed:#}"))["why"].as_str().unwrap().to_owned()
    };
    for name in ["python", "python.venv", "near"] {
        assert!(why(name).ends_with(", not tried"), "{listed:#}");
    }
    let shown = env.run(Vec::<&str>::new()).stdout;
    assert!(shown.contains(".venv/bin/python") && shown.contains("not tried"), "{shown}");
    env.run(["doctor"]);
    let ran = fs::read_to_string(&canary).unwrap_or_default();
    assert!(!canary.exists(), "{ran}");
}

#[test]
fn cf4_all_that_is_allowed_is_shown_and_the_question_says_how_to_see_it() {
    let env = TestEnv::new(STEAD);
    let config = "[sessions.ml]\ninit = \"\"\"import sys\nimport os; os.system('evil')\\u001b[2K\n\"\"\"\nenv = { LD_PRELOAD = \"/tmp/evil.so\" }\n[toolchains.own]\nengine = \"python\"\ncmd = [\"sh\", \"-c\", \"evil\\ncommand\"]\n";
    write(&env, ".stead/config.toml", config);
    write(&env, ".stead/stdlib/python.py", "def good(): pass\n\u{1b}]0;x\u{7}evil_library()\n");
    write(&env, ".stead/bridge.pl", "evil");
    let all = [
        "      | import sys\n      | import os; os.system('evil')\\u{1b}[2K\n",
        "sets LD_PRELOAD = \"/tmp/evil.so\"\n",
        "cmd = [\"sh\", \"-c\", \"evil\\ncommand\"]\n",
        "    | def good(): pass\n    | \\u{1b}]0;x\\u{7}evil_library()\n",
        "file `bridge.pl`, 4 bytes",
    ];
    let shown = env.run(["--text", "allow", "--show"]).stdout;
    let lines = env.json(["allow", "--show"])["data"]["effects"].clone();
    let lines: String = lines
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("  {}\n", it.as_str().unwrap()))
        .collect();
    for part in all {
        assert!(shown.contains(part) && lines.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    let mut terminal = Terminal::run(env.command(["eval", "-n", "ml", "1"]));
    terminal.wait_for("Allow it? [y/N]");
    terminal.type_keys("\n");
    let (_, asked) = terminal.finish();
    assert!(asked.contains("runs `import sys` and 1 more line"), "{asked}");
    let how = format!("`stead allow --show` (in `{}`)", env.workspace().display());
    assert!(asked.contains(&how), "{asked}");
}

#[test]
fn cf1_what_a_terminal_would_obey_in_files_of_others_is_shown_escaped() {
    let env = TestEnv::new(STEAD);
    let good = "[sessions.ml]\ninit = \"\\u001b]0;x\\u0007 \\u202e\"\nenv = { \"A\\u001b[2J\" = \"1\", \"B\\u202e\" = \"2\" }\ncwd = \"c\\u001b[1m\"\n[toolchains.odd]\nengine = \"python\"\ncmd = \"x\\u001b[3m \\u202e\"\n";
    let bad = "[sessions.ml]\n\"k\\u001b[2J\" = 1\nenv = { \"V\\u001b[2J\\u202e\" = 1 }\n[toolchains.a.\"b\\u001b[2J\\u202e\"]\n[toolchains.own]\nengine = \"e\\u001b[2J\"\nbridge = \"b\"\n";
    write(&env, ".stead/stdlib/odd\u{1b}[2J\r\u{202e}.py", "");
    for text in [good, bad] {
        write(&env, ".stead/config.toml", text);
        for arguments in [
            &["--text", "allow", "--show"][..],
            &["--text", "config"],
            &["--text", "config", "--check"],
            &["--text", "config", "ml", "--show-env"],
            &["--text", "toolchains"],
            &["--text", "eval", "-n", "ml", "1"],
            &["--text", "launch", "odd", "-n", "x"],
            &["--text", "doctor"],
        ] {
            let ran = env.run(arguments);
            let unseen = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            for shown in [&ran.stdout, &ran.stderr] {
                assert!(!shown.contains(unseen), "{arguments:?}: {shown:?}");
            }
        }
    }
    // So is the name of a directory.
    let place = env.root().join("odd\u{1b}[31m\u{202e}dir");
    fs::create_dir_all(place.join(".git")).unwrap();
    let arguments: [&[&str]; 6] = [
        &["--text"],
        &["--text", "eval", "-n", "py", "1"],
        &["--text", "status", "py"],
        &["--text", "ls", "--all"],
        &["--text", "allow", "--remove"],
        &["--text", "skill", "--install"],
    ];
    for arguments in arguments {
        let ran = env.command(arguments).current_dir(&place).output().unwrap();
        let shown = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        let unseen = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(unseen), "{arguments:?}: {shown:?}");
    }
    let mut stop = env.command(["stop", "py"]);
    assert!(stop.current_dir(&place).status().unwrap().success());
    let shown = env.run(["--text", "allow", "--show"]).stdout;
    assert!(shown.contains("odd\\u{1b}[2J\\r\\u{202e}.py"), "{shown}");
}

#[test]
fn cf4_a_host_that_starts_an_interpreter_by_itself_asks_too() {
    let env = TestEnv::new(STEAD);
    let flag = env.root().join("flag");
    write(
        &env,
        ".stead/config.toml",
        "[sessions.ml]\ninit = \"z = 41\"\n[sessions.tools]\ntoolchain = \"bash\"\ninit = \"greet() { echo hello; }\"\n",
    );
    let library = format!("import os\nif os.path.exists({flag:?}): os._exit(3)\n");
    write(&env, ".stead/stdlib/python.py", &library);
    ok(&env.json(["allow"]));
    assert_eq!(value(&env, "ml", "z + 1"), "42");
    for code in ["x=1", "x=2"] {
        ok(&env.json(["eval", "-n", "tools", code]));
        env.json(["checkpoint", "-n", "tools", code]);
    }
    ok(&env.json(["allow", "--remove"]));
    // A shell goes back by another one that loads its text. It keeps its state where that is refused.
    let reply = env.run(["rollback", "-n", "tools", "x=1"]).json();
    assert_eq!(reply["ok"], false, "{reply:#}");
    assert!(reply.to_string().contains("is not allowed any more"), "{reply:#}");
    // The same of a rollback that is to end a running eval.
    let asks = env.json(["eval", "-n", "tools", "read -r line"]);
    assert_eq!(asks["status"], "waiting_input", "{asks:#}");
    let late = env.json(["rollback", "-n", "tools", "x=1", "--timeout", "0"]);
    ok(&env.json(["input", "-n", "tools", "text"]));
    let id = late["data"]["eval_id"].as_str().unwrap_or_else(|| panic!("{late:#}"));
    let reply = env.json(["output", id, "--wait", "1m"]);
    assert!(reply.to_string().contains("is not allowed any more"), "{reply:#}");
    let reply = env.json(["eval", "-n", "tools", "echo $x; greet"]);
    assert_eq!(reply["data"]["chunks"][0]["content"], "2\nhello\n", "{reply:#}");
    // A library that ends the interpreter makes the host start another.
    fs::write(&flag, "").unwrap();
    env.run(["clear", "ml"]);
    let status = env.json(["status", "ml"])["data"].clone();
    assert_eq!(status["state"], "ended", "{status:#}");
    assert!(status.to_string().contains("is not allowed any more"), "{status:#}");
}
