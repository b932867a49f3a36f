#![allow(missing_docs, clippy::all)]
use crate::*;
use stead_protocol::*;
#[derive(Debug)]
pub struct Page {
    pub items: Vec<Item>,
    pub next_offset: Option<u64>,
    pub shown_bytes: u64,
    pub total_bytes: u64,
}
#[derive(Debug)]
pub enum Item {
    Text { kind: ChunkKind, text: String },
    Value(ValueInfo),
    Error(ErrorInfo),
    Display(DisplayInfo),
    Status(String),
    Gap(LeftOut),
}
impl Page {
    pub fn new(content: &Content, _max: usize) -> Page {
        let items = content
            .chunks()
            .map(|c| match c.kind {
                ChunkKind::Value => Item::Value(serde_json::from_slice(&c.bytes).unwrap()),
                ChunkKind::Error => Item::Error(serde_json::from_slice(&c.bytes).unwrap()),
                ChunkKind::Display => Item::Display(serde_json::from_slice(&c.bytes).unwrap()),
                kind => Item::Text { kind, text: String::from_utf8_lossy(&c.bytes).into_owned() },
            })
            .collect();
        Page { items, next_offset: None, shown_bytes: 0, total_bytes: 0 }
    }
}
