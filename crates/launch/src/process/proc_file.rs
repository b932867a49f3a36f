//! Reading small files of `/proc`, of which looks at many processes read many.
//!
//! They tell no size, so the standard library reads them in small steps: eight calls for a `stat` where one does.

use std::fs::File;
use std::io::{self, Read};

/// Longer than a line about a process or thread, whatever its name.
const ROOM: usize = 2048;

/// What is in a file that is a line long.
pub(super) struct ProcLine {
    bytes: [u8; ROOM],
    length: usize,
}

impl ProcLine {
    /// Reads the file in one call.
    pub(super) fn read(path: &str) -> io::Result<ProcLine> {
        let mut line = ProcLine { bytes: [0; ROOM], length: 0 };
        line.length = File::open(path)?.read(&mut line.bytes)?;
        Ok(line)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The fields behind the name of a `stat` file. The name stands in parentheses and may hold anything, so
    /// they count from the last `)`.
    pub(super) fn after_name(&self) -> Option<&[u8]> {
        let bytes = self.bytes();
        bytes.get(bytes.iter().rposition(|&b| b == b')')? + 2..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_the_standard_library_reads() {
        let comm = format!("/proc/{}/comm", std::process::id());
        let line = ProcLine::read(&comm).unwrap();
        assert_eq!(line.bytes(), std::fs::read(&comm).unwrap());
        let own = ProcLine::read("/proc/self/stat").unwrap();
        assert!(own.bytes().ends_with(b"\n"), "the line is whole");
        let state = own.after_name().and_then(|fields| fields.first());
        assert!(matches!(state, Some(b'R' | b'S' | b'D')), "{state:?}");
        assert!(ProcLine::read("/proc/0/stat").is_err());
    }
}
