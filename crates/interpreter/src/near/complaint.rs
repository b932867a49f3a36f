//! What a program said that never became ready, as far as it helps: without the boot code that it was given.

use std::collections::HashMap;
use std::ops::Range;

use stead_config::{LANGUAGES, Start};

/// How many bytes that an interpreter prints before its hello are kept: more than boot code takes, however it is quoted.
pub(super) const KEPT: usize = 16 << 10;
/// How much of that is told, at most.
const TOLD_CHARS: usize = 1_000;
const TOLD_LINES: usize = 12;

/// So many letters and digits in a row that stand so in boot code are taken for a part of it.
const TELLING: usize = 24;
/// What stands between two parts that are so near to each other is boot code too, in bytes.
const NEAR: usize = 200;

/// The last lines of what was printed, without boot code.
pub(super) fn told(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    last_lines(&without_boot(&text))
}

/// The text with a `…` in place of boot code. Programs that are no interpreter repeat it in their errors, quoted each in its
/// own way, so only letters and digits are compared. A small part of it stays: it may be a message of the boot code itself.
fn without_boot(text: &str) -> String {
    let boots = LANGUAGES.iter().filter_map(|language| match &language.start {
        Start::Fed(fed) => Some(fed.boot.trim()),
        Start::Mode(_) | Start::Adapter(_) | Start::Server(_) => None,
    });
    boots.fold(text.to_owned(), |text, boot| {
        let (mut shown, mut at) = (String::new(), 0);
        let mut found = pieces(&text, boot).into_iter().peekable();
        let least = letters(boot).len() / 3;
        while let Some(Range { start, mut end }) = found.next() {
            while let Some(next) = found.next_if(|next| next.start <= end + NEAR) {
                end = end.max(next.end);
            }
            if letters(&text[start..end]).len() >= least {
                shown.push_str(&text[at..start]);
                shown.push('…');
                at = end;
            }
        }
        shown + &text[at..]
    })
}

/// Where a text has pieces of boot code.
fn pieces(text: &str, boot: &str) -> Vec<Range<usize>> {
    let (said, sent) = (letters(text), letters(boot));
    let at = |letters: &[(usize, u8)], from: usize| -> Option<[u8; TELLING]> {
        let window = letters.get(from..from + TELLING)?;
        Some(std::array::from_fn(|index| window[index].1))
    };
    let known: HashMap<[u8; TELLING], usize> =
        (0..sent.len()).filter_map(|from| Some((at(&sent, from)?, from))).collect();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(window) = at(&said, from) {
        let Some(&place) = known.get(&window) else {
            from += 1;
            continue;
        };
        let same =
            said[from..].iter().zip(&sent[place..]).take_while(|(one, other)| one.1 == other.1);
        let length = same.count();
        let (last, last_sent) = (said[from + length - 1].0 + 1, sent[place + length - 1].0 + 1);
        found.push(said[from].0..last + closing(&text[last..], &boot[last_sent..]));
        from += length;
    }
    found
}

/// How much of a text are the signs with which the boot code goes on, such as brackets.
fn closing(text: &str, boot: &str) -> usize {
    let mut boot = boot.chars().peekable();
    let mut length = 0;
    for c in text.chars() {
        match boot.peek() {
            Some(next) if *next == c => drop(boot.next()),
            Some(_) if c == '\\' => {}
            _ => break,
        }
        length += c.len_utf8();
    }
    length
}

/// The letters and digits of a text, each with its place.
fn letters(text: &str) -> Vec<(usize, u8)> {
    text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_alphanumeric()).collect()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n");
    let shown = shown.trim();
    match shown.char_indices().rev().nth(TOLD_CHARS) {
        Some((at, c)) => format!("…{}", &shown[at + c.len_utf8()..]),
        None => shown.to_owned(),
    }
}

#[cfg(test)]
#[path = "complaint_tests.rs"]
mod tests;
