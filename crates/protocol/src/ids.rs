//! Names and numbers that must not be mixed up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// A session's name within its workspace: `[a-z0-9][a-z0-9._-]{0,63}` (SPEC S-2).
///
/// The grammar keeps a name usable as a file name and as a command line word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionName(String);

/// Why a text is not a session name or an eval id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The name breaks the grammar.
    #[error("`{}` is not a session name", .given.escape_debug())]
    Session {
        /// What was given.
        given: String,
    },
    /// The text is not `NAME:NUMBER`.
    #[error("`{}` is not an eval id", .given.escape_debug())]
    Eval {
        /// What was given.
        given: String,
    },
}

impl NameError {
    /// What a right name looks like.
    pub fn expected(&self) -> &'static str {
        match self {
            NameError::Session { .. } => {
                "a name has 1 to 64 characters a-z, 0-9, `.`, `_`, `-` and begins with a letter or digit"
            }
            NameError::Eval { .. } => "an eval id is a session name, a colon and a number: `py:7`",
        }
    }
}

impl SessionName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = NameError;

    fn from_str(given: &str) -> Result<Self, NameError> {
        let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = given.as_bytes();
        let fits = matches!(bytes.len(), 1..=64)
            && first(bytes[0])
            && bytes.iter().all(|&b| first(b) || matches!(b, b'.' | b'_' | b'-'));
        if fits {
            Ok(SessionName(given.to_owned()))
        } else {
            Err(NameError::Session { given: given.chars().take(80).collect() })
        }
    }
}

impl<'de> Deserialize<'de> for SessionName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of an eval in its session; never used twice, not even after a restart.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EvalSeq(pub u64);

/// An eval's id as users see it: `py:7`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EvalId {
    /// The session it ran in.
    pub session: SessionName,
    /// Its number there.
    pub seq: EvalSeq,
}

impl fmt::Display for EvalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.seq.0)
    }
}

impl From<EvalId> for String {
    fn from(id: EvalId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for EvalId {
    type Error = NameError;

    fn try_from(given: String) -> Result<Self, NameError> {
        given.parse()
    }
}

impl FromStr for EvalId {
    type Err = NameError;

    fn from_str(given: &str) -> Result<Self, NameError> {
        let bad = || NameError::Eval { given: given.chars().take(80).collect() };
        let (session, seq) = given.split_once(':').ok_or_else(bad)?;
        let digits = !seq.is_empty() && seq.bytes().all(|b| b.is_ascii_digit());
        let seq = seq.parse().ok().filter(|_| digits).ok_or_else(bad)?;
        Ok(EvalId { session: session.parse().map_err(|_| bad())?, seq: EvalSeq(seq) })
    }
}

/// Tells one submission of code from all others. Its client chooses it, so it can be asked for before a host gave
/// the code a number: the id `py:~00000000c0ffee`, and the key `~00000000c0ffee` for sending the same code again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token(pub u64);

/// Hexadecimal digits of a token as it is written.
const TOKEN_DIGITS: usize = 14;

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{:0TOKEN_DIGITS$x}", self.0)
    }
}

impl FromStr for Token {
    type Err = NameError;

    fn from_str(given: &str) -> Result<Self, NameError> {
        let bad = || NameError::Eval { given: given.chars().take(80).collect() };
        let digits = given.strip_prefix('~').filter(|digits| digits.len() == TOKEN_DIGITS);
        let lower = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let digits = digits.filter(|digits| digits.bytes().all(lower)).ok_or_else(bad)?;
        u64::from_str_radix(digits, 16).map(Token).map_err(|_| bad())
    }
}

/// Counts the interpreters a session has had; the first is 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// A position in a session's spool; grows for ever, also when old segments are dropped.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_names_follow_the_grammar() {
        for good in ["py", "a", "0", "my-session_1.x", &"a".repeat(64)] {
            assert!(good.parse::<SessionName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "-rf",
            "_a",
            "A",
            "é",
            "a/b",
            "a b",
            "a\0b",
            "a\nb",
            "$(x)",
            "*",
            "a:1",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn e2_tokens_round_trip_and_are_no_other_key() {
        for token in [0, 0xc0ffee, (1 << 53) - 1] {
            assert_eq!(Token(token).to_string().parse(), Ok(Token(token)));
        }
        for other in ["", "~", "~c0ffee", "00000000c0ffee", "~00000000C0FFEE", "~+0000000c0ffee"] {
            assert!(other.parse::<Token>().is_err(), "{other}");
        }
    }

    #[test]
    fn eval_ids_round_trip_and_refuse_what_is_not_one() {
        let id: EvalId = "py:7".parse().unwrap();
        assert_eq!(id.to_string(), "py:7");
        for bad in
            ["py", "py:", ":7", "py:x", "py:-1", "py:+1", "py:7:8", "py:99999999999999999999"]
        {
            assert!(bad.parse::<EvalId>().is_err(), "{bad}");
        }
    }
}
