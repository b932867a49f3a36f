//! Searching kept output by a regular expression, line by line (SPEC O-6).

use std::ops::ControlFlow;

use regex::Regex;
use stead_protocol::{ChunkKind, EvalId, EvalSeq, Offset, SessionName};
use stead_spool::{EvalEntry, HistoryReader, Reader, SpoolError};

use crate::eval::wait;
use crate::read::gather::{Bounds, Gather};
use crate::read::lines::{Line, LineScope, each_line};
use crate::read::pattern;
use crate::show::shown::shown;
use crate::{Client, ClientError};

/// Most lines of context on either side of a match.
pub const MAX_CONTEXT: u64 = 1000;

/// Whose output to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One eval's.
    Eval(EvalId),
    /// All evals' of a session, the oldest first; it may have ended or been stopped.
    Session(SessionName),
}

/// What to look for, and how much of it to show.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// A regular expression, in the syntax of the `regex` crate.
    pub pattern: String,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Lines to show before and after each match, at most [`MAX_CONTEXT`].
    pub context: u64,
    /// Most matches to show; those beyond are counted.
    pub max_matches: u64,
    /// Most characters to show; the first match is shown whatever it takes.
    pub max_chars: usize,
}

/// A line of what an eval wrote or showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The eval.
    pub id: EvalId,
    /// Its place among all lines of the eval, from 1.
    pub order: u64,
    /// Its number, from 1: in the eval's own output, in background output, or in the value or error that it is of.
    pub line: u64,
    /// Where it begins in the eval's own output, or where that stood when a line of something else came.
    pub offset: u64,
    /// The stream it was written to, or what it is of.
    pub kind: ChunkKind,
    /// What it says, clean and without its end; cut to some 400 characters around the match.
    pub text: String,
    /// Whether it matches, or is a line near a match.
    pub matched: bool,
}

impl Hit {
    pub(crate) fn new(id: &EvalId, line: &Line<'_>, text: String, matched: bool) -> Self {
        let Line { order, number, offset, kind, .. } = *line;
        Hit { id: id.clone(), order, line: number, offset, kind, text, matched }
    }

    /// Whether this line comes right after that one.
    pub fn follows(&self, last: &Hit) -> bool {
        self.id == last.id && last.order + 1 == self.order
    }

    /// How many characters it takes in a reply.
    pub(crate) fn cost(&self) -> usize {
        self.text.chars().count() + 1
    }
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// Matches and the lines around them in order, no line twice.
    pub hits: Vec<Hit>,
    /// How many lines match.
    pub matches: u64,
    /// How many lines were searched.
    pub lines: u64,
    /// How many matches are not among the hits.
    pub more: u64,
    /// How many evals were not searched because their records were dropped to make room.
    pub gone: u64,
}

impl Client {
    /// Searches what one eval or all evals of a session wrote and showed: output, background output that came with it, values,
    /// errors, reports, and displays that are text.
    ///
    /// A line is searched as it is shown, at most its first MiB. What a running eval has written so
    /// far is searched too.
    pub fn search(&self, target: &Target, options: &SearchOptions) -> Result<Matches, ClientError> {
        let regex = pattern::compile(&options.pattern, options.ignore_case)?;
        let found = Matches::default();
        let mut search = SearchRun { regex: &regex, options, found, shown: 0, chars: 0 };
        match target {
            Target::Eval(id) => {
                let entry = self.entry(id)?;
                let reader = wait::open(&self.dir(&id.session), &id.session)?;
                let span = self.reach(&reader, id, &entry)?;
                search.eval(&reader, id, span)?;
            }
            Target::Session(name) => {
                let reader = self.session_reader(name)?;
                let order = EvalOrder::OldestFirst;
                let gone = self.each_eval(name, &reader, order, &mut |id, span| {
                    search.eval(&reader, id, span)?;
                    Ok(ControlFlow::Continue(()))
                })?;
                search.found.gone = gone;
            }
        }
        Ok(Matches { more: search.found.matches - search.shown, ..search.found })
    }

    /// Opens the output of a session that may have ended or been stopped.
    pub(crate) fn session_reader(&self, name: &SessionName) -> Result<Reader, ClientError> {
        self.require(name, true)?;
        wait::open(&self.dir(name), name)
    }

    /// Gives all evals of a session to `sink`, each with where its output begins and ends; one whose record is damaged is
    /// passed over. Says how many are gone.
    ///
    /// What was written in the background since the last of them ended is counted to that one: no later eval has
    /// brought it yet.
    pub(crate) fn each_eval(
        &self,
        name: &SessionName,
        reader: &Reader,
        order: EvalOrder,
        sink: &mut EvalSink<'_>,
    ) -> Result<u64, ClientError> {
        // Asked first: the evals that are counted below have written all that stands before it.
        let last_end = reader.end().map_err(ClientError::spool(name))?;
        let Some(history) = self.history(name)? else { return Ok(0) };
        let count = history.len().map_err(ClientError::spool(name))?;
        let gone = history.gone().map_err(ClientError::spool(name))?;
        let first = gone.map_or(1, |gone| gone.first.0);
        for at in first..=count {
            let seq = match order {
                EvalOrder::OldestFirst => EvalSeq(at),
                EvalOrder::NewestFirst => EvalSeq(first + count - at),
            };
            let Some(entry) = read_entry(&history, seq).map_err(ClientError::spool(name))? else {
                continue;
            };
            let id = EvalId { session: name.clone(), seq };
            let (from, mut to) = self.reach(reader, &id, &entry)?;
            if seq.0 == count && entry.finished.is_some() {
                to = to.max(last_end);
            }
            if sink(&id, (from, to))?.is_break() {
                break;
            }
        }
        Ok(gone.map_or(0, |gone| gone.evals))
    }

    /// Where an eval's output begins and ends so far. The host is not asked, so one that hangs delays
    /// nothing.
    pub(crate) fn reach(
        &self,
        reader: &Reader,
        id: &EvalId,
        entry: &EvalEntry,
    ) -> Result<(Offset, Offset), ClientError> {
        let name = &id.session;
        match (&entry.finished, entry.started) {
            (Some((_, finished)), _) => Ok((finished.start, finished.end)),
            (None, Some((_, _, start))) => {
                Ok((start, wait::reach(reader, &self.dir(name), name, id.seq)?))
            }
            (None, None) => Ok((Offset(0), Offset(0))),
        }
    }
}

/// What is done with each eval.
pub(crate) type EvalSink<'a> =
    dyn FnMut(&EvalId, (Offset, Offset)) -> Result<ControlFlow<()>, ClientError> + 'a;

/// In which order evals are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvalOrder {
    OldestFirst,
    NewestFirst,
}

fn read_entry(history: &HistoryReader, seq: EvalSeq) -> Result<Option<EvalEntry>, SpoolError> {
    match history.eval(seq) {
        Err(SpoolError::Corrupt { .. }) => Ok(None),
        read => read,
    }
}

/// A search over one eval or many.
struct SearchRun<'a> {
    regex: &'a Regex,
    options: &'a SearchOptions,
    found: Matches,
    shown: u64,
    /// How many characters the hits take so far.
    chars: usize,
}

impl SearchRun<'_> {
    fn eval(
        &mut self,
        reader: &Reader,
        id: &EvalId,
        (from, to): (Offset, Offset),
    ) -> Result<(), ClientError> {
        self.span(reader, id, from, to).map_err(ClientError::spool(&id.session))
    }

    fn span(
        &mut self,
        reader: &Reader,
        id: &EvalId,
        from: Offset,
        to: Offset,
    ) -> Result<(), SpoolError> {
        // Once a match did not fit, no later match is shown, so that the shown matches have no holes.
        let full = self.shown < self.found.matches;
        let bounds = Bounds {
            context: self.options.context.min(MAX_CONTEXT),
            matches: if full { 0 } else { self.options.max_matches - self.shown },
            chars: self.options.max_chars.saturating_sub(self.chars),
            // The first match of the whole search is shown whatever it takes; the first of a later eval has to fit.
            at_least_one: self.shown == 0,
        };
        let mut gather = Gather::new(id, bounds);
        let lines = each_line(reader, from, to, LineScope::Shown, &mut |line, ahead| {
            let text = shown(&line);
            gather.line(&line, &text, self.regex.find(&text).map(|found| found.range()), ahead);
            ControlFlow::Continue(())
        })?;
        self.found.lines += lines.unwrap_or_default();
        self.found.matches += gather.matches();
        let hits = gather.finish();
        self.shown += hits.iter().filter(|hit| hit.matched).count() as u64;
        self.chars += hits.iter().map(Hit::cost).sum::<usize>();
        self.found.hits.extend(hits);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stead_protocol::ChunkKind::{BackgroundOut, Err, Error, Out, Value};
    use stead_spool::{Options, Spool};

    use super::*;

    fn spool(segment: u64, writes: &[(ChunkKind, &[u8])]) -> (tempfile::TempDir, Offset) {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment, ..Options::default() };
        let mut spool = Spool::open(dir.path(), options).unwrap();
        for (kind, bytes) in writes {
            spool.append(*kind, EvalSeq(1), bytes);
        }
        (dir, spool.end())
    }

    fn search(dir: &tempfile::TempDir, to: Offset, pattern: &str, context: u64) -> Matches {
        search_for(dir, to, pattern, context, 100)
    }

    fn search_for(
        dir: &tempfile::TempDir,
        to: Offset,
        pattern: &str,
        context: u64,
        max_matches: u64,
    ) -> Matches {
        let options = SearchOptions {
            pattern: pattern.to_owned(),
            ignore_case: false,
            context,
            max_matches,
            max_chars: 32_000,
        };
        let regex = pattern::compile(pattern, false).unwrap();
        let found = Matches::default();
        let mut search = SearchRun { regex: &regex, options: &options, found, shown: 0, chars: 0 };
        let reader = Reader::open(dir.path()).unwrap();
        search.span(&reader, &"py:1".parse().unwrap(), Offset(0), to).unwrap();
        search.found
    }

    fn lines(found: &Matches) -> Vec<(u64, u64, &str)> {
        found.hits.iter().map(|hit| (hit.line, hit.offset, hit.text.as_str())).collect()
    }

    const WHOLE: u64 = 32 << 20;

    #[test]
    fn o6_all_that_an_eval_shows_is_searched_and_counted() {
        let (dir, end) = spool(
            WHOLE,
            &[
                (BackgroundOut, b"late needle\n"),
                (Out, b"a nee"),
                (Err, b"needle 1\n"),
                (Out, b"dle 2\n"),
                (Value, br#"{"text":"a\nneedle","type":"str"}"#),
                (Error, br#"{"name":"E","message":"m","traceback":"File\n\nneedle"}"#),
            ],
        );
        let found = search(&dir, end, "needle", 0);
        // The numbers and offsets of the eval's own output do not depend on what stands between its lines.
        assert_eq!(
            lines(&found),
            [
                (1, 0, "late needle"),
                (1, 0, "a needle 2"),
                (2, 5, "needle 1"),
                (2, 20, "needle"),
                (3, 20, "needle")
            ]
        );
        assert_eq!((found.matches, found.lines), (5, 8));
        let sources: Vec<_> = found.hits.iter().map(|hit: &Hit| hit.kind.word()).collect();
        assert_eq!(sources, ["background", "out", "err", "value", "error"]);
        // Lines around a match are those that are shown around it.
        let around = search(&dir, end, "^File$", 1);
        assert_eq!(lines(&around), [(2, 20, "needle"), (1, 20, "File"), (2, 20, "")]);
    }

    #[test]
    fn o6_a_line_is_searched_as_it_is_shown() {
        let (dir, end) = spool(WHOLE, &[(Out, b"dos\r\n\x1b[31mred\n\xffbyte\n")]);
        assert_eq!(lines(&search(&dir, end, "s$", 0)), [(1, 0, "dos")]);
        assert_eq!(lines(&search(&dir, end, r"^\\xff", 0)), [(3, 14, "\\xffbyte")]);
        assert_eq!(search(&dir, end, "", 0).matches, 3);
    }

    #[test]
    fn h2_damage_in_the_middle_hides_only_itself() {
        let mut writes = Vec::new();
        let numbered: Vec<String> = (1..=90).map(|n| format!("line {n}\n")).collect();
        writes.extend(numbered.iter().map(|line| (Out, line.as_bytes())));
        let (dir, end) = spool(1000, &writes);
        let whole = search(&dir, end, "line", 0);
        assert_eq!((whole.matches, whole.lines), (90, 90));
        let mut segments: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        segments.sort();
        assert!(segments.len() > 2, "{segments:?}");
        let mut bytes = fs::read(&segments[1]).unwrap();
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 40] {
            *byte = 0xaa;
        }
        fs::write(&segments[1], &bytes).unwrap();
        let found = search(&dir, end, "line (1|90)$", 0);
        assert_eq!(found.matches, 2);
        assert!((60..90).contains(&found.lines), "{}", found.lines);
        // What is found can be read by its offset.
        let reader = Reader::open(dir.path()).unwrap();
        let span =
            crate::read::records::seek(&reader, Offset(0), end, found.hits[1].offset).unwrap();
        let read = crate::read::records::limited(&reader, span, 7).unwrap();
        assert_eq!(read.head[0].bytes, b"line 90");
    }

    #[test]
    fn o6_an_enormous_line_is_one_line_searched_at_its_beginning() {
        let piece = vec![b'x'; 200 << 10];
        let mut writes: Vec<(ChunkKind, &[u8])> = vec![(Out, b"begin "), (Out, &piece)];
        writes.extend([(Out, &b"needle"[..]), (Err, b"between\n")]);
        writes.extend((0..20).map(|_| (Out, &piece[..])));
        writes.extend([(Out, &b"hidden\nafter\n"[..])]);
        let (dir, end) = spool(WHOLE, &writes);
        let found = search(&dir, end, "needle|hidden|after|between", 1);
        assert_eq!((found.matches, found.lines), (3, 3));
        let text = &found.hits[0].text;
        assert!(text.starts_with("…x") && text.contains("needle") && text.ends_with("x…"));
        assert!(text.chars().count() < 410);
        assert_eq!(found.hits[2].offset, 6 + 21 * (200 << 10) + 6 + 8 + 7);
        assert_eq!(search(&dir, end, "hidden", 0).matches, 0);
    }

    /// All lines by number, found the simple way: offset, kind, text.
    fn all_lines(writes: &[(ChunkKind, &[u8])]) -> Vec<(u64, ChunkKind, String)> {
        let mut lines: Vec<(u64, ChunkKind, String)> = Vec::new();
        let mut open: [Option<usize>; 2] = [None; 2];
        let bytes = writes.iter().flat_map(|(kind, bytes)| bytes.iter().map(|b| (*kind, *b)));
        for (offset, (kind, byte)) in (0..).zip(bytes) {
            let open = &mut open[usize::from(kind == Err)];
            let at = *open.get_or_insert_with(|| {
                lines.push((offset, kind, String::new()));
                lines.len() - 1
            });
            match byte {
                b'\n' => *open = None,
                byte => lines[at].2.push(byte.into()),
            }
        }
        lines
    }

    #[test]
    fn o6_whatever_is_written_the_result_is_that_of_the_simple_way() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        const PIECES: [&[u8]; 8] =
            [b"a", b"x", b"a\n", b"\n", b"b\nc\n", b"x\nd", b"\n\n", b"e\nf\ng\nh\n"];
        for round in 0..300 {
            let writes: Vec<(ChunkKind, &[u8])> = (0..random(60))
                .map(|_| (if random(4) == 0 { Err } else { Out }, PIECES[random(8) as usize]))
                .collect();
            let (dir, end) = spool(WHOLE, &writes);
            let (context, max) = (random(4), 1 + random(4) * 3);
            let lines = all_lines(&writes);
            let matching: Vec<usize> =
                (0..lines.len()).filter(|at| lines[*at].2.contains('x')).collect();
            let shown = &matching[..matching.len().min(max as usize)];
            let expected: Vec<(u64, u64, ChunkKind, &str, bool)> = (0..lines.len())
                .filter(|at| shown.iter().any(|hit| hit.abs_diff(*at) as u64 <= context))
                .map(|at| {
                    let (offset, kind, text) = &lines[at];
                    (at as u64 + 1, *offset, *kind, text.as_str(), shown.contains(&at))
                })
                .collect();
            let found = search_for(&dir, end, "x", context, max);
            let hits: Vec<(u64, u64, ChunkKind, &str, bool)> = found
                .hits
                .iter()
                .map(|hit| (hit.line, hit.offset, hit.kind, hit.text.as_str(), hit.matched))
                .collect();
            assert_eq!(hits, expected, "round {round}: context {context}, {max} of {writes:?}");
            assert_eq!(found.matches, matching.len() as u64);
            assert_eq!(found.lines, lines.len() as u64);
        }
    }
}
