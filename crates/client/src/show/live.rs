//! An eval's output as it comes, in the form in which it is shown (SPEC O-7).

use stead_protocol::ChunkKind;
use stead_screen::LiveScreen;

use crate::show::page::{self, PageItem};

/// Turns chunks into items to show, as soon as they can no longer be redrawn.
#[derive(Debug, Default)]
pub struct Live {
    stream: LiveScreen,
}

impl Live {
    /// A state before the first chunk.
    pub fn new() -> Self {
        Live::default()
    }

    /// The next chunk; returns what can be shown now.
    pub fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) -> Vec<PageItem> {
        let Some(lane) = page::lane_of(kind) else {
            // Text that came before this chunk is shown before it.
            let mut items = texts(self.stream.pause());
            items.push(page::other(kind, bytes));
            return items;
        };
        texts(vec![(lane, self.stream.write(lane, bytes))])
    }

    /// The text that was held back because it might have been redrawn.
    pub fn finish(&mut self) -> Vec<PageItem> {
        texts(std::mem::take(&mut self.stream).finish())
    }
}

fn texts(texts: Vec<(stead_screen::Lane, String)>) -> Vec<PageItem> {
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    texts.map(|(lane, text)| PageItem::Text { kind: page::kind_of(lane), text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_a_bar_is_shown_before_the_value_that_follows_it() {
        let mut live = Live::new();
        let text = |kind, text: &str| PageItem::Text { kind, text: text.to_owned() };
        assert_eq!(live.chunk(ChunkKind::Out, b"one\n"), [text(ChunkKind::Out, "one\n")]);
        assert_eq!(live.chunk(ChunkKind::Err, b"\r10%"), []);
        assert_eq!(live.chunk(ChunkKind::Err, b"\r20%"), []);
        let items = live.chunk(ChunkKind::Value, br#"{"text":"\u001b[1m3","type":"int"}"#);
        assert_eq!(items[0], text(ChunkKind::Err, "20%"));
        assert!(matches!(&items[1], PageItem::Value(value) if value.text == "3"));
        assert_eq!(live.chunk(ChunkKind::Out, b"\xe2\x82"), []);
        assert_eq!(live.finish(), [text(ChunkKind::Out, "\\xe2\\x82")]);
    }
}
