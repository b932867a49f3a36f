//! What a host writes to an editor: a line with kind and length, then so many bytes.

use std::io::{self, Read};

/// What begins a frame. What stands before it in the pipe was meant for a program before the editor.
const MAGIC: &[u8] = b"\0stead-editor ";
/// The longest rest of a frame's first line: a kind and a length.
const LONGEST_LINE: u64 = 32;

/// The user's answer to an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorAnswer {
    /// The whole new text.
    Text(Vec<u8>),
    /// The file stays as it is.
    Keep,
}

impl EditorAnswer {
    /// The frame that says so.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, text) = match self {
            EditorAnswer::Text(text) => ("text", text.as_slice()),
            EditorAnswer::Keep => ("keep", [].as_slice()),
        };
        let line = format!("{kind} {}\n", text.len());
        [MAGIC, line.as_bytes(), text].concat()
    }
}

/// The next frame; `None` if the input ends before or in it. Takes not a byte of what follows it. Says how many
/// bytes it skips, before it waits for more: `left` are there to be read at once.
pub(crate) fn read_frame<R: Read>(
    from: &mut R,
    left: impl Fn(&R) -> u64,
    mut skips: impl FnMut(u64),
) -> io::Result<Option<EditorAnswer>> {
    let (mut matched, mut skipped) = (0, 0);
    while matched < MAGIC.len() {
        if skipped > 0 && left(from) == 0 {
            skips(skipped);
            skipped = 0;
        }
        let Some(byte) = next(from)? else { return Ok(None) };
        let before = matched;
        matched = match byte == MAGIC[matched] {
            true => matched + 1,
            false => usize::from(byte == MAGIC[0]),
        };
        skipped += (before + 1 - matched) as u64;
    }
    if skipped > 0 {
        skips(skipped);
    }
    let mut line = Vec::new();
    loop {
        match next(from)? {
            None => return Ok(None),
            Some(b'\n') => break,
            Some(byte) if (line.len() as u64) < LONGEST_LINE => line.push(byte),
            Some(_) => return Err(bad()),
        }
    }
    let line = String::from_utf8(line).map_err(|_| bad())?;
    let (kind, length) = line.split_once(' ').ok_or_else(bad)?;
    let length: u64 = length.parse().map_err(|_| bad())?;
    let mut text = Vec::new();
    if from.take(length).read_to_end(&mut text)? as u64 != length {
        return Ok(None);
    }
    match kind {
        "text" => Ok(Some(EditorAnswer::Text(text))),
        "keep" => Ok(Some(EditorAnswer::Keep)),
        _ => Err(bad()),
    }
}

/// One byte and no more.
fn next(from: &mut impl Read) -> io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn bad() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not what a session's host writes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads from bytes that are all there; the frame and how many bytes were skipped.
    fn read(from: &mut &[u8]) -> (Option<EditorAnswer>, u64) {
        let mut skipped = 0;
        let frame = read_frame(from, |rest| rest.len() as u64, |more| skipped += more);
        (frame.unwrap(), skipped)
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
}
