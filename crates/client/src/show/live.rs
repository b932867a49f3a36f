//! An eval's output as it comes, in the form in which it is shown (SPEC O-7).

use stead_protocol::ChunkKind;
use stead_screen::{LiveScreen, LiveText};

use crate::show::page::{self, PageItem};

/// Turns chunks into items to show, as soon as they are not being redrawn.
#[derive(Debug, Default)]
pub struct Live {
    stream: LiveScreen,
}

/// An item of live output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveItem {
    /// The item.
    pub item: PageItem,
    /// For a text: how many lines at the end of what was shown of this stream it takes the place of.
    pub replaces: usize,
}

impl Live {
    /// A state before the first chunk.
    pub fn new() -> Self {
        Live::default()
    }

    /// The next chunk; returns what can be shown now.
    pub fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) -> Vec<LiveItem> {
        let Some(lane) = page::lane_of(kind) else {
            // Text that came before this chunk is shown before it.
            let mut items: Vec<LiveItem> = self.stream.pause().into_iter().map(item).collect();
            items.push(LiveItem { item: page::other(kind, bytes), replaces: 0 });
            return items;
        };
        self.stream.write(lane, bytes).into_iter().map(item).collect()
    }

    /// How the lines look now that are held back because they are being redrawn: progress bars. They are
    /// handed out when they are done, so these items are only for the meantime.
    pub fn open(&self) -> Vec<LiveItem> {
        self.stream.open().into_iter().map(item).collect()
    }

    /// The text that was held back because it might have been redrawn.
    pub fn finish(&mut self) -> Vec<LiveItem> {
        std::mem::take(&mut self.stream).finish().into_iter().map(item).collect()
    }
}

fn item(text: LiveText) -> LiveItem {
    let item = PageItem::Text { kind: page::kind_of(text.lane), text: text.text };
    LiveItem { item, replaces: text.replaces }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_a_bar_is_shown_before_the_value_that_follows_it() {
        let mut live = Live::new();
        let text = |kind, text: &str| LiveItem {
            item: PageItem::Text { kind, text: text.to_owned() },
            replaces: 0,
        };
        assert_eq!(live.chunk(ChunkKind::Out, b"one\n"), [text(ChunkKind::Out, "one\n")]);
        assert_eq!(live.chunk(ChunkKind::Err, b"\r10%"), []);
        assert_eq!(live.open(), [text(ChunkKind::Err, "10%")]);
        assert_eq!(live.chunk(ChunkKind::Err, b"\r20%"), []);
        assert_eq!(live.open(), [text(ChunkKind::Err, "20%")]);
        let items = live.chunk(ChunkKind::Value, br#"{"text":"\u001b[1m3","type":"int"}"#);
        assert_eq!(items[0], text(ChunkKind::Err, "20%"));
        assert!(matches!(&items[1].item, PageItem::Value(value) if value.text == "3"));
        assert_eq!(live.open(), []);
        assert_eq!(live.chunk(ChunkKind::Out, b"\xe2\x82"), []);
        assert_eq!(live.finish(), [text(ChunkKind::Out, "\\xe2\\x82")]);
    }
}
