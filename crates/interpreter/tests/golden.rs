//! The transcripts in `golden/` have each order and each telling, as it is written.

use std::collections::BTreeSet;

#[path = "../../protocol/tests/newer/mod.rs"]
mod newer;

use newer::walk;
use serde_json::Value;
use stead_interpreter::{Order, Told};

/// Each line survives decoding and encoding; says which kinds there are.
fn kinds(text: &str, tag: &str, again: impl Fn(&str) -> Value) -> BTreeSet<String> {
    let lines = text.lines().map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(again(line), value);
        value[tag].as_str().expect(line).to_owned()
    });
    lines.collect()
}

/// The kinds that the decoder knows, as it says itself.
fn known(tag: &str) -> BTreeSet<String> {
    // An enum with `Unknown` refuses no kind, so the list is in the types' own source.
    let source = match tag {
        "order" => include_str!("../src/order.rs"),
        _ => include_str!("../src/told.rs"),
    };
    let body = source.split("\npub enum ").nth(1).unwrap().split("\n}").next().unwrap();
    let variants = body
        .lines()
        .filter(|line| line.starts_with("    ") && !line[4..].starts_with([' ', '/', '#', '}']));
    let name = |line: &str| line.trim().split(['{', '(', ',', ' ']).next().unwrap().to_owned();
    let snake = |name: String| {
        let mut word = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !word.is_empty() {
                word.push('_');
            }
            word.extend(letter.to_lowercase());
        }
        word
    };
    variants.map(name).filter(|name| name != "Unknown").map(snake).collect()
}

#[test]
fn every_order_stands_in_the_transcript() {
    let again = |line: &str| {
        let order: Order = serde_json::from_str(line).unwrap();
        assert_ne!(order, Order::Unknown, "{line}");
        serde_json::to_value(order).unwrap()
    };
    let found = kinds(include_str!("golden/orders.jsonl"), "order", again);
    assert_eq!(found, known("order"));
}

#[test]
fn every_telling_stands_in_the_transcript() {
    let again = |line: &str| {
        let told: Told<'_> = serde_json::from_str(line).unwrap();
        assert!(!matches!(told, Told::Unknown), "{line}");
        serde_json::to_value(told).unwrap()
    };
    let found = kinds(include_str!("golden/tellings.jsonl"), "told", again);
    assert_eq!(found, known("told"));
}

#[test]
fn orders_and_tellings_of_newer_versions_are_read() {
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let orders = lines(include_str!("golden/orders.jsonl"));
    let tried: usize = orders.iter().map(walk::<Order>).sum();
    assert!(tried > 50, "{tried}");
    let told = lines(include_str!("golden/tellings.jsonl"));
    let tried: usize = told.iter().map(walk::<Told<'static>>).sum();
    assert!(tried > 50, "{tried}");
}
