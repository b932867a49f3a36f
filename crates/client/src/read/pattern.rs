//! Regular expressions of users: any of them may be wrong, or made to hurt (SPEC O-6).

use regex::{Regex, RegexBuilder};

use crate::{ClientError, RequestError};

/// No user needs a longer pattern, and character classes take far more memory than text.
const MAX_PATTERN: usize = 4 << 10;
/// Most bytes of a compiled pattern.
const MAX_COMPILED: usize = 16 << 20;
/// Most bytes of the matcher's cache for a pattern.
const MAX_CACHE: usize = 4 << 20;
/// How deep groups may be nested.
const MAX_NESTED: u32 = 100;

/// Compiles a pattern, or says what is wrong with it and where.
pub(crate) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, ClientError> {
    if pattern.len() > MAX_PATTERN {
        let length = pattern.len();
        return Err(wrong(format!(
            "the pattern is {length} bytes long; at most {MAX_PATTERN} are allowed"
        )));
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_CACHE)
        .nest_limit(MAX_NESTED)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(limit) => wrong(format!(
                "the pattern is too big: compiled it takes more than {limit} bytes; \
                 use smaller repetitions"
            )),
            error => wrong(reason(pattern, ignore_case).unwrap_or_else(|| error.to_string())),
        })
}

/// What is wrong and where, from the parser that `regex` uses, because the error of `regex` itself is a
/// drawing.
fn reason(pattern: &str, ignore_case: bool) -> Option<String> {
    let parsed = regex_syntax::ParserBuilder::new()
        .case_insensitive(ignore_case)
        .nest_limit(MAX_NESTED)
        .build()
        .parse(pattern);
    let (what, at) = match parsed.err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        _ => return None,
    };
    let position = pattern.get(..at)?.chars().count() + 1;
    Some(format!("the pattern is no regular expression: {what}, at character {position}"))
}

fn wrong(problem: String) -> ClientError {
    RequestError::Pattern { problem }.into()
}

#[cfg(test)]
mod tests {
    use stead_protocol::ErrorCode;

    use super::*;

    fn refusal(pattern: &str) -> String {
        let error = compile(pattern, true).unwrap_err();
        assert_eq!(error.code(), ErrorCode::BadRequest);
        error.to_string()
    }

    #[test]
    fn o6_a_wrong_pattern_is_told_with_its_reason_and_place() {
        for (pattern, reason, place) in [
            ("foo(", "unclosed group", "at character 4"),
            ("é[z-a]", "range", "at character 3"),
            ("*", "repetition operator", "at character 1"),
            (r"a\pX", "Unicode property", "at character 2"),
            (r"ab(?-u)\xff", "invalid UTF-8", "at character 8"),
        ] {
            let refusal = refusal(pattern);
            assert!(refusal.contains(reason) && refusal.ends_with(place), "{refusal}");
        }
    }

    #[test]
    fn o6_a_pattern_made_to_hurt_is_refused() {
        assert!(refusal("((a{1000}){1000}){1000}").contains("too big"));
        assert!(refusal(r"\w{5000}").contains("too big"));
        assert!(refusal(&"(".repeat(1000)).contains("at character"));
        assert!(refusal(&"a".repeat(5000)).contains("5000 bytes"));
        let nested = format!("{}a{}", "(".repeat(200), ")".repeat(200));
        assert!(refusal(&nested).contains("nest"), "{}", refusal(&nested));
    }
}
