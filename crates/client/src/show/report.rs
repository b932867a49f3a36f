//! What came of work that is not code, in words: one form for every front end.

use serde_json::{Map, Value};
use stead_protocol::{ReportInfo, WorkKind};
use stead_screen::{into_plain, plain};

use crate::show::page::cut_middle;
use crate::show::shown::{counted, size_text};

/// How many names of a list are said.
const NAMES: usize = 20;
/// How many things that failed are said, each on a line of its own.
const FAILURES: usize = 20;
/// Most characters of a name or a type.
const WORD_CHARS: usize = 80;
/// Most characters of a reason.
const WHY_CHARS: usize = 300;

/// The report in a record, with its texts made fit to be shown: names and reasons come from user code.
pub(crate) fn report(bytes: &[u8]) -> ReportInfo {
    let read: Option<ReportInfo> =
        str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str(text).ok());
    let mut report = read.unwrap_or_else(|| ReportInfo {
        work: WorkKind::Unknown,
        data: Value::String(plain(bytes)),
    });
    clean(&mut report.data);
    report
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = into_plain(std::mem::take(text)),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The report as a person reads it: a line for what was done, and one for each thing that was not.
pub fn report_text(report: &ReportInfo) -> String {
    let lines = match report.work {
        WorkKind::Save => saved(&report.data),
        WorkKind::Load => loaded(&report.data),
        WorkKind::Checkpoint => checkpoint(&report.data),
        WorkKind::Rollback => rolled_back(&report.data),
        WorkKind::Undo => undone(&report.data),
        WorkKind::Code | WorkKind::Clear | WorkKind::Stdlib | WorkKind::Unknown => {
            vec![format!("{}: {}", report.work.as_str(), report.data)]
        }
    };
    lines.join("\n") + "\n"
}

fn saved(data: &Value) -> Vec<String> {
    let size = data["bytes"].as_u64().map(|bytes| format!(" ({})", size_text(bytes)));
    let to = format!("to {}{}", text(&data["path"]), size.unwrap_or_default());
    let mut lines = vec![format!("saved {}", names(data, "saved", &to))];
    lines.extend(failures(data, "not saved"));
    lines.extend(warnings(data));
    lines
}

fn loaded(data: &Value) -> Vec<String> {
    let from = format!("from {}", text(&data["path"]));
    let mut lines = vec![format!("loaded {}", names(data, "loaded", &from))];
    lines.extend(failures(data, "not loaded"));
    lines.extend(warnings(data));
    lines
}

fn warnings(data: &Value) -> impl Iterator<Item = String> + '_ {
    list(&data["warnings"]).map(|line| cut_middle(&text(line), WHY_CHARS))
}

fn checkpoint(data: &Value) -> Vec<String> {
    let ms = data["ms"].as_f64().map(|ms| format!(" in {ms:.1} ms")).unwrap_or_default();
    let names = data["names"].as_u64().map(|count| counted(count, "name", "names"));
    let names = names.map(|names| format!(" of {names}")).unwrap_or_default();
    let mut lines = vec![format!("checkpoint `{}`{names} made{ms}", label(data))];
    if let Some(threads) = data["threads"].as_u64().filter(|threads| *threads > 0) {
        let threads = counted(threads, "thread", "threads");
        lines.push(format!("not in it: {threads} of the session"));
    }
    lines.extend(lost(data, "not in it"));
    lines
}

fn rolled_back(data: &Value) -> Vec<String> {
    let mut lines = vec![format!("rolled back to `{}`", label(data))];
    lines.extend(effects(data, None));
    lines
}

fn undone(data: &Value) -> Vec<String> {
    let eval = text(&data["eval"]);
    let mut lines = vec![format!("back to before {eval}")];
    lines.extend(effects(data, Some(&eval)));
    lines
}

/// What going back has changed, in lines. That the eval `known` is undone is said elsewhere.
fn effects(data: &Value, known: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    let evals = |field: &str| list(&data[field]).map(text).collect::<Vec<_>>();
    let (undone, back) = (evals("undone"), evals("back"));
    let count = data["undone_count"].as_u64().unwrap_or(undone.len() as u64);
    let more = count.saturating_sub(undone.len() as u64);
    let more = if more > 0 { format!("{more} more and ") } else { String::new() };
    let said = count <= 1 && undone.first().map(String::as_str) == known;
    if !undone.is_empty() && !said {
        lines.push(format!("undone: {more}{}", undone.join(", ")));
    }
    if !back.is_empty() {
        lines.push(format!("no longer undone: {}", back.join(", ")));
    }
    lines.extend(lost(data, "not restored"));
    lines
}

fn label(data: &Value) -> String {
    cut_middle(&text(&data["label"]), WORD_CHARS)
}

fn lost<'a>(data: &'a Value, verdict: &'a str) -> impl Iterator<Item = String> + 'a {
    let lost = list(&data["lost"]).take(FAILURES);
    lost.map(move |lost| format!("{verdict}: {}", cut_middle(&one_line(&text(lost)), WHY_CHARS)))
}

/// `3 names to /a.stead: df, model, x`
fn names(data: &Value, field: &str, where_to: &str) -> String {
    let named: Vec<String> =
        list(&data[field]).map(|name| cut_middle(&text(name), WORD_CHARS)).take(NAMES).collect();
    let count = data["count"].as_u64().unwrap_or(list(&data[field]).count() as u64);
    let more = count.saturating_sub(named.len() as u64);
    let more =
        if more > 0 && !named.is_empty() { format!(" and {more} more") } else { String::new() };
    let colon = if named.is_empty() { "" } else { ": " };
    format!("{} {where_to}{colon}{}{more}", counted(count, "name", "names"), named.join(", "))
}

/// A line for each of the first that failed, with the reason.
fn failures<'a>(data: &'a Value, verdict: &'a str) -> impl Iterator<Item = String> + 'a {
    let failed = list(&data["failed"]).take(FAILURES).map(move |failed| {
        let name = cut_middle(&text(&failed["name"]), WORD_CHARS);
        let kind =
            failed["type"].as_str().map(|kind| format!(" ({})", cut_middle(kind, WORD_CHARS)));
        let why = failed["why"]
            .as_str()
            .map(|why| format!(": {}", cut_middle(&one_line(why), WHY_CHARS)));
        format!("{verdict}: {name}{}{}", kind.unwrap_or_default(), why.unwrap_or_default())
    });
    let said = list(&data["failed"]).count().min(FAILURES) as u64;
    let count = data["failed_count"].as_u64().unwrap_or(said);
    let more = count.saturating_sub(said);
    failed.chain((more > 0).then(|| format!("{verdict}: {more} more")))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The report's fields within so many characters: the longest lists lose their last items first. How many there
/// are in all is said by fields of their own.
pub fn report_fields(report: &ReportInfo, max_chars: usize) -> Map<String, Value> {
    let Value::Object(mut fields) = report.data.clone() else {
        return Map::from_iter([("report".to_owned(), report.data.clone())]);
    };
    while fields.values().map(report_length).sum::<usize>() > max_chars {
        let lists = fields.values_mut().filter_map(Value::as_array_mut);
        let Some(longest) = lists.filter(|list| !list.is_empty()).max_by_key(|list| list.len())
        else {
            break;
        };
        longest.truncate(longest.len() / 2);
    }
    fields
}

/// How many characters a value takes, about.
pub fn report_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count() + 4,
        Value::Array(items) => items.iter().map(report_length).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + 4 + report_length(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn st2_a_save_says_what_was_saved_and_what_was_not() {
        let data = json!({"path": "/tmp/a.stead", "bytes": 4100, "saved": ["df", "x"], "count": 2,
            "failed": [{"name": "s", "type": "socket", "why": "a socket\ncannot be saved"}], "failed_count": 3,
            "warnings": ["background jobs are not saved"]});
        let text = report_text(&ReportInfo { work: WorkKind::Save, data });
        assert_eq!(
            text,
            "saved 2 names to /tmp/a.stead (5 kB): df, x\n\
             not saved: s (socket): a socket cannot be saved\nnot saved: 2 more\n\
             background jobs are not saved\n"
        );
    }

    #[test]
    fn st2_a_load_says_what_came_back_and_what_differs() {
        let data = json!({"path": "/a", "loaded": ["x"], "count": 1, "failed": [{"name": "m", "why": "gone"}],
            "failed_count": 1, "warnings": ["saved by Python 3.11, this is 3.13"]});
        let text = report_text(&ReportInfo { work: WorkKind::Load, data });
        assert_eq!(
            text,
            "loaded 1 name from /a: x\nnot loaded: m: gone\nsaved by Python 3.11, this is 3.13\n"
        );
    }

    #[test]
    fn o7_a_report_is_clean_text_whatever_it_is() {
        for record in [
            &b"\x1b[1m\xff"[..],
            b"{\"work\":\"save\",\"data\":7}",
            b"{\"work\":\"later\",\"data\":{\"a\":\"\\u001b[2J\"}}",
        ] {
            let text = report_text(&report(record));
            assert!(!text.contains('\x1b') && text.ends_with('\n'), "{text:?}");
        }
    }

    #[test]
    fn o5_long_lists_of_a_report_are_cut_and_their_number_stays() {
        let names: Vec<String> = (0..200).map(|n| format!("name_{n}")).collect();
        let report = ReportInfo {
            work: WorkKind::Save,
            data: json!({"path": "/a", "saved": names, "count": 10_000}),
        };
        let fields = report_fields(&report, 500);
        assert!(fields.values().map(report_length).sum::<usize>() <= 500);
        assert_eq!(fields["count"], 10_000);
        assert!(!fields["saved"].as_array().unwrap().is_empty());
        assert!(report_text(&report).ends_with("name_18, name_19 and 9980 more\n"));
    }
}
