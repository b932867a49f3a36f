//! Texts within a budget.

/// The text with at most `most` characters, and a note where the middle is missing.
pub fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(40).max(20);
    let (head, tail) = (room * 2 / 3, room / 3);
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}…({} characters left out)…{last}", count - head - tail)
}
