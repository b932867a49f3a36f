//! Colours for people at a terminal: of errors, tracebacks, lists, and what changed.
//!
//! Only words of stead's own and tracebacks are painted; what user code wrote is shown without colours (SPEC O-7). No
//! stream is painted that is not a terminal, unless `--color` or CLICOLOR_FORCE asks for it; NO_COLOR and
//! `TERM=dumb` are obeyed. JSON is never painted.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use stead_protocol::ErrorInfo;

use crate::reply::error_text;

pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const MARK: Style = AnsiColor::Red.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const CARE: Style = AnsiColor::Yellow.on_default();
pub(crate) const PLACE: Style = AnsiColor::Cyan.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const HEAD: Style = Style::new().bold();
pub(crate) const PLAIN: Style = Style::new();

/// When to paint, as `--color` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PaintWhen {
    /// On terminals that have colours
    Auto,
    /// Also where the output is no terminal
    Always,
    /// Not at all
    Never,
}

impl PaintWhen {
    /// Makes this choice hold for the whole process.
    pub(crate) fn choose(self) {
        let choice = match self {
            PaintWhen::Auto => ColorChoice::Auto,
            PaintWhen::Always => ColorChoice::Always,
            PaintWhen::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

impl PaintWhen {
    /// Obeys `--color` in words that could not be parsed.
    pub(crate) fn choose_from(words: &[&str]) {
        let after = |at: usize| words.get(at + 1).copied();
        let said = words.iter().enumerate().find_map(|(at, word)| match *word {
            "--color" => after(at),
            word => word.strip_prefix("--color="),
        });
        if let Some(Ok(when)) = said.map(|word| <Self as clap::ValueEnum>::from_str(word, false)) {
            when.choose();
        }
    }
}

/// Whether what is written to one stream is painted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn stdout() -> Self {
        Paint(AutoStream::choice(&io::stdout()) != ColorChoice::Never)
    }

    pub(crate) fn stderr() -> Self {
        Paint(AutoStream::choice(&io::stderr()) != ColorChoice::Never)
    }

    /// No colours.
    pub(crate) fn none() -> Self {
        Paint(false)
    }

    /// Whether text is painted at all.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    /// The text in this style; empty text stays empty.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self.0 && !text.is_empty() && style != PLAIN {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    /// An error of user code, with its traceback if it has one. Ends with a line end.
    pub(crate) fn error(self, error: &ErrorInfo) -> String {
        let text = error_text(error);
        let mut painted = String::with_capacity(text.len() + 64);
        for line in text.lines() {
            painted.push_str(&self.paint(trace_style(line, &error.name), line));
            painted.push('\n');
        }
        painted
    }
}

/// How a line of a traceback is shown. Source lines are what a reader looks for, so they have no colour.
fn trace_style(line: &str, name: &str) -> Style {
    let words = line.trim_start();
    let is_mark = !words.is_empty() && words.chars().all(|c| matches!(c, '^' | '~' | ' '));
    // `ValueError: …`, and `pkg.ValueError: …` where the traceback tells the module too.
    let first = line.split([':', ' ']).next().unwrap_or_default();
    let is_name = !name.is_empty()
        && first
            .strip_suffix(name)
            .is_some_and(|module| module.is_empty() || module.ends_with('.'));
    match words {
        _ if is_name => BAD,
        _ if is_mark => MARK,
        _ if words.starts_with("File \"") || words.starts_with("at ") => PLACE,
        _ if line.starts_with("Traceback (") => FAINT,
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_the_error_the_places_and_the_marks_of_a_traceback_have_colours() {
        let traceback = "Traceback (most recent call last):\n  File \"<py:1>\", line 1\n    1/0\n    ~^~\n\
                         ZeroDivisionError: division by zero\n";
        let error = ErrorInfo {
            name: "ZeroDivisionError".to_owned(),
            message: "division by zero".to_owned(),
            traceback: Some(traceback.to_owned()),
            ..ErrorInfo::default()
        };
        assert_eq!(Paint(false).error(&error), traceback);
        let painted = Paint(true).error(&error);
        let lines: Vec<&str> = painted.lines().collect();
        assert_eq!(lines[0], "\x1b[2mTraceback (most recent call last):\x1b[0m");
        assert_eq!(lines[1], "\x1b[36m  File \"<py:1>\", line 1\x1b[0m");
        assert_eq!(lines[2], "    1/0");
        assert_eq!(lines[3], "\x1b[31m    ~^~\x1b[0m");
        assert_eq!(lines[4], "\x1b[1m\x1b[31mZeroDivisionError: division by zero\x1b[0m");
    }

    #[test]
    fn a_name_is_known_with_its_module_and_not_as_a_part_of_a_word() {
        assert_eq!(trace_style("json.decoder.JSONDecodeError: no", "JSONDecodeError"), BAD);
        assert_eq!(trace_style("TypeError", "TypeError"), BAD);
        assert_eq!(trace_style("MyTypeError: no", "TypeError"), PLAIN);
        assert_eq!(trace_style("    at f (<js:1>:1:7)", "TypeError"), PLACE);
        assert_eq!(trace_style("", "TypeError"), PLAIN);
    }
}
