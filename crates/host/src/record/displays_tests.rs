use std::os::unix::fs::PermissionsExt;

use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;

use super::*;

fn keep(displays: &mut Displays, eval: u64, mime: &str, data: &str) -> DisplayInfo {
    displays.keep(EvalSeq(eval), mime.to_owned(), data.to_owned(), None)
}

fn png(width: u32, height: u32, len: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.resize(len.max(33), 7);
    bytes
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join(FIGURES)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn o9_an_image_becomes_a_private_file_with_its_size() {
    let temp = tempfile::tempdir().unwrap();
    let mut displays = Displays::new(temp.path());
    let image = png(640, 480, 100);
    let info = keep(&mut displays, 7, "image/png", &BASE64_STANDARD.encode(&image));
    assert_eq!(
        info,
        DisplayInfo {
            mime: "image/png".to_owned(),
            file: Some("figures/7-1.png".to_owned()),
            bytes: 100,
            pixels: Some((640, 480)),
            ..DisplayInfo::default()
        }
    );
    let path = temp.path().join("figures/7-1.png");
    assert_eq!(fs::read(&path).unwrap(), image);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let dir = fs::metadata(temp.path().join(FIGURES)).unwrap();
    assert_eq!(dir.permissions().mode() & 0o777, 0o700);
    keep(&mut displays, 7, "image/jpeg", "AAAA");
    keep(&mut displays, 8, "application/x-thing", "AAAA");
    assert_eq!(names(temp.path()), ["7-1.png", "7-2.jpg", "8-1.bin"]);
}

#[test]
fn o9_text_stays_in_its_record() {
    let temp = tempfile::tempdir().unwrap();
    let mut displays = Displays::new(temp.path());
    for mime in ["text/markdown; charset=utf-8", "text/latex", "application/json"] {
        let info = keep(&mut displays, 1, mime, "<b>é</b>");
        assert_eq!((info.data.as_deref(), info.file), (Some("<b>é</b>"), None), "{mime}");
    }
    let info = keep(&mut displays, 1, "text/plain", &"x".repeat(MAX_TEXT + 1));
    assert!(info.data.is_none() && info.note.unwrap().contains("16777217 bytes"));
    assert!(!temp.path().join(FIGURES).exists());
}

#[test]
fn o9_a_page_or_a_drawing_becomes_a_file() {
    let temp = tempfile::tempdir().unwrap();
    let mut displays = Displays::new(temp.path());
    for (mime, file) in [
        ("text/html", "figures/1-1.html"),
        ("image/svg+xml", "figures/1-2.svg"),
        ("text/html; charset=utf-8", "figures/1-3.html"),
        ("application/javascript", "figures/1-4.js"),
    ] {
        let info = keep(&mut displays, 1, mime, "<b>é</b>");
        assert_eq!((info.data, info.file.as_deref(), info.bytes), (None, Some(file), 9), "{mime}");
        assert_eq!(fs::read_to_string(temp.path().join(file)).unwrap(), "<b>é</b>");
    }
    let huge = keep(&mut displays, 1, "text/html", &"x".repeat(MAX_FILE + 1));
    assert!(huge.file.is_none() && huge.note.unwrap().contains("larger than 16 MiB"));
}

#[test]
fn o9_what_cannot_be_kept_is_said() {
    let temp = tempfile::tempdir().unwrap();
    let mut displays = Displays::new(temp.path());
    let note = |info: DisplayInfo| {
        assert_eq!((info.file, info.bytes), (None, 0));
        info.note.unwrap()
    };
    assert!(note(keep(&mut displays, 1, "image/png", "no base64!")).contains("no base64"));
    let huge = BASE64_STANDARD.encode(vec![0; MAX_FILE + 1]);
    assert!(note(keep(&mut displays, 1, "image/png", &huge)).contains("larger than 16 MiB"));
    let largest = BASE64_STANDARD.encode(vec![0; MAX_FILE]);
    assert!(keep(&mut displays, 1, "image/png", &largest).file.is_some());
    fs::remove_dir_all(temp.path().join(FIGURES)).unwrap();
    fs::write(temp.path().join(FIGURES), "in the way").unwrap();
    assert!(note(keep(&mut displays, 1, "image/png", "AAAA")).contains("could not be written"));
}

#[test]
fn o9_base64_may_have_line_breaks_or_no_padding() {
    let temp = tempfile::tempdir().unwrap();
    let mut displays = Displays::new(temp.path());
    for data in ["AQI=", "AQI", "AQ\nI=\n"] {
        let file = keep(&mut displays, 1, "image/png", data).file.unwrap();
        assert_eq!(fs::read(temp.path().join(file)).unwrap(), [1, 2], "{data:?}");
    }
}

#[test]
fn o9_names_are_new_also_for_the_next_host() {
    let temp = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut displays = Displays::new(temp.path());
        keep(&mut displays, 3, "image/png", "AAAA");
    }
    assert_eq!(names(temp.path()), ["3-1.png", "3-2.png"]);
}

#[test]
fn o9_the_oldest_files_go_when_the_quota_is_reached() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join(FIGURES)).unwrap();
    fs::write(temp.path().join(FIGURES).join(".1-1.png"), "left by a killed host").unwrap();
    let data = BASE64_STANDARD.encode(png(1, 1, 100));
    let open = || Displays { quota: 450, ..Displays::new(temp.path()) };
    let mut displays = open();
    for eval in [8, 9, 10] {
        keep(&mut displays, eval, "image/png", &data);
    }
    keep(&mut displays, 10, "image/png", &data);
    assert_eq!(names(temp.path()), ["10-1.png", "10-2.png", "8-1.png", "9-1.png"]);
    keep(&mut displays, 11, "image/png", &data);
    assert_eq!(names(temp.path()), ["10-1.png", "10-2.png", "11-1.png", "9-1.png"]);
    keep(&mut open(), 12, "image/png", &data);
    assert_eq!(names(temp.path()), ["10-1.png", "10-2.png", "11-1.png", "12-1.png"]);
    let large = BASE64_STANDARD.encode(png(1, 1, 1000));
    keep(&mut displays, 13, "image/png", &large);
    assert_eq!(names(temp.path()), ["13-1.png"]);
}

#[test]
fn o9_sizes_are_read_from_headers() {
    assert_eq!(pixels(&png(3, 70_000, 50)), Some((3, 70_000)));
    assert_eq!(pixels(b"GIF89a\x05\0\x02\x01rest"), Some((5, 258)));
    let mut jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xdb\0\x03c".to_vec();
    jpeg.extend(b"\xff\xc2\0\x0b\x08\x01\0\x02\0\x03");
    assert_eq!(pixels(&jpeg), Some((512, 256)));
    assert_eq!(pixels(b"\xff\xd8\xff\xda"), None);
    assert_eq!(pixels(b"\x89PNG\r\n\x1a\n"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn o9_no_header_is_too_strange(head in 0..3usize, tail: Vec<u8>) {
        let heads: [&[u8]; 3] = [b"\xff\xd8", b"GIF8", b"\x89PNG\r\n\x1a\n"];
        pixels(&[heads[head], &tail].concat());
    }

    #[test]
    fn o9_no_data_is_too_strange(mime in ".{0,20}", data in ".{0,60}") {
        let temp = tempfile::tempdir().unwrap();
        let info = keep(&mut Displays::new(temp.path()), 1, &mime, &data);
        prop_assert!(info.data.is_some() || info.file.is_some() || info.note.is_some());
    }
}
