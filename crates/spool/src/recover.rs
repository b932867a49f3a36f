//! Finds the last whole record of a segment whose writer may have been killed.

use std::io;

use crate::window::{AHEAD, Step, Window};

/// How the records of a segment end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SegmentTail {
    /// With a whole record, at this position.
    Whole(u64),
    /// With a part of a record, which begins at this position.
    Torn(u64),
    /// With whole records behind something that is not a record, which stands at this position.
    Damaged(u64),
}

/// Finds how a segment ends, walking forward: only then can a payload that looks like a record not be taken
/// for one.
pub(crate) fn find_tail(window: &mut Window) -> io::Result<SegmentTail> {
    let mut pos = 0;
    let torn = loop {
        match window.step(pos, AHEAD)? {
            Step::Whole(header) => pos += header.size(),
            Step::End => return Ok(SegmentTail::Whole(pos)),
            Step::Torn => break true,
            Step::Bad(_) => break false,
        }
    };
    window.clear();
    let len = window.file().metadata()?.len();
    // A damaged length looks like a torn record; but if the file ends with a whole record, it is damage.
    let whole_at_end = matches!(window.step_back(len, 0)?, Step::Whole(_));
    let cut = if torn { !whole_at_end } else { all_zero(window, pos, len)? };
    window.clear();
    Ok(if cut { SegmentTail::Torn(pos) } else { SegmentTail::Damaged(pos) })
}

/// After a power loss a file may be long enough and hold zeros where the data was not written.
fn all_zero(window: &Window, mut pos: u64, len: u64) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut block = vec![0; AHEAD];
    while pos < len {
        let n = window.file().read_at(&mut block, pos)?;
        if n == 0 || block[..n].iter().any(|&b| b != 0) {
            return Ok(n == 0);
        }
        pos += n as u64;
    }
    Ok(true)
}
