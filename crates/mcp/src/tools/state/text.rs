//! What the tool `state` says.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use stead_client::{EvalView, Manifest, SavedName, counted, size_text};
use stead_protocol::{CheckpointInfo, EvalId, EvalSeq, SessionName};

use crate::text::{cut, one_line, own_lines, quoted, word};
use crate::tools::sessions::ago;

/// How many names of a file are listed.
const NAMES: usize = 200;
/// How many names that could not be saved are listed.
const FAILURES: usize = 50;
/// How much of a value or a reason is shown.
const VALUE_CHARS: usize = 300;

/// What a saved file holds; `given` is the path as the call has it.
pub(super) fn saved_file(given: &str, path: &Path, manifest: &Manifest) -> String {
    let mut text = String::new();
    for name in manifest.names.iter().take(NAMES) {
        own_lines(&mut text, &saved_name(name));
    }
    for failed in manifest.failed.iter().take(FAILURES) {
        let field = |key: &str| failed[key].as_str().map(|it| cut(&one_line(it), VALUE_CHARS));
        let name = word(failed["name"].as_str().unwrap_or_default());
        let kind = failed["type"].as_str().map(|kind| format!(" {}", word(kind)));
        let why = field("why").map(|why| format!(": {why}"));
        let (kind, why) = (kind.unwrap_or_default(), why.unwrap_or_default());
        own_lines(&mut text, &format!("not saved: {name}{kind}{why}"));
    }
    let all = manifest.names.len();
    let _ = write!(text, "[state: {}", counted(all as u64, "name", "names"));
    if all > NAMES {
        let _ = write!(text, ", {NAMES} shown");
    }
    let _ = write!(
        text,
        " in {}, {}, saved {} by session {} in {} {}",
        one_line(&path.to_string_lossy()),
        size_text(manifest.bytes),
        one_line(&manifest.saved),
        one_line(&manifest.session),
        one_line(&manifest.language),
        one_line(&manifest.version),
    );
    if !manifest.failed.is_empty() {
        let _ = write!(text, "; {} could not be saved", manifest.failed.len());
    }
    let _ = write!(text, "; {}]", load_call(given));
    text
}

/// `df DataFrame(1000×5) = …`
fn saved_name(name: &SavedName) -> String {
    let size = match &name.size {
        Some(Value::String(size)) => format!("({})", word(size)),
        Some(Value::Number(size)) => format!("({size})"),
        _ => String::new(),
    };
    let value =
        name.value.as_deref().map(|value| format!(" = {}", cut(&one_line(value), VALUE_CHARS)));
    format!("{} {}{size}{}", word(&name.name), word(&name.type_name), value.unwrap_or_default())
}

/// The checkpoints of a session, the oldest first.
pub(super) fn checkpoints(name: &SessionName, all: &[CheckpointInfo]) -> String {
    let id = |seq: EvalSeq| EvalId { session: name.clone(), seq };
    let mut text = String::new();
    for info in all {
        let after = info.after.map(|seq| format!(", after {}", id(seq))).unwrap_or_default();
        let line = format!("{}, {}{after}", quoted(&info.label), ago(info.made_ms));
        own_lines(&mut text, &line);
    }
    let next = match all.last() {
        None => format!("make one: state {}", json!({"session": name, "action": "checkpoint"})),
        Some(last) => go_back(name, Some(&last.label)),
    };
    let count = counted(all.len() as u64, "checkpoint", "checkpoints");
    let _ = write!(text, "[{name}: {count}; {next}]");
    text
}

pub(super) fn dropped(name: &SessionName, label: &str, left: &[CheckpointInfo]) -> String {
    let left = counted(left.len() as u64, "checkpoint", "checkpoints");
    format!("[{name}: checkpoint {} dropped, {left} left]", quoted(label))
}

/// The call that brings back what was saved.
pub(super) fn load_call(path: &str) -> String {
    format!("bring back: state {}", json!({"action": "load", "path": path}))
}

/// The call that goes back to a checkpoint that was just made.
pub(super) fn rollback_call(view: &EvalView, label: Option<&str>) -> String {
    go_back(&view.session, label)
}

fn go_back(name: &SessionName, label: Option<&str>) -> String {
    let mut call = json!({"session": name, "action": "rollback"});
    if let Some(label) = label {
        call["label"] = json!(label);
    }
    format!("go back: state {call}")
}
