//! Texts that are put together, with the definitions that a bridge would tell.

use stead_protocol::{Definition, DefinitionKind};

use super::source::{NotRemoved, add, remove, text_of};

/// Definitions of a toy language: a line `name…` begins one, indented lines go on with it, `#` is a comment, `!` an
/// import, `^` one that must come first, `"` the head of a file; a line with `;` has several.
fn defined(text: &str) -> Vec<Definition> {
    let mut all: Vec<Definition> = Vec::new();
    let mut comment = None;
    for (at, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end())) {
        match line.chars().next() {
            None => comment = None,
            Some('#') => comment = comment.or(Some(at)),
            Some(' ') => {
                let from = all.last().unwrap().from;
                all.iter_mut().filter(|one| one.from == from).for_each(|one| one.to = at);
            }
            Some(first) => {
                for part in line.split(';') {
                    let name = part.trim().trim_start_matches(['!', '^']);
                    let name = name.split(['=', '(']).next().unwrap_or_default();
                    let kind = match first {
                        '!' | '^' => DefinitionKind::Module,
                        '"' => DefinitionKind::Head,
                        _ if part.contains('(') => DefinitionKind::Function,
                        _ => DefinitionKind::Other,
                    };
                    let named = !matches!(first, '"' | '>');
                    all.push(Definition {
                        name: if named { name.to_owned() } else { String::new() },
                        kind,
                        from: at,
                        to: at,
                        comment,
                        head: (first == '^').then_some(true),
                        signature: None,
                        doc: None,
                    });
                }
                comment = None;
            }
        }
    }
    all
}

fn merged(old: &str, new: &str) -> String {
    let text = add(old, &defined(old), new, &defined(new)).text;
    // What was added is there, once.
    let again = add(&text, &defined(&text), new, &defined(new)).text;
    assert_eq!(again, text, "adding it again changes nothing");
    text
}

#[test]
fn st4_new_definitions_go_to_the_end() {
    assert_eq!(merged("", "f()\n  1\n"), "f()\n  1\n");
    assert_eq!(merged("\n\n", "f()\n"), "f()\n");
    assert_eq!(merged("a()", "f()\n"), "a()\n\nf()\n");
    assert_eq!(merged("a()\n\n", "f()\n"), "a()\n\nf()\n");
    assert_eq!(
        merged("# only this\n", "# of f\nf()\n\ng()\n# end\n"),
        "# only this\n\n# of f\nf()\n\ng()\n# end\n"
    );
}

#[test]
fn st4_a_definition_takes_the_place_of_its_name() {
    let old = "# head\n\na()\n  1\n\n# of b\nb()\n  1\n  2\nc()\n";
    assert_eq!(merged(old, "b()\n  9\n"), "# head\n\na()\n  1\n\n# of b\nb()\n  9\nc()\n");
    assert_eq!(merged(old, "# new\nb()\n"), "# head\n\na()\n  1\n\n# new\nb()\nc()\n");
    assert_eq!(
        merged("a()\nb()\na()\n  2\n", "a()\n  3\n"),
        "a()\n  3\nb()\n",
        "a second one would win"
    );
    assert_eq!(merged("a()", "a()\n  2\n"), "a()\n  2\n");
    // What a definition needs stands before it.
    assert_eq!(merged("a()\nf()\n", "x=1\nf(x)\n\nz()\n"), "a()\nx=1\n\nf(x)\n\nz()\n");
    // Several of one name stay together.
    let twice = add("f()\ng()\n", &defined("f()\ng()\n"), "f(1)\nf(2)\n", &defined("f(1)\nf(2)\n"));
    assert_eq!(twice.text, "f(1)\n\nf(2)\ng()\n");
    assert_eq!((twice.added, twice.replaced), (vec![], vec!["f".to_owned()]));
}

#[test]
fn st4_what_shares_a_line_stays_with_the_others() {
    assert_eq!(merged("a=1;b=2\nc()\n", "a=3\n"), "a=1;b=2\nc()\n\na=3\n");
    assert_eq!(merged("a=1;b=2\nc()\n", "a=3;b=4\n"), "a=3;b=4\nc()\n");
    let text = "a=1;b=2\n";
    let refused = remove(text, &defined(text), &["a".to_owned()]).unwrap_err();
    assert_eq!(refused, ("a".to_owned(), NotRemoved::With(vec!["b".to_owned()])));
    assert_eq!(remove(text, &defined(text), &["a".to_owned(), "b".to_owned()]), Ok(String::new()));
}

#[test]
fn st4_imports_are_kept_once_and_at_the_top() {
    let old = "\"about\n!os\n!json\n\nf()\n";
    assert_eq!(merged(old, "!json\n!re\ng()\n"), "\"about\n!os\n!json\n!re\n\nf()\n\ng()\n");
    assert_eq!(merged(old, "^future\ng()\n"), "\"about\n^future\n!os\n!json\n\nf()\n\ng()\n");
    assert_eq!(merged("f()\n", "!re\ng()\n"), "f()\n\n!re\ng()\n");
    assert_eq!(merged("# of f\nf()\n", "^future\ng()\n"), "^future\n# of f\nf()\n\ng()\n");
    assert_eq!(
        merged(old, "\"other\nf(2)\n"),
        "\"about\n!os\n!json\n\nf(2)\n",
        "a file has one head"
    );
}

#[test]
fn st4_statements_without_a_name_are_there_once() {
    let merged = add(">run\n", &defined(">run\n"), ">run\n>more\n", &defined(">run\n>more\n"));
    assert_eq!((merged.text.as_str(), merged.statements), (">run\n\n>more\n", 1));
}

#[test]
fn st4_line_ends_stay_as_they_are() {
    assert_eq!(
        merged("a()\r\n  1\r\nb()\r\n", "a()\n  2\n\nc()\n"),
        "a()\r\n  2\r\nb()\r\n\r\nc()\r\n"
    );
    assert_eq!(merged("a()\r\nb()", "c()\n"), "a()\r\nb()\r\n\r\nc()\r\n");
}

#[test]
fn st4_what_is_removed_takes_its_comment_and_one_empty_line_with_it() {
    let text = "!os\n\n# of a\na()\n  1\n\nb()\n\n# end\n";
    let without = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        remove(text, &defined(text), &names).unwrap()
    };
    assert_eq!(without(&["a"]), "!os\n\nb()\n\n# end\n");
    assert_eq!(without(&["a", "b"]), "!os\n\n# end\n");
    assert_eq!(without(&["os"]), "# of a\na()\n  1\n\nb()\n\n# end\n");
    let missing = remove(text, &defined(text), &["x".to_owned()]).unwrap_err();
    assert_eq!(missing, ("x".to_owned(), NotRemoved::Missing));
    assert_eq!(text_of(text, &defined(text), "a").unwrap(), "# of a\na()\n  1\n");
    assert_eq!(text_of(text, &defined(text), "x"), None);
}
