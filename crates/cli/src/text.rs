//! Short texts of user code in one line.

use stead_screen::{columns, plain};

/// The first line, as much of it as takes `max` columns of a terminal.
pub(crate) fn first_line(text: &str, max: usize) -> String {
    let text = plain(text.trim_start());
    let line = text.lines().next().unwrap_or_default();
    let mut short = String::with_capacity(line.len().min(4 * max));
    let mut column = 0;
    for c in line.chars() {
        column += columns(c.encode_utf8(&mut [0; 4]));
        if column > max {
            break;
        }
        short.push(c);
    }
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short
}

/// The last line that is not blank.
pub(crate) fn last_line(bytes: impl AsRef<[u8]>) -> String {
    let text = plain(bytes);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim_end().to_owned()
}

/// An amount of bytes as a person says it.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Makes all texts of a JSON value fit to be shown.
pub(crate) fn clean(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = plain(&*text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o7_one_line_is_what_a_terminal_would_leave() {
        assert_eq!(first_line("\x1b[1mdef f():\n  pass", 80), "def f():…");
        assert_eq!(first_line("12345", 3), "123…");
        assert_eq!(first_line("漢字漢字", 5), "漢字…");
        assert_eq!(first_line("漢字", 4), "漢字");
        assert_eq!(last_line("begin\n 10%\r 20%\r\x1b[32m 30%\x1b[0m  \n\n"), " 30%");
        let mut value = serde_json::json!({"a": ["\x1b[31mred\x1b[0m", 1]});
        clean(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["red", 1]}));
    }
}
