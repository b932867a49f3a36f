//! What real programs wrote (`captures/NAME.raw`), and what is to be read of it (`NAME.txt`).

mod together;

use std::fs;
use std::path::Path;

use stead_screen::{Lane, LiveScreen, LiveText, plain};
use together::put_together;

fn captures() -> Vec<(String, Vec<u8>, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut found = Vec::new();
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "raw") {
            let text = fs::read_to_string(path.with_extension("txt")).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read(&path).unwrap(), text));
        }
    }
    assert!(found.len() > 10);
    found
}

#[test]
fn o7_real_programs_leave_what_a_person_would_read() {
    for (name, raw, text) in captures() {
        assert_eq!(plain(raw), text, "{name}");
    }
}

#[test]
fn e5_live_output_put_together_is_the_same_text() {
    for (name, raw, text) in captures() {
        for size in [1, 7, 100] {
            let (mut stream, mut shown) = (LiveScreen::new(), String::new());
            let (mut replaced, mut lines) = (0, 0);
            let mut take = |given: LiveText| {
                lines += given.text.matches('\n').count();
                replaced += given.replaces;
                put_together(&mut shown, &given);
            };
            raw.chunks(size)
                .for_each(|bytes| stream.write(Lane::Err, bytes).into_iter().for_each(&mut take));
            stream.finish().into_iter().for_each(&mut take);
            assert_eq!(shown, text, "{name}");
            // Redraws are not handed out one by one.
            let whole = text.lines().count();
            assert!(lines <= 2 * whole + 6, "{name}: {lines} lines, {replaced} of them taken back");
        }
    }
}
