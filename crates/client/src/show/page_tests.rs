//! Pages of all kinds of output.

use super::*;

fn chunk(kind: ChunkKind, text: &str) -> Chunk {
    Chunk { kind, bytes: text.as_bytes().to_vec() }
}

fn out(text: &str) -> Chunk {
    chunk(ChunkKind::Out, text)
}

fn value(text: &str) -> Chunk {
    let value = ValueInfo { text: text.to_owned(), type_name: "str".to_owned() };
    Chunk { kind: ChunkKind::Value, bytes: serde_json::to_vec(&value).unwrap() }
}

fn content(head: Vec<Chunk>) -> Content {
    let total_bytes = own_bytes(head.iter());
    Content { head, total_bytes, ..Content::default() }
}

/// The page as text: a letter for each kind, gaps as numbers.
fn read(page: &Page) -> String {
    let items = page.items.iter().map(|item| match item {
        PageItem::Text { kind: ChunkKind::Out, text } => format!("o:{text}"),
        PageItem::Text { kind: ChunkKind::Err, text } => format!("e:{text}"),
        PageItem::Text { text, .. } => format!("b:{text}"),
        PageItem::Value(value) => format!("v:{}", value.text),
        PageItem::Error(error) => format!("x:{}", error.traceback.as_deref().unwrap_or_default()),
        PageItem::Display(display) => format!("d:{}", display.mime),
        PageItem::Report(text) => format!("r:{text}"),
        PageItem::Status(text) => format!("s:{text}"),
        PageItem::Gap(gap) => {
            format!("[{:?} lines, {} bytes, {}]", gap.lines, gap.bytes, gap.offset)
        }
    });
    items.collect()
}

fn page(chunks: Vec<Chunk>, max_chars: usize) -> Page {
    Page::new(&content(chunks), max_chars)
}

#[test]
fn o5_what_fits_is_left_alone() {
    let all = page(vec![out("one\ntwo\n"), value("3")], 9);
    assert_eq!(read(&all), "o:one\ntwo\nv:3");
    assert!(!all.is_cut());
    assert_eq!((all.shown_bytes, all.total_bytes), (8, 8));
}

#[test]
fn o5_whole_lines_stay_from_head_and_tail() {
    let text: String = (0..100).map(|n| format!("{n:03}\n")).collect();
    let cut = page(vec![out(&text)], 20);
    assert_eq!(read(&cut), "o:000\n001\n[Some(96) lines, 384 bytes, 8]o:098\n099\n");
    assert_eq!((cut.shown_bytes, cut.total_bytes), (16, 400));
    assert!(cut.is_cut());
}

#[test]
fn o5_one_enormous_line_is_cut_by_characters() {
    let cut = page(vec![out(&"é".repeat(1000))], 10);
    assert_eq!(read(&cut), "o:ééééé[Some(0) lines, 1980 bytes, 10]o:ééééé");
    let cut = page(vec![out(&format!("{}\n", "x".repeat(1000)))], 10);
    assert_eq!(read(&cut), "o:xxxxx[Some(0) lines, 991 bytes, 5]o:xxxx\n");
}

#[test]
fn o5_an_enormous_line_in_colour_is_read_on_where_it_was_left() {
    let raw: String = (0..500).map(|n| format!("\x1b[3{}m{n:010} \x1b[0m", n % 8)).collect();
    let (mut offset, mut text) = (0, String::new());
    for _ in 0..100 {
        let mut rest = content(vec![out(&raw[offset as usize..])]);
        (rest.offset, rest.total_bytes) = (offset, raw.len() as u64);
        let page = Page::new(&rest, 600);
        let Some(PageItem::Text { text: head, .. }) = page.items.first() else {
            panic!("{page:?}")
        };
        text.push_str(head);
        match page.items.get(1) {
            Some(PageItem::Gap(gap)) => offset = gap.offset,
            _ => break,
        }
    }
    assert_eq!(text, plain(raw));
}

#[test]
fn o5_the_value_at_the_end_stays() {
    let cut = page(vec![out(&"x\n".repeat(1000)), value("42")], 10);
    assert_eq!(read(&cut), "o:x\nx\n[Some(997) lines, 1994 bytes, 4]o:x\nv:42");
    let long = page(vec![out("a\n"), value(&"y".repeat(100))], 20);
    assert_eq!(read(&long), "o:a\nv:yyyyy[… 90 characters left out …]yyyyy");
    assert_eq!(long.cuts, [ItemCut { item: 1, mark: 5..5 + "[… 90 characters left out …]".len() }]);
    assert!(cut.cuts.is_empty());
    let alone = page(vec![value(&"y".repeat(100))], 20);
    assert!(read(&alone).contains("[… 80 characters left out …]"));
}

#[test]
fn o5_a_gap_that_is_there_grows() {
    let left_out = Some(LeftOut { bytes: 100, lines: Some(50), offset: 8 });
    let (head, tail) = (vec![out("a\nb\nc\nd\n")], vec![out("w\nx\ny\nz\n")]);
    let wide = Content { head, left_out, tail, offset: 0, total_bytes: 116 };
    let cut = Page::new(&wide, 8);
    assert_eq!(read(&cut), "o:a\nb\n[Some(54) lines, 108 bytes, 4]o:y\nz\n");
    assert_eq!((cut.shown_bytes, cut.total_bytes), (8, 116));
    let all = Page::new(&wide, 16);
    assert_eq!(read(&all), "o:a\nb\nc\nd\n[Some(50) lines, 100 bytes, 8]o:w\nx\ny\nz\n");
}

#[test]
fn o5_bytes_that_are_no_text_count_as_they_are_shown() {
    let garbage = Chunk { kind: ChunkKind::Out, bytes: vec![0xff; 1000] };
    let cut = page(vec![garbage], 80);
    let shown: usize = cut
        .items
        .iter()
        .map(|item| match item {
            PageItem::Text { text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    assert!((40..=80).contains(&shown), "{shown}");
}

#[test]
fn o7_redraws_cost_nothing() {
    let bar: String = (0..=2000).map(|n| format!("\r{:3}%|{}", n / 20, "#".repeat(60))).collect();
    let all =
        page(vec![out("begin\n"), chunk(ChunkKind::Err, &format!("{bar}\n")), out("end\n")], 200);
    assert_eq!(read(&all), format!("o:begin\ne:100%|{}\no:end\n", "#".repeat(60)));
    assert!(!all.is_cut());
    assert_eq!(all.shown_bytes, all.total_bytes);
}

#[test]
fn o7_everything_on_a_page_is_clean() {
    let error = ErrorInfo {
        name: "Bad\x1b[1m".to_owned(),
        message: "a\r\x1b[Kb".to_owned(),
        traceback: Some("Traceback\n  \x1b[31mline\x1b[0m\n\u{202e}".to_owned()),
        ..ErrorInfo::default()
    };
    let bytes = serde_json::to_vec(&error).unwrap();
    let error = Chunk { kind: ChunkKind::Error, bytes };
    let status = chunk(ChunkKind::Status, "gone\x07");
    let all =
        page(vec![status, value("\x1b[32mok\x1b[0m"), error, out("\x1b[1mhi\x1b[0m\0\n")], 200);
    let expected = concat!("s:gone", "v:ok", "x:Traceback\n  line\n\\u{202e}", "o:hi\\x00\n");
    assert_eq!(read(&all), expected);
}

#[test]
fn o5_background_lines_in_a_gap_are_counted() {
    let late: String = (0..10).map(|n| format!("late {n}\n")).collect();
    let chunks = vec![out("a\n"), chunk(ChunkKind::BackgroundOut, &late), out("z\n")];
    let cut = page(chunks, 10);
    assert_eq!(read(&cut), "o:a\n[Some(10) lines, 70 bytes, 2]o:z\n");
    assert_eq!((cut.shown_bytes, cut.total_bytes), (4, 4));
}

#[test]
fn o6_a_range_says_where_to_read_on() {
    let mut part = content(vec![out("one\n")]);
    (part.offset, part.total_bytes) = (10, 100);
    let page = Page::new(&part, 100);
    assert_eq!(page.next_offset, Some(14));
    assert!(page.is_cut());
}

#[test]
fn o5_values_and_displays_in_the_middle_make_way() {
    let display = chunk(ChunkKind::Display, r#"{"mime":"image/png","file":"a.png"}"#);
    let cut = page(vec![out("a\n"), display.clone(), out("b\n"), value("1")], 20);
    assert_eq!(read(&cut), "o:a\n[Some(0) lines, 0 bytes, 2]o:b\nv:1");
    let all = page(vec![out("a\n"), display, value("1")], 83);
    assert_eq!(read(&all), "o:a\nd:image/pngv:1");
}

#[test]
fn o9_a_page_that_an_older_host_kept_in_its_record_is_not_shown() {
    let html = r#"{"mime":"text/html","data":"<b>bold</b>"}"#;
    let all = page(vec![chunk(ChunkKind::Display, html)], 1000);
    let [PageItem::Display(display)] = &all.items[..] else { panic!("{all:?}") };
    assert_eq!((&display.data, display.bytes), (&None, 11));
    assert!(display.note.as_deref().unwrap_or_default().contains("earlier version"));
}
