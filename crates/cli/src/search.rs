//! `stead output` by line: search, numbers, and a whole session (SPEC O-6).

use std::str::FromStr;

use serde::Serialize;
use stead_client::{
    Hit, LastLines, MAX_CONTEXT, Matches, NumberedLines, SearchOptions, Target, counted,
};
use stead_protocol::{EvalId, SessionName};

use crate::context::{Context, SessionArg};
use crate::exit;
use crate::print::{self, CliReply, CommandResult, Failure, Mode};
use crate::reply::ShowBounds;
use crate::text_writer::TextWriter;

/// How many lines of a session are shown unless the user says otherwise.
const SESSION_TAIL: usize = 100;

/// What is wanted by line.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "By line")]
pub(crate) struct SearchArgs {
    /// Show the lines that match a regular expression, with their numbers and offsets
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        conflicts_with_all = ["offset", "limit", "tail", "follow", "wait", "lines", "raw"]
    )]
    grep: Option<String>,
    /// Show this many lines before and after each match, too
    #[arg(short = 'C', long, value_name = "N", requires = "grep", default_value_t = 0,
          hide_default_value = true, value_parser = clap::value_parser!(u64).range(..=MAX_CONTEXT))]
    context: u64,
    /// Take upper and lower case for the same
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,
    /// Show the first N matches and count the others
    #[arg(long, value_name = "N", requires = "grep", default_value_t = 100)]
    max_matches: u64,
    /// Read lines by number: 120:180, 120:, :180 or 120
    #[arg(
        long,
        value_name = "FROM:TO",
        conflicts_with_all = ["offset", "limit", "tail", "follow", "wait", "raw", "session"]
    )]
    lines: Option<LineRange>,
    /// Look at all evals of a session, the newest last: `--grep`, or the last lines of them
    #[arg(
        long,
        conflicts_with_all = ["id", "offset", "limit", "follow", "wait", "raw"]
    )]
    session: bool,
    /// Session to look at: its last eval, with `--follow` or `--session` all of it
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["id", "eval_id"])]
    name: Option<String>,
}

/// Lines by number, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRange {
    from: u64,
    to: u64,
}

impl FromStr for LineRange {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let number = |text: &str, open: u64| match text {
            "" => Ok(open),
            text => text.parse().map_err(|_| format!("`{text}` is no line number")),
        };
        let (from, to) = match given.split_once(':') {
            Some((from, to)) => (number(from, 1)?, number(to, u64::MAX)?),
            None => (number(given, 0)?, number(given, 0)?),
        };
        match () {
            () if from == 0 => Err("lines are numbered from 1".to_owned()),
            () if to < from => Err(format!("line {from} comes after line {to}")),
            () => Ok(LineRange { from, to }),
        }
    }
}

impl SearchArgs {
    /// Answers the command if one of these options was given.
    pub(crate) fn run(
        &self,
        context: &Context,
        id: Option<&EvalId>,
        tail: Option<usize>,
        bounds: &ShowBounds,
    ) -> Option<CommandResult> {
        let answer = match (&self.grep, self.lines, id) {
            (Some(pattern), _, _) => self.search(context, id, pattern, bounds),
            (None, Some(range), Some(id)) => numbered(context, id, range, bounds),
            (None, _, None) => self.last(context, tail.unwrap_or(SESSION_TAIL), bounds),
            (None, None, Some(_)) => return None,
        };
        Some(answer)
    }

    /// The session that is named in place of an eval.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| !self.session)
    }

    fn search(
        &self,
        context: &Context,
        id: Option<&EvalId>,
        pattern: &str,
        bounds: &ShowBounds,
    ) -> CommandResult {
        let target = match id {
            Some(id) => Target::Eval(id.clone()),
            None => Target::Session(self.session(context)?),
        };
        let options = SearchOptions {
            pattern: pattern.to_owned(),
            ignore_case: self.ignore_case,
            context: self.context,
            max_matches: self.max_matches,
            max_chars: bounds.chars(),
        };
        let found = context.client.search(&target, &options)?;
        match context.mode {
            Mode::Json => {
                let data = FoundData::new(&target, &found);
                print::json(&CliReply::success(context.command, "complete", data));
            }
            Mode::Text => {
                print::out(found_text(&target, &found, self.context > 0).as_bytes());
                if found.more > 0 && found.matches > found.more {
                    let shown = found.matches - found.more;
                    TextWriter::new(false).note(&format!(
                        "the first {shown} of {} are shown; for more: --max-matches, --max-chars",
                        matches_in_lines(&found)
                    ));
                }
                if found.gone > 0 {
                    let gone = counted(found.gone, "older eval", "older evals");
                    TextWriter::new(false).note(&format!("{gone} gone to make room"));
                }
            }
        }
        Ok(exit::SUCCESS)
    }

    fn session(&self, context: &Context) -> Result<SessionName, Failure> {
        context.session(&SessionArg { name: self.name.clone() })
    }

    fn last(&self, context: &Context, count: usize, bounds: &ShowBounds) -> CommandResult {
        let name = self.session(context)?;
        let LastLines { lines, cut } =
            context.client.last_lines(&name, count as u64, bounds.chars())?;
        let hits = lines.iter().map(|hit| HitData::new(hit, None)).collect();
        let data = LinesData { session: name.as_str(), cut, hits, ..LinesData::default() };
        if context.mode == Mode::Text && cut {
            let note = format!("the last {} lines are shown; for more: --max-chars", lines.len());
            TextWriter::new(false).note(&note);
        }
        context.answer("complete", data, || match lines.is_empty() && count > 0 {
            true => format!("`{name}` wrote nothing\n"),
            false => lines.iter().map(|hit| line_text(hit, true, ':')).collect(),
        })
    }
}

fn numbered(
    context: &Context,
    id: &EvalId,
    range: LineRange,
    bounds: &ShowBounds,
) -> CommandResult {
    let NumberedLines { lines, next, total } =
        context.client.lines(id, range.from, range.to, bounds.chars())?;
    if context.mode == Mode::Json {
        let data = LinesData {
            session: id.session.as_str(),
            eval_id: Some(id.to_string()),
            lines: total,
            next_line: next,
            cut: false,
            hits: lines.iter().map(|hit| HitData::new(hit, None)).collect(),
        };
        print::json(&CliReply::success(context.command, "complete", data));
        return Ok(exit::SUCCESS);
    }
    let mut writer = TextWriter::new(false);
    for hit in &lines {
        writer.chunk(hit.kind, format!("{}\n", hit.text).as_bytes());
    }
    match (next, total) {
        (Some(next), _) => {
            let to = if range.to == u64::MAX { String::new() } else { range.to.to_string() };
            writer.note(&format!("… read on: stead output {id} --lines {next}:{to} …"));
        }
        (None, Some(total)) if lines.is_empty() => {
            writer.note(&format!("{id} has {}", counted(total, "line", "lines")));
        }
        _ => {}
    }
    Ok(exit::SUCCESS)
}

#[derive(Debug, Serialize)]
struct FoundData<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    matches: u64,
    lines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    /// How many evals could not be searched because their records were dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<u64>,
    hits: Vec<HitData<'a>>,
}

impl<'a> FoundData<'a> {
    fn new(target: &'a Target, found: &'a Matches) -> Self {
        let (session, eval_id) = match target {
            Target::Eval(id) => (id.session.as_str(), Some(id.to_string())),
            Target::Session(name) => (name.as_str(), None),
        };
        FoundData {
            session,
            eval_id,
            matches: found.matches,
            lines: found.lines,
            more: Some(found.more).filter(|more| *more > 0),
            gone: Some(found.gone).filter(|gone| *gone > 0),
            hits: found.hits.iter().map(|hit| HitData::new(hit, Some(hit.matched))).collect(),
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct LinesData<'a> {
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_id: Option<String>,
    /// How many lines the eval has, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    hits: Vec<HitData<'a>>,
}

#[derive(Debug, Serialize)]
struct HitData<'a> {
    eval_id: String,
    line: u64,
    offset: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a str,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    matched: Option<bool>,
}

impl<'a> HitData<'a> {
    fn new(hit: &'a Hit, matched: Option<bool>) -> Self {
        HitData {
            eval_id: hit.id.to_string(),
            line: hit.line,
            offset: hit.offset,
            kind: hit.kind.word(),
            content: &hit.text,
            matched,
        }
    }
}

/// As `grep -n` writes it, with the eval in the place of the file.
fn found_text(target: &Target, found: &Matches, context: bool) -> String {
    if found.hits.is_empty() {
        return format!("{}\n", matches_in_lines(found));
    }
    let with_id = matches!(target, Target::Session(_));
    let mut text = String::new();
    let mut last: Option<&Hit> = None;
    for hit in &found.hits {
        if context && last.is_some_and(|last| !hit.follows(last)) {
            text.push_str("--\n");
        }
        text.push_str(&line_text(hit, with_id, if hit.matched { ':' } else { '-' }));
        last = Some(hit);
    }
    text
}

fn line_text(hit: &Hit, with_id: bool, mark: char) -> String {
    let id = if with_id { format!("{}:", hit.id) } else { String::new() };
    // Only numbers of the eval's own output stand alone: `--lines` takes those.
    let source = if hit.kind.is_own_output() { "" } else { hit.kind.word() };
    format!("{id}{}{source}{mark}{}\n", hit.line, hit.text)
}

fn matches_in_lines(found: &Matches) -> String {
    let matches = counted(found.matches, "match", "matches");
    format!("{matches} in {}", counted(found.lines, "line", "lines"))
}

#[cfg(test)]
mod tests {
    use stead_protocol::ChunkKind;

    use super::*;

    #[test]
    fn o6_a_range_of_lines_has_open_ends() {
        let range = |given: &str| given.parse::<LineRange>().map(|range| (range.from, range.to));
        assert_eq!(range("120:180"), Ok((120, 180)));
        assert_eq!(range("120:"), Ok((120, u64::MAX)));
        assert_eq!(range(":180"), Ok((1, 180)));
        assert_eq!(range("7"), Ok((7, 7)));
        assert_eq!(range(":"), Ok((1, u64::MAX)));
        for wrong in ["", "0", "0:3", "5:4", "a", "1:b", "-1:2", "1:2:3"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    fn hit(id: &str, line: u64, matched: bool) -> Hit {
        Hit {
            id: id.parse().unwrap(),
            order: line,
            line,
            offset: 0,
            kind: ChunkKind::Out,
            text: "text".to_owned(),
            matched,
        }
    }

    #[test]
    fn c4_what_was_found_in_a_report_has_the_type_that_a_report_has_elsewhere() {
        let found = Hit { kind: ChunkKind::Report, ..hit("py:7", 1, true) };
        assert_eq!(HitData::new(&found, None).kind, "status");
        assert_eq!(line_text(&found, false, ':'), "1status:text\n");
    }

    #[test]
    fn o6_text_is_as_grep_writes_it() {
        let hits = vec![hit("py:7", 1, true), hit("py:7", 2, false), hit("py:9", 3, true)];
        let found = Matches { hits, matches: 2, lines: 9, more: 0, gone: 0 };
        let one = Target::Eval("py:7".parse().unwrap());
        assert_eq!(found_text(&one, &found, true), "1:text\n2-text\n--\n3:text\n");
        let all = Target::Session("py".parse().unwrap());
        assert_eq!(found_text(&all, &found, false), "py:7:1:text\npy:7:2-text\npy:9:3:text\n");
        let none = Matches { lines: 1, ..Matches::default() };
        assert_eq!(found_text(&one, &none, true), "0 matches in 1 line\n");
    }
}
