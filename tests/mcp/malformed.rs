//! M-8: whatever comes is answered, with what is wrong by name, and the server lives on.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::rig::{Server, served};
use stead_testkit::TestEnv;

use crate::STEAD;

/// Sends a line that must be refused with this code and words, for this id.
#[track_caller]
fn refused(server: &mut Server, line: &str, id: Value, code: i64, words: &str) {
    server.line(line);
    let answer = server.answer(id);
    assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(words), "{line}: {message}");
    assert!(message.len() < 1000, "{message}");
}

#[test]
fn m8_lines_that_are_no_messages() {
    let (_env, mut server) = served();
    let cases = [
        ("garbage", json!(null), -32700, "not JSON"),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":", json!(5), -32700, "not JSON"),
        ("\"text\"", json!(null), -32600, "object"),
        ("17", json!(null), -32600, "object"),
        ("null", json!(null), -32600, "object"),
        ("[]", json!(null), -32600, "batches"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null), -32600, "batches"),
        (r#"{"id":6,"method":"ping"}"#, json!(6), -32600, "`jsonrpc`"),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, json!(7), -32600, "`jsonrpc`"),
        (r#"{"jsonrpc":2.0,"id":8,"method":"ping"}"#, json!(8), -32600, "`jsonrpc`"),
        (r#"{"jsonrpc":"2.0","id":9}"#, json!(9), -32600, "`method`"),
        (r#"{"jsonrpc":"2.0","id":10,"method":7}"#, json!(10), -32600, "`method`"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32600, "`id`"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, json!(null), -32600, "`id`"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(1.5), -32600, "`id`"),
        (
            r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
            json!(u64::MAX),
            -32600,
            "`id`",
        ),
        (r#"{"jsonrpc":"2.0","id":11,"method":"nothing/such"}"#, json!(11), -32601, "nothing/such"),
        (r#"{"jsonrpc":"2.0","id":12,"method":"ping","params":5}"#, json!(12), -32602, "`params`"),
        (r#"{"jsonrpc":"2.0","id":13,"method":"tools/call"}"#, json!(13), -32602, "`params`"),
        (
            r#"{"jsonrpc":"2.0","id":14,"method":"tools/call","params":[]}"#,
            json!(14),
            -32602,
            "`params`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{}}"#,
            json!(15),
            -32602,
            "`params.name`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":3}}"#,
            json!(16),
            -32602,
            "`params.name`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"eval","arguments":"x"}}"#,
            json!(17),
            -32602,
            "`params.arguments`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":18,"method":"tools/call","params":{"name":"evil","arguments":{}}}"#,
            json!(18),
            -32602,
            "unknown tool `evil`; tools: eval, ",
        ),
        (
            r#"{"jsonrpc":"2.0","id":19,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"},"_meta":5}}"#,
            json!(19),
            -32602,
            "`params._meta`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}},"result":{}}"#,
            json!(20),
            -32600,
            "`result`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}}}"#,
            json!(null),
            -32600,
            "`id`",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}}}"#,
            json!(1.0),
            -32600,
            "`id`",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"}}}]"#,
            json!(null),
            -32600,
            "batches",
        ),
    ];
    for (line, id, code, words) in cases {
        refused(&mut server, line, id, code, words);
    }
    server.ping();
    assert_eq!(server.unasked(Value::Null), 0);
}

#[test]
fn m8_line_ends_marks_and_silence() {
    let (_env, mut server) = served();
    for (line, id) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"[..], json!(1)),
        (b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n", json!(2)),
        (b"\n\r\n   \n\t\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":null}\n", json!(3)),
        (b" {\"jsonrpc\" : \"2.0\", \"id\": -9223372036854775808, \"method\":\"ping\"} \n", json!(i64::MIN)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"ping\"}\n", json!(i64::MAX)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}\n", json!("")),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"né\\\"\\\\ 1\",\"method\":\"ping\",\"extra\":[1]}\n".as_bytes(),
            json!("né\"\\ 1"),
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\",\"params\":{\"_meta\":{\"x\":1}}}\n", json!(0)),
    ] {
        server.bytes(line);
        let answer = server.answer(id.clone());
        assert!(answer["result"].is_object(), "{answer}");
        assert_eq!(answer["id"], id);
    }
    // Bytes that are no UTF-8 are answered too, for the id they came with.
    server.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":\"u\",\"method\":\"pi\xFF\xFEng\"}\n");
    assert_eq!(server.answer("u")["error"]["code"], -32700);
    // Unknown notifications and answers to nothing are nobody's business.
    server.line(r#"{"jsonrpc":"2.0","method":"notifications/nothing","params":{"a":1}}"#);
    server
        .line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#);
    server.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    server.line(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    server.line(r#"{"jsonrpc":"2.0","id":78,"error":{"code":1,"message":"x"}}"#);
    server.line(r#"{"jsonrpc":"2.0","result":{}}"#);
    assert_eq!(server.unasked(77), 0);
    assert_eq!(server.unasked(Value::Null), 0);
}

#[test]
fn m8_depth_is_refused_wherever_it_is() {
    let (_env, mut server) = served();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{deep}}}}}"#);
        refused(&mut server, &line, json!(1), -32700, "recursion");
        let line = format!(
            r#"{{"params":{{"name":"eval","arguments":{{"code":{deep}}}}},"jsonrpc":"2.0","method":"tools/call","id":2}}"#
        );
        refused(&mut server, &line, json!(2), -32700, "recursion");
    }
    // In a field that nobody reads.
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"eval","arguments":{{"code":"1"}},"x":{deep}}}}}"#
    );
    refused(&mut server, &line, json!(3), -32700, "recursion");
    // Brackets that never close.
    refused(&mut server, &"[".repeat(100_000), json!(null), -32700, "not JSON");
    server.ping();
}

#[test]
fn m8_every_argument_of_every_tool_is_checked_by_name() {
    let (env, mut server) = served();
    let tools = server.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    assert_eq!(tools.len(), 10);
    let mut tried = 0;
    for tool in &tools {
        let name = tool["name"].as_str().expect("a name");
        let schema = &tool["inputSchema"];
        let good = |key: &str| match schema["properties"][key]["type"].as_str() {
            _ if key == "language" => json!("python"),
            _ if key == "action" => schema["properties"][key]["enum"][0].clone(),
            Some("string") => json!("py"),
            Some("integer") => json!(1),
            Some("boolean") => json!(false),
            _ => json!({}),
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let filled: Value = required.iter().map(|key| ((*key).to_owned(), good(key))).collect();
        for missing in &required {
            let mut arguments = filled.clone();
            arguments.as_object_mut().expect("an object").remove(*missing);
            wrong(&mut server, name, &arguments, missing);
        }
        for (key, property) in schema["properties"].as_object().expect("properties") {
            let bad: Vec<Value> = match property["type"].as_str().expect("a type") {
                "string" => vec![json!(1), json!(true), json!([]), json!({"a": 1})],
                "integer" => {
                    vec![json!("1"), json!(-1), json!(1.5), json!(true), json!([1]), json!(1e30)]
                }
                "boolean" => vec![json!("true"), json!(1), json!([]), json!({})],
                _ => vec![json!("x"), json!([1]), json!({"A": 1}), json!({"A": null})],
            };
            for bad in bad {
                let mut arguments = filled.clone();
                arguments[key] = bad;
                wrong(&mut server, name, &arguments, key);
                tried += 1;
            }
            if property.get("enum").is_some() && key != "language" {
                let mut arguments = filled.clone();
                arguments[key] = json!("explode");
                wrong(&mut server, name, &arguments, key);
            }
        }
        let mut arguments = filled.clone();
        arguments["unheard_of"] = json!(1);
        wrong(&mut server, name, &arguments, "unheard_of");
    }
    assert!(tried > 80, "{tried}");
    let reply = server.call("eval", json!({"code": "1", "language": "cobol"}));
    assert!(reply.failed);
    reply.contains("`cobol`");
    for name in ["", "UPPER", "a b", "../x", "-x", "é", &"x".repeat(65)] {
        let reply =
            server.call("eval", json!({"code": "1", "session": name, "language": "python"}));
        assert!(reply.failed && reply.text.starts_with("[bad_request: "), "{}", reply.text);
    }
    // None of that began anything.
    assert!(server.call("sessions", json!({})).text.starts_with("[sessions: none"));
    assert_eq!(env.processes(), [server.pid()]);
}

#[track_caller]
fn wrong(server: &mut Server, tool: &str, arguments: &Value, field: &str) {
    let reply = server.call(tool, arguments.clone());
    assert!(reply.failed, "{tool} {arguments}: {}", reply.text);
    assert!(reply.text.starts_with("[bad_request: "), "{tool} {arguments}: {}", reply.text);
    // Of a list or an object the wrong part is named.
    let named = ["`", ".", "["].iter().any(|end| reply.text.contains(&format!("`{field}{end}")));
    assert!(named, "{tool} {arguments}: {}", reply.text);
}

#[test]
fn m8_no_arguments_and_null_arguments_are_the_same() {
    let (_env, mut server) = served();
    for params in [json!({"name": "sessions"}), json!({"name": "sessions", "arguments": null})] {
        let answer = server.ask("tools/call", params);
        assert!(!answer["result"]["isError"].as_bool().unwrap_or(false), "{answer}");
    }
    let reply = server.call("eval", json!(null));
    assert!(reply.failed && reply.text.contains("`code`"), "{}", reply.text);
    let nulls = json!({"code": "40 + 2", "session": null, "timeout_ms": null, "key": null, "background": null});
    server.call("eval", nulls).expect("42\n[py:1]");
}

/// However a call is spelled, it is the same call.
#[test]
fn m8_odd_spellings_of_a_call_are_read() {
    let (_env, mut server) = served();
    let cases = [
        // Keys that stand twice: the last one counts.
        (
            r#"{"jsonrpc":"2.0","id":1,"id":"a","method":"ping","method":"tools/call","params":{"name":"evil","name":"eval","arguments":{"code":"1","code":"42"}}}"#,
            json!("a"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"id":2,"method":"tools/call","params":{"name":"eval","arguments":{"code":"1"},"arguments":{"code":"42"}}}"#,
            json!(2),
        ),
        // Escapes where nobody expects them, and the fields in another order.
        (
            r#"{"params":{"arguments":{"c\u006fde":"\u0034\u0032"},"name":"\u0065val"},"method":"tools\/call","id":"\u0061\/b","jsonrpc":"2\u002e0"}"#,
            json!("a/b"),
        ),
        // More than anybody knows, and nothing where something may be.
        (
            r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"tools/call","more":[{}],"params":{"name":"eval","arguments":{"code":"42","key":null},"_meta":null,"requestState":"s","x":1}}"#,
            json!(i64::MIN),
        ),
        (
            r#" {"jsonrpc" : "2.0", "id":9223372036854775807,"method":"tools/call","params":{"name":"eval","arguments":{"code":"42"},"_meta":{"progressToken":[1]}}}"#,
            json!(i64::MAX),
        ),
    ];
    for (n, (line, id)) in cases.into_iter().enumerate() {
        server.line(line);
        let answer = server.answer(id.clone());
        assert_eq!(answer["id"], id, "{line}");
        let text = &answer["result"]["content"][0]["text"];
        assert_eq!(*text, format!("42\n[py:{}]", n + 1), "{line}");
    }
}

/// A client that never shakes hands and only calls tools is no guest of the SDK's, but served all the same.
#[test]
fn m1_a_client_that_only_calls_is_answered_to_the_end() {
    let env = TestEnv::new(STEAD);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}});
    let call = |code: &str| json!({"name": "eval", "arguments": {"code": code}, "_meta": meta});
    env.eval("0");
    let mut server = Server::raw(&env);
    let first = server.request("tools/call", call("import time; time.sleep(0.05); 'first'"));
    let bare = server.send("eval", json!({"code": "1"}));
    let second = server.request("tools/call", call("'second'"));
    server.hang_up();
    assert_eq!(server.answer(bare)["error"]["code"], -32602);
    for (id, code) in [(first, "'first'"), (second, "'second'")] {
        let answer = server.answer(id);
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with(&format!("{code}\n[py:")), "{text}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn m8_one_id_twice_in_flight() {
    let (env, mut server) = served();
    let gate = env.root().join("gate");
    let code =
        format!("import os, time\nwhile not os.path.exists({gate:?}): time.sleep(0.005)\n'first'");
    let call = |code: &str| {
        json!({"jsonrpc": "2.0", "id": "twin", "method": "tools/call",
               "params": {"name": "eval", "arguments": {"code": code}}})
    };
    server.message(&call(&code));
    server.message(&call("'second'"));
    let answer = server.answer("twin");
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer["error"]["message"].as_str().expect("a message").contains("`id`"), "{answer}");
    std::fs::write(&gate, "").expect("the gate opens");
    server.reply("twin").contains("'first'");
    // After its answer an id is free.
    server.message(&call("'third'"));
    server.reply("twin").expect("'third'\n[py:2]");
}

#[test]
fn m1_nothing_before_the_first_request_can_end_the_server() {
    let env = TestEnv::new(STEAD);
    let mut server = Server::raw(&env);
    server.notify("notifications/initialized", json!({}));
    server.cancel(5);
    server.line(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    server.line("garbage");
    assert_eq!(server.answer(Value::Null)["error"]["code"], -32700);
    server.ping();
    // A ping begins nothing, so these must still be harmless.
    server.notify("notifications/initialized", json!({}));
    server.notify("notifications/cancelled", json!({"requestId": 1}));
    server.line(r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}"#);
    let answer = server.ask("tools/call", json!({"name": "sessions", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = server.ask("tools/list", json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    server.notify("notifications/initialized", json!({}));
    let answer = server.ask("initialize", json!({"protocolVersion": 5}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    server.notify("notifications/initialized", json!({}));
    server.shake_hands();
    // A second handshake is answered as the first was.
    server.shake_hands();
    server.eval("1 + 1").expect("2\n[py:1]");
}

#[test]
fn m1_both_eras_on_one_line_of_code() {
    let env = TestEnv::new(STEAD);
    let meta = |version: &str| {
        json!({"io.modelcontextprotocol/protocolVersion": version,
               "io.modelcontextprotocol/clientCapabilities": {}})
    };
    let mut server = Server::raw(&env);
    let answer = server.ask("server/discover", json!({"_meta": meta("2026-07-28")}));
    assert!(answer["result"]["instructions"].is_string(), "{answer}");
    server.notify("notifications/cancelled", json!({"requestId": 1}));
    let answer = server.ask("tools/list", json!({"_meta": meta("1999-01-01")}));
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    server.cancel(1);
    let call = json!({"name": "eval", "arguments": {"code": "6 * 7"}, "_meta": meta("2026-07-28")});
    let id = server.request("tools/call", call.clone());
    server.reply(id).expect("42\n[py:1]");
    // Cancelling works in this era as well.
    let call = json!({"name": "eval", "arguments": {"code": "while True: pass"}, "_meta": meta("2026-07-28")});
    let id = server.request("tools/call", call);
    server.cancel(id);
    let call =
        json!({"name": "eval", "arguments": {"code": "'free'"}, "_meta": meta("2026-07-28")});
    let next = server.request("tools/call", call);
    server.reply(next).contains("'free'");
    assert_eq!(server.unasked(id), 0);
}

#[test]
fn e16_what_a_client_runs_has_its_name_in_both_eras() {
    let env = TestEnv::new(STEAD);
    let mut server = Server::start(&env);
    server.eval("1");
    let mut server = Server::raw(&env);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {},
                      "io.modelcontextprotocol/clientInfo": {"name": "smooth", "version": "0"}});
    let call = json!({"name": "eval", "arguments": {"code": "2"}, "_meta": meta});
    let id = server.request("tools/call", call);
    server.reply(id).expect("2\n[py:2]");
    let listed = env.json(["evals", "-n", "py"]);
    let evals = listed["data"]["evals"].as_array().expect("a list");
    let mut names: Vec<&str> = evals
        .iter()
        .map(|eval| eval["by"].as_str().and_then(|by| by.split('#').next()).expect("a name"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["rough", "smooth"], "{listed:#}");
}

/// A client reads standard output as MCP, and keeps standard error in its log.
#[test]
fn m8_a_server_that_cannot_begin_says_why_on_standard_error() {
    let env = TestEnv::new(STEAD);
    for (words, home, said) in [
        (&["mcp"][..], ".", "HOME"),
        (&["mcp", "--no-such-flag"], "/", "--no-such-flag"),
        (&["--workspace", "/no/such/dir", "mcp"], "/", "/no/such/dir"),
    ] {
        let mut command = env.command(words);
        command.env("HOME", home).env("STEAD_OUTPUT", "json").stdin(Stdio::null());
        command.env_remove("STEAD_STATE_DIR").env_remove("XDG_STATE_HOME");
        let ended = command.output().unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(!ended.status.success(), "{words:?}");
        assert_eq!(out, "", "{words:?}");
        assert!(err.starts_with("error: ") && err.contains(said), "{words:?}: {err}");
    }
}
