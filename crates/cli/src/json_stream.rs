//! An eval's output as lines of JSON, while it runs (SPEC C-7).
//!
//! Text comes as `out`, `err` and `background` chunks. Of lines that are being redrawn, `status` chunks with
//! `redraw` tell how they look now; the text itself follows when the line ends, so whoever passes over
//! those chunks has everything once.

use std::time::Instant;

use stead_client::{Live, LiveItem, PageItem};
use stead_protocol::ChunkKind;

use crate::print;
use crate::reply::{ChunkData, chunk_data};
use crate::text_writer::DRAW_EVERY;

/// Writes chunks as lines of JSON.
#[derive(Debug, Default)]
pub(crate) struct JsonStream {
    live: Live,
    /// The eval that is named in each line; without it, none.
    eval_id: Option<String>,
    /// What was last said of each stream's bars.
    bars: Vec<LiveItem>,
    /// Set if bars may have changed since they were last written.
    stale: bool,
    drawn: Option<Instant>,
}

impl JsonStream {
    /// Names the eval in each line from here on.
    pub(crate) fn name(&mut self, eval_id: Option<String>) {
        if self.eval_id != eval_id {
            self.finish();
            self.eval_id = eval_id;
        }
    }

    /// The next chunk as it comes from the spool.
    pub(crate) fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        let items = self.live.chunk(kind, bytes);
        self.write(&items);
        self.stale = true;
    }

    /// Says how the bars look, if they have changed and it is time; when to be called again if it is not.
    pub(crate) fn draw(&mut self) -> Option<Instant> {
        if !self.stale {
            return None;
        }
        let next = self.drawn.map(|at| at + DRAW_EVERY);
        if next.is_some_and(|next| next > Instant::now()) {
            return next;
        }
        self.stale = false;
        let open = self.live.open();
        for bar in open.iter().filter(|bar| !self.bars.contains(bar)) {
            self.line(bar, true);
            self.drawn = Some(Instant::now());
        }
        for gone in
            self.bars.iter().filter(|bar| !open.iter().any(|now| stream(now) == stream(bar)))
        {
            if let PageItem::Text { kind, .. } = gone.item {
                let item = PageItem::Text { kind, text: String::new() };
                self.line(&LiveItem { item, replaces: gone.replaces }, true);
                self.drawn = Some(Instant::now());
            }
        }
        self.bars = open;
        None
    }

    /// Writes text that was held back.
    pub(crate) fn finish(&mut self) {
        let items = self.live.finish();
        self.write(&items);
    }

    fn write(&mut self, items: &[LiveItem]) {
        for item in items {
            self.line(item, false);
            // The next text of a stream takes the place of its bars.
            self.bars.retain(|bar| stream(bar) != stream(item));
        }
    }

    fn line(&self, item: &LiveItem, redraw: bool) {
        // The last line of the stream has the fields of a report.
        if matches!(item.item, PageItem::Report(_)) {
            return;
        }
        let mut chunk = chunk_data(&item.item, None);
        chunk.replaces = item.replaces;
        chunk.eval_id.clone_from(&self.eval_id);
        if redraw && let Some(kind) = stream(item) {
            chunk = ChunkData { kind: "status", redraw: true, stream: Some(kind.word()), ..chunk };
        }
        print::json(&chunk);
    }
}

fn stream(item: &LiveItem) -> Option<ChunkKind> {
    match item.item {
        PageItem::Text { kind, .. } => Some(kind),
        _ => None,
    }
}
