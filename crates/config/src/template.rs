//! Commands of toolchains: words with places to fill in. No shell ever sees them.

use thiserror::Error;

use crate::keys::nearest;

/// A command as words, some of which have places to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate(Vec<String>);

/// A place to fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// A port for the engine to listen on.
    Port,
    /// The directory the session starts in.
    Cwd,
    /// The machine on which the engine is to listen.
    Host,
    /// The file with what the interpreter has to run.
    Bridge,
}

/// Why a text is no command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// It has no words.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed, or a backslash is the last character.
    #[error("the command ends inside a quote: {0} is not closed")]
    Quote(char),
    /// A brace is not closed.
    #[error("`{{` is not closed in `{word}`")]
    Brace {
        /// The word.
        word: String,
    },
    /// There is no such place to fill in.
    #[error("`{{{name}}}` is nothing that can be filled in")]
    Unknown {
        /// What stands between the braces.
        name: String,
    },
    /// A character that no command can have.
    #[error("the command has a NUL character")]
    Nul,
    /// The engine listens on no port.
    #[error(
        "`{{port}}` cannot be filled in: {engine} sessions use no port, stead speaks to them over a channel of its own"
    )]
    NoPort {
        /// The engine.
        engine: String,
    },
    /// The engine is started by another command.
    #[error("a Jupyter kernel is started by the command in its `kernel.json`")]
    Kernel,
}

impl TemplateError {
    /// What to write instead.
    pub fn fix(&self) -> String {
        match self {
            TemplateError::Empty => "name a program, such as \"nice python3\"".to_owned(),
            TemplateError::Quote('\\') => "write `\\\\` for a backslash".to_owned(),
            TemplateError::Quote(quote) => format!("add the second {quote}"),
            TemplateError::Brace { .. } => "write `{{` for a brace".to_owned(),
            TemplateError::Unknown { name } => match nearest(name, NAMES.map(|(name, _)| name)) {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => "places to fill in are {cwd}, {host}, {bridge} and {port}; no shell runs the command, `{{` and `}}` stand for braces".to_owned(),
            },
            TemplateError::Nul => "take it out".to_owned(),
            TemplateError::NoPort { .. } => "leave it out".to_owned(),
            TemplateError::Kernel => "describe a kernel with that command, and name it".to_owned(),
        }
    }
}

const NAMES: [(&str, Placeholder); 4] = [
    ("port", Placeholder::Port),
    ("cwd", Placeholder::Cwd),
    ("host", Placeholder::Host),
    ("bridge", Placeholder::Bridge),
];

/// A piece of a word.
enum TemplatePiece<'a> {
    Text(&'a str),
    Place(Placeholder),
}

impl CommandTemplate {
    /// Splits a text into words as a shell would: blanks separate, quotes and backslashes keep together.
    pub fn split(text: &str) -> Result<CommandTemplate, TemplateError> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                c if c.is_whitespace() => words.extend(word.take()),
                '\'' | '"' => {
                    let into = word.get_or_insert_default();
                    loop {
                        match chars.next().ok_or(TemplateError::Quote(c))? {
                            end if end == c => break,
                            // Between double quotes a backslash works as in a shell; nothing else is special.
                            '\\' if c == '"' => {
                                let next = chars.next().ok_or(TemplateError::Quote(c))?;
                                if !matches!(next, '"' | '\\' | '$' | '`') {
                                    into.push('\\');
                                }
                                into.push(next);
                            }
                            other => into.push(other),
                        }
                    }
                }
                '\\' => {
                    let next = chars.next().ok_or(TemplateError::Quote('\\'))?;
                    word.get_or_insert_default().push(next);
                }
                other => word.get_or_insert_default().push(other),
            }
        }
        words.extend(word);
        CommandTemplate::of_words(words)
    }

    /// A command whose words are known.
    pub fn of_words(words: Vec<String>) -> Result<CommandTemplate, TemplateError> {
        if words.first().is_none_or(String::is_empty) {
            return Err(TemplateError::Empty);
        }
        for word in &words {
            if word.contains('\0') {
                return Err(TemplateError::Nul);
            }
            pieces(word)?;
        }
        Ok(CommandTemplate(words))
    }

    /// Its words, with the places in them.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Whether it has this place to fill in.
    pub fn has(&self, place: Placeholder) -> bool {
        let is = |piece: &TemplatePiece<'_>| matches!(piece, TemplatePiece::Place(found) if *found == place);
        self.0.iter().any(|word| pieces(word).is_ok_and(|pieces| pieces.iter().any(is)))
    }

    /// The same command, whose program lies in this directory if it is named by a relative path.
    pub fn beside(mut self, dir: &str) -> CommandTemplate {
        let program = &mut self.0[0];
        if program.contains('/') && !program.starts_with(['/', '{', '~']) {
            // Braces in the directory's name are plain text, not places to fill in.
            let dir = dir.replace('{', "{{").replace('}', "}}");
            *program = format!("{}/{program}", dir.trim_end_matches('/'));
        }
        self
    }

    /// The words with all places filled in. What is filled in stays inside its word, whatever is in it.
    pub fn fill(&self, mut place: impl FnMut(Placeholder) -> String) -> Vec<String> {
        let mut filled = |word: &String| {
            // The word was checked when the template was made, so it can be split.
            let pieces = pieces(word).unwrap_or_default();
            pieces
                .into_iter()
                .map(|piece| match piece {
                    TemplatePiece::Text(text) => text.to_owned(),
                    TemplatePiece::Place(found) => place(found),
                })
                .collect::<String>()
        };
        self.0.iter().map(&mut filled).collect()
    }
}

fn pieces(word: &str) -> Result<Vec<TemplatePiece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push(TemplatePiece::Text(&rest[..at]));
        let brace = &rest[at..at + 1];
        let behind = &rest[at + 1..];
        if behind.starts_with(brace) {
            pieces.push(TemplatePiece::Text(brace));
            rest = &behind[1..];
        } else if brace == "}" {
            // A brace that closes nothing stays as text: JSON in an argument is common.
            pieces.push(TemplatePiece::Text(brace));
            rest = behind;
        } else {
            let unclosed = || TemplateError::Brace { word: word.to_owned() };
            let (name, after) = behind.split_once('}').ok_or_else(unclosed)?;
            let known = NAMES.iter().find(|(known, _)| *known == name);
            let unknown = || TemplateError::Unknown { name: name.chars().take(80).collect() };
            pieces.push(TemplatePiece::Place(known.ok_or_else(unknown)?.1));
            rest = after;
        }
    }
    pieces.push(TemplatePiece::Text(rest));
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let filled = |place| match place {
            Placeholder::Port => "7888".to_owned(),
            Placeholder::Cwd => "/my dir/$x".to_owned(),
            Placeholder::Host => "localhost".to_owned(),
            Placeholder::Bridge => "/b".to_owned(),
        };
        CommandTemplate::split(text).unwrap().fill(filled)
    }

    #[test]
    fn cf3_a_template_is_split_once_and_filled_inside_its_words() {
        for (text, expected) in [
            ("python3", &["python3"][..]),
            ("  nice  -n 5\tpython3 ", &["nice", "-n", "5", "python3"]),
            ("{cwd}/.venv/bin/python", &["/my dir/$x/.venv/bin/python"]),
            ("a -p={port} -h {host}", &["a", "-p=7888", "-h", "localhost"]),
            ("a 'b c' \"d \\\" $e\" f\\ g ''", &["a", "b c", "d \" $e", "f g", ""]),
            ("sh -c '{bridge}'", &["sh", "-c", "/b"]),
            ("a {{cwd}}", &["a", "{cwd}"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words("a '{{\"x\": 1}}'"), ["a", "{\"x\": 1}"]);
        assert!(CommandTemplate::split("a {port}").unwrap().has(Placeholder::Port));
        assert!(!CommandTemplate::split("a {{port}}").unwrap().has(Placeholder::Port));
    }

    #[test]
    fn cf3_what_is_no_template_is_refused_with_the_fix() {
        for (text, said, fix) in [
            ("", "empty", "name a program"),
            ("   ", "empty", "name a program"),
            ("''", "empty", "name a program"),
            ("a 'b", "' is not closed", "second '"),
            ("a \"b", "\" is not closed", "second \""),
            ("a b\\", "is not closed", "backslash"),
            ("a {cwd", "not closed", "{{"),
            ("a {cdw}", "`{cdw}`", "`{cwd}`"),
            ("a ${HOME}/x", "`{HOME}`", "no shell"),
            ("a {}", "`{}`", "places to fill in"),
            ("a \0", "NUL", "take it out"),
        ] {
            let error = CommandTemplate::split(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
            assert!(error.fix().contains(fix), "{text}: {}", error.fix());
        }
    }

    #[test]
    fn cf3_a_program_that_is_a_relative_path_lies_in_the_workspace() {
        let beside =
            |text: &str| CommandTemplate::split(text).unwrap().beside("/w s").words()[0].clone();
        assert_eq!(beside("./run x"), "/w s/./run");
        assert_eq!(beside("python3"), "python3");
        assert_eq!(beside("/bin/x"), "/bin/x");
        assert_eq!(beside("{cwd}/x"), "{cwd}/x");
    }
}
