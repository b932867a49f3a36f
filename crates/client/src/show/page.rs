//! What is shown of an eval: clean text (SPEC O-7), bounded (SPEC O-5).

use std::ops::Range;

use serde::Deserialize;
use stead_protocol::{Chunk, ChunkKind, DisplayInfo, ErrorInfo, ValueInfo, is_markup};
use stead_screen::{Lane, LaneText, Piece, Screen, into_plain, plain};

use crate::read::content::{Content, LeftOut, line_ends, own_bytes};
use crate::show::report::{report, report_text};

/// Bytes that are read for a page, however few characters it may have: redraws take many bytes
/// and leave little to show.
const LEAST_READ: usize = 4 << 20;

/// How often a page is made shorter; after that only its end is shown.
const MOST_FITS: usize = 8;

/// How many characters a display takes beside its text: it is shown as one short line.
const DISPLAY_COST: usize = 80;

/// How many bytes to read for a page of that many characters.
pub(crate) fn read_budget(max_chars: usize) -> usize {
    match max_chars {
        // Only the value or the error at the end is to be shown.
        0 => 64 << 10,
        _ => max_chars.saturating_mul(4).saturating_add(8 << 10).max(LEAST_READ),
    }
}

/// An eval's output as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In order, with at most one gap.
    pub items: Vec<PageItem>,
    /// Where items were cut in their middle, in the order of the items.
    pub cuts: Vec<ItemCut>,
    /// How many bytes of the eval's own output the items stand for.
    pub shown_bytes: u64,
    /// How many it wrote in all, as far as that was read.
    pub total_bytes: u64,
    /// Where to read on, if there is more behind the last item.
    pub next_offset: Option<u64>,
}

/// Where an item was cut in its middle: code that shows it can tell this mark from one that user code has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemCut {
    /// The item's index.
    pub item: usize,
    /// Where the mark of the cut stands in its text: in the traceback of an error that has one, else in its message.
    pub mark: Range<usize>,
}

/// One item on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageItem {
    /// Text of a stream.
    Text {
        /// The stream.
        kind: ChunkKind,
        /// The text with its line ends.
        text: String,
    },
    /// A value.
    Value(ValueInfo),
    /// An error.
    Error(ErrorInfo),
    /// A display: an image, a table or other rich output.
    Display(DisplayInfo),
    /// A note of the host.
    Status(String),
    /// What came of work that is not code, in words.
    Report(String),
    /// A place where output is left out.
    Gap(LeftOut),
}

impl Page {
    /// Cleans the output and keeps at most `max_chars` characters of it: whole lines from head and
    /// tail, and the value or error at the end.
    pub fn new(content: &Content, max_chars: usize) -> Page {
        let head_end = content.offset + own_bytes(content.head.iter());
        let tail_base = content.total_bytes.saturating_sub(own_bytes(content.tail.iter()));
        let mut head = entries(&content.head, content.offset, max_chars);
        let mut tail = entries(&content.tail, tail_base, max_chars);
        let costs = head.iter().chain(&tail).map(PageEntry::cost);
        let mut page = Page {
            shown_bytes: content.shown_bytes(),
            total_bytes: content.total_bytes,
            ..Page::default()
        };
        if content.left_out.is_none() && head_end < content.total_bytes {
            page.next_offset = Some(head_end);
        }
        let mut gap = content.left_out.clone();
        if costs.fold(0, usize::saturating_add) > max_chars {
            let half = max_chars / 2;
            let mut left_by_head = take_front(&mut head, half);
            let cut = match &mut gap {
                Some(gap) => {
                    let left_by_tail = take_back(&mut tail, half);
                    gap.offset = start(&left_by_head, head_end);
                    let own = head_end - gap.offset + start(&tail, content.total_bytes) - tail_base;
                    left_by_head.extend(left_by_tail);
                    gap.bytes += own;
                    own
                }
                None => {
                    let rest = std::mem::take(&mut left_by_head);
                    (left_by_head, tail) = split_back(rest, half);
                    let after = start(&tail, head_end);
                    let offset = start(&left_by_head, after);
                    let own = after.saturating_sub(offset);
                    if !left_by_head.is_empty() {
                        gap = Some(LeftOut { bytes: own, lines: Some(0), offset });
                    }
                    own
                }
            };
            page.shown_bytes = page.shown_bytes.saturating_sub(cut);
            if let Some(gap) = &mut gap {
                count(gap, &left_by_head);
            }
        }
        page.extend(head);
        page.items.extend(gap.map(PageItem::Gap));
        page.extend(tail);
        page
    }

    /// The result of `make` for a page, within `room` characters. `make` builds a whole reply with all its
    /// marks; it gets shorter and shorter pages until the reply fits.
    pub fn fit<T>(
        content: &Content,
        max_chars: usize,
        room: usize,
        mut make: impl FnMut(Page, usize) -> (T, usize),
    ) -> T {
        let mut budget = max_chars;
        for _ in 0..MOST_FITS {
            let (made, length) = make(Page::new(content, budget), budget);
            if length <= room || budget == 0 {
                return made;
            }
            // Marks mostly grow and shrink with the text, so the text is cut in proportion.
            let share = budget as u128 * room as u128 / length as u128;
            budget = (share as usize / 16 * 15).min(budget - 1);
        }
        make(Page::new(content, 0), 0).0
    }

    /// Whether something is left out.
    pub fn is_cut(&self) -> bool {
        self.next_offset.is_some() || self.items.iter().any(|item| matches!(item, PageItem::Gap(_)))
    }

    fn extend(&mut self, entries: Vec<PageEntry>) {
        for entry in entries {
            match (entry, self.items.last_mut()) {
                (PageEntry::Text(new), Some(PageItem::Text { kind, text }))
                    if *kind == kind_of(new.lane) =>
                {
                    text.push_str(&new.text);
                }
                (PageEntry::Text(new), _) => {
                    let kind = kind_of(new.lane);
                    self.items.push(PageItem::Text { kind, text: new.text });
                }
                (PageEntry::Other { item, limit, .. }, _) => {
                    let (item, mark) = shorten(item, limit);
                    let index = self.items.len();
                    self.cuts.extend(mark.map(|mark| ItemCut { item: index, mark }));
                    self.items.push(item);
                }
            }
        }
    }
}

/// An item that may be left out of the page.
#[derive(Debug)]
enum PageEntry {
    Text(LaneText),
    /// An item that is not text. A value or an error is always shown, cut to `limit` characters.
    Other {
        item: PageItem,
        cost: usize,
        limit: usize,
    },
}

impl PageEntry {
    fn cost(&self) -> usize {
        match self {
            PageEntry::Text(text) => text.text.chars().count(),
            PageEntry::Other { cost, .. } => *cost,
        }
    }
}

fn entries(chunks: &[Chunk], mut offset: u64, max_chars: usize) -> Vec<PageEntry> {
    let other = |chunk: &Chunk| {
        let item = other(chunk.kind, &chunk.bytes);
        // Several displays share the page, so one display may take only a part of it.
        let limit = if matches!(item, PageItem::Display(_)) { max_chars / 4 } else { max_chars };
        let cost = cost(&item, limit).min(max_chars);
        PageEntry::Other { item, cost, limit }
    };
    // Without stream output there is nothing that could have been redrawn.
    if chunks.iter().all(|chunk| lane_of(chunk.kind).is_none()) {
        return chunks.iter().map(other).collect();
    }
    let mut screen = Screen::new();
    let mut others = Vec::new();
    for chunk in chunks {
        match lane_of(chunk.kind) {
            Some(lane) => {
                screen.write(lane, offset, &chunk.bytes);
                offset += if lane.is_own() { chunk.bytes.len() as u64 } else { 0 };
            }
            None => {
                screen.mark();
                others.push(Some(other(chunk)));
            }
        }
    }
    let pieces = screen.finish().into_iter();
    let entries = pieces.filter_map(|piece| match piece {
        Piece::Text(text) => Some(PageEntry::Text(text)),
        Piece::Mark(mark) => others.get_mut(mark).and_then(Option::take),
    });
    entries.collect()
}

pub(crate) fn other(kind: ChunkKind, bytes: &[u8]) -> PageItem {
    match kind {
        ChunkKind::Value => PageItem::Value(value(bytes)),
        ChunkKind::Error => PageItem::Error(error(bytes)),
        ChunkKind::Display => PageItem::Display(display(bytes)),
        ChunkKind::Report => PageItem::Report(report_text(&report(bytes))),
        _ => PageItem::Status(plain(bytes)),
    }
}

fn cost(item: &PageItem, limit: usize) -> usize {
    let text = match item {
        PageItem::Gap(_) => return DISPLAY_COST,
        PageItem::Display(display) => {
            let data = display.data.as_ref().map_or(0, |data| data.chars().count());
            return data.min(limit) + DISPLAY_COST;
        }
        PageItem::Value(value) => &value.text,
        PageItem::Error(error) => error.traceback.as_ref().unwrap_or(&error.message),
        PageItem::Text { text, .. } | PageItem::Status(text) | PageItem::Report(text) => text,
    };
    text.chars().count()
}

/// The item with at most `limit` characters of text, and where the mark of the cut stands in it, if it was cut.
fn shorten(mut item: PageItem, limit: usize) -> (PageItem, Option<Range<usize>>) {
    let cut = |text: &mut String| {
        let (short, mark) = cut_at(text, limit)?;
        *text = short;
        Some(mark)
    };
    let mark = match &mut item {
        PageItem::Value(value) => cut(&mut value.text),
        PageItem::Error(error) => {
            let in_message = cut(&mut error.message);
            error.traceback.as_mut().map_or(in_message, cut)
        }
        PageItem::Display(display) => display.data.as_mut().and_then(cut),
        PageItem::Report(text) => cut(text),
        PageItem::Text { .. } | PageItem::Status(_) | PageItem::Gap(_) => None,
    };
    (item, mark)
}

/// The content of a record; `None` if it is damaged.
fn record<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    serde_json::from_str(str::from_utf8(bytes).ok()?).ok()
}

/// A value as it is shown.
pub(crate) fn value(bytes: &[u8]) -> ValueInfo {
    let value = record::<ValueInfo>(bytes);
    let raw = || ValueInfo { text: plain(bytes), type_name: String::new() };
    let value = value.unwrap_or_else(raw);
    ValueInfo { text: into_plain(value.text), type_name: into_plain(value.type_name) }
}

/// An error as it is shown.
pub(crate) fn error(bytes: &[u8]) -> ErrorInfo {
    let error = record::<ErrorInfo>(bytes);
    let raw = || ErrorInfo { name: plain(bytes), ..ErrorInfo::default() };
    let error = error.unwrap_or_else(raw);
    ErrorInfo {
        name: into_plain(error.name),
        message: into_plain(error.message),
        traceback: error.traceback.map(into_plain),
        ..error
    }
}

fn display(bytes: &[u8]) -> DisplayInfo {
    match record::<DisplayInfo>(bytes) {
        // Hosts of earlier versions kept pages and drawings in the record.
        Some(display) if display.data.is_some() && is_markup(&display.mime) => {
            let bytes = display.data.map_or(0, |data| data.len() as u64);
            let note = Some("not in a file: the host was of an earlier version".to_owned());
            DisplayInfo { data: None, bytes, note, ..display }
        }
        Some(display) => DisplayInfo { data: display.data.map(into_plain), ..display },
        None => DisplayInfo { data: Some(plain(bytes)), ..DisplayInfo::default() },
    }
}

/// Where the first text begins, or else `end`.
fn start(entries: &[PageEntry], end: u64) -> u64 {
    let texts = entries.iter().filter_map(|entry| match entry {
        PageEntry::Text(text) => Some(text.start),
        PageEntry::Other { .. } => None,
    });
    texts.take(1).next().unwrap_or(end)
}

/// Adds dropped entries to a gap: their lines, and bytes that are not the eval's own.
fn count(gap: &mut LeftOut, dropped: &[PageEntry]) {
    // For a row that was redrawn it is not known which bytes its parts came from.
    let unknown = gap.bytes == 0;
    for entry in dropped {
        if let PageEntry::Text(text) = entry {
            gap.lines = gap.lines.map(|lines| lines + line_ends(text.text.as_bytes()));
            let counted = text.lane.is_own() && !unknown;
            gap.bytes += if counted { 0 } else { text.text.len() as u64 };
        }
    }
}

/// Keeps the entries that fit from the front and returns the rest.
fn take_front(entries: &mut Vec<PageEntry>, budget: usize) -> Vec<PageEntry> {
    let mut left = budget;
    for index in 0..entries.len() {
        let cost = entries[index].cost();
        if cost <= left {
            left -= cost;
            continue;
        }
        let keep = match &entries[index] {
            PageEntry::Text(text) => front(text, left, left == budget),
            PageEntry::Other { .. } => 0,
        };
        let mut rest = entries.split_off(index);
        if keep > 0
            && let PageEntry::Text(text) = &mut rest[0]
        {
            let behind = text.split_off(keep);
            entries.push(std::mem::replace(&mut rest[0], PageEntry::Text(behind)));
        }
        return rest;
    }
    Vec::new()
}

/// Keeps the entries that fit from the back and returns those before them.
fn take_back(entries: &mut Vec<PageEntry>, budget: usize) -> Vec<PageEntry> {
    let (dropped, kept) = split_back(std::mem::take(entries), budget);
    *entries = kept;
    dropped
}

/// Splits entries into those that do not fit and those that fit from the back.
fn split_back(mut entries: Vec<PageEntry>, budget: usize) -> (Vec<PageEntry>, Vec<PageEntry>) {
    let mut left = budget;
    let mut any_text = false;
    // The caller asked for the value, error or report at the end, so it gets its room first.
    if let Some(PageEntry::Other {
        item: PageItem::Value(_) | PageItem::Error(_) | PageItem::Report(_),
        cost,
        limit,
    }) = entries.last_mut()
    {
        (*cost, *limit) = ((*cost).min(budget), (*limit).min(budget));
    }
    for index in (0..entries.len()).rev() {
        let cost = entries[index].cost();
        if cost <= left {
            left -= cost;
            any_text |= matches!(entries[index], PageEntry::Text(_));
            continue;
        }
        let mut kept = entries.split_off(index + 1);
        if let Some(PageEntry::Text(text)) = entries.last_mut() {
            let from = back(&text.text, left, !any_text);
            if from < text.text.len() {
                kept.insert(0, PageEntry::Text(text.split_off(from)));
            }
        }
        return (entries, kept);
    }
    (Vec::new(), entries)
}

/// Length of the longest prefix of whole lines within `budget`; of characters, if `any`.
fn front(text: &LaneText, budget: usize, any: bool) -> usize {
    let end = text.text.char_indices().nth(budget).map_or(text.text.len(), |(at, _)| at);
    let line_end = text.text[..end].rfind('\n').map_or(0, |at| at + 1);
    if line_end > 0 || !any {
        return line_end;
    }
    // Prefers a place with a known offset, so that the caller can read on exactly there.
    let exact =
        (1..=end).rev().find(|at| text.text.is_char_boundary(*at) && text.origin(*at).is_some());
    exact.unwrap_or(end)
}

/// Start of the longest suffix of whole lines within `budget`; of characters, if `any`.
fn back(text: &str, budget: usize, any: bool) -> usize {
    let from = match budget.checked_sub(1) {
        Some(nth) => text.char_indices().nth_back(nth).map_or(0, |(at, _)| at),
        None => text.len(),
    };
    if from == 0 || text.as_bytes()[from - 1] == b'\n' {
        return from;
    }
    let line = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
    if line == text.len() && any { from } else { line }
}

/// At most `max` characters, cut in the middle.
pub fn cut_middle(text: &str, max: usize) -> String {
    cut_at(text, max).map_or_else(|| text.to_owned(), |(short, _)| short)
}

/// A text that is longer than `max` characters, cut in the middle, and where the mark of the cut stands.
fn cut_at(text: &str, max: usize) -> Option<(String, Range<usize>)> {
    // No text has more characters than bytes.
    let count = if text.len() <= max { 0 } else { text.chars().count() };
    if count <= max {
        return None;
    }
    let (head, tail) = (max.div_ceil(2), max / 2);
    let mut short: String = text.chars().take(head).collect();
    let start = short.len();
    short.push_str(&format!("[… {} characters left out …]", count - max));
    let mark = start..short.len();
    short.extend(text.chars().skip(count - tail));
    Some((short, mark))
}

pub(crate) fn lane_of(kind: ChunkKind) -> Option<Lane> {
    match kind {
        ChunkKind::Out => Some(Lane::Out),
        ChunkKind::Err => Some(Lane::Err),
        ChunkKind::BackgroundOut => Some(Lane::BackgroundOut),
        ChunkKind::BackgroundErr => Some(Lane::BackgroundErr),
        ChunkKind::Value
        | ChunkKind::Error
        | ChunkKind::Display
        | ChunkKind::Status
        | ChunkKind::Report => None,
    }
}

pub(crate) fn kind_of(lane: Lane) -> ChunkKind {
    match lane {
        Lane::Out => ChunkKind::Out,
        Lane::Err => ChunkKind::Err,
        Lane::BackgroundOut => ChunkKind::BackgroundOut,
        Lane::BackgroundErr => ChunkKind::BackgroundErr,
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
