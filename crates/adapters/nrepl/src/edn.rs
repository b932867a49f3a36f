//! As much of EDN as is needed to take apart how Clojure prints an exception: where each form ends.

/// Forms one after the other, each as it is written.
pub(crate) struct EdnForms<'a> {
    rest: &'a str,
}

/// The forms in a text.
pub(crate) fn forms(text: &str) -> EdnForms<'_> {
    EdnForms { rest: text }
}

/// The forms between the brackets of a list, vector, map or set; none in anything else. A form that was cut
/// off has the forms that came.
pub(crate) fn inside(form: &str) -> EdnForms<'_> {
    let open = match form.find(['(', '[', '{']) {
        // A tag such as `#error` may stand before the bracket.
        Some(at) if form[..at].chars().all(|c| c != '"') => at,
        _ => return forms(""),
    };
    let inner = &form[open + 1..];
    forms(inner.strip_suffix([')', ']', '}']).unwrap_or(inner))
}

/// The value of a key in a map.
pub(crate) fn value<'a>(map: &'a str, key: &str) -> Option<&'a str> {
    let mut forms = inside(map);
    while let (Some(name), Some(value)) = (forms.next(), forms.next()) {
        if name == key {
            return Some(value);
        }
    }
    None
}

/// The text of a string form; any other form as it is written.
pub(crate) fn unquoted(form: &str) -> String {
    let Some(inner) = form.strip_prefix('"') else { return form.to_owned() };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

impl<'a> Iterator for EdnForms<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let blank = |c: char| c.is_whitespace() || c == ',';
        let text = self.rest.trim_start_matches(blank);
        let end = end_of_form(text)?;
        let (form, rest) = text.split_at(end);
        self.rest = rest;
        Some(form)
    }
}

/// Where the form ends with which the text begins; none if there is no form.
fn end_of_form(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    // A tag goes on with the form behind it; `#'name` is no tag.
    let is_tagged = text.starts_with('#') && !text.starts_with("#'");
    let mut chars = text.char_indices().peekable();
    // Whether something stands before a bracket that belongs to the same form, as in `#error {`.
    let mut begun = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if depth == 0 && begun && !is_tagged => return Some(at),
            '"' => {
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
                if depth == 0 {
                    return Some(chars.peek().map_or(text.len(), |(at, _)| *at));
                }
            }
            // A character such as `\{`.
            '\\' => drop(chars.next()),
            '(' | '[' | '{' => {
                if depth == 0 && begun && !is_tagged {
                    return Some(at);
                }
                depth += 1;
            }
            ')' | ']' | '}' => {
                if depth <= 1 {
                    let end = at + usize::from(depth == 1);
                    return (end > 0).then_some(end);
                }
                depth -= 1;
            }
            c if (c.is_whitespace() || c == ',') && depth == 0 && !is_tagged => return Some(at),
            _ => {}
        }
        begun = true;
    }
    begun.then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_end_where_they_end() {
        let text = r#"#error {:cause "a } \" b" :n [1 (2 \})], :t nil} :after #'x"#;
        let all: Vec<_> = forms(text).collect();
        assert_eq!(all[1..], [":after", "#'x"]);
        assert_eq!(value(all[0], ":cause").map(unquoted).as_deref(), Some("a } \" b"));
        assert_eq!(value(all[0], ":n"), Some(r"[1 (2 \})]"));
        assert_eq!(value(all[0], ":t"), Some("nil"));
        assert_eq!(value(all[0], ":no"), None);
        assert_eq!(inside("[a \"b\" 3]").collect::<Vec<_>>(), ["a", "\"b\"", "3"]);
        assert_eq!(inside("a").count(), 0);
        assert_eq!(unquoted(r#""a\nb\\""#), "a\nb\\");
    }

    #[test]
    fn what_was_cut_off_or_is_odd_ends_too() {
        for text in ["", "  ", "[a [b", "\"open", "}", "]x", "#", "#error {:a", "\\", "{:a \"x"] {
            let mut count = 0;
            let mut all = forms(text);
            while all.next().is_some() && count < 10 {
                count += 1;
            }
            assert!(count < 10, "{text}");
            let _ = inside(text).take(10).count();
        }
        assert_eq!(value("#error {:cause \"a\" :trace [[x y", ":trace"), Some("[[x y"));
    }
}
