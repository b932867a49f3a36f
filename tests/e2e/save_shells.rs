//! Saves and loads of Bash and Node sessions, by the command line (SPEC ST-2). What the bridges keep is in their own tests.

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;

/// What a session's code prints.
fn output(env: &TestEnv, name: &str, code: &str) -> String {
    let reply = env.json(["eval", "-n", name, code]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    let chunks = reply["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let texts = chunks.iter().filter(|chunk| chunk["type"] == "out");
    texts.filter_map(|chunk| chunk["content"].as_str()).collect()
}

fn names(reply: &Value, list: &str) -> Vec<String> {
    let listed = reply["data"][list].as_array().unwrap();
    let name = |one: &Value| one.as_str().or(one["name"].as_str()).unwrap().to_owned();
    listed.iter().map(name).collect()
}

#[test]
fn st2_a_shell_comes_back_with_names_options_traps_and_its_directory() {
    let env = TestEnv::new(STEAD);
    std::fs::create_dir(env.workspace().join("a dir")).unwrap();
    env.json(["launch", "bash", "-n", "sh"]);
    let code = "set -uo pipefail; shopt -s nullglob; cd 'a dir'; declare -A m=([k]=$'v\\nw'); declare -i n=5; export e=1\n\
        f() { echo \"f ${m[k]}\"; }; alias l='echo aliased'; trap 'echo usr1' USR1; set -- one 'two three'; sleep 1000 &";
    output(&env, "sh", code);
    let saved = env.json(["save", "-n", "sh", "state.stead"]);
    assert_eq!(saved["status"], "complete", "{saved:#}");
    assert_eq!(names(&saved, "saved"), ["e", "m", "n", "f", "l"], "{saved:#}");
    assert_eq!(saved["data"]["warnings"], json!(["background jobs are not saved"]));
    let said = env.run(["save", "-n", "sh", "state.stead", "--text"]).stdout;
    assert!(said.contains("background jobs are not saved"), "{said}");
    env.json(["stop", "sh"]);
    let listed = env.run(["load", "--list", "state.stead", "--text"]).stdout;
    assert!(listed.contains("bash") && listed.contains("alias"), "{listed}");
    let loaded = env.json(["load", "state.stead", "-n", "again"]);
    assert_eq!(
        (&loaded["status"], &loaded["data"]["failed"], &loaded["data"]["warnings"]),
        (&"complete".into(), &json!([]), &json!([])),
        "{loaded:#}"
    );
    let look = "f; n+=2; echo $n $# \"$2\" \"${PWD##*/}\" \"${-//[!u]/}\"; shopt -q nullglob && echo nullglob; bash -c 'echo $e'; kill -USR1 $$\nl";
    let expected = "f v\nw\n7 2 two three a dir u\nnullglob\n1\nusr1\naliased\n";
    assert_eq!(output(&env, "again", look), expected);
}

#[test]
fn st2_values_and_classes_of_a_node_session_come_back() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "node", "-n", "js"]);
    let code = "class P { constructor(x) { this.x = x } twice() { return this.x * 2 } }\n\
        const p = new P(21), both = [p], map = new Map([['p', p]]), bytes = Buffer.from('hi'), paths = require('path'), wait = Promise.resolve(1), hold = { f() {} }";
    output(&env, "js", code);
    let saved = env.json(["save", "-n", "js", "state.stead"]);
    assert_eq!(names(&saved, "saved"), ["P", "p", "both", "map", "bytes", "paths"], "{saved:#}");
    assert_eq!(names(&saved, "failed"), ["wait", "hold"], "{saved:#}");
    let loaded = env.json(["load", "state.stead"]);
    assert_eq!(
        (&loaded["status"], &loaded["data"]["session"], &loaded["data"]["failed"]),
        (&"complete".into(), &"js-2".into(), &json!([])),
        "{loaded:#}"
    );
    let look = "console.log(p.twice(), p instanceof P, both[0] === p, map.get('p') === p, String(bytes), Buffer.isBuffer(bytes), paths.sep)";
    assert_eq!(output(&env, "js-2", look), "42 true true true hi true /\n");
}

#[test]
fn st2_a_file_of_another_language_is_refused_by_name() {
    let env = TestEnv::new(STEAD);
    env.json(["launch", "bash", "-n", "sh"]);
    env.json(["launch", "node", "-n", "js"]);
    output(&env, "sh", "x=1");
    env.json(["save", "-n", "sh", "state.stead"]);
    let refused = env.json(["load", "state.stead", "--into", "js"]);
    assert_eq!(refused["ok"], false, "{refused:#}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("bash") && message.contains("node"), "{refused:#}");
}
