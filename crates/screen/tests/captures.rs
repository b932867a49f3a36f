//! What real programs wrote (`captures/NAME.raw`), and what is to be read of it (`NAME.txt`).

use std::fs;
use std::path::Path;

use stead_screen::{Lane, LiveScreen, plain};

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
fn o7_live_output_ends_with_the_same_rows() {
    for (name, raw, text) in captures() {
        let mut stream = LiveScreen::new();
        let mut live = String::new();
        for bytes in raw.chunks(7) {
            live.push_str(&stream.write(Lane::Err, bytes));
        }
        live.extend(stream.finish().into_iter().map(|(_, text)| text));
        assert!(!live.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{name}");
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            assert!(live.contains(line), "{name}: `{line}` is not in\n{live}");
        }
        // Redraws cost no lines of their own.
        let lines = live.lines().count();
        assert!(lines <= 2 * text.lines().count() + 6, "{name}: {lines} lines\n{live}");
    }
}
