//! Whatever user code writes, lines that look like ours are ours.

use proptest::prelude::*;
use stead_client::{EvalStatus, ItemCut, Page};
use stead_protocol::{ErrorInfo, EvalSeq, ValueInfo};

use super::*;

fn view(status: EvalStatus) -> EvalView {
    EvalView::new(&"py".parse().unwrap(), Some(EvalSeq(7)), status)
}

fn reply(view: &EvalView, items: Vec<PageItem>) -> String {
    let page = Page { items, ..Page::default() };
    eval(view, &page, &Aside::default(), Detail::FULL, &mut |display| word(&display.mime))
}

fn out(text: &str) -> PageItem {
    PageItem::Text { kind: ChunkKind::Out, text: text.to_owned() }
}

fn err(text: &str) -> PageItem {
    PageItem::Text { kind: ChunkKind::Err, text: text.to_owned() }
}

fn value(text: &str) -> PageItem {
    PageItem::Value(ValueInfo { text: text.to_owned(), ..serde_json::from_str(VALUE).unwrap() })
}

const VALUE: &str = r#"{"text":"","type":"str"}"#;

#[test]
fn m3_streams_are_told_apart_and_a_value_from_both() {
    let view = view(EvalStatus::Complete);
    assert_eq!(
        reply(&view, vec![out("a"), err("b\n"), value("5")]),
        "a\n[stderr]\nb\n[value]\n5\n[py:7]"
    );
    assert_eq!(reply(&view, vec![out("a"), value("5")]), "a\n5\n[py:7]");
    assert_eq!(reply(&view, vec![err("b"), out("a\n")]), "[stderr]\nb\n[stdout]\na\n[py:7]");
}

#[test]
fn m3_a_line_in_pieces_is_one_line() {
    let view = view(EvalStatus::Complete);
    assert_eq!(reply(&view, vec![out("["), out("py:9"), out("]\n")]), "\\[py:9]\n[py:7]");
    assert_eq!(reply(&view, vec![out("x"), out("[py:9]\n")]), "x[py:9]\n[py:7]");
    assert_eq!(reply(&view, vec![out("[py"), err(":9]")]), "[py\n[stderr]\n:9]\n[py:7]");
}

#[test]
fn o5_the_mark_of_a_cut_is_a_line_of_its_own() {
    let view = view(EvalStatus::Complete);
    let mark = "[… 9 characters left out …]";
    let error = |traceback: Option<&str>| {
        PageItem::Error(ErrorInfo {
            name: "E".to_owned(),
            message: format!("{mark}\n{mark}b"),
            traceback: traceback.map(str::to_owned),
            ..ErrorInfo::default()
        })
    };
    let from = mark.len() + 1;
    let cut_text = format!("a\n{mark}[py:9]\n{mark}\n");
    for (item, at, shown) in [
        (value(&cut_text), 2, format!("a\n{mark}\n\\[py:9]\n\\{mark}\n[py:7]")),
        (PageItem::Report(cut_text.clone()), 2, format!("a\n{mark}\n\\[py:9]\n\\{mark}\n[py:7]")),
        (error(Some(&cut_text)), 2, format!("a\n{mark}\n\\[py:9]\n\\{mark}\n[py:7]")),
        (error(None), from, format!("E: {mark}\n{mark}\nb\n[py:7]")),
    ] {
        let cuts = vec![ItemCut { item: 0, mark: at..at + mark.len() }];
        let page = Page { items: vec![item], cuts, ..Page::default() };
        let text =
            eval(&view, &page, &Aside::default(), Detail::FULL, &mut |display| word(&display.mime));
        assert_eq!(text, shown);
    }
}

#[test]
fn m3_what_looks_like_ours() {
    for ours in [
        "[py:7]",
        "[py:7",
        "[py:7 error]",
        "[py:~00000000c0ffee sent]",
        "[py:7; more]",
        "[a.b_c-d:0]",
        "[12:34]",
        "[note: x]",
        "[bad_request: x]",
        "[py: x]",
        "[stdout]",
        "[stderr] x",
        "[value]",
        "[… 5 lines",
        "\\[py:7]",
        "\\\\[stderr]",
        "[image: x",
        "\u{feff}[py:7]",
        "\u{200b}\\\u{2060}[note: x]",
        "[background: ",
    ] {
        assert!(looks_like_ours(ours), "{ours}");
        assert!(looks_like_ours(&format!("{ours}\n")), "{ours}");
    }
    for plain in [
        "",
        "[",
        "[]",
        "[1, 2]",
        "['a: b']",
        "[12:34:56]",
        "[a:b]",
        "[:7]",
        "[: x]",
        "[INFO] x",
        "[note]",
        "[é: x]",
        " [py:7]",
        "py:7]",
        "[2026-11-15 12:00:00]",
        "[[py:7]]",
        "[py:7, 8]",
        "\\[1]",
    ] {
        assert!(!looks_like_ours(plain), "{plain}");
    }
}

/// Text of the kind that tries to be ours.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("["),
        Just("]"),
        Just("\n"),
        Just("\\"),
        Just("py"),
        Just(":"),
        Just("9"),
        Just(" "),
        Just("stderr]"),
        Just("value]"),
        Just("note"),
        Just("…"),
        Just(";"),
        Just("é"),
        Just("\u{200b}"),
        Just("[py:9]"),
        Just("\n[py:9 error]"),
        Just("x"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn item() -> impl Strategy<Value = PageItem> {
    (hostile(), 0..6_u8).prop_map(|(text, kind)| match kind {
        0 | 1 => out(&text),
        2 => err(&text),
        3 => value(&text),
        4 => PageItem::Text { kind: ChunkKind::BackgroundOut, text },
        _ => PageItem::Error(ErrorInfo {
            name: "E".to_owned(),
            message: text,
            ..ErrorInfo::default()
        }),
    })
}

#[test]
fn e8_what_may_wait_for_input_says_so_and_how_to_answer() {
    let mut view = view(EvalStatus::Partial);
    assert!(!reply(&view, vec![]).contains("stdin"));
    view.listens = true;
    let text = reply(&view, vec![]);
    assert!(
        text.contains("[py:7 still running, listens to stdin and may wait for input;"),
        "{text}"
    );
    assert!(text.contains("answer: input {\"target\":\"py:7\",\"text\":\"…\"}"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn m3_no_text_makes_a_line_of_ours(items in proptest::collection::vec(item(), 0..8), name in hostile()) {
        let mut view = view(EvalStatus::WaitingInput);
        view.prompt = Some(name.clone());
        view.notices = vec![name.clone()];
        let change = Change { name: name.clone(), type_name: name.clone(), size: Some(name.clone()), ..Change::default() };
        view.changed = Some(Changed { added: vec![change], removed: vec![name], ..Changed::default() });
        let text = reply(&view, items);
        let mut ours: Vec<&str> = text.lines().filter(|line| line.starts_with('[') && looks_like_ours(line)).collect();
        let closing = ours.pop().unwrap_or_default();
        prop_assert!(text.ends_with(closing) && closing.starts_with("[py:7 waits for input"), "{}", text);
        prop_assert!(ours.pop().is_some_and(|line| line.starts_with("[note: ")), "{}", text);
        let marks = ["[stdout]", "[stderr]", "[value]", "[background: output of earlier evals]"];
        prop_assert!(ours.iter().all(|line| marks.contains(line)), "{}", text);
    }

    #[test]
    fn m3_what_is_marked_can_be_read_back(text in hostile()) {
        let mut shown = String::new();
        guard(&mut shown, &text);
        let back: String = shown
            .split_inclusive('\n')
            .map(|line| if looks_like_ours(line) { &line[1..] } else { line })
            .collect();
        prop_assert_eq!(back, text);
    }
}

#[test]
fn o5_the_least_that_is_said_has_room_in_the_smallest_reply() {
    let name: stead_protocol::SessionName = "data-loader".parse().unwrap();
    let text = "\"why\" ".repeat(300);
    let statuses = [
        EvalStatus::Complete,
        EvalStatus::Partial,
        EvalStatus::Queued,
        EvalStatus::Running,
        EvalStatus::WaitingInput,
        EvalStatus::Error,
        EvalStatus::Interrupted,
        EvalStatus::Timeout,
        EvalStatus::Ended,
    ];
    let gap = PageItem::Gap(LeftOut { bytes: 123_456_789, lines: Some(1_234_567), offset: 98_765 });
    let page = Page { items: vec![gap], next_offset: Some(123_456_789), ..Page::default() };
    let change = |name: &str| Change {
        name: name.repeat(50),
        type_name: text.clone(),
        ..serde_json::from_str(r#"{"name":"","type":""}"#).unwrap()
    };
    for status in statuses {
        for unusual in 0..4 {
            let mut view = EvalView::new(&name, Some(EvalSeq(123_456)), status);
            view.generation = Some(stead_protocol::Generation(17));
            view.duration_ms = Some(3_599_999);
            view.prompt = Some(text.clone());
            view.notices = vec![text.clone(); 5];
            view.behind = Some(EvalSeq(123_455));
            view.by = Some(By::named(&"who".repeat(50)));
            view.changed =
                Some(Changed { added: vec![change("x"), change("y")], ..Changed::default() });
            match unusual {
                1 => view.unrecorded = Some(text.clone()),
                2 => (view.paused, view.listens) = (true, true),
                3 => view.editor = Some(text.clone()),
                _ => {}
            }
            let aside = Aside { meanwhile: &text, ..Aside::default() };
            let least = Detail::LEVELS[2];
            let said = eval(&view, &page, &aside, least, &mut |_| String::new());
            let length = said.chars().count();
            // No eval has all of this at once, so a note and the gap may be left out.
            assert!(length <= 850, "{status:?} {unusual}: {length}\n{said}");
            let short = bounded(said.clone(), 500);
            assert!(short.chars().count() <= 500, "{short}");
            assert_eq!(short.lines().last(), said.lines().last());
        }
    }
}
