//! The user's standard libraries: one file of plain source for each language, which new sessions begin with (SPEC ST-4).
//!
//! What a source text defines only its language can tell. It is asked of an interpreter of its own, which runs none
//! of it and is gone afterwards, so that no session of the user's is touched or waited for.

mod ask;
mod file;
mod source;
#[cfg(test)]
mod source_tests;

use std::path::PathBuf;

use stead_config::Language;
use stead_protocol::{Definition, DefinitionKind, stdlib_source};

use crate::{Client, ClientError, StdlibError, counted, language};

pub(crate) use file::path;

use ask::Asking;
use file::StdlibLock;
use source::NotRemoved;

/// A library as it is.
#[derive(Debug)]
pub struct Stdlib {
    /// Its language.
    pub language: &'static Language,
    /// Its file, which need not exist.
    pub path: PathBuf,
    /// What it defines.
    pub definitions: Vec<Definition>,
}

impl Stdlib {
    /// What it has of a kind.
    pub fn of(&self, kind: DefinitionKind) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |definition| definition.kind == kind)
    }

    /// How many definitions it has.
    pub fn count(&self) -> usize {
        self.definitions.iter().filter(|one| one.kind != DefinitionKind::Head).count()
    }
}

/// A library that was just changed.
#[derive(Debug)]
pub struct StdlibChange {
    /// The library after it.
    pub stdlib: Stdlib,
    /// Names that are new.
    pub added: Vec<String>,
    /// Names that were there already and are defined anew.
    pub replaced: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
    /// How many statements were added that define no name: they run at every start.
    pub statements: usize,
    /// Whether the file was written: code that is there already changes nothing.
    pub written: bool,
}

impl StdlibChange {
    /// What was done, in a few words.
    pub fn said(&self) -> String {
        let some = |names: &[String]| {
            let shown: Vec<String> =
                names.iter().take(20).map(|name| format!("`{name}`")).collect();
            let more = names.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            shown.join(", ") + &more
        };
        let mut said = Vec::new();
        for (word, names) in
            [("added", &self.added), ("replaced", &self.replaced), ("removed", &self.removed)]
        {
            if !names.is_empty() {
                said.push(format!("{word} {}", some(names)));
            }
        }
        if self.statements > 0 {
            let what = counted(self.statements as u64, "statement", "statements");
            said.push(format!("added {what} of no name (other), run at every start"));
        }
        match (said.is_empty(), self.written) {
            (true, false) => "nothing new, it is there already".to_owned(),
            (true, true) => "changed".to_owned(),
            (false, _) => said.join(", "),
        }
    }
}

impl Client {
    /// What the library of a language defines.
    pub fn stdlib(&self, given: Option<&str>) -> Result<Stdlib, ClientError> {
        let (language, path) = place(given)?;
        let text = stdlib_source(&file::read(&path)?);
        let definitions = match text.trim().is_empty() {
            true => Vec::new(),
            false => self.ask_language(language, |asking| asking.definitions_in(&path, &text))?,
        };
        Ok(Stdlib { language, path, definitions })
    }

    /// The text of a library, or of one of its names.
    pub fn stdlib_text(
        &self,
        given: Option<&str>,
        name: Option<&str>,
    ) -> Result<(PathBuf, String), ClientError> {
        let (language, path) = place(given)?;
        let text = stdlib_source(&file::read(&path)?);
        let Some(name) = name else { return Ok((path, text)) };
        let definitions = match text.trim().is_empty() {
            true => Vec::new(),
            false => self.ask_language(language, |asking| asking.definitions_in(&path, &text))?,
        };
        match source::text_of(&text, &definitions, name) {
            Some(text) => Ok((path, text)),
            None => Err(missing(name, &path, &definitions)),
        }
    }

    /// Adds code to a library. A definition takes the place of the one that had its name.
    pub fn add_to_stdlib(
        &self,
        given: Option<&str>,
        code: &str,
    ) -> Result<StdlibChange, ClientError> {
        let (language, path) = place(given)?;
        let mut new = stdlib_source(code);
        let blank =
            new.lines().take_while(|line| line.trim().is_empty()).map(|line| line.len() + 1).sum();
        new.drain(..usize::min(blank, new.len()));
        new.truncate(new.trim_end().len());
        new.push('\n');
        check_lines(&new)?;
        let _lock = StdlibLock::take(&path)?;
        let old = file::read(&path)?;
        self.ask_language(language, |asking| {
            let given = asking.definitions(&new).map_err(refused)?;
            if given.iter().all(|one| one.kind == DefinitionKind::Head) {
                return Err(StdlibError::Empty.into());
            }
            let plain = stdlib_source(&old);
            check_lines(&plain)?;
            let known = match plain.trim().is_empty() {
                true => Vec::new(),
                false => asking.definitions_in(&path, &plain)?,
            };
            let (mark, rest) = match old.strip_prefix(BYTE_ORDER_MARK) {
                Some(rest) => (BYTE_ORDER_MARK, rest),
                None => ("", old.as_str()),
            };
            let merged = source::add(rest, &known, &new, &given);
            let text = format!("{mark}{}", merged.text);
            // Code that compiles by itself may not compile in its new place in the library.
            let definitions = asking.definitions(&stdlib_source(&text)).map_err(refused)?;
            let written = text != old;
            if written {
                file::write(&path, &text)?;
            }
            let stdlib = Stdlib { language, path: path.clone(), definitions };
            let source::Merged { added, replaced, statements, .. } = merged;
            Ok(StdlibChange { stdlib, added, replaced, removed: Vec::new(), statements, written })
        })
    }

    /// Takes names out of a library.
    pub fn remove_from_stdlib(
        &self,
        given: Option<&str>,
        names: &[String],
    ) -> Result<StdlibChange, ClientError> {
        let (language, path) = place(given)?;
        if file::read(&path)?.trim().is_empty() {
            return Err(missing(&names.join(" "), &path, &[]));
        }
        let _lock = StdlibLock::take(&path)?;
        let old = file::read(&path)?;
        self.ask_language(language, |asking| {
            let plain = stdlib_source(&old);
            check_lines(&plain)?;
            let known = asking.definitions_in(&path, &plain)?;
            let (mark, rest) = match old.strip_prefix(BYTE_ORDER_MARK) {
                Some(rest) => (BYTE_ORDER_MARK, rest),
                None => ("", old.as_str()),
            };
            let text = source::remove(rest, &known, names).map_err(|(name, why)| match why {
                NotRemoved::Missing => missing(&name, &path, &known),
                NotRemoved::With(others) => {
                    StdlibError::Shared { name, others, path: path.clone() }.into()
                }
            })?;
            let text = if text.is_empty() { text } else { format!("{mark}{text}") };
            let definitions = asking.definitions(&stdlib_source(&text)).map_err(refused)?;
            file::write(&path, &text)?;
            let stdlib = Stdlib { language, path: path.clone(), definitions };
            let removed = names.to_vec();
            Ok(StdlibChange {
                stdlib,
                added: Vec::new(),
                replaced: Vec::new(),
                removed,
                statements: 0,
                written: true,
            })
        })
    }

    fn ask_language<T>(
        &self,
        language: &'static Language,
        call: impl FnOnce(&mut Asking<'_>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut asking = Asking::start(self, language)?;
        let answer = call(&mut asking);
        asking.end();
        answer
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The language that is meant, and the file of its library.
fn place(given: Option<&str>) -> Result<(&'static Language, PathBuf), ClientError> {
    let language = match given {
        Some(given) => language::language(given)?,
        None => stead_config::default_language(),
    };
    if language.stdlib.is_none() {
        return Err(StdlibError::NotKept { language: language.name }.into());
    }
    let path = file::path(language).ok_or(StdlibError::NoConfigDir)?;
    Ok((language, path))
}

/// Refuses a lone carriage return: stead counts lines by line feeds, but some languages end a line there too.
fn check_lines(text: &str) -> Result<(), ClientError> {
    match text.split('\n').position(|line| line.contains('\r')) {
        Some(at) => Err(StdlibError::Line { line: at + 1 }.into()),
        None => Ok(()),
    }
}

fn refused(problem: String) -> ClientError {
    StdlibError::Code { problem }.into()
}

fn missing(name: &str, path: &std::path::Path, definitions: &[Definition]) -> ClientError {
    let mut known: Vec<String> =
        definitions.iter().map(|one| one.name.clone()).filter(|name| !name.is_empty()).collect();
    known.dedup();
    let nameless =
        definitions.iter().any(|one| one.kind != DefinitionKind::Head && one.name.is_empty());
    StdlibError::Missing { name: name.to_owned(), path: path.to_owned(), known, nameless }.into()
}
