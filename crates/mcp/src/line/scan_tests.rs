use serde_json::json;

use super::*;

#[test]
fn m8_the_id_is_found_wherever_it_stands() {
    assert_eq!(id(br#"{"jsonrpc":"2.0","id":7,"method":"x"}"#), Some(json!(7)));
    assert_eq!(
        id(br#"{"params":{"id":1,"a":["id",{"id":2}]},"id" : "q\"}"}"#),
        Some(json!("q\"}"))
    );
    assert_eq!(id(br#"{"method":"id","x":"\"id\":5","id":-3"#), Some(json!(-3)));
}

#[test]
fn m8_what_is_no_id_is_none() {
    for text in [
        r#"{"id":null}"#,
        r#"{"id":{"id":1}}"#,
        r#"{"id":1.5}"#,
        r#"{"a":{"id":1}}"#,
        r#"[{"id":1}]"#,
        "",
        "{",
        "\"id\":1",
    ] {
        assert_eq!(id(text.as_bytes()), None, "{text}");
    }
    let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(1000));
    assert_eq!(id(long.as_bytes()), None);
}

#[test]
fn m8_depth_and_length_cost_nothing() {
    let mut scan = IdScan::default();
    scan.feed(br#"{"params":"#);
    for _ in 0..1000 {
        scan.feed(&[b'['; 1000]);
    }
    for _ in 0..1000 {
        scan.feed(&[b']'; 1000]);
    }
    scan.feed(br#","id":9}"#);
    assert_eq!(scan.finish(), Some(json!(9)));
}
