//! What is shown of a bundle of forms of one value (SPEC O-9): a picture or a page where it has one, and a text.

use serde_json::Value;
use stead_host_side::cut;

/// The characters that a value may have (SPEC O-8).
const VALUE_BUDGET: usize = 2000;
/// A picture with more bytes, or a page with more characters, is named and not kept.
const MOST_KEPT: usize = 8 << 20;
/// Markdown, LaTeX and JSON are read as text, so they are short.
const MOST_READ: usize = 16 << 10;

/// Pictures, the best first.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/svg+xml"];
/// Forms that are read in place of a plain text that says nothing, the best first.
const READABLE: [&str; 3] = ["text/markdown", "text/latex", "application/json"];
/// What makes a page worth keeping beside a plain text that says as much.
const WORTH_KEEPING: [&str; 8] =
    ["<table", "<img", "<svg", "<script", "<iframe", "<canvas", "<video", "<audio"];

/// What is shown of a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShownBundle {
    /// Mime types with their data.
    pub displays: Vec<(String, String)>,
    /// The text; none where a display stands for it.
    pub text: Option<String>,
}

/// Chooses from the forms of a value. `is_value` says that it is the value of an eval, and not something that its code
/// has put on display: then the text beside a picture is shown, too.
pub fn choose(data: &Value, is_value: bool) -> ShownBundle {
    let form = |mime: &str| text_of(mime, data.get(mime)?);
    let mut shown = ShownBundle::default();
    let plain = form("text/plain").filter(|text| !says_nothing(text));
    let mut remarks = Vec::new();
    for mime in PICTURES {
        let Some(picture) = form(mime) else { continue };
        // Some kernels break base64 into lines.
        let (picture, size) = match mime {
            "image/svg+xml" => (picture.clone(), picture.len()),
            _ => {
                let picture: String = picture.split_ascii_whitespace().collect();
                let size = picture.trim_end_matches('=').len() * 3 / 4;
                (picture, size)
            }
        };
        match picture.len() > MOST_KEPT {
            true => remarks.push(format!("its {mime} of {size} bytes is too big to be kept")),
            false => shown.displays.push((mime.to_owned(), picture)),
        }
        break;
    }
    let has_picture = !shown.displays.is_empty() || !remarks.is_empty();
    if let Some(html) = form("text/html").filter(|_| !has_picture) {
        let keeps = plain.is_none() || WORTH_KEEPING.iter().any(|word| html.contains(word));
        if keeps && html.len() > MOST_KEPT {
            remarks.push(format!("its HTML of {} bytes is too long to be kept", html.len()));
        } else if keeps && (plain.is_some() || form("text/markdown").is_none()) {
            shown.displays.push(("text/html".to_owned(), page(&html)));
        }
        if plain.is_none() && form("text/markdown").is_none() {
            shown.text = Some(text_of_html(&html)).filter(|text| !text.is_empty());
        }
    }
    if plain.is_none() && !has_picture && shown.text.is_none() {
        let readable = READABLE.iter().find_map(|mime| Some((*mime, form(mime)?)));
        if let Some((mime, text)) = readable {
            shown.displays.push((mime.to_owned(), cut(&text, MOST_READ)));
        }
    }
    if !has_picture || is_value {
        let room = VALUE_BUDGET.saturating_sub(200 * shown.displays.len());
        let text = plain.map(|text| cut(text.trim_end_matches('\n'), room));
        shown.text = text.or(shown.text);
    }
    // If nothing else can be shown, even a text that says little is better, or a form that only notebooks can show.
    if shown.displays.is_empty() && shown.text.is_none() && remarks.is_empty() {
        let other = || data.as_object()?.iter().find_map(|(mime, form)| text_of(mime, form));
        shown.text = form("text/plain").or_else(other).map(|text| cut(&text, VALUE_BUDGET));
    }
    if !remarks.is_empty() {
        let remarks = remarks.iter().map(|remark| format!("({remark})"));
        shown.text = Some(shown.text.into_iter().chain(remarks).collect::<Vec<_>>().join("\n"));
    }
    shown
}

/// Whether a picture is among the forms.
pub(crate) fn has_picture(data: &Value) -> bool {
    PICTURES.iter().any(|mime| data.get(mime).is_some())
}

/// The text of one form; notebooks have lists of lines, and JSON is a value of its own.
fn text_of(mime: &str, form: &Value) -> Option<String> {
    let is_json = mime.ends_with("json");
    match form {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) if !is_json && lines.iter().all(Value::is_string) => {
            Some(lines.iter().filter_map(Value::as_str).collect())
        }
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) => {
            Some(form.to_string())
        }
    }
}

/// Whether a text is no more than the name of a class and an address.
fn says_nothing(text: &str) -> bool {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) else {
        return text.is_empty();
    };
    let named = inner.rsplit_once(" at 0x").map_or(inner, |(head, _)| head);
    let class = named.strip_suffix(" object").unwrap_or(named);
    class.len() < inner.len() && !class.contains(' ')
}

/// A piece of a page is made whole, else a browser would guess its encoding.
fn page(html: &str) -> String {
    let head: String = html.chars().take(2000).collect();
    match head.to_ascii_lowercase().contains("<html") {
        true => html.to_owned(),
        false => format!("<!doctype html><meta charset=\"utf-8\">\n{html}"),
    }
}

/// The words of a page, without its scripts and styles.
fn text_of_html(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(begin) = rest.find('<') {
        text.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let hidden = ["script", "style", "head", "svg"].into_iter().find(|name| {
            rest.get(1..=name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name))
        });
        let end = match hidden {
            Some(name) => rest.to_ascii_lowercase().find(&format!("</{name}")),
            None => Some(0),
        };
        let closed = end.and_then(|end| Some(end + rest[end..].find('>')? + 1));
        let Some(closed) = closed else {
            rest = "";
            break;
        };
        let tag = rest[..closed].trim_start_matches(['<', '/']).to_ascii_lowercase();
        let breaks = ["br", "p", "div", "tr", "li", "h1", "h2", "h3", "h4", "table", "pre"];
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        match name {
            name if breaks.contains(&name) => text.push('\n'),
            "td" | "th" => text.push(' '),
            _ => {}
        }
        rest = &rest[closed..];
    }
    text.push_str(rest);
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    let text = entities.into_iter().fold(text, |text, (from, to)| text.replace(from, to));
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    cut(&lines.join("\n"), VALUE_BUDGET - 200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn displays(shown: &ShownBundle) -> Vec<&str> {
        shown.displays.iter().map(|(mime, _)| mime.as_str()).collect()
    }

    #[test]
    fn k1_o9_a_list_of_texts_is_one_text_in_a_notebook_and_a_list_in_json() {
        let shown = choose(&json!({"application/json": ["a", "b"]}), true);
        assert_eq!(shown.displays, [("application/json".to_owned(), r#"["a","b"]"#.to_owned())]);
        let shown = choose(&json!({"text/markdown": ["a\n", "b"]}), true);
        assert_eq!(shown.displays, [("text/markdown".to_owned(), "a\nb".to_owned())]);
    }

    #[test]
    fn o9_a_table_is_a_text_and_a_page() {
        let data =
            json!({"text/plain": "   a\n0  1", "text/html": "<table><tr><td>1</td></tr></table>"});
        let shown = choose(&data, true);
        assert_eq!(shown.text.as_deref(), Some("   a\n0  1"));
        assert_eq!(displays(&shown), ["text/html"]);
        assert!(shown.displays[0].1.starts_with("<!doctype html>"));
    }

    #[test]
    fn o9_a_page_that_says_what_the_text_says_is_left_out() {
        let data = json!({"text/plain": "[1] 1 2", "text/html": "<ol><li>1</li></ol>", "text/latex": "1",
            "text/markdown": "1. 1"});
        let shown = choose(&data, true);
        assert_eq!((shown.text.as_deref(), shown.displays), (Some("[1] 1 2"), vec![]));
    }

    #[test]
    fn o9_a_picture_comes_once_and_without_line_ends() {
        let data = json!({"image/png": "aGk\n=\n", "image/svg+xml": "<svg/>", "text/plain": "<Figure size 640x480>"});
        let shown = choose(&data, false);
        assert_eq!(shown.displays, [("image/png".to_owned(), "aGk=".to_owned())]);
        assert_eq!(shown.text, None);
        assert_eq!(choose(&data, true).text.as_deref(), Some("<Figure size 640x480>"));
        let svg = json!({"image/svg+xml": ["<svg>\n", "</svg>"]});
        assert_eq!(choose(&svg, false).displays[0].1, "<svg>\n</svg>");
    }

    #[test]
    fn o9_a_text_that_says_nothing_gives_way() {
        let nothing = "<IPython.core.display.Markdown object>";
        let shown = choose(&json!({"text/plain": nothing, "text/markdown": "**x**"}), true);
        assert_eq!(shown.displays, [("text/markdown".to_owned(), "**x**".to_owned())]);
        assert_eq!(shown.text, None);
        let html = "<style>b{}</style><p>a &lt; b</p><p>c</p>";
        let shown = choose(&json!({"text/plain": "<a.B object at 0x7f>", "text/html": html}), true);
        assert_eq!(
            (displays(&shown), shown.text.as_deref()),
            (vec!["text/html"], Some("a < b\nc"))
        );
        let shown =
            choose(&json!({"text/plain": "<a.J object>", "application/json": {"a": 1}}), true);
        assert_eq!(shown.displays, [("application/json".to_owned(), r#"{"a":1}"#.to_owned())]);
        assert_eq!(choose(&json!({"text/plain": nothing}), true).text.as_deref(), Some(nothing));
        assert_eq!(choose(&json!({}), true), ShownBundle::default());
    }

    #[test]
    fn o8_what_is_too_long_is_cut_with_its_count() {
        let shown = choose(&json!({"text/plain": "x".repeat(10_000)}), true);
        let text = shown.text.unwrap();
        assert!(text.chars().count() <= 2000 && text.contains("characters left out"), "{text}");
        let shown = choose(&json!({"image/png": "a".repeat(MOST_KEPT + 1)}), false);
        assert!(shown.displays.is_empty() && shown.text.unwrap().contains("too big"));
    }
}
