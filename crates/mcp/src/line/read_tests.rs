use serde_json::json;

use super::*;

fn call(id: Value, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn read(message: &Value) -> Option<CallLine> {
    CallLine::read(message.to_string().as_bytes())
}

#[test]
fn m8_calls_are_read_with_every_kind_of_id_in_any_order() {
    let eval = json!({"name": "eval", "arguments": {"code": "x\n\u{1f600}"}});
    for id in [json!(1), json!(-7), json!(i64::MAX), json!(i64::MIN), json!(""), json!("a\"b")] {
        let read = read(&call(id.clone(), eval.clone())).unwrap();
        assert_eq!(json!(read.id), id);
        assert_eq!(
            (read.tool.as_str(), Value::Object(read.arguments)),
            ("eval", eval["arguments"].clone())
        );
    }
    let line = br#" {"params":{"_meta":{"progressToken":3},"arguments":null,"name":"\u0065val"},
        "method":"tools\/call","id":"\u0061","jsonrpc":"2.0"}"#;
    let read = CallLine::read(line).unwrap();
    assert_eq!((read.id, read.tool.as_str()), (RequestId::Text("a".into()), "eval"));
    assert_eq!(read.meta.progress_token(), Some(RequestId::Number(3)));
}

#[test]
fn m8_a_call_may_have_more_than_is_known_and_a_key_twice() {
    let line = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","more":[1],
        "params":{"name":"evil","name":"eval","arguments":{"code":"1","code":"2"},"requestState":"s"}}"#;
    assert_eq!(CallLine::read(line.as_bytes()), None);
    let read = CallLine::read_tidied(serde_json::from_str(line).unwrap()).unwrap();
    assert_eq!((read.id, read.tool.as_str()), (RequestId::Number(2), "eval"));
    assert_eq!(Value::Object(read.arguments), json!({"code": "2"}));
}

#[test]
fn m8_what_is_no_call_is_left_to_others() {
    let eval = json!({"name": "eval", "arguments": {"code": "1"}});
    let with = |field: &str, value: Value| {
        let mut params = eval.clone();
        params[field] = value;
        call(json!(1), params)
    };
    let mut others = vec![
        json!([call(json!(1), eval.clone())]),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": eval}),
        json!({"jsonrpc": "2.1", "id": 1, "method": "tools/call", "params": eval}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": eval}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": eval, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        call(json!(1), Value::Null),
        call(json!(1), json!({})),
        with("name", json!(1)),
        with("arguments", json!([])),
        with("_meta", json!(5)),
    ];
    for id in [json!(1.0), json!(1.5), json!(u64::MAX), json!(null), json!([1]), json!(true)] {
        others.push(call(id, eval.clone()));
    }
    for other in others {
        assert_eq!(read(&other), None, "{other}");
    }
    for text in [
        "",
        "{",
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"eval","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"eval","arguments":{}}} x"#,
    ] {
        assert_eq!(CallLine::read(text.as_bytes()), None, "{text}");
    }
}
