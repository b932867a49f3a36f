//! O: bounded replies that say how to read the rest, and every way to read it.

use serde_json::Value;
use stead_testkit::{ReadLines, Terminal, TestEnv, chunks, wait_for};

use crate::STEAD;
use crate::gate::Gate;
use crate::talk::without_spinner;

fn out(reply: &Value) -> String {
    chunks(reply).into_iter().filter(|(kind, _)| *kind == "out").map(|(_, text)| text).collect()
}

/// The bytes that a command writes.
fn bytes(env: &TestEnv, arguments: &[&str]) -> Vec<u8> {
    let output = env.command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    output.stdout
}

#[test]
fn o5_a_long_reply_shows_whole_lines_of_head_and_tail_and_how_to_read_the_rest() {
    let env = TestEnv::new(STEAD);
    let all: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let reply = env.eval("for n in range(20000): print('line', n)\n'value'");
    let shown = chunks(&reply);
    let [("out", head), ("status", marker), ("out", tail), ("value", "'value'")] = shown[..] else {
        panic!("{shown:?}");
    };
    let length = head.len() + tail.len();
    assert!((31_000..=32_000).contains(&length), "{length}");
    assert!(all.starts_with(head) && head.ends_with('\n'));
    assert!(all.ends_with(tail) && tail.starts_with("line "));
    let lines = 20_000 - head.lines().count() - tail.lines().count();
    let left_out = all.len() - length;
    assert!(marker.contains(&format!("{lines} lines, {left_out} bytes left out")), "{marker}");
    assert_eq!(reply["data"]["truncated"]["shown_bytes"], length, "{marker}");
    assert_eq!(reply["data"]["truncated"]["total_bytes"], all.len(), "{marker}");

    // The command in the marker works as it stands, and goes on exactly where the head ends.
    let command = &marker[marker.find("stead output").unwrap()..];
    let command = command.trim_end().trim_end_matches(['…', ']', ' ']);
    let ran = env.in_shell(command);
    assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    let rest = ran.json();
    let begin = out(&rest);
    assert!(all[head.len()..].starts_with(begin.split("[…").next().unwrap().get(..1000).unwrap()));
}

#[test]
fn o5_reading_by_the_marker_reaches_every_byte() {
    let env = TestEnv::new(STEAD);
    let all: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let mut reply = env.eval("for n in range(5000): print('line', n)");
    let mut whole = String::new();
    for _ in 0..100 {
        let shown: Vec<(String, String)> =
            chunks(&reply).into_iter().map(|(k, c)| (k.to_owned(), c.to_owned())).collect();
        whole.push_str(&shown[0].1);
        let Some((_, marker)) = shown.iter().find(|(kind, _)| kind == "status") else { break };
        let offset = marker.split("--offset ").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(offset, whole.len().to_string());
        reply = env.json(["output", "py:1", "--offset", offset]);
    }
    assert_eq!(whole, all);
}

#[test]
fn o5_one_enormous_line_is_cut_inside() {
    let env = TestEnv::new(STEAD);
    let reply = env.eval("print('é' * 1000000, end='')");
    let shown = chunks(&reply);
    let [("out", head), ("status", marker), ("out", tail)] = shown[..] else { panic!("{shown:?}") };
    assert_eq!((head.chars().count(), tail.chars().count()), (16_000, 16_000));
    assert!(head.chars().all(|c| c == 'é') && tail.chars().all(|c| c == 'é'));
    assert!(marker.contains("1936000 bytes left out"), "{marker}");
    let next = env.json(["output", "py:1", "--offset", "32000", "--limit", "4"]);
    assert_eq!(out(&next), "éé");
}

#[test]
fn o5_the_bound_can_be_set_or_lifted() {
    let env = TestEnv::new(STEAD);
    let code = "for n in range(20000): print('line', n)";
    let all: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let short = env.json(["eval", "-n", "py", "--max-chars", "100", code]);
    let length: usize = chunks(&short).iter().filter(|(k, _)| *k == "out").map(|c| c.1.len()).sum();
    assert!((50..=100).contains(&length), "{short:#}");
    assert_eq!(out(&env.json(["eval", "-n", "py", "--full", code])), all);
    assert_eq!(out(&env.json(["output", "py:1", "--full"])), all);
    assert_eq!(env.run(["eval", "-n", "py", "--text", "--full", code]).stdout, all);
    let one = env.json(["output", "py:1", "--max-chars", "1"]);
    assert!(out(&one).len() <= 1, "{one:#}");
    assert_eq!(one["data"]["truncated"]["total_bytes"], all.len());
}

#[test]
fn o7_raw_gives_the_bytes_as_they_were_written() {
    let env = TestEnv::new(STEAD);
    let mut all: Vec<u8> = (0..=255).collect();
    all.extend_from_slice(b"\r\n\x1b[2J\xff\xfe");
    let code = "import sys; sys.stdout.buffer.write(bytes(range(256)) + b'\\r\\n\\x1b[2J\\xff\\xfe') and None";
    assert_eq!(bytes(&env, &["eval", "-n", "py", "--raw", code]), all);
    assert_eq!(bytes(&env, &["output", "py:1", "--raw"]), all);
    assert_eq!(bytes(&env, &["output", "py:1", "--raw", "--json"]), all);
    assert_eq!(
        bytes(&env, &["output", "py:1", "--raw", "--offset", "250", "--limit", "7"]),
        all[250..257]
    );
    assert_eq!(bytes(&env, &["output", "py:1", "--raw", "--follow"]), all);
}

#[test]
fn o7_bytes_that_are_no_text_are_escaped_in_json() {
    let env = TestEnv::new(STEAD);
    let reply = env
        .eval("import sys; sys.stdout.buffer.write(b'a\\xff\\xc3\\xa9\\xe2\\x82z\\x00') and None");
    assert_eq!(out(&reply), "a\\xffé\\xe2\\x82z\\x00");
    assert_eq!(out(&env.json(["output", "py:1"])), "a\\xffé\\xe2\\x82z\\x00");
}

#[test]
fn o7_half_characters_in_a_stream_are_joined() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!(
        "import os\nos.write(1, b'x\\xe2\\x82')\n{}\nos.write(1, b'\\xac')\nos.write(1, b'\\xe2')",
        gate.code()
    );
    let mut child = env.spawn(["eval", "-n", "py", "--stream", &code]);
    let lines = ReadLines::of(child.stdout.take().unwrap());
    assert!(lines.next_line().unwrap().contains(r#""content":"x""#));
    gate.open();
    let mut rest = String::new();
    while let Some(line) = lines.next_line() {
        let line: Value = serde_json::from_str(&line).unwrap();
        rest.push_str(line["content"].as_str().unwrap_or_default());
    }
    // The value of the last write is its count.
    assert_eq!(rest, "€\\xe21");
    child.wait().unwrap();
}

#[test]
fn o7_a_terminal_is_never_commanded_by_output() {
    let env = TestEnv::new(STEAD);
    let code = "print('\\x1b]52;c;cGF5\\x07\\x1b[2J\\x1b]0;title\\x07 \\u202eabc\\u202c \\x9b31m \\x00 \\x08')";
    // Without colours of stead's own, so that every escape on the terminal would be the code's.
    let run = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        command.env("NO_COLOR", "1");
        Terminal::run(command).finish()
    };
    for arguments in [
        &["eval", "-n", "py", code][..],
        &["eval", "-n", "py", "--stream", code],
        &["output", "py:1"],
    ] {
        let (exit, shown) = run(arguments);
        assert_eq!(exit, Some(0), "{shown:?}");
        let ours = without_spinner(&shown);
        assert!(!ours.contains(['\x1b', '\x07', '\u{202e}', '\u{9b}', '\0', '\x08']), "{shown:?}");
        assert!(ours.contains("abc") && ours.contains("u{202e}"), "{shown:?}");
    }
    let error = "raise ValueError('\\x1b[31mred\\x1b[0m')";
    let (exit, shown) = run(&["eval", "-n", "py", error]);
    assert_eq!(exit, Some(1));
    assert!(!without_spinner(&shown).contains('\x1b'), "{shown:?}");
    // Names of variables and files are output too.
    env.value("globals()['\\x1b[31m'] = '\\x1b[2J'");
    let (_, shown) = run(&["vars", "-n", "py"]);
    assert!(!shown.contains('\x1b'), "{shown:?}");
}

#[test]
fn o6_parts_are_read_by_offset_limit_and_tail() {
    let env = TestEnv::new(STEAD);
    env.eval("print('0123456789')\nprint('one')\nprint('two')\n7");
    let part = |arguments: &[&str]| {
        let mut all = vec!["output", "py:1"];
        all.extend(arguments);
        let reply = env.json(all);
        assert_eq!(reply["ok"], true, "{reply:#}");
        out(&reply)
    };
    let check = || {
        assert_eq!(part(&["--offset", "3", "--limit", "4"]), "3456");
        assert_eq!(part(&["--offset", "8"]), "89\none\ntwo\n");
        assert_eq!(part(&["--limit", "2"]), "01");
        assert_eq!(part(&["--offset", "1000"]), "");
        let beyond = env.run(["output", "py:1", "--offset", "1000", "--text"]);
        assert!(!beyond.stdout.contains("wrote nothing"), "{beyond:?}");
        assert_eq!(part(&["--limit", "0"]), "");
        assert_eq!(part(&["--tail", "2"]), "one\ntwo\n");
        assert_eq!(part(&["--tail", "0"]), "");
        assert_eq!(part(&["--tail", "1000"]), "0123456789\none\ntwo\n");
        let whole = env.json(["output", "py:1"]);
        assert_eq!(chunks(&whole).last(), Some(&("value", "7")));
        assert_eq!(whole["data"]["value"], "7");
        assert_eq!(env.run(["output", "py:1", "--text"]).stdout, "0123456789\none\ntwo\n7\n");
        assert_eq!(env.run(["output", "py:1", "--text", "--tail", "1"]).stdout, "two\n7\n");
        let followed = env.run(["output", "py:1", "--follow"]);
        assert!(followed.stdout.lines().last().unwrap().contains(r#""type":"done""#));
    };
    check();
    env.eval("import os; os._exit(0)");
    check();
    env.run(["stop", "-n", "py"]);
    check();
    for bad in [&["--offset", "-1"][..], &["--limit", "x"], &["--tail", "1", "--offset", "1"]] {
        let mut all = vec!["output", "py:1"];
        all.extend(bad);
        assert_eq!(env.run(all).code, Some(2), "{bad:?}");
    }
}

#[test]
fn o6_the_output_of_a_running_and_a_queued_eval_is_read() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("print('one\\ntwo\\nthree')\n{}\nprint('four')", gate.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    env.json(["eval", "-n", "py", "--bg", "print('second')"]);
    wait_for("output", || out(&env.json(["output", "py:1"])).ends_with("three\n"));
    let reply = env.json(["output", "py:1", "--tail", "1"]);
    assert_eq!((&reply["status"], out(&reply).as_str()), (&"running".into(), "three\n"));
    assert_eq!(out(&env.json(["output", "py:1", "--offset", "4", "--limit", "3"])), "two");
    let queued = env.json(["output", "py:2"]);
    assert_eq!((&queued["status"], out(&queued).as_str()), (&"queued".into(), ""));
    let mut follow = env.spawn(["output", "py:2", "--follow", "--text"]);
    let mut tailing = env.spawn(["output", "py:1", "--follow", "--text"]);
    let lines = ReadLines::of(tailing.stdout.take().unwrap());
    assert_eq!(lines.next_line().as_deref(), Some("one"));
    gate.open();
    let mut last = None;
    while let Some(line) = lines.next_line() {
        last = Some(line);
    }
    assert_eq!(last.as_deref(), Some("four"));
    let lines = ReadLines::of(follow.stdout.take().unwrap());
    assert_eq!((lines.next_line().as_deref(), lines.next_line()), (Some("second"), None));
    assert!(follow.wait().unwrap().success() && tailing.wait().unwrap().success());
}

#[test]
fn o6_what_is_not_there_is_said_with_what_is() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let missing = env.run(["output", "py:2"]).json();
    assert_eq!(missing["error"]["code"], "eval_not_found", "{missing:#}");
    assert!(missing["error"]["hint"].as_str().unwrap().contains("py:1"), "{missing:#}");
    let zero = env.run(["output", "py:0"]).json();
    assert_eq!(zero["error"]["code"], "eval_not_found", "{zero:#}");
    let other = env.run(["output", "other:1"]).json();
    assert_eq!(other["error"]["code"], "session_not_found", "{other:#}");
    let followed = env.run(["output", "py:9", "--follow"]).json();
    assert_eq!(followed["error"]["code"], "eval_not_found", "{followed:#}");
}

#[test]
fn o5_the_whole_object_counts() {
    let env = TestEnv::new(STEAD);
    for code in [
        "import sys\nfor i in range(8000): print(); print(file=sys.stderr)",
        "'y' * 100_000",
        "raise ValueError('z' * 100_000)",
    ] {
        let ran = env.run(["eval", "-n", "py", code]);
        let length = ran.stdout.chars().count();
        assert!(length < 36_000, "{code}: {length} characters");
        assert!(length > 10_000 || code.starts_with('\''), "{code}: {length} characters");
        let full = env.run(["eval", "-n", "py", "--full", "print('x' * 100_000)"]);
        assert!(full.stdout.len() > 100_000);
    }
    env.run(["stop", "-n", "py"]);
}
