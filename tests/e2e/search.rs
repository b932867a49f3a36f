//! O-6: kept output by line: search, line numbers, whole sessions, as it runs and long after.

use std::fs;

use serde_json::{Value, json};
use stead_testkit::{Ran, Terminal, TestEnv, wait_for};

use crate::STEAD;
use crate::gate::Gate;

/// Runs `stead output` and takes the data of its reply, which must be a success.
#[track_caller]
fn output(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = run(env, arguments);
    let reply = ran.json();
    assert_eq!((ran.code, &reply["ok"]), (Some(0), &json!(true)), "{arguments:?}: {reply:#}");
    assert_eq!(reply["status"], "complete", "{arguments:?}: {reply:#}");
    reply["data"].clone()
}

#[track_caller]
fn run(env: &TestEnv, arguments: &[&str]) -> Ran {
    env.run([&["output"], arguments].concat())
}

#[track_caller]
fn text(env: &TestEnv, arguments: &[&str]) -> String {
    let ran = run(env, &[arguments, &["--text"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// Eval, line and text of each hit.
fn hits(data: &Value) -> Vec<(&str, u64, &str)> {
    let hits = data["hits"].as_array().unwrap_or_else(|| panic!("{data:#}"));
    hits.iter()
        .map(|hit| {
            let line = hit["line"].as_u64().unwrap();
            (hit["eval_id"].as_str().unwrap(), line, hit["content"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn o6_a_needle_in_ten_megabytes_is_found_and_read_by_line_and_offset() {
    let env = TestEnv::new(STEAD);
    let code = "for n in range(1, 200001):\n  \
                print(f'{n:07}', 'needle' if n == 123456 else 'strawy', 'x' * 35)";
    env.eval(code);
    let data = output(&env, &["py:1", "--grep", "ne{2}dle"]);
    let line = format!("0123456 needle {}", "x".repeat(35));
    let size = line.len() + 1;
    let expected = json!({
        "session": "py", "eval_id": "py:1", "matches": 1, "lines": 200_000,
        "hits": [{"eval_id": "py:1", "line": 123_456, "offset": 123_455 * size, "type": "out",
            "content": line, "match": true}],
    });
    assert_eq!(data, expected);

    let offset = (123_455 * size).to_string();
    let read =
        env.json(["output", "py:1", "--offset", &offset, "--limit", &(size - 1).to_string()]);
    assert_eq!(read["data"]["chunks"][0]["content"], line.as_str());
    let around = output(&env, &["py:1", "--lines", "123455:123457"]);
    let numbers: Vec<u64> = hits(&around).iter().map(|hit| hit.1).collect();
    assert_eq!(numbers, [123_455, 123_456, 123_457]);
    assert_eq!(around["hits"][1]["content"], line.as_str());
    assert_eq!(around["hits"][1]["offset"].to_string(), offset);
    let shown = text(&env, &["py:1", "--lines", "200000:"]);
    assert_eq!(shown, format!("0200000 strawy {}\n", "x".repeat(35)));
}

#[test]
fn o6_lines_of_both_streams_are_whole_and_numbered_by_their_beginning() {
    let env = TestEnv::new(STEAD);
    let code = "import sys\nprint('begin ', end='', flush=True)\nprint('warn needle', file=sys.stderr)\n\
                print('end of needle')\nprint('last', end='')";
    env.eval(code);
    let data = output(&env, &["py:1", "--grep", "NEEDLE", "-i"]);
    assert_eq!(
        hits(&data),
        [("py:1", 1, "begin end of needle"), ("py:1", 2, "warn needle")],
        "{data:#}"
    );
    assert_eq!(
        (&data["hits"][0]["type"], &data["hits"][1]["type"]),
        (&json!("out"), &json!("err"))
    );
    assert_eq!(data["hits"][1]["offset"], 6);
    assert_eq!(output(&env, &["py:1", "--grep", "NEEDLE"])["matches"], 0);
    assert_eq!(text(&env, &["py:1", "--grep", "^last$"]), "3:last\n");
    let all = output(&env, &["py:1", "--lines", ":"]);
    assert_eq!((hits(&all).len(), &all["lines"]), (3, &json!(3)), "{all:#}");
    assert_eq!(hits(&output(&env, &["py:1", "--lines", "2"])), [("py:1", 2, "warn needle")]);
}

#[test]
fn o6_a_search_finds_what_is_in_a_traceback_a_value_and_background_output() {
    let env = TestEnv::new(STEAD);
    env.eval("def needle(): return {}['nail']\nprint('hay')");
    env.eval("print('hay', end='')\nneedle()");
    env.eval("{'needle': 1}");
    // The thread writes while nothing runs; the next eval has it.
    let gate = Gate::new(&env, "late");
    env.eval(&format!(
        "import threading\ndef late():\n  {}\n  print('late needle')\n  open('done', 'w').close()\n\
         thread = threading.Thread(target=late); thread.start()",
        gate.code()
    ));
    gate.open();
    wait_for("the thread", || env.workspace().join("done").exists());
    env.eval("thread.join()");
    let data = output(&env, &["py:2", "--grep", "nail"]);
    let error = &data["hits"][0];
    assert_eq!((&data["matches"], &error["type"]), (&json!(2), &json!("error")), "{data:#}");
    assert_eq!(error["content"].as_str().unwrap().trim(), "def needle(): return {}['nail']");
    // Its own output is where it was.
    assert_eq!(hits(&output(&env, &["py:2", "--lines", ":"])), [("py:2", 1, "hay")]);
    assert_eq!(error["offset"], 3);
    let last = data["hits"][1].clone();
    assert_eq!(last["content"], "KeyError: 'nail'");
    let shown = text(&env, &["py:2", "--grep", "^KeyError"]);
    assert_eq!(shown, format!("{}error:KeyError: 'nail'\n", last["line"]));
    // All that was searched is counted.
    let whole = output(&env, &["py:2", "--grep", ""]);
    assert_eq!((&whole["lines"], &data["lines"]), (&json!(hits(&whole).len()), &whole["lines"]));
    assert_eq!(
        (hits(&whole)[0].2, hits(&whole)[1].2),
        ("hay", "Traceback (most recent call last):")
    );
    let all = output(&env, &["--session", "-n", "py", "--grep", "needle"]);
    let types: Vec<_> = all["hits"].as_array().unwrap().iter().map(|hit| &hit["type"]).collect();
    assert!(types.contains(&&json!("value")) && types.contains(&&json!("background")), "{all:#}");
    assert_eq!(text(&env, &["py:3", "--grep", "needle"]), "1value:{'needle': 1}\n");
    assert_eq!(text(&env, &["py:5", "--grep", "needle"]), "1background:late needle\n");
    // The last lines are those that are shown last.
    let last = text(&env, &["--session", "-n", "py", "--tail", "1"]);
    assert_eq!(last, "py:5:1background:late needle\n");
    assert_eq!(text(&env, &["py:3", "--tail", "1"]), "{'needle': 1}\n");
}

#[test]
fn o6_context_is_as_grep_has_it() {
    let env = TestEnv::new(STEAD);
    env.eval("for n in range(1, 31): print(n)");
    let shown = text(&env, &["py:1", "--grep", "^(1|8|10|20)$", "--context", "2"]);
    let numbered = |from: u32, to: u32, matches: &[u32]| -> String {
        (from..=to)
            .map(|n| format!("{n}{}{n}\n", if matches.contains(&n) { ":" } else { "-" }))
            .collect()
    };
    let expected =
        [numbered(1, 3, &[1]), numbered(6, 12, &[8, 10]), numbered(18, 22, &[20])].join("--\n");
    assert_eq!(shown, expected);
    let data = output(&env, &["py:1", "--grep", "^(1|8|10|20)$", "-C", "2"]);
    assert_eq!((&data["matches"], data["hits"].as_array().unwrap().len()), (&json!(4), 15));
    assert_eq!(
        (&data["hits"][0]["match"], &data["hits"][1]["match"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(text(&env, &["py:1", "--grep", "^(1|8)$"]), "1:1\n8:8\n");
}

#[test]
fn o6_what_is_shown_is_bounded_and_the_rest_is_counted() {
    let env = TestEnv::new(STEAD);
    env.eval("for n in range(1, 1001): print('match', n)");
    let data = output(&env, &["py:1", "--grep", "match"]);
    assert_eq!((hits(&data).len(), &data["matches"]), (100, &json!(1000)));
    assert_eq!((&data["more"], hits(&data)[99].1), (&json!(900), 100));
    let few = output(&env, &["py:1", "--grep", "match", "--max-matches", "3"]);
    assert_eq!((hits(&few).len(), &few["more"]), (3, &json!(997)));
    let short = output(&env, &["py:1", "--grep", "match", "--max-chars", "20"]);
    assert_eq!((hits(&short).len(), &short["more"]), (2, &json!(998)));
    let none = output(&env, &["py:1", "--grep", "match", "--max-matches", "0"]);
    assert_eq!(
        (hits(&none).len(), &none["matches"], &none["more"]),
        (0, &json!(1000), &json!(1000))
    );
    let shown = run(&env, &["py:1", "--grep", "match", "--text"]);
    assert_eq!(shown.stdout.lines().count(), 100);
    assert!(shown.stderr.contains("first 100 of 1000 matches in 1000 lines"), "{shown:?}");

    // Lines that do not fit are read on by the number that is told.
    let mut next = json!(1);
    let mut read = Vec::new();
    while !next.is_null() {
        let part = output(&env, &["py:1", "--lines", &format!("{next}:"), "--max-chars", "3000"]);
        assert!(hits(&part).len() < 400, "{part:#}");
        read.extend(hits(&part).iter().map(|hit| hit.1));
        next = part["next_line"].clone();
    }
    assert_eq!(read, (1..=1000).collect::<Vec<u64>>());
    let on = run(&env, &["py:1", "--lines", "5:900", "--max-chars", "19", "--text"]);
    assert_eq!(on.stdout, "match 5\nmatch 6\n");
    assert!(on.stderr.contains("stead output py:1 --lines 7:900"), "{on:?}");
}

#[test]
fn o6_a_session_is_searched_across_its_evals_also_when_it_has_ended() {
    let env = TestEnv::new(STEAD);
    env.eval("print('first needle')\nprint('one')");
    env.eval("'needle is a value'");
    env.eval("import sys\nprint('straw')\nprint('second needle', file=sys.stderr)");
    let check = |name: &[&'static str]| {
        let session = |arguments: &[&'static str]| [&["--session"], name, arguments].concat();
        let data = output(&env, &session(&["--grep", "needle"]));
        let value = ("py:2", 1, "'needle is a value'");
        assert_eq!(hits(&data), [("py:1", 1, "first needle"), value, ("py:3", 2, "second needle")]);
        assert_eq!((&data["matches"], &data["lines"]), (&json!(3), &json!(5)));
        assert!(data["session"] == "py" && data.get("eval_id").is_none(), "{data:#}");
        let shown = text(&env, &session(&["--grep", "needle", "-C", "1"]));
        assert_eq!(
            shown,
            "py:1:1:first needle\npy:1:2-one\n--\npy:2:1value:'needle is a value'\n--\npy:3:1-straw\npy:3:2:second needle\n"
        );
        let data = output(&env, &session(&["--tail", "3"]));
        let last = [value, ("py:3", 1, "straw"), ("py:3", 2, "second needle")];
        assert_eq!(hits(&data), last);
        assert!(data["hits"][0].get("match").is_none() && data["hits"][2]["type"] == "err");
        assert_eq!(text(&env, &session(&["--tail", "1"])), "py:3:2:second needle\n");
        assert_eq!(hits(&output(&env, &session(&["--tail", "99"]))).len(), 5);
        assert_eq!(hits(&output(&env, &session(&["--tail", "0"]))).len(), 0);
        assert_eq!(hits(&output(&env, &session(&[]))).len(), 5);
        let cut = output(&env, &session(&["--max-chars", "15"]));
        assert_eq!((hits(&cut), &cut["cut"]), (last[2..].to_vec(), &json!(true)));
        let one = output(&env, &session(&["--grep", "needle", "--max-matches", "1"]));
        assert_eq!((hits(&one).len(), &one["more"]), (1, &json!(2)));
        assert_eq!(output(&env, &["py:3", "--grep", "needle"])["matches"], 1);
        assert_eq!(hits(&output(&env, &["py:3", "--lines", "1:1"])), [("py:3", 1, "straw")]);
    };
    check(&[]);
    check(&["-n", "py"]);
    env.eval("import os; os._exit(0)");
    check(&["-n", "py"]);
    env.run(["stop", "-n", "py"]);
    check(&["-n", "py"]);
}

#[test]
fn o6_what_a_running_eval_has_written_is_searched() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("print('one\\nneedle')\n{}\nprint('needle again')", gate.code());
    env.eval("print('needle before')");
    env.json(["eval", "-n", "py", "--bg", &code]);
    env.json(["eval", "-n", "py", "--bg", "print('needle queued')"]);
    wait_for("output", || output(&env, &["py:2", "--grep", "needle"])["matches"] == 1);
    assert_eq!(hits(&output(&env, &["py:2", "--lines", "2:9"])), [("py:2", 2, "needle")]);
    let queued = output(&env, &["py:3", "--grep", "needle"]);
    assert_eq!((&queued["matches"], &queued["lines"]), (&json!(0), &json!(0)));
    let all = output(&env, &["--session", "-n", "py", "--grep", "needle"]);
    assert_eq!(hits(&all), [("py:1", 1, "needle before"), ("py:2", 2, "needle")]);
    assert_eq!(text(&env, &["--session", "-n", "py", "--tail", "1"]), "py:2:2:needle\n");
    gate.open();
    env.json(["output", "py:3", "--wait", "60s"]);
    let all = output(&env, &["--session", "-n", "py", "--grep", "needle"]);
    assert_eq!(hits(&all).len(), 4);
}

#[test]
fn h2_damage_in_the_middle_of_the_spool_hides_only_itself() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "python", "-n", "py", "--quota", "8000000"]);
    env.eval("for n in range(100000): print(f'{n:07}', 'x' * 40)");
    env.eval("print('after')");
    env.run(["stop", "-n", "py"]);
    let mut segments: Vec<_> = fs::read_dir(env.session_dir("py"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("out-"))
        .collect();
    segments.sort();
    assert!(segments.len() >= 3, "{segments:?}");
    let mut bytes = fs::read(&segments[1]).unwrap();
    let (from, to) = (bytes.len() / 2, bytes.len() / 2 + 300_000);
    bytes[from..to].fill(0);
    fs::write(&segments[1], &bytes).unwrap();
    let data = output(&env, &["py:1", "--grep", "^00(00001|99998) "]);
    let texts: Vec<&str> = hits(&data).iter().map(|hit| &hit.2[..7]).collect();
    assert_eq!(texts, ["0000001", "0099998"], "{data:#}");
    assert!(data["lines"].as_u64().is_some_and(|lines| (50_000..100_000).contains(&lines)));
    // What is behind the damage is read by the number and the offset that were told.
    let offset = data["hits"][1]["offset"].to_string();
    let read = env.json(["output", "py:1", "--offset", &offset, "--limit", "7"]);
    assert_eq!(read["data"]["chunks"][0]["content"], "0099998");
    let number = data["hits"][1]["line"].to_string();
    assert!(text(&env, &["py:1", "--lines", &number]).starts_with("0099998 "));
    let all = output(&env, &["--session", "-n", "py", "--grep", "after"]);
    assert_eq!(hits(&all), [("py:2", 1, "after")]);
}

#[test]
fn o7_what_is_found_is_clean_text() {
    let env = TestEnv::new(STEAD);
    let code = "import sys; sys.stdout.buffer.write(b'\\xff\\xfe needle \\xe2\\x82\\n\\x1b[31mred needle\\x1b[0m\\r\\n\\xe2\\x80\\xaeneedle\\n') and None";
    env.eval(code);
    let data = output(&env, &["py:1", "--grep", "needle"]);
    assert_eq!((data["matches"].as_u64(), data["lines"].as_u64()), (Some(3), Some(3)));
    for hit in hits(&data) {
        assert!(!hit.2.contains(['\x1b', '\r', '\n', '\u{202e}', '\u{fffd}']), "{hit:?}");
    }
    assert_eq!(hits(&data)[0].2, "\\xff\\xfe needle \\xe2\\x82");
    for arguments in [
        &["output", "py:1", "--grep", "needle"][..],
        &["output", "py:1", "--lines", "1:3"],
        &["output", "--session", "--tail", "3"],
    ] {
        let (exit, shown) = Terminal::run(env.command(arguments)).finish();
        assert_eq!(exit, Some(0), "{shown:?}");
        assert!(!shown.contains(['\x1b', '\u{202e}']) && shown.contains("red"), "{shown:?}");
    }
}

#[test]
fn o6_an_enormous_line_takes_no_memory_and_is_cut_around_the_match() {
    let env = TestEnv::new(STEAD);
    let code = "import sys\nsys.stdout.write('é' * 100000 + 'needle')\n\
                for _ in range(64): sys.stdout.write('x' * (1 << 20))\nprint()\nprint('after')";
    env.eval(code);
    // With 16 MiB for data a line of 64 MiB cannot be held.
    let limited = |arguments: &[&str]| {
        let mut command = env.after("ulimit -d 16384", &[&["output"], arguments].concat());
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()["data"].clone()
    };
    let data = limited(&["py:1", "--grep", "needle", "-C", "1"]);
    assert_eq!(data["lines"], 2, "{data:#}");
    let found = hits(&data);
    assert!(found[0].2.starts_with("…é") && found[0].2.contains("éneedlex"), "{found:?}");
    assert!(found[0].2.ends_with("x…") && found[0].2.chars().count() < 410);
    assert_eq!((found[1].1, found[1].2), (2, "after"));
    let lines = limited(&["py:1", "--lines", "1:"]);
    assert_eq!((hits(&lines).len(), &lines["next_line"]), (1, &json!(2)));
    assert_eq!(hits(&lines)[0].2.chars().count(), 32_001);
    let last = limited(&["--session", "--tail", "2"]);
    assert_eq!(hits(&last)[0].2, "after");
}

#[test]
fn o6_nothing_found_is_a_success_that_says_so() {
    let env = TestEnv::new(STEAD);
    env.eval("print('one\\ntwo')");
    env.eval("1");
    let data = output(&env, &["py:1", "--grep", "three", "-C", "5"]);
    let expected =
        json!({"session": "py", "eval_id": "py:1", "matches": 0, "lines": 2, "hits": []});
    assert_eq!(data, expected);
    assert_eq!(text(&env, &["py:1", "--grep", "three"]), "0 matches in 2 lines\n");
    assert_eq!(text(&env, &["py:2", "--grep", "three"]), "0 matches in 1 line\n");
    assert_eq!(text(&env, &["--session", "--grep", "three"]), "0 matches in 3 lines\n");
    let past = run(&env, &["py:1", "--lines", "7:", "--text"]);
    assert_eq!((past.code, past.stdout.as_str()), (Some(0), ""));
    assert!(past.stderr.contains("py:1 has 2 lines"), "{past:?}");
    let past = output(&env, &["py:1", "--lines", "7:"]);
    assert_eq!((hits(&past).len(), &past["lines"]), (0, &json!(2)));
}

#[test]
fn o6_what_cannot_be_searched_for_is_refused_with_the_reason() {
    let env = TestEnv::new(STEAD);
    env.eval("print('-x (')");
    let refused = |arguments: &[&str]| {
        let ran = run(&env, arguments);
        let reply = ran.json();
        assert_eq!((ran.code, &reply["ok"]), (Some(2), &json!(false)), "{arguments:?}: {reply:#}");
        let code = reply["error"]["code"].as_str().unwrap().to_owned();
        (code, reply["error"]["message"].as_str().unwrap().to_owned())
    };
    let (code, message) = refused(&["py:1", "--grep", "ab(c"]);
    assert_eq!(code, "bad_request");
    assert!(message.contains("unclosed group") && message.contains("character 3"), "{message}");
    assert_eq!(refused(&["--session", "--grep", "[z-a]"]).0, "bad_request");
    let (code, message) = refused(&["py:1", "--grep", "((a{999}){999}){999}"]);
    assert!(code == "bad_request" && message.contains("too big"), "{message}");
    assert_eq!(refused(&["py:9", "--grep", "x"]).0, "eval_not_found");
    assert_eq!(refused(&["py:9", "--lines", "1:"]).0, "eval_not_found");
    assert_eq!(refused(&["--session", "-n", "nope", "--grep", "x"]).0, "session_not_found");
    for wrong in [
        &["--grep", "x"][..],
        &["py:1", "-n", "py", "--grep", "x"],
        &["py:1", "--session", "--grep", "x"],
        &["py:1", "--context", "1"],
        &["py:1", "-i"],
        &["py:1", "--grep", "x", "--tail", "1"],
        &["py:1", "--grep", "x", "--raw"],
        &["py:1", "--grep", "x", "--context", "-1"],
        &["py:1", "--lines", "0:1"],
        &["py:1", "--lines", "2:1"],
        &["py:1", "--lines", "a"],
        &["--session", "--lines", "1:2"],
        &["--session", "--follow"],
        &["--session", "--offset", "1"],
    ] {
        assert_eq!(refused(wrong).0, "bad_request", "{wrong:?}");
    }
    // A pattern may begin as an option does.
    assert_eq!(text(&env, &["py:1", "--grep", "-x"]), "1:-x (\n");
}

#[test]
fn o6_what_is_written_while_no_eval_runs_is_found_before_an_eval_brings_it() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!(
        "import threading\ndef serve():\n  {}\n  print('needle\\nlast', flush=True)\nthreading.Thread(target=serve).start()\nprint('up')",
        gate.code()
    );
    env.eval(&code);
    assert_eq!(text(&env, &["--session", "-n", "py", "--tail", "1"]), "py:1:1:up\n");
    gate.open();
    let found = || output(&env, &["--session", "-n", "py", "--grep", "needle"]);
    wait_for("the background output", || found()["matches"] == 1);
    assert_eq!(found()["hits"][0]["type"], "background");
    assert!(text(&env, &["--session", "-n", "py", "--tail", "1"]).ends_with("last\n"));
    // The next eval brings it all the same, and it is found once.
    assert_eq!(env.eval("1")["data"]["chunks"][0]["content"], "needle\nlast\n");
    assert_eq!(found()["matches"], 1);
}
