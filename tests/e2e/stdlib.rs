//! ST-4: functions of the user's own that every new session has.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

/// The file of a library.
fn library(env: &TestEnv, name: &str) -> PathBuf {
    env.root().join("home/.config/stead/stdlib").join(name)
}

/// Writes a library by hand.
fn write(env: &TestEnv, name: &str, text: &str) -> PathBuf {
    let path = library(env, name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn add(env: &TestEnv, language: &str, code: &str) -> Value {
    let reply = env.run_with(["stdlib", "add", "-l", language, "-"], code.as_bytes()).json();
    assert_eq!(reply["ok"], true, "{code}: {reply:#}");
    reply["data"].clone()
}

#[track_caller]
fn refused(env: &TestEnv, language: &str, code: &str) -> Value {
    let ran = env.run_with(["stdlib", "add", "-l", language, "-"], code.as_bytes());
    assert_eq!(ran.code, Some(2), "{code}: {ran:?}");
    ran.json()["error"].clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap_or_default()).collect()
}

#[test]
fn st4_what_is_added_is_in_new_sessions_and_not_the_users() {
    let env = TestEnv::new(STEAD);
    let data = add(
        &env,
        "python",
        "import json\n\ndef double(x: int, *, k=2) -> int:\n    '''Twice x.\n\n    More.'''\n    return k * x\n\nclass Box: pass\nLIMIT = 5\n",
    );
    assert_eq!(names_of(&data["added"]), ["json", "double", "Box", "LIMIT"], "{data:#}");
    assert_eq!(data["count"], 4);

    let list = env.json(["stdlib", "list"])["data"].clone();
    assert_eq!(list["functions"][0]["name"], "double", "{list:#}");
    assert_eq!(list["functions"][0]["signature"], "(x: int, *, k=2) -> int");
    assert_eq!(list["functions"][0]["doc"], "Twice x.");
    assert_eq!(
        (names(&list["classes"]), names(&list["modules"]), names(&list["others"])),
        (vec!["Box"], vec!["json"], vec!["LIMIT"])
    );
    assert_eq!(list["count"], 4);
    let text = env.run(["--text", "stdlib", "list"]).stdout;
    assert!(
        text.contains("double(x: int, *, k=2) -> int")
            && text.contains("Twice x.")
            && text.contains("4 definitions in "),
        "{text}"
    );

    let reply = env.eval("y = double(21); y");
    assert_eq!(
        (reply["data"]["value"].as_str(), reply["data"]["notice"].as_str()),
        (Some("42"), None),
        "{reply:#}"
    );
    assert_eq!(names(&reply["data"]["changed"]["added"]), ["y"], "{reply:#}");
    let vars = env.json(["vars", "py"]);
    assert_eq!(names(&vars["data"]["vars"]), ["y"], "{vars:#}");
    assert_eq!(
        (env.status()["variables"].as_u64(), env.status()["stdlib"]["names"].as_u64()),
        (Some(1), Some(4))
    );
    let about = env.json(["inspect", "-n", "py", "double"])["data"].clone();
    assert!(about["source"].as_str().unwrap().starts_with("def double(x: int"), "{about:#}");
    let about = env.json(["inspect", "-n", "py", "Box"])["data"].clone();
    assert_eq!(about["source"], "class Box: pass\n", "{about:#}");

    // What the user rebinds is the user's.
    let reply = env.eval("LIMIT = 6");
    assert_eq!(names(&reply["data"]["changed"]["rebound"]), ["LIMIT"], "{reply:#}");
    assert_eq!(names(&env.json(["vars", "py"])["data"]["vars"]), ["LIMIT", "y"]);
    let reply = env.eval("del double");
    assert_eq!(reply["data"]["changed"]["removed"][0], "double", "{reply:#}");
    assert_eq!(env.status()["variables"], 2);
    env.stop_all();
}

fn names_of(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn st4_a_definition_is_replaced_where_it_stands_and_the_rest_stays_as_it_was_written() {
    let env = TestEnv::new(STEAD);
    let path = write(
        &env,
        "python.py",
        "#!/usr/bin/env python3\n# My helpers.\n\nimport os\nimport json\n\n\n# About f.\ndef f():\n    return 1\n\n\nx = 1  # keep this\n\n# --- more ---\n\ndef g(): return f()",
    );
    let data =
        add(&env, "python", "import json\nimport re\n\ndef f(a):\n    return 2\n\ndef h(): pass\n");
    assert_eq!(
        (names_of(&data["added"]), names_of(&data["replaced"])),
        (vec!["re", "h"], vec!["f"]),
        "{data:#}"
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "#!/usr/bin/env python3\n# My helpers.\n\nimport os\nimport json\nimport re\n\n\n# About f.\ndef f(a):\n    return 2\n\n\nx = 1  # keep this\n\n# --- more ---\n\ndef g(): return f()\n\ndef h(): pass\n"
    );
    // The same again changes nothing.
    let before = fs::read(&path).unwrap();
    add(&env, "python", "import json\nimport re\n\ndef f(a):\n    return 2\n\ndef h(): pass\n");
    assert_eq!(fs::read(&path).unwrap(), before);
    let show = env.run(["--text", "stdlib", "show", "f"]);
    assert_eq!(show.stdout, "# About f.\ndef f(a):\n    return 2\n");
    let gone = env.json(["stdlib", "remove", "f", "x"]);
    assert_eq!(names_of(&gone["data"]["removed"]), ["f", "x"], "{gone:#}");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "#!/usr/bin/env python3\n# My helpers.\n\nimport os\nimport json\nimport re\n\n\n# --- more ---\n\ndef g(): return f()\n\ndef h(): pass\n"
    );
    let error = env.json(["stdlib", "remove", "nope"])["error"].clone();
    assert!(
        error["message"].as_str().unwrap().contains("defines no `nope`")
            && error["hint"].as_str().unwrap().contains("g, h"),
        "{error:#}"
    );
    assert_eq!(
        env.json(["ls"])["data"]["sessions"].as_array().unwrap().len(),
        0,
        "no session is left of asking"
    );
    assert_eq!(env.processes(), Vec::<u32>::new());
}

#[test]
fn st4_code_that_does_not_compile_is_refused_and_nothing_is_run() {
    let env = TestEnv::new(STEAD);
    let mark = env.root().join("ran");
    let touch = mark.display();
    let bad = [
        ("python", "def f(:\n    pass".to_owned(), "line 1"),
        ("python", "x = 1\nreturn 5".to_owned(), "line 2"),
        ("python", "# nothing\n\n".to_owned(), "defines nothing"),
        ("bash", "f() {\n  echo".to_owned(), "line "),
        ("bash", format!("}}; touch {touch}; {{"), "line 1"),
        ("bash", format!(") }} fi; touch {touch}; if ((0)); then {{ ( :"), "line 1"),
        ("bash", "cat <<END\nx".to_owned(), "here-document"),
        ("node", "let a = ;".to_owned(), "line 1"),
        ("node", "let a = 1\nexport const b = 2".to_owned(), "line 2"),
    ];
    for (language, code, says) in bad {
        let error = refused(&env, language, &code);
        assert!(error["message"].as_str().unwrap().contains(says), "{code}: {error:#}");
    }
    for name in ["python.py", "bash.sh", "node.js"] {
        assert!(!library(&env, name).exists(), "{name}");
    }
    // Statements are accepted as they are, and run only in sessions.
    for (language, code) in [
        ("python", format!("import pathlib\npathlib.Path('{touch}').touch()")),
        (
            "bash",
            format!("touch {touch}; x=$(touch {touch})\nif true; then touch {touch}; fi >>{touch}"),
        ),
        ("node", format!("require('fs').writeFileSync('{touch}', '')")),
    ] {
        let data = add(&env, language, &code);
        assert!(data["other"].as_u64().unwrap() >= 1, "{data:#}");
        let text = env.run(["--text", "stdlib", "list", "-l", language]).stdout;
        assert!(text.contains("other"), "{text}");
        assert!(!mark.exists(), "{language}");
    }
}

#[test]
fn st4_a_broken_library_is_reported_and_never_prevents_a_start() {
    let env = TestEnv::new(STEAD);
    let cases = [
        ("python.py", "py", "def f(:", "SyntaxError"),
        ("python.py", "py", "x = 1\n1 / 0", "line 2: ZeroDivisionError"),
        ("python.py", "py", "ask = input('who? ')", "it asks for input"),
        ("python.py", "py", "import os\nos.read(0, 1)", "it asks for input"),
        ("python.py", "py", "exit(3)", "exit(3)"),
        ("python.py", "py", "import sys\nsys.exit()", "exit()"),
        ("python.py", "py", "import os\nos._exit(4)", "it ended the interpreter"),
        ("python.py", "py", "import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("bash.sh", "sh", "f() { :; }\nfi", "SyntaxError"),
        ("bash.sh", "sh", "read -p 'who? ' x", "it asks for input"),
        ("bash.sh", "sh", "x=1\nexit 3", "exit status 3"),
        ("bash.sh", "sh", "exec true", "it ended the interpreter"),
        ("bash.sh", "sh", "kill -9 $$", "SIGKILL"),
        ("node.js", "js", "let x = ;", "SyntaxError"),
        ("node.js", "js", "let x = 1\nnull.y", "line 2: TypeError"),
        ("node.js", "js", "process.exit(3)", "it ended the interpreter"),
    ];
    for (file, name, text, says) in cases {
        write(&env, file, text);
        let code = if name == "sh" { "echo $((1 + 1))" } else { "1 + 1" };
        let reply = env.json(["eval", "-n", name, code]);
        let said = format!("{}{}", reply["data"]["value"], reply["data"]["chunks"][0]["content"]);
        assert!(reply["ok"] == true && said.contains('2'), "{text}: {reply:#}");
        let notice = reply["data"]["notice"].as_str().unwrap_or_default().to_owned();
        assert!(
            notice.contains("the standard library is not loaded") && notice.contains(says),
            "{text}: {reply:#}"
        );
        // Only the first reply says so; the status goes on to.
        let reply = env.json(["eval", "-n", name, code]);
        assert_eq!(reply["data"]["notice"], Value::Null, "{text}: {reply:#}");
        let status = env.json(["status", name])["data"].clone();
        assert!(status["stdlib"]["error"].as_str().unwrap().contains(says), "{status:#}");
        let text = env.run(["--text", "status", name]).stdout;
        assert!(text.contains("stdlib") && text.contains("not loaded"), "{text}");
        env.run(["stop", name]);
    }
}

#[test]
fn st4_a_library_that_never_ends_is_stopped() {
    let env = TestEnv::new(STEAD);
    write(&env, "python.py", "def f(): return 7\nwhile True: pass");
    let launched = env.json(["launch", "python", "-n", "py", "--init", "z = f()"]);
    assert_eq!(launched["ok"], true, "{launched:#}");
    let notice = launched["data"]["notice"].as_str().unwrap();
    assert!(notice.contains("it ran for more than 10 s"), "{launched:#}");
    assert_eq!(
        env.value("z"),
        "7",
        "what it had defined until then is there, and the init code came behind it"
    );
    env.stop_all();
}

#[test]
fn st4_what_a_library_prints_is_not_in_the_first_reply() {
    let env = TestEnv::new(STEAD);
    write(&env, "python.py", "print('welcome')");
    let reply = env.eval("print('mine')");
    assert_eq!(reply["data"]["chunks"].as_array().unwrap().len(), 1, "{reply:#}");
    let notice = reply["data"]["notice"].as_str().unwrap();
    let id = notice.split(' ').find(|word| word.starts_with("py:")).unwrap();
    let output = env.json(["output", id]);
    assert_eq!(output["data"]["chunks"][0]["content"], "welcome\n", "{output:#}");
    env.stop_all();
}

#[test]
fn st4_s7_clear_loads_it_again_only_where_the_session_was_opened_with_it() {
    let env = TestEnv::new(STEAD);
    for (language, name, code, call, value) in [
        ("python", "py", "def f(): return 7", "print(f())", "7\n"),
        ("bash", "sh", "f() { echo 7; }", "f", "7\n"),
        ("node", "js", "function f() { return 7 }", "console.log(f())", "7\n"),
    ] {
        add(&env, language, code);
        env.json(["launch", language, "-n", name]);
        env.json(["launch", language, "-n", "bare", "--no-stdlib"]);
        for (session, has) in [(name, true), ("bare", false)] {
            for step in ["launch", "clear", "restart"] {
                if step != "launch" {
                    let ran = env.run([step, session]);
                    assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
                }
                let listed = env.json(["vars", session]);
                assert_eq!(
                    listed["data"]["vars"].as_array().unwrap().len(),
                    0,
                    "{step}: {listed:#}"
                );
                let reply = env.json(["eval", "-n", session, call]);
                let said =
                    reply["data"]["chunks"][0]["content"].as_str().unwrap_or_default().to_owned();
                assert_eq!(said == value, has, "{session} after {step}: {reply:#}");
                let status = env.json(["status", session])["data"].clone();
                assert_eq!(status["stdlib"].is_null(), !has, "{status:#}");
                assert_eq!(status["variables"], 0, "{status:#}");
            }
        }
        // A library that has become broken is told of by the reply to `clear`.
        let file = library(&env, stead_config_file(language));
        fs::write(&file, if language == "bash" { "exit 1" } else { "nope.nope" }).unwrap();
        let reply = env.json(["clear", name]);
        assert!(
            reply["data"]["notice"].as_str().unwrap_or_default().contains("not loaded"),
            "{reply:#}"
        );
        assert_eq!(reply["ok"], true, "{reply:#}");
        env.stop_all();
    }
    let reply = env.json(["eval", "-n", "py", "--no-stdlib", "1"]);
    assert_eq!(reply["data"]["notice"], Value::Null, "{reply:#}");
    env.stop_all();
}

fn stead_config_file(language: &str) -> &'static str {
    match language {
        "python" => "python.py",
        "bash" => "bash.sh",
        _ => "node.js",
    }
}

#[test]
fn st4_adds_of_many_processes_lose_nothing() {
    let env = TestEnv::new(STEAD);
    let children: Vec<_> = (0..8)
        .map(|n| {
            env.spawn(["stdlib".to_owned(), "add".to_owned(), format!("def f{n}(): return {n}")])
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let list = env.json(["stdlib", "list"])["data"].clone();
    assert_eq!(list["count"], 8, "{list:#}");
    assert_eq!(env.value("[f0(), f7()]"), "[0, 7]");
    env.stop_all();
}

#[test]
fn st4_files_of_every_shape_are_right_or_named() {
    let env = TestEnv::new(STEAD);
    // A byte order mark and CR LF stay; the code that is added gets the same line ends.
    let path = write(&env, "python.py", "\u{feff}import os\r\n\r\ndef f():\r\n    return 1\r\n");
    add(&env, "python", "def g():\n    return 2");
    add(&env, "python", "\u{feff}def f():\r\n    return 3\r\n");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "\u{feff}import os\r\n\r\ndef f():\r\n    return 3\r\n\r\ndef g():\r\n    return 2\r\n"
    );
    assert_eq!(env.value("f(), g()"), "(3, 2)");
    write(&env, "bash.sh", "f() {\r\n  echo crlf\r\n}\r\n");
    let reply = env.json(["eval", "-n", "sh", "f"]);
    assert_eq!(reply["data"]["chunks"][0]["content"], "crlf\n", "{reply:#}");
    env.stop_all();

    // No line end at the end, an empty file, none at all.
    fs::write(&path, "def f(): return 1").unwrap();
    add(&env, "python", "def g(): return 2");
    assert_eq!(fs::read_to_string(&path).unwrap(), "def f(): return 1\n\ndef g(): return 2\n");
    fs::write(&path, "").unwrap();
    assert_eq!(env.json(["stdlib", "list"])["data"]["count"], 0);
    add(&env, "python", "def g(): return 2");
    assert_eq!(fs::read_to_string(&path).unwrap(), "def g(): return 2\n");

    // A link stays a link, and what it leads to keeps its mode.
    let real = env.root().join("dotfiles.py");
    fs::write(&real, "def f(): return 1\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(&path).unwrap();
    symlink("../../../../dotfiles.py", &path).unwrap();
    add(&env, "python", "def g(): return 2");
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "def f(): return 1\n\ndef g(): return 2\n");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let left: Vec<_> = fs::read_dir(env.root())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    // What is no text file is named, by commands and by the sessions that start without it.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = refused(&env, "python", "def g(): return 2");
    assert!(error["message"].as_str().unwrap().contains("directory"), "{error:#}");
    let reply = env.eval("1 + 1");
    assert!(reply["data"]["notice"].as_str().unwrap().contains("directory"), "{reply:#}");
    env.stop_all();
    fs::remove_dir(&path).unwrap();
    for (bytes, says) in [(b"x = '\xff'".to_vec(), "UTF-8"), (vec![b' '; (4 << 20) + 1], "bytes")] {
        fs::write(&path, bytes).unwrap();
        let error = env.json(["stdlib", "list"])["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(says), "{error:#}");
        let reply = env.eval("1 + 1");
        assert!(reply["data"]["notice"].as_str().unwrap().contains(says), "{reply:#}");
        env.stop_all();
    }
    fs::write(&path, "x = 1\ry = 2\n").unwrap();
    let error = refused(&env, "python", "def g(): return 2");
    assert!(error["message"].as_str().unwrap().contains("line 1"), "{error:#}");
    // A library that is broken is not touched.
    fs::write(&path, "def f(:\n").unwrap();
    let error = refused(&env, "python", "def g(): return 2");
    assert!(error["message"].as_str().unwrap().contains("cannot be compiled: line 1"), "{error:#}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "def f(:\n");
    assert_eq!(env.run(["--text", "stdlib", "show"]).stdout, "def f(:\n");
}

#[test]
fn st4_a_mebibyte_of_code_is_added_listed_and_loaded() {
    let env = TestEnv::new(STEAD);
    let body = "y".repeat(200);
    let one = |n: usize| format!("def f{n}(a, b=1):\n    'Doc {n}.'\n    return {n}  # {body}\n\n");
    let code: String = (0..4500).map(one).collect();
    assert!(code.len() > 1 << 20);
    let data = add(&env, "python", &code);
    assert_eq!(data["count"], 4500);
    let list = env.json(["stdlib", "list"])["data"].clone();
    assert_eq!(
        (list["functions"].as_array().unwrap().len(), list["more"].as_u64()),
        (500, Some(4000))
    );
    add(&env, "python", "def f4000(): return 'new'");
    assert_eq!(env.value("f1(0), f4000()"), "(1, 'new')");
    env.stop_all();
}

#[test]
fn st4_runs_and_other_languages_have_none() {
    let env = TestEnv::new(STEAD);
    write(&env, "python.py", "def f(): return 7");
    let reply = env.json(["run", "python", "f()"]);
    assert!(reply["error"]["message"].as_str().unwrap().contains("NameError"), "{reply:#}");
    let error = env.json(["stdlib", "list", "-l", "shell"])["error"].clone();
    assert_eq!(error["code"], "bad_request", "{error:#}");
    let error = env.json(["stdlib", "list", "-l", "cobol"])["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("cobol"), "{error:#}");
    let other = env.root().join("elsewhere");
    let mut command = env.command(["stdlib", "list"]);
    let reply = command.env("XDG_CONFIG_HOME", &other).output().unwrap();
    assert!(
        String::from_utf8_lossy(&reply.stdout).contains("elsewhere/stead/stdlib/python.py"),
        "{reply:?}"
    );
}
