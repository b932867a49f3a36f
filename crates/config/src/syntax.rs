//! What is wrong with a file that is no TOML. The parser says which characters it did not expect; frequent mistakes are
//! known by the line, with the key and what to write instead. Values may be secrets, so none is quoted.

use std::ops::Range;

use toml_edit::TomlError;

use crate::keys::{KeyKind, Section};

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxProblem {
    /// Where in the text.
    pub(crate) at: usize,
    /// The key, with the table it stands in.
    pub(crate) key: Option<String>,
    /// What is wrong.
    pub(crate) problem: String,
    /// What to write instead.
    pub(crate) fix: String,
}

/// A line of a file, and the table it stands in.
struct FileLine<'a> {
    /// Where it begins.
    from: usize,
    text: &'a str,
    /// The last header before it; empty at the top of the file.
    table: &'a str,
    /// Where that table begins.
    table_from: usize,
    /// The key before `=` and what follows.
    pair: Option<(&'a str, &'a str)>,
}

impl SyntaxProblem {
    /// What the parser's error comes to.
    pub(crate) fn of(text: &str, error: &TomlError) -> SyntaxProblem {
        let span = error.span().unwrap_or_default();
        let mut before = (0..=span.start.min(text.len())).rev();
        let start = before.find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let at = opened_before(text, start).unwrap_or(start);
        let line = FileLine::at(text, at);
        // The parser says what it expected on further lines.
        let said = || error.message().trim().replace('\n', "; ");
        let (problem, fix) = line
            .is_twice(text, span)
            .or_else(|| line.is_escape(start))
            .unwrap_or_else(|| match line.pair {
                Some((_, "")) => ("it has no value".to_owned(), line.value_fix()),
                Some(_) if at != start => ("its quotes are not closed".to_owned(), line.fix()),
                _ => (said(), line.fix()),
            });
        SyntaxProblem { at, key: line.key(), problem, fix }
    }
}

/// Where a string begins that is still open at this place, as far as that can be told: a multi-line string that is never
/// closed, or a string that is not closed in its line, which the parser notices only later.
fn opened_before(text: &str, at: usize) -> Option<usize> {
    let is_end = at >= text.trim_end().len();
    let never_closed = |quotes: &str| {
        let is_open = is_end && text.matches(quotes).count() % 2 == 1;
        is_open.then(|| text.rfind(quotes)).flatten()
    };
    let not_closed_in_line = || {
        let here = FileLine::at(text, at);
        let mut above = here.above(text).filter(|_| here.pair.is_none());
        let is_open = |line: &str| pair(line).is_some_and(|(_, value)| is_open_text(value));
        above.find(|(_, line)| is_open(line)).map(|(from, _)| from)
    };
    never_closed("\"\"\"").or_else(|| never_closed("'''")).or_else(not_closed_in_line)
}

impl<'a> FileLine<'a> {
    fn at(text: &'a str, at: usize) -> FileLine<'a> {
        let from = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[from..].lines().next().unwrap_or_default().trim();
        let (table_from, table) = headers(&text[..from]).last().unwrap_or((0, ""));
        FileLine { from, text: line, table, table_from, pair: pair(line) }
    }

    /// The lines of its table before it, each with where it begins.
    fn above(&self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        lines_of(&text[self.table_from..self.from], self.table_from)
    }

    /// The key that stands in it, or the table that begins with it.
    fn key(&self) -> Option<String> {
        match (self.pair, header(self.text)) {
            (Some((key, _)), _) if self.table.is_empty() => Some(key.to_owned()),
            (Some((key, _)), _) => Some(format!("{}.{key}", self.table)),
            (None, header) => header.map(str::to_owned),
        }
    }

    /// A table or key that is there already.
    fn is_twice(&self, text: &'a str, span: Range<usize>) -> Option<(String, String)> {
        let number = |at: usize| text[..at].matches('\n').count() + 1;
        if let Some(name) = header(self.text) {
            let (first, _) = headers(&text[..self.from]).find(|(_, known)| *known == name)?;
            let problem = format!("this table is there already, in line {}", number(first));
            return Some((problem, "make one table of both".to_owned()));
        }
        let (name, value) = self.pair?;
        let fix = "keep one of them".to_owned();
        let mut above = self.above(text);
        if let Some((first, _)) = above.find(|(_, line)| pair(line).is_some_and(|it| it.0 == name))
        {
            return Some((format!("it is set already, in line {}", number(first)), fix));
        }
        let inner = text.get(span.clone()).filter(|_| value.starts_with('{'))?;
        let is_set = |(at, _): (usize, &str)| {
            let (before, after) = (&text[self.from..at + self.from], &text[self.from + at..]);
            let after = after[inner.len()..].trim_start();
            before.ends_with([' ', ',', '{']) && after.starts_with('=')
        };
        let earlier = text.get(self.from..span.start)?;
        let is_key = !inner.is_empty() && inner.chars().all(is_of_key);
        (is_key && earlier.match_indices(inner).any(is_set))
            .then(|| (format!("it has `{inner}` twice"), fix))
    }

    /// A backslash that begins no escape, as in paths of Windows and in patterns.
    fn is_escape(&self, at: usize) -> Option<(String, String)> {
        let backslash = self.from + self.text.find('\\')?;
        let in_plain_text = self.pair.is_none_or(|(_, value)| value.starts_with('"'));
        (in_plain_text && at >= backslash).then(|| {
            let problem = "in double quotes a backslash begins an escape, and this is none";
            (problem.to_owned(), "use single quotes, or write two backslashes".to_owned())
        })
    }

    fn fix(&self) -> String {
        let more = |open: char, close: char| {
            self.text.matches(open).count() > self.text.matches(close).count()
        };
        let Some((_, value)) = self.pair else {
            return match self.text {
                line if line.starts_with('[') && more('[', ']') => {
                    "close the bracket: `[sessions.NAME]`"
                }
                line if line.starts_with('[') => "write it alone on its line: `[sessions.NAME]`",
                line if line.contains(':') => "write `key = value`, with `=`",
                _ => "write `key = value`; see https://toml.io for how values are written",
            }
            .to_owned();
        };
        let is_bare = |c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '$' | '-');
        match value.chars().next() {
            _ if value.starts_with("\"\"\"") || value.starts_with("'''") => {
                format!("close it with `{}`", &value[..3])
            }
            _ if is_open_text(value) => {
                "close the quote, or put `'''` around several lines".to_owned()
            }
            Some('[') if more('[', ']') => "close the bracket: `]`".to_owned(),
            Some('{') if more('{', '}') => "close the brace: `}`".to_owned(),
            Some('{') => "put a comma between its entries: { A = \"1\", B = \"2\" }".to_owned(),
            Some(c) if is_bare(c) => match self.expected() {
                Some(expected) => format!("write {expected}"),
                None => "put the value in quotes".to_owned(),
            },
            Some('"' | '\'') => "one value stands after `=`; a comment begins with `#`".to_owned(),
            _ => "see https://toml.io for how values are written".to_owned(),
        }
    }

    fn value_fix(&self) -> String {
        match self.expected() {
            Some(expected) => format!("give the key a value: {expected}"),
            None => "give the key a value".to_owned(),
        }
    }

    /// What the key takes, if there is such a key.
    fn expected(&self) -> Option<String> {
        let (name, _) = self.pair?;
        let (kind, of) = self.table.split_once('.').unwrap_or((self.table, ""));
        let section = match kind {
            "" => Section::Top,
            "sessions" => Section::Session,
            "toolchains" => Section::Toolchain,
            "gateways" => Section::Gateway,
            _ => return None,
        };
        if of.ends_with(".env") || name.starts_with("env.") {
            return Some(KeyKind::Text.expected());
        }
        let spec = section.keys().find(|spec| spec.name == name)?;
        Some(spec.kind.expected())
    }
}

/// The key of a line and what follows its `=`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let value = if value.starts_with('#') { "" } else { value };
    (!key.is_empty() && key.chars().all(is_of_key)).then_some((key, value))
}

/// Whether a value is a text that does not end with its line.
fn is_open_text(value: &str) -> bool {
    let is_open = |quote: char| value.starts_with(quote) && value.matches(quote).count() == 1;
    is_open('"') || is_open('\'')
}

/// The headers of tables in a text, each with where its line begins.
fn headers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines_of(text, 0).filter_map(|(at, line)| Some((at, header(line.trim())?)))
}

/// The lines of a text that begins at this place of a file, each with where it begins there.
fn lines_of(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(from, |at, line| {
        let from = *at;
        *at += line.len();
        Some((from, line))
    })
}

/// The name of the table that begins with a line.
fn header(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let is_header = !name.is_empty() && name.chars().all(is_of_key);
    (is_header && (rest.is_empty() || rest.starts_with('#'))).then_some(name)
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'')
}
