//! C-3, C-4: the JSON of replies says each thing once, and STEAD_OUTPUT decides between JSON and text.

use serde_json::Value;
use stead_testkit::{Ran, Terminal, TestEnv};

use crate::STEAD;

#[test]
fn c4_json_says_each_thing_once() {
    let env = TestEnv::new(STEAD);
    let failed = env.run(["eval", "-n", "py", "print('so far')\n1/0"]);
    let once = |ran: &Ran, what: &str| assert_eq!(ran.stdout.matches(what).count(), 1, "{ran:?}");
    once(&failed, "Traceback");
    once(&failed, "so far");
    assert!(failed.stdout.len() < 520, "{} bytes: {failed:?}", failed.stdout.len());
    let chunks = failed.json()["data"]["chunks"].clone();
    // The error's chunk marks the place and no more.
    assert_eq!(chunks[1], serde_json::json!({"type": "error"}), "{chunks:#}");

    let value = env.run(["eval", "-n", "py", "sorted(range(70, 80))"]);
    once(&value, "70, 71, 72");
    assert_eq!(value.json()["data"]["chunks"], serde_json::json!([{"type": "value"}]));

    // The message of an error may be long; only `data.error` has all of it.
    let long = env.run(["eval", "-n", "py", "raise ValueError('a' * 900 + '\\nend of it')"]);
    let message = long.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("ValueError: aaa") && message.chars().count() < 210, "{message}");

    let shell = env.run(["shell", "echo hi; exit 3"]);
    once(&shell, r"hi\n");
    let stream = env.run(["eval", "-n", "py", "--stream", "1/0"]);
    once(&stream, "Traceback");
    let last: Value = serde_json::from_str(stream.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["data"]["error"]["name"], "ZeroDivisionError", "{last:#}");
}

#[test]
fn c3_a_variable_decides_where_no_flag_does() {
    let env = TestEnv::new(STEAD);
    let run = |word: &str, arguments: &[&str]| -> Ran {
        env.command(arguments).env("STEAD_OUTPUT", word).output().unwrap().into()
    };
    let eval = ["eval", "-n", "py", "6 * 7"];
    assert_eq!(run("text", &eval).stdout, "42\n");
    assert_eq!(run("json", &eval).json()["data"]["value"], "42");
    assert_eq!(run("", &eval).json()["data"]["value"], "42");
    // A flag is nearer.
    assert_eq!(run("text", &["eval", "--json", "-n", "py", "1"]).json()["data"]["value"], "1");
    assert_eq!(run("json", &["eval", "--text", "-n", "py", "1"]).stdout, "1\n");
    assert_eq!(run("yaml", &["eval", "--text", "-n", "py", "1"]).stdout, "1\n");
    let mut shown = env.command(eval);
    shown.env("STEAD_OUTPUT", "json");
    let (_, shown) = Terminal::run(shown).finish();
    assert!(shown.starts_with(r#"{"ok":true,"command":"eval""#), "{shown:?}");

    let wrong = run("yaml", &eval);
    let reply = wrong.json();
    assert_eq!((wrong.code, &reply["error"]["code"]), (Some(2), &"bad_request".into()));
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("STEAD_OUTPUT") && message.contains("yaml"), "{reply:#}");
    let hint = reply["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("text") && hint.contains("json"), "{reply:#}");
    // Where the words of the command are wrong, that is what is said, in the mode that the variable asks for.
    assert!(run("text", &["nonsense"]).stderr.contains("nonsense"));
    assert_eq!(run("json", &["nonsense"]).json()["error"]["code"], "bad_request");
}
