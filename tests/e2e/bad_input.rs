//! H-2, S-2: what is wrong in a request is refused with its reason, before anything happens.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;
use stead_testkit::{Ran, TestEnv};

use crate::STEAD;

const MAX_CODE: usize = 16 << 20;

/// A refusal: exit code 2 and an error of this code; its message.
#[track_caller]
pub(crate) fn refused(ran: &Ran, code: &str) -> String {
    let reply = ran.json();
    assert_eq!(ran.code, Some(2), "{reply:#}");
    assert_eq!(reply["ok"], false, "{reply:#}");
    assert_eq!(reply["error"]["code"], code, "{reply:#}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    reply["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn s2_bad_names_are_refused_before_anything_happens() {
    let env = TestEnv::new(STEAD);
    let long = "a".repeat(65);
    for name in [
        "..",
        ".",
        "",
        "a/b",
        "-rf",
        "../../etc",
        "A",
        "é",
        "a\nb",
        "CON",
        "a b",
        "$(x)",
        "*",
        "_a",
        "a:1",
        "a\u{202e}b",
        &long,
    ] {
        let option = format!("--name={name}");
        for command in [
            &["eval", &option, "1"][..],
            &["status", &option],
            &["stop", &option],
            &["launch", &option],
        ] {
            let message = refused(&env.run(command), "bad_request");
            assert!(message.contains("is not a session name"), "{name:?}: {message}");
            assert!(!message.contains(['\n', '\u{202e}']), "{message:?}");
        }
    }
    for id in ["py:", ":1", "py:x", "../x:1", "py:-1", "PY:1"] {
        assert!(
            refused(&env.run(["output", id]), "bad_request").contains("is not an eval id"),
            "{id}"
        );
    }
    assert!(!env.state_dir().exists() && !env.runtime_dir().exists());
}

#[test]
fn c10_unknown_words_are_refused_with_the_nearest_one() {
    let env = TestEnv::new(STEAD);
    let message = refused(&env.run(["evall", "1"]), "bad_request");
    assert!(message.contains("evall"), "{message}");
    let near = env.run(["evall", "1"]);
    assert!(near.json()["error"]["hint"].as_str().unwrap().contains("'eval'"), "{near:?}");
    assert_eq!(near.stderr, "", "it is all in the object");
    let text = env.run(["--text", "evall", "1"]);
    assert!(text.stdout.is_empty() && text.stderr.contains("'eval'"), "{text:?}");
    let message = refused(&env.run(["eval", "--timeot", "1", "1"]), "bad_request");
    assert!(message.contains("--timeot"), "{message}");
    let message = refused(&env.run(["output"]), "bad_request");
    assert!(message.contains("<ID>"), "{message}");
    let odd = OsStr::from_bytes(b"ev\xff");
    assert!(refused(&env.run([odd]), "bad_request").contains("ev"));
    assert!(!env.state_dir().exists());
}

#[test]
fn e15_empty_code_completes_with_nothing() {
    let env = TestEnv::new(STEAD);
    for code in ["", " ", "\n\n", "# only a comment", "\n  # indented\n"] {
        let reply = env.eval(code);
        assert_eq!(reply["status"], "complete", "{code:?}: {reply:#}");
        assert_eq!(reply["data"]["value"], Value::Null, "{code:?}");
        assert_eq!(reply["data"]["chunks"], serde_json::json!([]), "{code:?}");
    }
}

#[test]
fn e15_code_may_have_16_mib_and_not_a_byte_more() {
    let env = TestEnv::new(STEAD);
    let mut code = b"x = '".to_vec();
    code.resize(MAX_CODE - b"'; len(x)".len(), b'a');
    code.extend_from_slice(b"'; len(x)");
    assert_eq!(code.len(), MAX_CODE);
    let reply = env.run_with(["eval", "-n", "py"], &code).json();
    assert_eq!(reply["data"]["value"], (MAX_CODE - 14).to_string(), "{}", reply["error"]);
    code.push(b' ');
    let message = refused(&env.run_with(["eval", "-n", "py"], &code), "limit_exceeded");
    assert!(message.contains("16 MiB"), "{message}");
    fs::write(env.workspace().join("big.py"), &code).unwrap();
    refused(&env.run(["eval", "-n", "py", "--file", "big.py"]), "limit_exceeded");
    // Characters that JSON escapes make the line six times as long. Sixteen MiB of them take a
    // debug build on a busy machine longer than a client waits.
    const { assert!(stead_protocol::MAX_LINE > 6 * MAX_CODE) };
    let size = MAX_CODE / 8;
    let mut dense = b"x = '''".to_vec();
    dense.resize(size - b"'''; len(x)".len(), 1);
    dense.extend_from_slice(b"'''; len(x)");
    let reply = env.run_with(["eval", "-n", "py"], &dense).json();
    assert_eq!(reply["data"]["value"], (size - 18).to_string(), "{}", reply["error"]);
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn code_that_is_no_text_is_refused_with_its_place() {
    let env = TestEnv::new(STEAD);
    let message = refused(&env.run_with(["eval", "-n", "py"], b"x = '\xff'"), "bad_request");
    assert!(message.contains("0xff at position 5"), "{message}");
    let argument =
        [OsStr::new("eval"), OsStr::new("-n"), OsStr::new("py"), OsStr::from_bytes(b"\xfe")];
    assert!(refused(&env.run(argument), "bad_request").contains("0xfe"));
    fs::create_dir(env.workspace().join("dir")).unwrap();
    assert!(
        refused(&env.run(["eval", "-n", "py", "--file", "dir"]), "bad_request").contains("dir")
    );
    assert!(!env.state_dir().exists());
    assert_eq!(env.value("'\\0'"), r"'\x00'");
    let nul = env.run_with(["eval", "-n", "py"], b"1\x002").json();
    assert_eq!(nul["status"], "error", "{nul:#}");
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn launch_refuses_places_and_interpreters_that_are_none() {
    let env = TestEnv::new(STEAD);
    let message = refused(&env.run(["launch", "-n", "py", "--cwd", "none"]), "bad_request");
    assert!(message.contains("none"), "{message}");
    fs::write(env.workspace().join("file"), "text").unwrap();
    assert!(
        refused(&env.run(["launch", "-n", "py", "--cwd", "file"]), "bad_request")
            .contains("not a directory")
    );
    for (python, why) in
        [("./none", "No such file"), ("./file", "executable"), ("nonesuch", "nonesuch"), ("/", "/")]
    {
        let message =
            refused(&env.run(["launch", "-n", "py", "--python", python]), "launch_failed");
        assert!(message.contains(why), "{python}: {message}");
    }
    let script = env.workspace().join("broken");
    fs::write(&script, "#!/bin/sh\necho this python is broken >&2\nexit 3\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let message =
        refused(&env.run(["launch", "-n", "py", "--python", "./broken"]), "launch_failed");
    assert!(message.contains("this python is broken"), "{message}");
    for bad in ["DEBUG", "=x"] {
        assert!(
            refused(&env.run(["launch", "-n", "py", "--env", bad]), "bad_request")
                .contains("--env")
        );
    }
    // What failed is not in the way of what works.
    assert_eq!(env.run(["launch", "-n", "py"]).code, Some(0));
    let again = env.run(["launch", "-n", "py"]);
    assert!(refused(&again, "session_exists").contains("`py`"));
}

#[test]
fn a_binary_that_is_no_python_is_reported_with_what_it_said() {
    let env = TestEnv::new(STEAD);
    let message = refused(&env.run(["launch", "-n", "py", "--python", "/bin/ls"]), "launch_failed");
    assert!(message.contains("/bin/ls") || message.contains("/usr/bin/ls"), "{message}");
    assert!(message.contains("cannot access") || message.contains("unrecognized"), "{message}");
    let eval = env.run(["eval", "-n", "py", "1"]);
    assert_eq!(eval.code, Some(2), "{eval:?}");
    assert_eq!(eval.json()["error"]["code"], "launch_failed", "{eval:?}");
}

#[test]
fn s1_a_workspace_that_is_none_is_refused() {
    let env = TestEnv::new(STEAD);
    assert!(refused(&env.run(["ls", "--workspace", "none"]), "bad_request").contains("none"));
    fs::write(env.workspace().join("file"), "").unwrap();
    assert!(refused(&env.run(["ls", "--workspace", "file"]), "bad_request").contains("file"));
    let odd = env.root().join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).unwrap();
    let mut command = env.command(["eval", "-n", "py", "1"]);
    let output = command.current_dir(&odd).output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["error"]["code"], "bad_request", "{reply:#}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("UTF-8"), "{reply:#}");
    let gone = env.root().join("gone");
    fs::create_dir(&gone).unwrap();
    let shell = format!("rmdir {0} && exec {1} ls", gone.display(), env.program().display());
    let output = std::process::Command::new("sh")
        .args(["-c", &shell])
        .current_dir(&gone)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["error"]["code"], "bad_request", "{reply:#}");
}

#[test]
fn c10_a_directory_that_is_gone_or_no_text_keeps_only_those_from_running_who_need_it() {
    let env = TestEnv::new(STEAD);
    env.value("kept = 1");
    let stdlib = env.run(["stdlib", "add", "def double(x): return 2 * x"]);
    assert_eq!(stdlib.code, Some(0), "{stdlib:?}");
    let setups: [&[u8]; 2] =
        [b"mkdir ../gone && cd ../gone && rmdir ../gone", b"mkdir -p ../odd\xff && cd ../odd\xff"];
    for setup in setups {
        let run = |arguments: &[&str]| -> Ran {
            let script = [setup, b"; exec \"$@\""].concat();
            let mut shell = env.other("/bin/sh");
            shell.arg("-c").arg(OsStr::from_bytes(&script)).arg("sh");
            shell.arg(env.program()).args(arguments).output().unwrap().into()
        };
        for arguments in [
            &["completions", "bash"][..],
            &["skill"],
            &["man"],
            &["ls", "--all"],
            &["gc", "--dry-run"],
            &["stdlib", "list"],
            &["stdlib", "add", "def triple(x): return 3 * x"],
            &["install", "--dry-run"],
            &["config", "--schema"],
            &["config", "--check", "--user"],
        ] {
            let ran = run(arguments);
            assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        }
        let all = run(&["ls", "--all"]).json();
        assert_eq!(all["data"]["sessions"][0]["name"], "py", "{all:#}");
        let doctor = run(&["doctor"]);
        let problems: Vec<Value> = doctor.json()["data"]["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["ok"] == false)
            .cloned()
            .collect();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        assert_eq!(problems[0]["name"], "workspace");
        assert!(problems[0]["fix"].as_str().unwrap().contains("--workspace"), "{problems:#?}");
        for arguments in [
            &["ls"][..],
            &["eval", "-n", "py", "1"],
            &["stop", "--all"],
            &["skill", "--install"],
            &["install", "--dry-run", "--scope", "project"],
        ] {
            let ran = run(arguments);
            refused(&ran, "bad_request");
            let hint = ran.json()["error"]["hint"].as_str().unwrap_or_default().to_owned();
            assert!(hint.contains("--workspace DIR"), "{arguments:?}: {ran:?}");
        }
        let workspace = env.workspace().display().to_string();
        assert_eq!(run(&["eval", "-n", "py", "--workspace", &workspace, "kept"]).code, Some(0));
    }
    // A workspace that the user named is not passed over.
    refused(&env.run(["ls", "--all", "--workspace", "none"]), "bad_request");
}

#[test]
fn c10_input_that_is_no_text_is_refused_as_input() {
    let env = TestEnv::new(STEAD);
    assert_eq!(env.eval("input()")["status"], "waiting_input");
    fs::write(env.workspace().join("bytes"), b"bin\x00\xff").unwrap();
    for ran in [
        env.run_with(["input", "-n", "py", "-", "--eof"], b"bin\x00\xff"),
        env.run(["input", "-n", "py", "--file", "bytes"]),
    ] {
        let message = refused(&ran, "bad_request");
        assert_eq!(message, "the input is not UTF-8: byte 0xff at position 4");
        let hint = ran.json()["error"]["hint"].as_str().unwrap_or_default().to_owned();
        assert!(hint.contains("only text can be sent"), "{hint}");
    }
    assert_eq!(env.json(["input", "-n", "py", "yes"])["data"]["value"], "'yes'");
}

#[test]
fn a_file_of_code_may_be_a_pipe_and_is_bounded_whatever_it_is() {
    let env = TestEnv::new(STEAD);
    let file = |path: &str| env.run(["eval", "-n", "py", "--file", path]);
    refused(&file("/dev/zero"), "limit_exceeded");
    assert!(refused(&file("/proc/self/mem"), "bad_request").contains("/proc/self/mem"));
    std::os::unix::fs::symlink("loop", env.workspace().join("loop")).unwrap();
    assert!(refused(&file("loop"), "bad_request").contains("loop"));
    refused(&file(&"x/".repeat(2048)), "bad_request");
    assert_eq!(
        env.run_with(["eval", "-n", "py", "--file", "/dev/stdin"], b"6 * 7").json()["data"]["value"],
        "42"
    );
}

#[test]
fn c7_a_dash_as_file_is_standard_input() {
    let env = TestEnv::new(STEAD);
    let value = |arguments: &[&str], stdin: &[u8]| {
        env.run_with(arguments, stdin).json()["data"]["value"].clone()
    };
    assert_eq!(value(&["eval", "-n", "py", "--file", "-"], b"6 * 7"), "42");
    assert_eq!(value(&["run", "python", "--file", "-"], b"6 * 8"), "48");
    let added = env.run_with(["stdlib", "add", "--file", "-"], b"def double(x): return 2 * x");
    assert_eq!(added.json()["data"]["added"][0], "double", "{added:?}");
    assert_eq!(env.eval("input()")["status"], "waiting_input");
    assert_eq!(value(&["input", "-n", "py", "--file", "-"], b"yes"), "'yes'");
}
