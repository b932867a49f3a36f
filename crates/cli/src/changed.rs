//! What an eval did to the names of its session, as one line for people (SPEC E-13).

use anstyle::Style;
use stead_protocol::{Change, Changed};

use crate::paint::{CARE, FAINT, GOOD, MARK, Paint};
use crate::text::first_line;

/// How many names are listed.
const SHOWN: usize = 12;

/// `[+df DataFrame(1000×5) ~x int -y]`: new, rebound and gone.
pub(crate) fn line(changed: &Changed, paint: Paint) -> String {
    let word = |style: Style, sign: char, name: &str, what: String| {
        let name = paint.paint(style, &format!("{sign}{}", first_line(name, 80)));
        format!("{name}{}", paint.paint(FAINT, &what))
    };
    let bound = |style: Style, sign: char| {
        move |change: &Change| word(style, sign, &change.name, what(change))
    };
    let added = changed.added.iter().map(bound(GOOD, '+'));
    let rebound = changed.rebound.iter().map(bound(CARE, '~'));
    let gone = changed.removed.iter().map(|name| word(MARK, '-', name, String::new()));
    let mut words: Vec<String> = added.chain(rebound).chain(gone).take(SHOWN).collect();
    let all = changed.added.len() + changed.rebound.len() + changed.removed.len();
    let more = changed.more as usize + all.saturating_sub(SHOWN);
    if more > 0 {
        words.push(paint.paint(FAINT, &format!("and {more} more")));
    }
    format!("{}{}{}", paint.paint(FAINT, "["), words.join(" "), paint.paint(FAINT, "]"))
}

fn what(change: &Change) -> String {
    let size = change.detail().map(|detail| format!("({})", first_line(detail, 200)));
    format!(" {}{}", first_line(&change.type_name, 80), size.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e13_new_rebound_and_gone_names_are_told_in_one_line() {
        let change = |name: &str, size: Option<&str>| Change {
            name: name.to_owned(),
            type_name: "list".to_owned(),
            size: size.map(str::to_owned),
            change: None,
        };
        let mut changed = Changed {
            added: vec![change("a", Some("3"))],
            rebound: vec![change("b", None)],
            removed: vec!["c".to_owned()],
            more: 0,
        };
        assert_eq!(line(&changed, Paint::none()), "[+a list(3) ~b list -c]");
        changed.rebound[0].change = Some("3×2→3×3 +c".to_owned());
        assert_eq!(line(&changed, Paint::none()), "[+a list(3) ~b list(3×2→3×3 +c) -c]");
        changed.removed = (0..20).map(|n| format!("n{n}")).collect();
        let told = line(&changed, Paint::none());
        assert!(told.ends_with("-n9 and 10 more]"), "{told}");
    }
}
