//! What a host writes to an editor: a line with kind and length, then so many bytes.

use std::io::{self, Read};

/// What begins a frame. What stands before it in the pipe was meant for a program before the editor.
const MAGIC: &[u8] = b"\0stead-editor ";
/// The longest rest of a frame's first line: a kind and a length, and what newer versions may add.
const LONGEST_LINE: usize = 256;

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

/// What the input has before the frame that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// So many bytes that are no frame: they were meant for a program before the editor.
    Bytes(u64),
    /// An answer of this kind, which only newer versions know.
    Answer(String),
}

/// The next frame whose kind is known; `None` if the input ends before or in it. Takes not a byte of what follows it. Says
/// what it skips, before it waits for more: `left` bytes are there to be read at once.
pub(crate) fn read_frame<R: Read>(
    from: &mut R,
    left: impl Fn(&R) -> u64,
    mut skips: impl FnMut(Skipped),
) -> io::Result<Option<EditorAnswer>> {
    let (mut matched, mut skipped) = (0, 0);
    loop {
        while matched < MAGIC.len() {
            if skipped > 0 && left(from) == 0 {
                skips(Skipped::Bytes(std::mem::take(&mut skipped)));
            }
            let Some(byte) = next(from)? else { return Ok(None) };
            let before = matched;
            matched = match byte == MAGIC[matched] {
                true => matched + 1,
                false => usize::from(byte == MAGIC[0]),
            };
            skipped += (before + 1 - matched) as u64;
        }
        let mut line = Vec::new();
        while line.len() < LONGEST_LINE && !line.ends_with(b"\n") && !line.ends_with(&MAGIC[..1]) {
            let Some(byte) = next(from)? else { return Ok(None) };
            line.push(byte);
        }
        let begun = MAGIC.len() + line.len();
        // A frame may begin where this line ends.
        matched = usize::from(line.ends_with(&MAGIC[..1]));
        let Some((kind, length)) = head(&line) else {
            skipped += (begun - matched) as u64;
            continue;
        };
        if skipped > 0 {
            skips(Skipped::Bytes(std::mem::take(&mut skipped)));
        }
        let mut body = from.by_ref().take(length);
        let answer = match kind {
            "text" => {
                let mut text = Vec::new();
                body.read_to_end(&mut text)?;
                Some(EditorAnswer::Text(text))
            }
            _ => {
                io::copy(&mut body, &mut io::sink())?;
                (kind == "keep").then_some(EditorAnswer::Keep)
            }
        };
        if body.limit() > 0 {
            return Ok(None);
        }
        match answer {
            Some(answer) => return Ok(Some(answer)),
            None => skips(Skipped::Answer(kind.to_owned())),
        }
    }
}

/// Kind and length in the first line of a frame, with its line feed. Newer versions may say more behind them.
fn head(line: &[u8]) -> Option<(&str, u64)> {
    let mut words = str::from_utf8(line.strip_suffix(b"\n")?).ok()?.split(' ');
    Some((words.next()?, words.next()?.parse().ok()?))
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

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
