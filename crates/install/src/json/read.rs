//! Reads JSON with comments and trailing commas, and remembers where everything stands.

use std::ops::Range;

use serde_json::Value;

use crate::splice::line_and_column;
use crate::trouble::EditTrouble;

/// Deeper than any settings are; a bound keeps the stack whole.
const DEEPEST: usize = 200;

/// A value and its place in the text.
#[derive(Debug)]
pub(super) struct JsonNode {
    pub(super) span: Range<usize>,
    pub(super) kind: JsonKind,
}

#[derive(Debug)]
pub(super) enum JsonKind {
    Object(Vec<JsonMember>),
    Array(Vec<JsonNode>),
    /// A string, number, boolean or null.
    Scalar(Value),
}

/// One name of an object with its value.
#[derive(Debug)]
pub(super) struct JsonMember {
    pub(super) key: String,
    /// Where the name begins.
    pub(super) start: usize,
    pub(super) value: JsonNode,
    /// Where the comma behind it stands, if there is one.
    pub(super) comma: Option<usize>,
}

impl JsonNode {
    /// The value without its places.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            JsonKind::Scalar(value) => value.clone(),
            JsonKind::Array(items) => items.iter().map(JsonNode::value).collect(),
            JsonKind::Object(members) => {
                let pairs = members.iter().map(|it| (it.key.clone(), it.value.value()));
                Value::Object(pairs.collect())
            }
        }
    }

    pub(super) fn members(&self) -> Option<&[JsonMember]> {
        match &self.kind {
            JsonKind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The position of a member. Where a name is there twice, programs take the last one.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.members()?.iter().rposition(|member| member.key == key)
    }

    /// The range to replace, and the value to write there, so that this value becomes `wanted`: of a list that differs
    /// only in its first word, just that word.
    pub(super) fn least_change<'a>(&self, wanted: &'a Value) -> (Range<usize>, &'a Value) {
        if let (JsonKind::Array(items), Value::Array(words)) = (&self.kind, wanted)
            && let ([first, rest @ ..], [word, others @ ..]) = (&items[..], &words[..])
            && rest.iter().map(JsonNode::value).eq(others.iter().cloned())
        {
            return (first.span.clone(), word);
        }
        (self.span.clone(), wanted)
    }

    pub(super) fn what(&self) -> &'static str {
        match &self.kind {
            JsonKind::Object(_) => "an object",
            JsonKind::Array(_) => "an array",
            JsonKind::Scalar(Value::String(_)) => "a string",
            JsonKind::Scalar(Value::Null) => "null",
            JsonKind::Scalar(Value::Bool(_)) => "a boolean",
            JsonKind::Scalar(_) => "a number",
        }
    }
}

/// Reads a whole text; `None` if it holds nothing but space and comments.
pub(super) fn read_json(text: &str) -> Result<Option<JsonNode>, EditTrouble> {
    let mut reader = JsonReader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.skip()?;
    if reader.at == text.len() {
        return Ok(None);
    }
    let root = reader.node(0)?;
    reader.skip()?;
    match reader.at == text.len() {
        true => Ok(Some(root)),
        false => Err(reader.broken("there is more behind the end of the outermost value")),
    }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn broken(&self, what: impl Into<String>) -> EditTrouble {
        let (line, column) = line_and_column(self.text, self.at);
        EditTrouble::Broken { line, column, what: what.into() }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes over space and comments.
    fn skip(&mut self) -> Result<(), EditTrouble> {
        loop {
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += space;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return Err(self.broken("a comment begins here and never ends")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<JsonNode, EditTrouble> {
        if depth > DEEPEST {
            return Err(self.broken("values are nested too deeply"));
        }
        let start = self.at;
        let kind = match self.next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => JsonKind::Scalar(Value::String(self.string()?)),
            Some(_) => JsonKind::Scalar(self.word()?),
            None => return Err(self.broken("the file ends where a value should stand")),
        };
        Ok(JsonNode { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<JsonKind, EditTrouble> {
        let mut members: Vec<JsonMember> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            match self.next() {
                Some('}') => {
                    self.at += 1;
                    return Ok(JsonKind::Object(members));
                }
                Some('"') if members.last().is_none_or(|last| last.comma.is_some()) => {}
                Some('"') => return Err(self.broken("a comma is missing before this name")),
                Some(_) => return Err(self.broken("a name in double quotes should stand here")),
                None => return Err(self.broken("the file ends inside an object: `}` is missing")),
            }
            let start = self.at;
            let key = self.string()?;
            self.skip()?;
            if self.next() != Some(':') {
                return Err(self.broken(format!("a colon should stand behind the name `{key}`")));
            }
            self.at += 1;
            self.skip()?;
            let value = self.node(depth + 1)?;
            self.skip()?;
            let comma = self.comma();
            members.push(JsonMember { key, start, value, comma });
        }
    }

    fn array(&mut self, depth: usize) -> Result<JsonKind, EditTrouble> {
        let mut items = Vec::new();
        let mut comma = true;
        self.at += 1;
        loop {
            self.skip()?;
            match self.next() {
                Some(']') => {
                    self.at += 1;
                    return Ok(JsonKind::Array(items));
                }
                Some(_) if comma => {}
                Some(_) => return Err(self.broken("a comma or `]` should stand here")),
                None => return Err(self.broken("the file ends inside an array: `]` is missing")),
            }
            items.push(self.node(depth + 1)?);
            self.skip()?;
            comma = self.comma().is_some();
        }
    }

    fn comma(&mut self) -> Option<usize> {
        let at = self.at;
        (self.next() == Some(',')).then(|| {
            self.at += 1;
            at
        })
    }

    fn string(&mut self) -> Result<String, EditTrouble> {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        loop {
            match bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(b'"') => break,
                Some(b'\n') | None => {
                    return Err(self.broken("a string begins here and does not end on its line"));
                }
                Some(_) => end += 1,
            }
        }
        let text = serde_json::from_str(&self.rest()[..=end])
            .map_err(|_| self.broken("this string has an escape or character that JSON forbids"))?;
        self.at += end + 1;
        Ok(text)
    }

    /// A number or one of the three words.
    fn word(&mut self) -> Result<Value, EditTrouble> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        // A JSON number may be too large for any type: its digits stand for it, since values are only compared.
        let too_large = || is_number(word).then(|| Value::String(word.to_owned()));
        let value = serde_json::from_str(word).ok().or_else(too_large);
        let value = value.ok_or_else(|| match end {
            0 => self.broken(format!("`{}` begins no value", self.next().unwrap_or_default())),
            _ => self.broken(format!("`{}` is no value", &rest[..end.min(40)])),
        })?;
        self.at += end;
        Ok(value)
    }
}

/// Whether a word is a number as JSON writes them.
fn is_number(word: &str) -> bool {
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    all_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(all_digits)
        && exponent.is_none_or(|it| all_digits(it.strip_prefix(['+', '-']).unwrap_or(it)))
}
