//! The difference between two texts as people read it.

/// Lines around a change that are shown.
const CONTEXT: usize = 3;
/// A changed line that is longer is shown in part.
const LONGEST: usize = 240;
/// How much of such a line is shown on each side of the change.
const AROUND: usize = 30;
/// Words in the names of values that are shown to nobody.
const SECRETS: [&str; 6] = ["key", "token", "secret", "passw", "auth", "credential"];

/// A unified diff; empty if nothing differs. An entry is one change, so one piece is shown from the first line that
/// differs to the last.
pub(crate) fn diff(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most);
    let tail = tail.take_while(|(old, new)| old == new).count();
    let (from, shown) = (head.saturating_sub(CONTEXT), tail.min(CONTEXT));
    let (old_end, new_end) = (old.len() - tail + shown, new.len() - tail + shown);
    let place = |begin: usize, end: usize| match end - begin {
        0 => format!("{begin},0"),
        length => format!("{},{length}", begin + 1),
    };
    let mut text = format!("@@ -{} +{} @@\n", place(from, old_end), place(from, new_end));
    let mut line = |sign: char, line: &str| {
        let shown = line.trim_end_matches(['\r', '\n']);
        text.push(sign);
        text.push_str(&if sign == ' ' { without_secret(shown) } else { cut(shown, before, after) });
        text.push('\n');
        if !line.ends_with('\n') {
            text.push_str("\\ no newline at the end\n");
        }
    };
    old[from..head].iter().for_each(|it| line(' ', it));
    old[head..old.len() - tail].iter().for_each(|it| line('-', it));
    new[head..new.len() - tail].iter().for_each(|it| line('+', it));
    old[old.len() - tail..old_end].iter().for_each(|it| line(' ', it));
    text
}

/// A line beside the change, without the value that its name calls a secret: other servers' keys are nobody's business.
fn without_secret(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let secret = SECRETS.iter().any(|word| lower.contains(word));
    match line.find([':', '=']).filter(|_| secret) {
        Some(at) => format!("{} …", &line[..=at]),
        None => line.to_owned(),
    }
}

/// A line that changed. Of a file that is one long line, only the part around the change.
fn cut(line: &str, before: &str, after: &str) -> String {
    if line.len() <= LONGEST {
        return line.to_owned();
    }
    let same = |mut pairs: Box<dyn Iterator<Item = (char, char)> + '_>| {
        let mut length = 0;
        while let Some((one, other)) = pairs.next()
            && one == other
        {
            length += one.len_utf8();
        }
        length
    };
    let head = same(Box::new(before.chars().zip(after.chars())));
    let tail = same(Box::new(before.chars().rev().zip(after.chars().rev())));
    let from = boundary(line, head.saturating_sub(AROUND));
    let to = line.len().saturating_sub(tail.saturating_sub(AROUND)).max(from);
    let to = boundary(line, to + 3);
    let (begin, end) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    format!("{begin}{}{end}", &line[from..to])
}

/// The last place up to `at` where a character begins.
fn boundary(line: &str, at: usize) -> usize {
    (0..=at.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_a_diff_shows_the_change_and_three_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nb\nc\nd\nX\ne\nf\ng\n";
        assert_eq!(diff(before, after), "@@ -2,6 +2,7 @@\n b\n c\n d\n+X\n e\n f\n g\n");
        assert_eq!(diff("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(diff("a", "a\n"), "@@ -1,1 +1,1 @@\n-a\n\\ no newline at the end\n+a\n");
        assert_eq!(diff("a", "a"), "");
        let before = "\"API_KEY\": \"hush\",\n\"b\": 1\n";
        assert!(!diff(before, &format!("{before}new\n")).contains("hush"));
        let long = format!("{{\"a\":\"hush{}\"}}", "x".repeat(500));
        let shown = diff(&long, &long.replace("}", ",\"stead\":1}"));
        assert!(shown.contains("stead") && !shown.contains("hush") && shown.len() < 400, "{shown}");
    }
}
