//! Code that failed, and the line of it that the error is about.

use std::path::Path;

use stead_protocol::ErrorInfo;

use super::{Hint, foreign, ipython, modules, python, shell_words, typescript};

/// Lines with more bytes than this are data that nobody typed, and are not looked at.
const LONGEST_LINE: usize = 2_000;

/// How many lines of a shell's code are looked at.
const MOST_LINES: usize = 20;

/// Code that failed.
pub(super) struct Failed<'a> {
    /// The session's language.
    pub(super) language: &'a str,
    pub(super) code: &'a str,
    /// How the code is called in tracebacks: `<py:7>`.
    pub(super) eval: String,
    /// What its bridge said of the error.
    pub(super) error: Option<&'a ErrorInfo>,
    /// What it wrote to standard error.
    pub(super) said: String,
    /// Where the session was started.
    pub(super) cwd: &'a Path,
}

/// How the code failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailedLine<'a> {
    /// It cannot be compiled.
    Syntax,
    /// This name is not known.
    Name(&'a str),
    /// A shell knows no such command, or a builtin did not take what it was given.
    Command,
    /// A module is missing.
    Module,
    /// In another way.
    Other,
}

impl Failed<'_> {
    pub(super) fn hint(&self) -> Option<Hint> {
        let failure = self.failure();
        if failure == FailedLine::Module {
            return modules::missing(self);
        }
        if failure == FailedLine::Other {
            return None;
        }
        let by_line = self
            .lines(failure)
            .into_iter()
            .filter(|line| line.len() <= LONGEST_LINE)
            .find_map(|line| self.line_hint(line, failure));
        by_line.or_else(|| match failure {
            FailedLine::Name(name) => self.name_hint(name),
            _ => None,
        })
    }

    fn line_hint(&self, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
        ipython::habit(self, line, failure)
            .or_else(|| typescript::habit(self, line, failure))
            .or_else(|| foreign::habit(self, line, failure))
            .or_else(|| shell_words::habit(self, line, failure))
    }

    fn name_hint(&self, name: &str) -> Option<Hint> {
        match self.language {
            "python" => python::name(self, name),
            "node" => foreign::node_word(name),
            _ => None,
        }
    }

    pub(super) fn is_shell(&self) -> bool {
        matches!(self.language, "bash" | "shell")
    }

    pub(super) fn failure(&self) -> FailedLine<'_> {
        let Some(error) = self.error else {
            // Shell commands have no bridge that speaks of errors.
            return if self.is_shell() { self.shell_failure() } else { FailedLine::Other };
        };
        let message = error.message.as_str();
        match (self.language, error.name.as_str()) {
            (_, "SyntaxError" | "IndentationError" | "TabError") => FailedLine::Syntax,
            ("python", "NameError") => quoted(message, "name '", "' is not defined")
                .map_or(FailedLine::Other, FailedLine::Name),
            ("python", "ModuleNotFoundError" | "ImportError") => FailedLine::Module,
            ("node", "ReferenceError") => {
                let name = message.strip_suffix(" is not defined");
                name.map_or(FailedLine::Other, FailedLine::Name)
            }
            ("node", "Error") if message.starts_with("Cannot find ") => FailedLine::Module,
            ("bash", "ExitStatus") => self.shell_failure(),
            _ => FailedLine::Other,
        }
    }

    fn shell_failure(&self) -> FailedLine<'_> {
        let signs = [": command not found", ": syntax error", ": not found", "fg: no job control"];
        match signs.iter().any(|sign| self.said.contains(sign)) {
            true if self.said.contains("syntax error near") => FailedLine::Syntax,
            true => FailedLine::Command,
            false => FailedLine::Other,
        }
    }

    /// The name that the error says is not known: of a variable, of a function of a shell.
    pub(super) fn missing_name(&self) -> Option<&str> {
        match self.failure() {
            FailedLine::Name(name) => self.fails_in_session().then_some(name),
            FailedLine::Command => self.missing_commands().last(),
            FailedLine::Syntax | FailedLine::Module | FailedLine::Other => None,
        }
    }

    /// The commands that a shell did not find: `bash: NAME: command not found`.
    pub(super) fn missing_commands(&self) -> impl Iterator<Item = &str> {
        self.said.lines().filter_map(|line| {
            let line = line
                .strip_suffix(": command not found")
                .or_else(|| line.strip_suffix(": not found"))?;
            Some(line.rsplit(": ").next().unwrap_or(line))
        })
    }

    /// The lines of the code that the error may be about. Only a shell goes on after an error and has several.
    fn lines(&self, failure: FailedLine<'_>) -> Vec<&str> {
        match failure {
            FailedLine::Command => self.shell_lines(),
            failure => self.line(failure).into_iter().collect(),
        }
    }

    /// The line of this eval's code that the error is about, without the space around it.
    fn line(&self, failure: FailedLine<'_>) -> Option<&str> {
        let number = match (self.language, failure) {
            ("python", _) => self.python_line(),
            ("node", FailedLine::Syntax) => self.number_after(&format!("{}:", self.eval)),
            ("node", _) => self.number_after(&format!("at {}:", self.eval)),
            (_, FailedLine::Syntax) => {
                // The mark names the eval's own code: line numbers of files that it sources or runs must not count.
                let id = self.eval.trim_matches(['<', '>']);
                let (text, mark) = match self.error {
                    Some(error) => (error.message.as_str(), format!("{id}: line ")),
                    None => (self.said.as_str(), ": eval: line ".to_owned()),
                };
                text.split_once(&mark).and_then(|(_, rest)| leading_number(rest))
            }
            (_, _) => None,
        };
        let line = match number {
            Some(number) => self.code.lines().nth(number.checked_sub(1)?)?,
            // The user's own excepthook may have printed the traceback; then code of one line is taken whole.
            None if self.error?.traceback.is_none() && !self.is_shell() => self.code.trim(),
            None => return None,
        };
        Some(line.trim()).filter(|line| !line.is_empty() && !line.contains('\n'))
    }

    /// A traceback of Python names the innermost place last; only that counts.
    fn python_line(&self) -> Option<usize> {
        let traceback = self.error?.traceback.as_deref()?;
        let (_, place) = traceback.rsplit_once("  File \"")?;
        let rest = place.strip_prefix(self.eval.as_str())?.strip_prefix("\", line ")?;
        leading_number(rest)
    }

    fn number_after(&self, mark: &str) -> Option<usize> {
        let traceback = self.error?.traceback.as_deref()?;
        leading_number(traceback.split_once(mark)?.1)
    }

    /// A shell's error names no line, so these are the lines that begin with a command it did not find or accept.
    fn shell_lines(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.missing_commands().take(MOST_LINES).collect();
        // `let` is a builtin that is found, and complains: `bash: let: =: syntax error: …`
        let builtin = |line: &&str| line.contains(": syntax error") && line.contains(": let: ");
        if self.said.lines().any(|line| builtin(&line)) {
            words.push("let");
        }
        let no_job = self.said.contains("fg: no job control");
        let meant = |line: &&str| {
            let first = line.split_whitespace().next().unwrap_or_default();
            words.contains(&first) || no_job && first.starts_with('%')
        };
        self.code.lines().map(str::trim).filter(meant).take(MOST_LINES).collect()
    }

    /// Whether the traceback ends in code that was sent to the session, of whichever eval.
    pub(super) fn fails_in_session(&self) -> bool {
        let Some(traceback) = self.error.and_then(|error| error.traceback.as_deref()) else {
            return true;
        };
        let place = match self.language {
            "python" => traceback.rsplit_once("  File \"").map(|(_, place)| place),
            _ => traceback.split_once("    at ").map(|(_, place)| place),
        };
        let first = place.and_then(|place| place.lines().next());
        first.is_none_or(|place| matches_pattern!(place, r"(^|\()<[\w.-]+:\d+>"))
    }
}

/// What stands between two texts at the beginning.
pub(super) fn quoted<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(before)?;
    rest.find(after).map(|end| &rest[..end])
}

fn leading_number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Whether a text matches a pattern, which is compiled when it is first needed. Over bytes, since classes of all of
/// Unicode take ten times as long to compile, and a command compiles most patterns that it uses only once.
macro_rules! matches_pattern {
    ($text:expr, $pattern:literal) => {{
        static PATTERN: std::sync::LazyLock<Option<regex::bytes::Regex>> =
            std::sync::LazyLock::new(|| {
                regex::bytes::RegexBuilder::new($pattern).unicode(false).build().ok()
            });
        debug_assert!(PATTERN.is_some(), "not a pattern: {}", $pattern);
        PATTERN.as_ref().is_some_and(|pattern| pattern.is_match($text.as_bytes()))
    }};
}
pub(super) use matches_pattern;
