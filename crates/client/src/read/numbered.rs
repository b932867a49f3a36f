//! Reading lines by their numbers, and the last lines of a whole session (SPEC O-6).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use stead_protocol::{EvalId, Offset, SessionName};
use stead_spool::{Reader, SpoolError};

use crate::eval::wait;
use crate::read::lines::{Ahead, Line, LineScope, each_line};
use crate::read::search::EvalOrder;
use crate::show::shown::{beginning, shown};
use crate::{Client, ClientError, Hit};

/// Lines of an eval by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberedLines {
    /// The lines in order.
    pub lines: Vec<Hit>,
    /// The first line that was asked for and did not fit.
    pub next: Option<u64>,
    /// How many lines the eval has written, if they were read to the end.
    pub total: Option<u64>,
}

/// The last lines of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastLines {
    /// The lines in order, the newest last.
    pub lines: Vec<Hit>,
    /// Whether fewer than were asked for are here because more did not fit.
    pub cut: bool,
}

impl Client {
    /// Reads the lines `from..=to` of an eval's own output, at most `budget` characters of them.
    ///
    /// They are numbered as in [`Client::search`]. Of a line that does not fit alone its beginning
    /// is given, at most its first MiB.
    pub fn lines(
        &self,
        id: &EvalId,
        from: u64,
        to: u64,
        budget: usize,
    ) -> Result<NumberedLines, ClientError> {
        let entry = self.entry(id)?;
        let reader = wait::open(&self.dir(&id.session), &id.session)?;
        let (start, end) = self.reach(&reader, id, &entry)?;
        by_number(&reader, id, (start, end), (from, to), budget)
            .map_err(ClientError::spool(&id.session))
    }

    /// Reads the last `count` lines that evals of a session wrote or showed, at most `budget` characters.
    pub fn last_lines(
        &self,
        name: &SessionName,
        count: u64,
        budget: usize,
    ) -> Result<LastLines, ClientError> {
        let reader = self.session_reader(name)?;
        let mut last = LastLines::default();
        if count == 0 {
            return Ok(last);
        }
        let mut left = Left { lines: count, chars: budget };
        self.each_eval(name, &reader, EvalOrder::NewestFirst, &mut |id, (start, end)| {
            let at_least_one = last.lines.is_empty();
            let (lines, cut) = last_of(&reader, id, (start, end), left, at_least_one)
                .map_err(ClientError::spool(name))?;
            left.lines -= lines.len() as u64;
            left.chars = left.chars.saturating_sub(lines.iter().map(Hit::cost).sum());
            last.lines.extend(lines.into_iter().rev());
            last.cut = cut;
            let done = last.cut || left.lines == 0;
            Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        last.lines.reverse();
        Ok(last)
    }
}

fn by_number(
    reader: &Reader,
    id: &EvalId,
    (start, end): (Offset, Offset),
    (from, to): (u64, u64),
    budget: usize,
) -> Result<NumberedLines, SpoolError> {
    let mut kept = KeptLines::default();
    let (mut to, mut next) = (to, None);
    let total = each_line(reader, start, end, LineScope::Own, &mut |line, ahead| {
        if (from..=to).contains(&line.number) {
            kept.insert(id, &line, budget);
            // Earlier lines are dropped for later ones, because an earlier line can be the last to end.
            while kept.chars > budget && kept.lines.len() > 1 {
                if let Some((number, hit)) = kept.lines.pop_last() {
                    kept.chars -= hit.cost();
                    (to, next) = (number - 1, Some(number));
                }
            }
        }
        if ahead.any_up_to(to) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(NumberedLines { lines: kept.lines.into_values().collect(), next, total })
}

/// How many lines and characters may still be shown.
#[derive(Debug, Clone, Copy)]
struct Left {
    lines: u64,
    chars: usize,
}

/// The last lines of an eval, and whether some of them did not fit.
fn last_of(
    reader: &Reader,
    id: &EvalId,
    (start, end): (Offset, Offset),
    left: Left,
    at_least_one: bool,
) -> Result<(Vec<Hit>, bool), SpoolError> {
    let mut count = |_: Line<'_>, _: Ahead| ControlFlow::Continue(());
    let total = each_line(reader, start, end, LineScope::Shown, &mut count)?.unwrap_or_default();
    let first = total.saturating_sub(left.lines) + 1;
    let mut kept = KeptLines::default();
    let mut cut = false;
    each_line(reader, start, end, LineScope::Shown, &mut |line, _| {
        if line.order >= first {
            kept.insert(id, &line, left.chars);
            while kept.chars > left.chars && kept.lines.len() > usize::from(at_least_one) {
                kept.chars -= kept.lines.pop_first().map_or(0, |(_, hit)| hit.cost());
                cut = true;
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((kept.lines.into_values().collect(), cut))
}

/// Lines in their order, and how many characters they take.
#[derive(Debug, Default)]
struct KeptLines {
    lines: BTreeMap<u64, Hit>,
    chars: usize,
}

impl KeptLines {
    fn insert(&mut self, id: &EvalId, line: &Line<'_>, max: usize) {
        let text = beginning(&shown(line), line, max);
        let hit = Hit::new(id, line, text, false);
        self.chars += hit.cost();
        self.lines.insert(hit.order, hit);
    }
}

#[cfg(test)]
mod tests {
    use stead_protocol::ChunkKind::{self, Err, Out};
    use stead_protocol::EvalSeq;
    use stead_spool::{Options, Spool};

    use super::*;

    fn spool(writes: &[(ChunkKind, &str)]) -> (tempfile::TempDir, Reader, (Offset, Offset)) {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), Options::default()).unwrap();
        for (kind, text) in writes {
            spool.append(*kind, EvalSeq(1), text.as_bytes());
        }
        let reader = Reader::open(dir.path()).unwrap();
        (dir, reader, (Offset(0), spool.end()))
    }

    fn id() -> EvalId {
        "py:1".parse().unwrap()
    }

    fn texts(lines: &[Hit]) -> Vec<(u64, &str)> {
        lines.iter().map(|hit| (hit.line, hit.text.as_str())).collect()
    }

    #[test]
    fn o6_lines_are_read_by_number() {
        let (_dir, reader, span) =
            spool(&[(Out, "one\ntw"), (Err, "warn\n"), (Out, "o\nfour\nfive")]);
        let read = |from, to| by_number(&reader, &id(), span, (from, to), 1000).unwrap();
        let middle = read(2, 3);
        assert_eq!(texts(&middle.lines), [(2, "two"), (3, "warn")]);
        assert_eq!((middle.next, middle.total), (None, None));
        assert_eq!((middle.lines[1].kind, middle.lines[1].offset), (Err, 6));
        let all = read(1, u64::MAX);
        assert_eq!(all.lines.len(), 5);
        assert_eq!((all.next, all.total), (None, Some(5)));
        let past = read(9, u64::MAX);
        assert_eq!((past.lines.len(), past.total), (0, Some(5)));
    }

    #[test]
    fn o6_lines_that_do_not_fit_are_told() {
        let (_dir, reader, span) = spool(&[(Out, "a"), (Err, "22\n33\n44\n"), (Out, "a\n55\n")]);
        let read = |from, budget| {
            let read = by_number(&reader, &id(), span, (from, 9), budget).unwrap();
            (
                texts(&read.lines).iter().map(|(n, t)| format!("{n}{t}")).collect::<String>(),
                read.next,
            )
        };
        // Line 1 ends last, and is still the one that is shown.
        assert_eq!(read(1, 6), ("1aa222".to_owned(), Some(3)));
        assert_eq!(read(1, 1), ("1a…".to_owned(), Some(2)));
        assert_eq!(read(3, 7), ("333444".to_owned(), Some(5)));
        assert_eq!(read(4, 7), ("444555".to_owned(), None));
    }

    #[test]
    fn o6_the_last_lines_of_an_eval_are_those_that_began_last() {
        let (_dir, reader, span) = spool(&[(Out, "a"), (Err, "22\n33\n44\n"), (Out, "a\n55\n")]);
        let last = |lines, chars, at_least_one| {
            let left = Left { lines, chars };
            let (lines, cut) = last_of(&reader, &id(), span, left, at_least_one).unwrap();
            (lines.iter().map(|hit| hit.line).collect::<Vec<_>>(), cut)
        };
        assert_eq!(last(2, 1000, true), (vec![4, 5], false));
        assert_eq!(last(9, 1000, true), (vec![1, 2, 3, 4, 5], false));
        assert_eq!(last(9, 6, true), (vec![4, 5], true));
        assert_eq!(last(9, 1, true), (vec![5], true));
        assert_eq!(last(9, 1, false), (vec![], true));
    }
}
