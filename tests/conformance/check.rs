//! What a reply must say.

use serde_json::Value;

/// One thing that must hold of a reply.
#[derive(Debug, Clone)]
pub(crate) enum Expect {
    Status(&'static str),
    Value(&'static str),
    NoValue,
    /// The value has at most so many characters.
    ValueWithin(usize),
    /// All that went to standard output, in one piece.
    Out(&'static str),
    /// So many bytes went to the streams in all.
    TotalBytes(u64),
    Err(&'static str),
    /// All pieces, by kind, in order.
    Chunks(&'static [(&'static str, &'static str)]),
    ErrorName(&'static str),
    /// The traceback, or the message where there is none.
    Traceback(&'static [&'static str]),
    /// Nothing of ours is in the traceback.
    CleanTraceback,
    Prompt(&'static str),
    ExitCode(i64),
    Added(&'static [&'static str]),
    Rebound(&'static [&'static str]),
    Removed(&'static [&'static str]),
    /// A word of the notice, or of the error's message.
    Says(&'static str),
    Background(&'static str),
}

pub(crate) fn check(reply: &Value, expected: &[Expect]) -> Result<(), String> {
    match expected.iter().find(|expect| !holds(reply, expect)) {
        Some(expect) => Err(format!("{expect:?} does not hold of {reply:#}")),
        None => Ok(()),
    }
}

fn holds(reply: &Value, expect: &Expect) -> bool {
    let data = &reply["data"];
    let error = &data["error"];
    let trace = error["traceback"].as_str().or(error["message"].as_str()).unwrap_or_default();
    match expect {
        Expect::Status(status) => reply["status"] == *status,
        Expect::Value(text) => data["value"] == *text,
        Expect::NoValue => data["value"].is_null(),
        Expect::ValueWithin(limit) => {
            data["value"].as_str().is_some_and(|text| text.chars().count() <= *limit)
        }
        Expect::Out(text) => stream(data, "out") == *text,
        Expect::Err(text) => stream(data, "err") == *text,
        Expect::Background(text) => stream(data, "background") == *text,
        Expect::TotalBytes(count) => data["truncated"]["total_bytes"] == *count,
        Expect::Chunks(pieces) => {
            let found = chunks(data).map(|(kind, text)| (kind.to_owned(), text.to_owned()));
            found.eq(pieces.iter().map(|(kind, text)| ((*kind).to_owned(), (*text).to_owned())))
        }
        Expect::ErrorName(name) => error["name"] == *name,
        Expect::Traceback(parts) => parts.iter().all(|part| trace.contains(part)),
        // The bridges' own names, and not any path with the word in it.
        Expect::CleanTraceback => !["<stead>", "__stead", "(stead:", "at stead:", "run_user"]
            .iter()
            .any(|ours| trace.contains(ours)),
        Expect::Prompt(text) => data["prompt"] == *text,
        Expect::ExitCode(code) => data["exit_code"] == *code,
        Expect::Added(names) => names_of(data, "added") == *names,
        Expect::Rebound(names) => names_of(data, "rebound") == *names,
        Expect::Removed(names) => names_of(data, "removed") == *names,
        Expect::Says(word) => {
            data["notice"].to_string().contains(word) || reply["error"].to_string().contains(word)
        }
    }
}

fn chunks(data: &Value) -> impl Iterator<Item = (&str, &str)> {
    let list = data["chunks"].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|chunk| {
        (chunk["type"].as_str().unwrap_or("?"), chunk["content"].as_str().unwrap_or("?"))
    })
}

fn stream(data: &Value, kind: &str) -> String {
    chunks(data).filter(|(of, _)| *of == kind).map(|(_, text)| text).collect()
}

fn names_of(data: &Value, what: &str) -> Vec<String> {
    let list = data["changed"][what].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = |one: &Value| one["name"].as_str().or(one.as_str()).unwrap_or("?").to_owned();
    list.iter().map(name).collect()
}
