use super::*;

/// Reads from bytes that are all there; the frame and how many bytes were skipped.
fn read(from: &mut &[u8]) -> (Option<EditorAnswer>, u64) {
    let mut skipped = 0;
    let frame = read_frame(
        from,
        |rest| rest.len() as u64,
        |more| match more {
            Skipped::Bytes(count) => skipped += count,
            Skipped::Answer(kind) => panic!("{kind}"),
        },
    );
    (frame.unwrap(), skipped)
}

#[test]
fn e19_what_newer_versions_say_is_passed_over_and_what_follows_is_read() {
    let new = b"of_a_newer_version";
    for known in [EditorAnswer::Text(b"new\n".to_vec()), EditorAnswer::Keep] {
        let frame = known.encode();
        let line = MAGIC.len() + frame[MAGIC.len()..].iter().position(|b| *b == b'\n').unwrap();
        // Another kind, with a text of its own, comes before.
        let other = [MAGIC, new, b" 5\n\0stea"].concat();
        let mut said = Vec::new();
        let stream = [other.as_slice(), &frame, b"rest"].concat();
        let mut rest = stream.as_slice();
        let left = |rest: &&[u8]| rest.len() as u64;
        let read_it = read_frame(&mut rest, left, |skipped| said.push(skipped)).unwrap();
        assert_eq!((read_it, rest), (Some(known.clone()), b"rest".as_slice()));
        assert_eq!(said, [Skipped::Answer("of_a_newer_version".to_owned())]);
        // The line has another word, as often as it has room.
        let word = [b" ".as_slice(), new].concat();
        for words in [1, 10] {
            let grown = [&frame[..line], &word.repeat(words), &frame[line..]].concat();
            assert_eq!(read(&mut grown.as_slice()), (Some(known.clone()), 0));
        }
        // What only begins like a frame is none.
        for stray in ["text\n", "text x\n", "\n", "te", "text 3", &"text ".repeat(60)] {
            let stray = [MAGIC, stray.as_bytes()].concat();
            let stream = [stray.as_slice(), &frame].concat();
            let read = read(&mut stream.as_slice());
            assert_eq!(read, (Some(known.clone()), stray.len() as u64));
        }
    }
}

#[test]
fn e19_frames_follow_one_another_and_nothing_is_left_over() {
    let answers = [
        EditorAnswer::Text(b"one\ntwo\n".to_vec()),
        EditorAnswer::Keep,
        EditorAnswer::Text(vec![]),
        EditorAnswer::Text(vec![b'x'; 1 << 20]),
    ];
    let stream: Vec<u8> = answers.iter().flat_map(EditorAnswer::encode).collect();
    let mut rest = stream.as_slice();
    for answer in answers {
        assert_eq!(read(&mut rest), (Some(answer), 0));
    }
    assert_eq!(read(&mut rest), (None, 0));
}

#[test]
fn e19_what_was_meant_for_another_program_is_no_text() {
    let stray = b"yes\n\0\0stead";
    let stream = [stray.to_vec(), EditorAnswer::Text(b"new\n".to_vec()).encode()].concat();
    let answer = Some(EditorAnswer::Text(b"new\n".to_vec()));
    assert_eq!(read(&mut stream.as_slice()), (answer, stray.len() as u64));
    assert_eq!(read(&mut b"yes\n".as_slice()), (None, 4));
}

#[test]
fn e19_half_a_frame_is_none() {
    let frame = EditorAnswer::Text(b"text\n".to_vec()).encode();
    for cut in 0..frame.len() {
        assert_eq!(read(&mut &frame[..cut]), (None, 0), "{cut}");
    }
}
