//! O-7: what is shown is what a person would read; the bytes are kept.

use serde_json::Value;
use stead_testkit::{ReadLines, TestEnv, wait_for};

use crate::STEAD;
use crate::gate::Gate;
use crate::talk::{chunks, wrote};

/// Two thousand states of a bar on stderr, with lines on stdout between them.
const BAR: &str = "import sys
for n in range(2001):
    sys.stderr.write(f'\\r{n/20:3.0f}%|' + '#' * 50)
    if n % 500 == 0: print('\\x1b[1mstep\\x1b[0m', n)
sys.stderr.write('\\n') and None
";

const STEPS: &str = "step 0\nstep 500\nstep 1000\nstep 1500\nstep 2000\n";

fn bar() -> String {
    format!("100%|{}\n", "#".repeat(50))
}

#[test]
fn o7_a_bar_costs_one_line_wherever_it_is_read() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["eval", "-n", "py", "--max-chars", "200", BAR]);
    assert_eq!(wrote(&reply, "out"), STEPS, "{reply:#}");
    // The bar was shown after the last step, but its line end came behind it.
    assert_eq!(wrote(&reply, "err").trim_end(), bar().trim_end(), "{reply:#}");
    assert!(reply["data"]["truncated"].is_null(), "{reply:#}");
    for arguments in [&["--full"][..], &[], &["--tail", "3000"]] {
        let mut all = vec!["output", "py:1"];
        all.extend(arguments);
        let read = env.json(&all);
        assert_eq!(wrote(&read, "out"), STEPS, "{read:#}");
        assert_eq!(wrote(&read, "err").trim_end(), bar().trim_end(), "{read:#}");
        all.push("--text");
        let text = env.run(&all);
        assert_eq!((text.stdout.as_str(), text.stderr.trim_end()), (STEPS, bar().trim_end()));
    }
    for arguments in
        [&["output", "py:1", "--follow", "--json"][..], &["eval", "-n", "py", "--stream", BAR]]
    {
        let ran = env.run(arguments);
        let mut err = String::new();
        for line in ran.stdout.lines() {
            let chunk: Value = serde_json::from_str(line).unwrap();
            if chunk["type"] == "err" {
                err.push_str(chunk["content"].as_str().unwrap());
            }
        }
        assert_eq!(err, bar(), "{}", ran.stdout);
    }
    assert!(env.run(["output", "py:1", "--raw"]).stderr.matches('\r').count() == 2001);
}

#[test]
fn o7_text_mode_is_clean_in_a_pipe_too_unless_raw() {
    let env = TestEnv::new(STEAD);
    let code = "print('\\x1b[31mred\\x1b[0m\\x07 \\u202e')\n'\\x1b'";
    let ran = env.run(["eval", "-n", "py", "--text", code]);
    assert_eq!(ran.stdout, "red \\u{202e}\n'\\x1b'\n");
    assert_eq!(env.run(["output", "py:1", "--text", "--full"]).stdout, "red \\u{202e}\n'\\x1b'\n");
    let raw = env.run(["output", "py:1", "--raw"]).stdout;
    assert_eq!(raw, "\x1b[31mred\x1b[0m\x07 \u{202e}\n");
    let reply = env.json(["output", "py:1"]);
    assert_eq!(chunks(&reply), [("out", "red \\u{202e}\n"), ("value", "'\\x1b'")]);
}

#[test]
fn o7_values_errors_and_notes_are_clean() {
    let env = TestEnv::new(STEAD);
    let class = "class C:\n    def __repr__(self): return '\\x1b[32mgreen\\x1b[0m'\nC()";
    let reply = env.eval(class);
    assert_eq!(reply["data"]["value"], "green", "{reply:#}");
    assert_eq!(chunks(&reply), [("value", "green")], "{reply:#}");
    let reply =
        env.run(["eval", "-n", "py", "raise ValueError('\\x1b[31mred\\x1b[0m\\u202e')"]).json();
    let error = &reply["data"]["error"];
    assert_eq!(error["message"], "red\\u{202e}", "{reply:#}");
    assert!(!reply.to_string().contains("u001b") && !reply.to_string().contains('\u{202e}'));
    env.eval("globals()['\\x1b[31m'] = '\\x1b[2J'");
    for command in ["vars", "evals"] {
        let listed = env.json([command, "-n", "py"]).to_string();
        assert!(!listed.contains("u001b"), "{listed}");
    }
}

#[test]
fn o7_the_last_line_of_a_bar_is_its_last_state() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!(
        "import sys\nfor n in range(9): sys.stderr.write(f'\\r\\x1b[32m{{n}} of 9\\x1b[0m')\n{}",
        gate.code()
    );
    env.json(["eval", "-n", "py", "--bg", &code]);
    wait_for("the last state", || {
        env.json(["status", "-n", "py"])["data"]["running"]["last_line"] == "8 of 9"
    });
    let listed = env.run(["ls", "--text"]).stdout;
    assert!(listed.contains("8 of 9") && !listed.contains("7 of 9"), "{listed}");
    let mut follow = env.spawn(["output", "py:1", "--follow"]);
    let lines = ReadLines::of(follow.stdout.take().unwrap());
    gate.open();
    assert!(lines.next_line().unwrap().contains(r#""content":"8 of 9""#));
    follow.wait().unwrap();
}

#[test]
fn o7_a_range_is_clean_and_goes_on_by_bytes() {
    let env = TestEnv::new(STEAD);
    env.eval("for n in range(1000): print(f'\\x1b[31mline {n:04}\\x1b[0m')");
    // Nine characters in colour and a line end.
    let reply = env.json(["output", "py:1", "--offset", "19", "--limit", "38"]);
    assert_eq!(wrote(&reply, "out"), "line 0001\nline 0002\n", "{reply:#}");
    assert_eq!(reply["data"]["next_offset"], 57, "{reply:#}");
    // Reading on from each gap finds every line once.
    let (mut offset, mut all) = (0, String::new());
    loop {
        let offset_text = offset.to_string();
        let reply = env.json(["output", "py:1", "--max-chars", "3000", "--offset", &offset_text]);
        let shown = chunks(&reply);
        all.push_str(shown[0].1);
        let Some((_, marker)) = shown.iter().find(|(kind, _)| *kind == "status") else { break };
        let (_, rest) = marker.split_once("--offset ").unwrap();
        offset = rest.split(' ').next().unwrap().parse::<u64>().unwrap();
    }
    let lines: String = (0..1000).map(|n| format!("line {n:04}\n")).collect();
    assert_eq!(all, lines);
}
