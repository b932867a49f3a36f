use super::*;

fn line(bytes: &[u8], len: usize) -> Line<'_> {
    Line { order: 1, number: 1, offset: 0, kind: ChunkKind::Out, bytes, len: len as u64 }
}

fn text(bytes: &[u8], len: usize) -> String {
    shown(&line(bytes, len)).into_owned()
}

#[test]
fn o7_a_line_is_clean_text() {
    for (bytes, clean) in [
        (&b"plain\ttext"[..], "plain\ttext"),
        ("é€😀".as_bytes(), "é€😀"),
        (b"dos\r", "dos"),
        (b"old\rnew", "new"),
        (b"\x1b[1mbold\x1b[0m\x00\x7f", "bold\\x00\\x7f"),
        (b"a\xff\xe2\x82z", "a\\xff\\xe2\\x82z"),
        ("\u{202e}x\u{9b}\u{e0041}".as_bytes(), "\\u{202e}x\\u{9b}\\u{e0041}"),
    ] {
        assert_eq!(text(bytes, bytes.len()), clean);
    }
}

#[test]
fn o7_where_a_line_is_cut_off_no_character_is_torn() {
    for (bytes, clean) in
        [(&b"a\xe2\x82"[..], "a"), ("a€".as_bytes(), "a€"), (b"a\xf0\x9f\x98", "a"), (b"", "")]
    {
        assert_eq!(text(bytes, 99), clean);
    }
}

#[test]
fn o6_a_long_line_is_cut_around_the_match() {
    let text = format!("{}needle{}", "é".repeat(1000), "x".repeat(1000));
    let whole = line(text.as_bytes(), text.len());
    let around = |found| around(&text, &whole, found);
    let shown = around(2000..2006);
    assert_eq!(shown.chars().count(), HIT_CHARS + 2);
    assert!(shown.starts_with("…é") && shown.contains("éneedlex") && shown.ends_with("x…"));
    let first = around(0..2);
    assert!(first.starts_with("éé") && first.ends_with("é…"), "{first}");
    let last = around(text.len() - 1..text.len());
    assert!(last.starts_with('…') && last.ends_with('x'), "{last}");
    assert_eq!(last.chars().count(), HIT_CHARS + 1);
    let end = around(text.len()..text.len());
    assert_eq!(end, last);
    // A match that is longer itself is shown from its beginning.
    let all = around(1000..text.len());
    assert!(all.starts_with('…') && all.ends_with('…'));
    let fits = "é".repeat(HIT_CHARS);
    assert_eq!(super::around(&fits, &line(fits.as_bytes(), fits.len()), 0..2), fits);
    assert_eq!(beginning(&text, &whole, 3), "ééé…");
    assert_eq!(beginning("abc", &line(b"abc", 3), 3), "abc");
    assert_eq!(beginning("abc", &line(b"abc", 9), 3), "abc…");
}
