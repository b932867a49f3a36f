//! E-18: hints about habits of other REPLs, in the words of the command line.

use serde_json::json;
use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;

/// The hint of a failed eval, in JSON and as text.
#[track_caller]
fn hint(env: &TestEnv, session: &str, code: &str) -> Option<String> {
    let reply = env.json(["eval", "-n", session, code]);
    let hint = reply["error"]["hint"].as_str().map(str::to_owned);
    let ran = env.run(["eval", "-n", session, "--text", code]);
    let shown = ran.stderr.lines().find_map(|line| line.strip_prefix("[hint: "));
    assert_eq!(shown.and_then(|line| line.strip_suffix(']')), hint.as_deref(), "{ran:?}");
    hint
}

#[test]
fn e18_hints_name_the_command_that_does_it_here() {
    let env = TestEnv::new(STEAD);
    for (session, code, wanted) in [
        ("py", "%timeit f()", "timeit.timeit"),
        ("py", "!ls -la", "`stead shell 'ls -la'`"),
        ("py", "%%bash\nls", "`stead shell 'ls'`"),
        ("py", "total?", "`stead inspect -n py total`"),
        ("py", "pip install requests", "`stead shell '"),
        ("py", "%whos", "`stead vars -n py`"),
        ("py", "git commit -m 'x'", r"`stead shell 'git commit -m '\''x'\'''`"),
        ("py", "let x = 5", "`stead eval -n js …`"),
        ("py", "%matplotlib inline", "shown by themselves"),
        ("py", "%cd /tmp", "os.chdir(\"/tmp\")"),
        ("sh", "import os", "`stead eval -n py …`"),
        ("sh", "print('x')", "`stead eval -n py …`"),
        ("sh", "const x = 1", "`stead eval -n js …`"),
        ("js", "const x: number = 1", "`stead shell 'npx tsx FILE.ts'`"),
        ("js", "import os", "`stead eval -n py …`"),
        ("js", "cd ..", "process.chdir(\"..\")"),
        ("js", "require('zod')", "`stead shell 'npm install zod'`"),
    ] {
        let said = hint(&env, session, code).unwrap_or_else(|| panic!("no hint for {code:?}"));
        assert!(said.contains(wanted), "{code:?}: {said}");
    }
    for (session, code) in [
        ("py", "7 % 3"),
        ("py", "1 / 0"),
        ("py", "x = ("),
        ("sh", "false"),
        ("js", "const ok = 1; ok()"),
    ] {
        assert_eq!(hint(&env, session, code), None, "{code:?}");
    }
}

#[test]
fn e18_a_package_that_was_installed_is_found_without_a_restart() {
    let env = TestEnv::new(STEAD);
    let venv = env.workspace().join(".venv");
    let mut command = env.other(env.python().to_str().unwrap());
    command.args(["-m", "venv", "--without-pip"]).arg(&venv);
    assert!(command.status().unwrap().success());
    let said = hint(&env, "py", "import yaml").unwrap();
    assert!(said.contains(".venv/bin/python") && said.contains(" pyyaml'`"), "{said}");
    let put = "python -c \"import sysconfig; open(sysconfig.get_path('purelib') + '/yaml.py', 'w').write('x = 5')\"";
    assert_eq!(env.json(["shell", put])["status"], "complete");
    assert_eq!(env.json(["eval", "-n", "py", "import yaml; yaml.x"])["data"]["value"], "5");
}

#[test]
fn e18_the_hint_comes_also_with_the_kept_output() {
    let env = TestEnv::new(STEAD);
    env.run(["eval", "-n", "py", "!ls"]);
    let ran = env.run(["output", "py:1", "--text"]);
    assert!(ran.stderr.contains("[hint: `!` is IPython's"), "{ran:?}");
    // Reading succeeds, so the hint stands with the error that was read; a wait for the eval fails with it.
    let read = env.json(["output", "py:1"]);
    let hint = read["data"]["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.starts_with("`!` is IPython's"), "{read:#}");
    let waited = env.json(["output", "py:1", "--wait", "1m"]);
    assert_eq!(waited["error"]["hint"], hint, "{waited:#}");
    assert_eq!(waited["data"]["error"]["hint"], serde_json::Value::Null, "{waited:#}");
    // What is no habit of another REPL gets no advice.
    env.run(["eval", "-n", "py", "1/0"]);
    let read = env.json(["output", "py:2"]);
    assert_eq!(read["data"]["error"]["name"], "ZeroDivisionError", "{read:#}");
    assert_eq!(read["data"]["error"]["hint"], serde_json::Value::Null, "{read:#}");
}

#[test]
fn e18_st5_a_lost_name_is_told_with_what_lost_it() {
    let env = TestEnv::new(STEAD);
    let settle =
        || wait_for("a copy of the session as it is", || env.status()["undo"]["kept"] == true);
    let eval = |code: &str| {
        env.json(["eval", "-n", "py", code]);
        settle();
    };
    eval("a = 1");
    eval("b = 2");
    env.json(["undo", "-n", "py"]);
    let undone = "`b` came from py:2, which was undone: run the code that makes it again";
    assert_eq!(hint(&env, "py", "b").as_deref(), Some(undone));
    // The undone clear has lost nothing, and neither has the crash, after which the session goes on.
    settle();
    env.json(["clear", "-n", "py"]);
    let back = env.json(["undo", "py:6"]);
    assert_eq!(back["data"]["undone"], json!(["py:6"]), "{back:#}");
    eval("a");
    let crash = env.json(["eval", "-n", "py", "import os; os.abort()"]);
    assert_eq!(crash["data"]["restored"], "py:8", "{crash:#}");
    assert_eq!(env.json(["eval", "-n", "py", "a"])["data"]["value"], "1");
    // Beside code that runs, names are known by the history.
    env.json(["eval", "-n", "py", "input()"]);
    let vars = env.json(["vars", "-n", "py"])["data"]["vars"].clone();
    let names: Vec<&str> =
        vars.as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["a"], "{vars:#}");
    env.json(["interrupt", "py"]);
    env.json(["eval", "-n", "py", "exit(4)"]);
    let said = hint(&env, "py", "a").unwrap();
    assert!(
        said.contains("started afresh (the interpreter exited with code 4); it came from py:1"),
        "{said}"
    );
    assert_eq!(hint(&env, "py", "b").as_deref(), Some(undone));
}
