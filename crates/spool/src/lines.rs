//! Reading a file of JSON lines from any place in it.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;

/// The first read of a line: most records of a history are shorter.
const BLOCK: usize = 4 << 10;
const LARGEST_BLOCK: usize = 1 << 20;

/// No record is longer: code may have 16 MiB, which JSON can make six times as long. A file without a line
/// end for that long does not hold records, so it is not read into memory.
const LONGEST: usize = 128 << 20;

/// Reading at or past this position is an error of the system, not the end of the file.
pub(crate) const PAST_ANY_FILE: u64 = 1 << 62;

/// The line that begins at `pos`, without its end; `None` if it is not all there.
pub(crate) fn line_at(file: &File, pos: u64) -> io::Result<Option<Vec<u8>>> {
    if pos > PAST_ANY_FILE {
        return Ok(None);
    }
    let mut line = Vec::new();
    let mut block = BLOCK;
    loop {
        let have = line.len();
        line.resize(have + block, 0);
        let n = read_at(file, &mut line[have..], pos + have as u64)?;
        line.truncate(have + n);
        if let Some(end) = line[have..].iter().position(|&b| b == b'\n') {
            line.truncate(have + end);
            return Ok(Some(line));
        }
        if n < block {
            return Ok(None);
        }
        if line.len() > LONGEST {
            return Err(too_long());
        }
        block = (block * 2).min(LARGEST_BLOCK);
    }
}

/// Whether a line can begin at `pos`.
pub(crate) fn is_line_start(file: &File, pos: u64) -> io::Result<bool> {
    let mut before = [0];
    Ok(pos == 0 || (read_at(file, &mut before, pos - 1)? == 1 && before[0] == b'\n'))
}

/// The length of a file up to the end of its last whole line.
pub(crate) fn whole_len(file: &File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let mut end = len;
    let mut block = vec![0; BLOCK];
    while end > 0 {
        if len - end > LONGEST as u64 {
            return Err(too_long());
        }
        let from = end.saturating_sub(block.len() as u64);
        let n = read_at(file, &mut block[..(end - from) as usize], from)?;
        if let Some(last) = block[..n].iter().rposition(|&b| b == b'\n') {
            return Ok(from + last as u64 + 1);
        }
        end = from;
        let len = (block.len() * 2).min(LARGEST_BLOCK);
        block.resize(len, 0);
    }
    Ok(0)
}

/// Whole lines from the last one to the first.
#[derive(Debug)]
pub(crate) struct LinesBack<'a> {
    file: &'a File,
    /// The end of the next line to give, behind its line end.
    end: u64,
    /// The position in the file of the first byte in `buffer`.
    at: u64,
    buffer: Vec<u8>,
    block: usize,
}

impl<'a> LinesBack<'a> {
    /// `end` is the end of a line.
    pub(crate) fn new(file: &'a File, end: u64) -> Self {
        LinesBack { file, end, at: end, buffer: Vec::new(), block: BLOCK }
    }

    /// The next line with its position.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        if self.end == 0 {
            return Ok(None);
        }
        // The last byte of the line is its own line end. Bytes that were searched once are not searched
        // again, or a line of many megabytes would take for ever.
        let mut unsearched = ((self.end - self.at) as usize).saturating_sub(1);
        let start = loop {
            let found = self.buffer[..unsearched].iter().rposition(|&b| b == b'\n');
            match found {
                Some(before) => break self.at + before as u64 + 1,
                None if self.at == 0 => break 0,
                None => {
                    let (at, have) = (self.at, (self.end - self.at) as usize);
                    self.grow(have)?;
                    unsearched = (at - self.at) as usize - usize::from(have == 0);
                }
            }
        };
        let line = (start - self.at) as usize..(self.end - self.at) as usize - 1;
        self.end = start;
        Ok(Some((start, &self.buffer[line])))
    }

    /// Reads the block before the `have` bytes that are not given yet.
    fn grow(&mut self, have: usize) -> io::Result<()> {
        if have > LONGEST {
            return Err(too_long());
        }
        let from = self.at.saturating_sub(self.block.max(have) as u64);
        let len = (self.at - from) as usize;
        let mut buffer = vec![0; len];
        if read_at(self.file, &mut buffer, from)? < len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&self.buffer[..have]);
        (self.at, self.buffer) = (from, buffer);
        self.block = (self.block * 2).min(LARGEST_BLOCK);
        Ok(())
    }
}

/// Reads a line with its end into an empty buffer; 0 at the end of the file.
pub(crate) fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let n = from.take(LONGEST as u64 + 1).read_until(b'\n', line)?;
    if n > LONGEST { Err(too_long()) } else { Ok(n) }
}

fn too_long() -> io::Error {
    let message = format!("it has no line end within {} MiB", LONGEST >> 20);
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Fills the buffer as far as the file goes.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], pos: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], pos + got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn lines_of_any_length_come_backwards_and_by_position() {
        let lengths = [0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 0, 3 * BLOCK, 70_000, 2];
        let lines: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(i, &n)| vec![b'a' + i as u8; n]).collect();
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        let file = file(&bytes);
        let mut back = LinesBack::new(&file, bytes.len() as u64);
        for line in lines.iter().rev() {
            let (pos, found) = back.next_line().unwrap().unwrap();
            assert_eq!(found, line);
            assert_eq!(line_at(&file, pos).unwrap().as_ref(), Some(line));
            assert!(is_line_start(&file, pos).unwrap());
        }
        assert!(back.next_line().unwrap().is_none());
    }

    #[test]
    fn h2_a_file_without_line_ends_is_not_taken_into_memory() {
        let file = file(b"ab\n");
        file.set_len(1 << 40).unwrap();
        let message = |error: io::Error| error.to_string();
        assert!(message(whole_len(&file).unwrap_err()).contains("no line end"));
        assert!(message(line_at(&file, 3).unwrap_err()).contains("no line end"));
        assert!(message(LinesBack::new(&file, 1 << 40).next_line().unwrap_err()).contains("end"));
        let mut lines = std::io::BufReader::new(&file);
        assert!(message(read_line(&mut lines, &mut Vec::new()).unwrap_err()).contains("no line"));
    }

    #[test]
    fn a_file_is_whole_up_to_its_last_line_end() {
        assert_eq!(whole_len(&file(b"")).unwrap(), 0);
        assert_eq!(whole_len(&file(b"ab")).unwrap(), 0);
        assert_eq!(whole_len(&file(b"ab\ncd")).unwrap(), 3);
        let mut long = b"ab\n".to_vec();
        long.extend(vec![b'x'; 50_000]);
        assert_eq!(whole_len(&file(&long)).unwrap(), 3);
    }
}
