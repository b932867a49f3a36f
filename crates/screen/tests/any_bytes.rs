//! Whatever is written: text comes out, the same for any cut, and no more than is reasonable.

mod together;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use stead_screen::{Lane, LiveScreen, Piece, Screen, plain};
use together::put_together;

/// Bytes as they come, mixed with what terminals take for commands.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let command = (
        prop_oneof![Just("\x1b["), Just("\x1b[?"), Just("\x1b"), Just("\x1b]0;")],
        prop_oneof![
            (0u32..12).prop_map(|n| n.to_string()),
            (0u32..9, 0u32..9).prop_map(|(a, b)| format!("{a};{b}")),
            Just(String::new()),
            Just("999999999".to_owned()),
            Just("1049".to_owned()),
        ],
        prop::sample::select(b"ABCDEFGHJKLMPX@sudfmhl78c\x07".to_vec()),
    )
        .prop_map(|(begin, middle, end)| {
            let mut bytes = format!("{begin}{middle}").into_bytes();
            bytes.push(end);
            bytes
        });
    // Sequences that are left open, so that whatever comes next stands inside them.
    let open = prop::sample::select(vec![
        "\x1b[", "\x1b[3", "\x1b[?25", "\x1b(", "\x1b", "\x1b]0;t", "\x1bPq",
    ])
    .prop_map(|s| s.as_bytes().to_vec());
    let piece = prop_oneof![
        4 => command,
        1 => open,
        3 => "[a-z ]{0,12}".prop_map(String::into_bytes),
        3 => prop::sample::select(vec!["\r", "\n", "\r\n", "\x08", "\t", "\x07", "\0"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::sample::select(vec!["日本", "e\u{301}", "\u{202e}", "👩\u{200d}👩", "\u{9b}"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

/// What was found once while it came: text is erased that is above all that is kept.
#[test]
fn e5_found_cases_are_shown_as_they_come() {
    let writes: [&[u8]; 4] =
        [b"\x1b[999999999d\x1bE\x1b[0J", b" \x1b[0H\x1b8", b"\x1b[0J", b"\x1b[1;0J"];
    let (mut stream, mut shown) = (LiveScreen::new(), String::new());
    for bytes in writes {
        stream.write(Lane::Out, bytes).iter().for_each(|text| put_together(&mut shown, text));
        stream.open();
    }
    stream.finish().iter().for_each(|text| put_together(&mut shown, text));
    assert_eq!(shown, plain(writes.concat()));
}

/// What was found once, with every cut in two.
#[test]
fn o7_found_cases_are_the_same_for_any_cut() {
    let found: [&[u8]; 4] = [
        // Control characters in a sequence that text breaks off.
        b" aaaa\x1b0;0A\x1b]0;0;0A\0\x1b]0;0;0A\x1b]0;0;0A\x1b[9999999997\t\r\xe2\x80\xae",
        "a\x1b[3\té".as_bytes(),
        "one\x1b[\ntwo\x1b[1\r\x08ü".as_bytes(),
        "ab\x1b(\x08日".as_bytes(),
    ];
    for bytes in found {
        for cut in 0..=bytes.len() {
            is_the_same_for_cuts(bytes, vec![cut]).unwrap();
        }
    }
}

/// Whether bytes give the same text at once and in parts, with no gap between pieces.
fn is_the_same_for_cuts(bytes: &[u8], cuts: Vec<usize>) -> Result<(), TestCaseError> {
    let mut whole = Screen::new();
    whole.write(Lane::Out, 0, bytes);
    let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let mut parts = Screen::new();
    for pair in cuts.windows(2) {
        parts.write(Lane::Out, pair[0] as u64, &bytes[pair[0]..pair[1]]);
    }
    let whole = whole.finish();
    let seen = |pieces: &[Piece]| -> Vec<_> {
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some((text.text.clone(), text.start, text.end)),
            Piece::Mark(_) => None,
        });
        texts.collect()
    };
    prop_assert_eq!(seen(&whole), seen(&parts.finish()));
    let mut end = None;
    for piece in &whole {
        let Piece::Text(text) = piece else { continue };
        prop_assert!(is_clean(&text.text), "{:?}", text.text);
        prop_assert!(end.is_none_or(|end| end == text.start));
        prop_assert!(text.start <= text.end);
        end = Some(text.end);
    }
    prop_assert!(end.is_none_or(|end| end == bytes.len() as u64));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn o7_any_cut_gives_the_same_text(bytes in bytes(), cuts in vec(0usize..400, 0..8)) {
        is_the_same_for_cuts(&bytes, cuts)?;
    }

    #[test]
    fn e5_live_text_put_together_is_the_text_that_is_read_later(
        writes in vec((bytes(), any::<bool>()), 0..12),
    ) {
        let (mut stream, mut shown) = (LiveScreen::new(), String::new());
        for (bytes, pause) in &writes {
            stream.write(Lane::Out, bytes).iter().for_each(|text| put_together(&mut shown, text));
            let mut seen = shown.clone();
            stream.open().iter().for_each(|text| put_together(&mut seen, text));
            prop_assert!(is_clean(&seen));
            if *pause {
                stream.pause().iter().for_each(|text| put_together(&mut shown, text));
                prop_assert_eq!(stream.open(), []);
            }
        }
        stream.finish().iter().for_each(|text| put_together(&mut shown, text));
        let all: Vec<u8> = writes.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        // A pause gives up an unfinished character.
        let pieces = writes.iter().filter(|(_, pause)| *pause).map(|(bytes, _)| bytes);
        if pieces.map(|bytes| bytes.last()).all(|last| last.is_none_or(u8::is_ascii)) {
            prop_assert_eq!(shown, plain(all));
        }
    }

    #[test]
    fn o7_lanes_do_not_mix(writes in vec((0u8..4, bytes()), 0..12)) {
        let lane = |n: u8| match n {
            0 => Lane::Out,
            1 => Lane::Err,
            2 => Lane::BackgroundOut,
            _ => Lane::BackgroundErr,
        };
        let mut screen = Screen::new();
        let mut stream = LiveScreen::new();
        let (mut offset, mut size, mut live) = (0, 0, String::new());
        for (n, bytes) in &writes {
            screen.write(lane(*n), offset, bytes);
            live.extend(stream.write(lane(*n), bytes).map(|text| text.text));
            offset += if *n < 2 { bytes.len() as u64 } else { 0 };
            size += bytes.len();
            if n % 2 == 0 {
                screen.mark();
                live.extend(stream.pause().into_iter().map(|text| text.text));
            }
        }
        live.extend(stream.finish().into_iter().map(|text| text.text));
        let mut start = 0;
        let mut length = 0;
        let mut marks = Vec::new();
        for piece in screen.finish() {
            match piece {
                Piece::Text(text) => {
                    prop_assert!(text.start >= start && text.end <= offset);
                    prop_assert!(is_clean(&text.text));
                    start = text.start;
                    length += text.text.len();
                }
                Piece::Mark(mark) => marks.push(mark),
            }
        }
        prop_assert!(marks.is_sorted());
        prop_assert!(is_clean(&live));
        prop_assert!(length <= 100 * size + 1000, "{length} of {size}");
    }

    #[test]
    fn o7_text_without_controls_is_left_alone(
        lines in vec("[ -~äöü日\t]{0,40}", 0..600),
        last in "[a-z]{0,3}",
    ) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect::<String>() + &last;
        prop_assert_eq!(stead_screen::plain(&text), text.clone());
        let mut screen = Screen::new();
        screen.write(Lane::Out, 7, text.as_bytes());
        let pieces = screen.finish();
        prop_assert!(pieces.len() <= 1);
        for piece in pieces {
            let Piece::Text(piece) = piece else { panic!() };
            prop_assert_eq!(&piece.text, &text);
            prop_assert_eq!((piece.start, piece.origin(3)), (7, Some(10)));
        }
        let mut stream = LiveScreen::new();
        let given = stream.write(Lane::Out, text.as_bytes());
        prop_assert_eq!(given.map(|text| (text.replaces, text.text)).unwrap_or_default(), (0, text));
        prop_assert!(stream.finish().is_empty());
    }
}
