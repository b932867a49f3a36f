//! What a file has lost while another program was at it.

use serde_json::Value;

/// The names of what `before` has and `after` has not, with those of the servers in `table` that are different.
///
/// Programs note much beside an entry: counters, dates, lists of what was used last. So of other settings only what is
/// gone or was emptied counts, but a server is to stay as it is.
pub(crate) fn lost(before: &Value, after: &Value, table: &str) -> Vec<String> {
    let mut names = Vec::new();
    gone(before, after, "", &mut names);
    let servers = |value: &Value| value.get(table).and_then(Value::as_object).cloned();
    let now = servers(after).unwrap_or_default();
    for (name, server) in servers(before).unwrap_or_default() {
        let inside = format!("{table}.{name}");
        let is_named = names.iter().any(|it| *it == table || *it == inside);
        if !is_named && now.get(&name) != Some(&server) {
            names.retain(|it| !it.starts_with(&format!("{inside}.")));
            names.push(inside);
        }
    }
    names
}

fn gone(before: &Value, after: &Value, path: &str, names: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                match after.get(name) {
                    Some(after) => gone(value, after, &path, names),
                    None if is_empty(value) => {}
                    None => names.push(path),
                }
            }
        }
        _ if !is_empty(before) && is_empty(after) => names.push(path.to_owned()),
        (Value::Object(_), _) if !is_empty(before) => names.push(path.to_owned()),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u4_what_is_gone_from_a_file_is_told_apart_from_what_a_program_notes() {
        let before = json!({
            "keep": 1, "starts": 7, "recent": ["a", "b"], "empty": {}, "nothing": null,
            "projects": {"/p": {"trusted": true, "history": ["x"]}},
            "mcpServers": {"o": {"command": "o", "env": {"A": "1"}}, "p": {"command": "p"}},
        });
        let with = |changes: &[(&str, Value)]| {
            let mut after = before.clone();
            for (path, value) in changes {
                *after.pointer_mut(path).unwrap() = value.clone();
            }
            lost(&before, &after, "mcpServers")
        };
        assert_eq!(with(&[("/starts", json!(8)), ("/recent", json!(["c"]))]), [""; 0]);
        assert_eq!(with(&[("/projects/~1p/trusted", json!(false))]), [""; 0]);
        assert_eq!(with(&[("/projects/~1p", json!({"trusted": true}))]), ["projects./p.history"]);
        assert_eq!(
            with(&[("/recent", json!([])), ("/projects", json!("x"))]),
            ["projects", "recent"]
        );
        assert_eq!(with(&[("/mcpServers/o/env", json!({}))]), ["mcpServers.o"]);
        assert_eq!(with(&[("/mcpServers/p/command", json!("q"))]), ["mcpServers.p"]);
        assert_eq!(
            with(&[("/mcpServers", json!({"o": before["mcpServers"]["o"]}))]),
            ["mcpServers.p"]
        );
        assert_eq!(lost(&before, &json!({"empty": 1}), "mcpServers").len(), 5);
        assert_eq!(lost(&json!({}), &before, "mcpServers"), [""; 0]);
    }
}
