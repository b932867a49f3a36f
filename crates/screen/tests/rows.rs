//! What each thing a program can write does to the text.

use stead_screen::{Lane, LiveScreen, LiveText, Piece, Screen, plain};

#[test]
fn o7_styles_titles_and_links_are_removed_and_their_text_stays() {
    for (raw, text) in [
        ("\x1b[1;38;5;9mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1bP1$r0m\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
        ("\x1b(0lqk\x1b(B\x1b)A\x0e\x0f\x1b=\x1b>x", "lqkx"),
        ("\x1b[?25l\x1b[?2004hx\x1b[?25h\x1b[6n\x1b[>c\x1b[!p", "x"),
        ("a\x1b[38:2::1:2:3mb\x1b[1;2<xc", "abc"),
        ("open\x1b]0;never closed", "open"),
        ("open\x1b]0;never closed\nnext", "open\nnext"),
        ("cut\x1b[3", "cut"),
        ("cut\x1b", "cut"),
        ("broken\x1b[é\x1bü", "brokenéü"),
        ("broken\x1b[3\té", "broken\té"),
        ("one\x1b[3\nétwo", "one\nétwo"),
        ("bell\x07\x1b[3\x18x", "bellx"),
    ] {
        assert_eq!(plain(raw), text, "{raw:?}");
    }
}

#[test]
fn o7_what_is_no_text_is_shown_escaped() {
    assert_eq!(plain(b"\0\x01\x0b\x0c\x7f\xff\xc3"), r"\x00\x01\x0b\x0c\x7f\xff\xc3");
    assert_eq!(plain("\u{9b}31m\u{202e}x\u{2066}"), r"\u{9b}31m\u{202e}x\u{2066}");
    assert_eq!(plain("\u{e0041}\u{2028}\u{200f}\u{61c}"), r"\u{e0041}\u{2028}\u{200f}\u{61c}");
    assert_eq!(plain("tab\tstays é日本 e\u{301}\n"), "tab\tstays é日本 e\u{301}\n");
}

#[test]
fn o7_returns_write_over_the_row() {
    for (raw, text) in [
        ("10%\r20%\r100%\n", "100%\n"),
        ("long text\rshort\n", "shorttext\n"),
        ("long text\r\x1b[Kshort\n", "short\n"),
        ("one\r\ntwo\r\n\r\nthree", "one\ntwo\n\nthree"),
        ("kept  \r\n", "kept  \n"),
        ("one\ntwo", "one\ntwo"),
        ("one\n\x1b[1mtwo", "one\ntwo"),
        ("wiped\r     \r\n", "\n"),
        ("日本語\rx", "x 本語"),
        ("|\x08/\x08-\x08\\\x08 \x08done\n", "done\n"),
        ("\r|\r/\r-\r\x1b[K", ""),
        ("\r|\r/\r-\r\x1b[Kdone\n", "done\n"),
        ("abc\x1b[2D\x1b[P\n", "ac\n"),
        ("abc\x1b[3D\x1b[2@\n", "  abc\n"),
        ("abcdef\x1b[4D\x1b[2X\n", "ab  ef\n"),
        ("abcdef\x1b[4D\x1b[1K\n", "   def\n"),
        ("abc\x1b[2Kd\n", "   d\n"),
        ("a\x1b[5Gb\x1b[2Cc\n", "a   b  c\n"),
        ("a\x1b[K\x1b[0Jb\n", "ab\n"),
    ] {
        assert_eq!(plain(raw), text, "{raw:?}");
    }
}

#[test]
fn o7_rows_above_can_be_redrawn() {
    for (raw, text) in [
        ("a: 0\nb: 0\n\x1b[2Aa: 1\n\x1b[1B", "a: 1\nb: 0\n"),
        ("a: 0\nb: 0\n\x1b[2A\r\x1b[Ka: 1\x1b[2B\rc\n", "a: 1\nb: 0\nc\n"),
        ("a\nb\n\x1b[1A\x1b[2K\x1b[1A\x1b[2K", ""),
        ("a\nb\n\x1b[1A\x1b[2K\x1b[1A\x1b[2Kdone", "done"),
        ("top\na\nb\n\x1b[2A\x1b[Jnew\n", "top\nnew\n"),
        ("a\nb\x1b7\x1b[Ax\x1b8c\n", "ax\nbc\n"),
        ("a\nb\nc\n\x1b[2A\x1b[Lx\n\x1b[99B", "a\nx\nb\nc\n"),
        ("a\nb\nc\n\x1b[2A\x1b[M\x1b[99B", "a\nc\n"),
        ("a\n\x1b[Fb\x1b[Ec\n", "b\nc\n"),
        ("a\x1bMb", "ab"),
    ] {
        assert_eq!(plain(raw), text, "{raw:?}");
    }
    let many: String = (0..200).map(|n| format!("{n}\n")).collect();
    let shown = plain(format!("{many}\x1b[999999A\x1b[J"));
    assert_eq!(shown.lines().count(), 136, "what is older is settled");
}

#[test]
fn o7_a_screen_that_is_drawn_again_is_shown_once() {
    for (raw, text) in [
        ("before\n\x1b[2J\x1b[Hone\n\x1b[2J\x1b[Htwo\n", "before\ntwo\n"),
        ("before\x1b[H\x1b[2J\x1b[3Jone\ntwo\n\x1b[H\x1b[2Jthree\n", "before\nthree\n"),
        ("\x1b[Hone\ntwo\n\x1b[Hthree\x1b[K\n\x1b[J", "three\n"),
        ("\x1b[3;5Hx\x1b[1;1Hy", "y\n\n    x"),
        ("a\n\x1b[?1049hfull\nscreen\x1b[?1049lb\n", "a\nfull\nscreen\nb\n"),
        ("a\x1bcb", "a\nb"),
    ] {
        assert_eq!(plain(raw), text, "{raw:?}");
    }
    // A frame that has scrolled was no picture: nothing of it is dropped.
    let log: String = (0..1000).map(|n| format!("{n}\n")).collect();
    assert_eq!(plain(format!("\x1b[2J{log}\x1b[2Jend\n")), format!("{log}end\n"));
}

#[test]
fn o7_many_lines_at_once_are_as_many_writes() {
    let lines: String = (0..5000).map(|n| format!("line {n} ü\n")).collect();
    let raw = format!("a\rb{lines}10%\x1b[3A\r\x1b[Jx{lines}\x1b[1;31mred\x1b[0m\n{lines}end");
    let mut bytewise = Screen::new();
    for (at, byte) in raw.bytes().enumerate() {
        bytewise.write(Lane::Out, at as u64, &[byte]);
    }
    let mut whole = Screen::new();
    whole.write(Lane::Out, 0, raw.as_bytes());
    let read = |screen: Screen| -> Vec<(String, u64)> {
        let texts = screen.finish().into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some((text.text, text.start)),
            Piece::Mark(_) => None,
        });
        texts.collect()
    };
    assert_eq!(read(whole), read(bytewise));
}

/// What is read of writes to several lanes: `o` and `e` before each text.
fn lanes(writes: &[(Lane, &str)]) -> String {
    let mut screen = Screen::new();
    let mut offset = 0;
    for (lane, text) in writes {
        screen.write(*lane, offset, text.as_bytes());
        offset += text.len() as u64;
    }
    let pieces = screen.finish().into_iter().map(|piece| match piece {
        Piece::Text(text) if text.lane == Lane::Out => format!("o:{}", text.text),
        Piece::Text(text) => format!("e:{}", text.text),
        Piece::Mark(_) => String::new(),
    });
    pieces.collect()
}

#[test]
fn o7_lanes_keep_their_order_and_their_cursors() {
    use Lane::{Err, Out};
    assert_eq!(lanes(&[(Out, "a\n"), (Err, "b\n"), (Out, "c\n")]), "o:a\ne:b\no:c\n");
    assert_eq!(lanes(&[(Out, "a"), (Err, "b\n"), (Out, "c\n")]), "o:ae:b\no:c\n");
    assert_eq!(lanes(&[(Out, "a"), (Err, "b"), (Out, "c\n"), (Err, "d\n")]), "o:ae:bo:c\ne:d\n");
    // A bar that is redrawn goes where it is redrawn.
    let bar = [(Err, "\r 0%"), (Out, "x\n"), (Err, "\r50%"), (Out, "y\n"), (Err, "\r100%\n")];
    assert_eq!(lanes(&bar), "o:x\no:y\ne:100%\n");
    let wiped = [(Err, "\r10%"), (Err, "\r   \r"), (Out, "x\n"), (Err, "\r20%")];
    assert_eq!(lanes(&wiped), "o:x\ne:20%");
    let two = [(Err, "a 0\nb 0\n"), (Out, "x\n"), (Err, "\x1b[2Aa 1\n"), (Err, "b 1\n")];
    assert_eq!(lanes(&two), "o:x\ne:a 1\ne:b 1\n");
}

#[test]
fn o7_each_text_knows_its_bytes() {
    let raw = "one\ntwo\n\x1b[31mred\x1b[0m\n10%\r20%\nlast\n";
    let mut screen = Screen::new();
    screen.write(Lane::Out, 100, raw.as_bytes());
    let texts: Vec<(String, u64, u64)> = screen
        .finish()
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) => Some((text.text, text.start - 100, text.end - 100)),
            Piece::Mark(_) => None,
        })
        .collect();
    let text = |text: &str, start, end| (text.to_owned(), start, end);
    assert_eq!(
        texts,
        [
            text("one\ntwo\n", 0, 13),
            text("red\n", 13, 21),
            text("20%\n", 21, 29),
            text("last\n", 29, 34)
        ]
    );
}

#[test]
fn o7_a_long_coloured_line_can_be_read_on_in_its_middle() {
    let raw: String = (0..1000).map(|n| format!("\x1b[3{}m{n:020} \x1b[0m", n % 8)).collect();
    let mut screen = Screen::new();
    screen.write(Lane::Out, 0, raw.as_bytes());
    let pieces = screen.finish();
    let [Piece::Text(text)] = &pieces[..] else { panic!("{pieces:?}") };
    let known: Vec<usize> = (0..text.text.len()).filter(|at| text.origin(*at).is_some()).collect();
    assert!(known.windows(2).all(|pair| pair[1] - pair[0] <= 64));
    for at in known {
        let from = text.origin(at).unwrap() as usize;
        assert_eq!(plain(&raw[from..]), text.text[at..], "{at}");
    }
    let mut first = text.clone();
    let second = first.split_off(10_500);
    assert_eq!((first.end, second.end), (second.start, text.end));
    assert_eq!(plain(&raw[second.start as usize..]), second.text);
    let middle = (1000..5000).find_map(|at| second.origin(at).map(|from| (at, from as usize)));
    let (at, from) = middle.unwrap();
    assert_eq!(plain(&raw[from..]), second.text[at..]);
}

#[test]
fn o7_no_sequence_makes_much_of_little() {
    for raw in ["\x1b[999999999C", "\x1b[999999999B", "\x1b[9999;9999H", "\x1b[9999@", "\x1b[9999L"]
    {
        let shown = plain(format!("a{raw}b{raw}"));
        assert!(shown.len() < 2000, "{raw:?}: {}", shown.len());
    }
    let line = "x".repeat(1 << 20);
    assert_eq!(plain(format!("{line}\rshort\n")), format!("{line}\nshort\n"));
    assert_eq!(plain(format!("\r{line}\x08\x1b[A!\n")).len(), line.len() + 3);
}

#[test]
fn o7_live_text_comes_at_once_and_bars_when_they_are_done() {
    let mut stream = LiveScreen::new();
    let mut out = |text: &str| {
        let given = stream.write(Lane::Out, text.as_bytes());
        given.map_or((0, String::new()), |given| (given.replaces, given.text))
    };
    let new = |text: &str| (0, text.to_owned());
    assert_eq!(out("one"), new("one"));
    assert_eq!(out(" two\nthr"), new(" two\nthr"));
    assert_eq!(out("ee\n"), new("ee\n"));
    for n in 0..100 {
        assert_eq!(out(&format!("\r{n}%")), new(""));
    }
    assert_eq!(out("\r100%\n"), new("100%\n"));
    assert_eq!(out("Loading 1"), new("Loading 1"));
    assert_eq!(out("\x082\x083"), new(""));
    assert_eq!(out("\n"), (1, "Loading 3\n".to_owned()));
    assert_eq!(out("a 0\nb 0\n"), new("a 0\nb 0\n"));
    for n in 1..10 {
        assert_eq!(out(&format!("\x1b[2A\x1b[2Ka {n}\n\x1b[2Kb {n}\n")), new(""));
    }
    assert_eq!(out("end\n"), (2, "a 9\nb 9\nend\n".to_owned()));
    for n in 0..9 {
        assert_eq!(out(&format!("{n} of 9\r")), new(""));
    }
    let text =
        |replaces, text: &str| [LiveText { lane: Lane::Out, replaces, text: text.to_owned() }];
    assert_eq!(stream.open(), text(0, "8 of 9"));
    assert_eq!(stream.pause(), text(0, "8 of 9"));
    assert_eq!(stream.open(), []);
    assert_eq!(stream.write(Lane::Out, b"\r9 of 9"), None);
    assert_eq!(stream.open(), text(1, "9 of 9"));
    assert_eq!(stream.finish(), text(1, "9 of 9"));
    // Of a line without end nothing is kept but that it is too long to be redrawn.
    let mut stream = LiveScreen::new();
    let mut out =
        |text: &[u8]| stream.write(Lane::Out, text).map(|given| (given.replaces, given.text));
    let part = "x".repeat(1 << 16);
    for _ in 0..9 {
        assert_eq!(out(part.as_bytes()), Some((0, part.clone())));
    }
    assert_eq!(out(b"\rshort"), Some((0, "\nshort".to_owned())));
    assert_eq!(out(b"\n"), Some((0, "\n".to_owned())));
}

#[test]
fn c9_the_state_of_a_bar_can_be_seen_at_any_time() {
    let states = |bytes: &[&str]| -> Vec<String> {
        let mut stream = LiveScreen::new();
        let mut seen = Vec::new();
        for bytes in bytes {
            assert_eq!(stream.write(Lane::Err, bytes.as_bytes()), None, "{bytes:?}");
            seen.extend(stream.open().into_iter().map(|open| open.text));
        }
        seen
    };
    // As tqdm, curl, a loop with `end="\r"`, npm and two bars of tqdm write them.
    assert_eq!(
        states(&["\r  0%|    |", "\r 50%|##  |", "\r100%|####|"]),
        ["  0%|    |", " 50%|##  |", "100%|####|"]
    );
    assert_eq!(states(&["10%\r", "20%\r"]), ["10%", "20%"]);
    assert_eq!(states(&["\x1b[1G\x1b[0K⠙", "\x1b[1G\x1b[0K⠹", "\x1b[1G\x1b[0K"]), ["⠙", "⠹"]);
    assert_eq!(
        states(&["\r a 0", "\n\r b 0\x1b[A", "\r a 1", "\n\r b 1\x1b[A"]),
        [" a 0", " a 0\n b 0", " a 1\n b 0", " a 1\n b 1"]
    );
}
