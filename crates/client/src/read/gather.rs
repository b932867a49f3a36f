//! The matches of one eval with the lines around them, in bounded memory.
//!
//! Lines come in the order in which they end, and a line of one stream can stay open while the other writes
//! on. So the lines around an open line are kept until it is known not to match.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use stead_protocol::EvalId;

use crate::Hit;
use crate::read::lines::{Ahead, Line};
use crate::show::shown::{HIT_CHARS, around, beginning};

/// How much of what is found is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Lines around each match.
    pub(crate) context: u64,
    /// Most matches.
    pub(crate) matches: u64,
    /// Most characters.
    pub(crate) chars: usize,
    /// Whether the first match is shown even if it has more than `chars`.
    pub(crate) at_least_one: bool,
}

pub(crate) struct Gather<'a> {
    id: &'a EvalId,
    bounds: Bounds,
    /// How many lines matched.
    matches: u64,
    /// The matches that are shown.
    shown: BTreeSet<u64>,
    /// The shown matches and the lines near them.
    hits: BTreeMap<u64, Hit>,
    chars: usize,
    /// Lines that may turn out to be near a match.
    aside: BTreeMap<u64, Hit>,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(id: &'a EvalId, bounds: Bounds) -> Self {
        Gather {
            id,
            bounds,
            matches: 0,
            shown: BTreeSet::new(),
            hits: BTreeMap::new(),
            chars: 0,
            aside: BTreeMap::new(),
        }
    }

    pub(crate) fn matches(&self) -> u64 {
        self.matches
    }

    /// Takes a line; `found` is where the pattern matches in its text.
    pub(crate) fn line(
        &mut self,
        line: &Line<'_>,
        text: &str,
        found: Option<Range<usize>>,
        ahead: Ahead,
    ) {
        if let Some(found) = found {
            self.matches += 1;
            if self.make_room(line.order) {
                self.show(self.hit(line, around(text, line, found), true));
                return;
            }
        }
        if self.bounds.context == 0 {
            return;
        }
        if is_near(&self.shown, line.order, self.bounds.context) {
            self.keep(self.hit(line, beginning(text, line, HIT_CHARS), false));
        } else if self.can_show_more(ahead) {
            let hit = self.hit(line, beginning(text, line, HIT_CHARS), false);
            self.aside.insert(line.order, hit);
            self.forget(ahead);
        }
    }

    /// The hits in order, within the bounds.
    pub(crate) fn finish(self) -> Vec<Hit> {
        let Gather { bounds, shown, hits, .. } = self;
        let near = |shown: &BTreeSet<u64>, hit: &Hit| is_near(shown, hit.order, bounds.context);
        let mut hits: Vec<Hit> = hits.into_values().filter(|hit| near(&shown, hit)).collect();
        let mut left = bounds.chars;
        let mut fits = |hit: &Hit| {
            let cost = hit.cost();
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        };
        let fitting = hits.iter().take_while(|hit| fits(hit)).count();
        let Some(first) = hits.iter().position(|hit| hit.matched) else { return Vec::new() };
        if first >= fitting && bounds.at_least_one {
            // The match itself is worth more than the lines before it.
            hits.truncate(first + 1);
            let mut left = bounds.chars.saturating_sub(hits[first].cost());
            let mut start = first;
            while start > 0 && hits[start - 1].cost() <= left {
                start -= 1;
                left -= hits[start].cost();
            }
            hits.drain(..start);
            return hits;
        }
        hits.truncate(fitting);
        // The lines before a match that does not fit are dropped with it.
        let shown = hits.iter().filter(|hit| hit.matched).map(|hit| hit.order).collect();
        hits.retain(|hit| near(&shown, hit));
        hits
    }

    fn hit(&self, line: &Line<'_>, text: String, matched: bool) -> Hit {
        Hit::new(self.id, line, text, matched)
    }

    fn is_full(&self) -> bool {
        self.shown.len() as u64 >= self.bounds.matches
            || (self.chars >= self.bounds.chars && !self.shown.is_empty())
    }

    /// Whether a match that may still come could be shown.
    fn can_show_more(&self, ahead: Ahead) -> bool {
        let last = self.shown.last();
        !self.is_full() || ahead.open.is_some_and(|open| last.is_some_and(|last| open < *last))
    }

    /// Whether this match is shown. A shown match with a higher number, which ended before it, makes room for
    /// it.
    fn make_room(&mut self, order: u64) -> bool {
        if !self.is_full() {
            return true;
        }
        let Some(last) = self.shown.last().copied().filter(|last| *last > order) else {
            return false;
        };
        self.shown.remove(&last);
        if let Some(hit) = self.hits.get_mut(&last) {
            hit.matched = false;
        }
        true
    }

    fn show(&mut self, hit: Hit) {
        let around = around_line(hit.order, self.bounds.context);
        self.shown.insert(hit.order);
        self.keep(hit);
        let near: Vec<u64> = self.aside.range(around).map(|(number, _)| *number).collect();
        for number in near {
            if let Some(hit) = self.aside.remove(&number) {
                self.keep(hit);
            }
        }
    }

    fn keep(&mut self, hit: Hit) {
        self.chars += hit.cost();
        self.hits.insert(hit.order, hit);
    }

    /// Drops lines that no later match can be near to; now and then, not at every line.
    fn forget(&mut self, ahead: Ahead) {
        let context = self.bounds.context;
        if (self.aside.len() as u64) < 8 * context + 64 {
            return;
        }
        let recent = ahead.next.saturating_sub(context);
        let open = ahead.open.map(|open| around_line(open, context));
        self.aside.retain(|number, _| {
            *number >= recent || open.as_ref().is_some_and(|open| open.contains(number))
        });
    }
}

fn around_line(number: u64, context: u64) -> std::ops::RangeInclusive<u64> {
    number.saturating_sub(context)..=number.saturating_add(context)
}

fn is_near(shown: &BTreeSet<u64>, number: u64, context: u64) -> bool {
    shown.range(around_line(number, context)).next().is_some()
}

#[cfg(test)]
mod tests {
    use stead_protocol::ChunkKind;

    use super::*;

    /// Gathers from lines by number, in the order given; those with an `x` match.
    fn gather(bounds: Bounds, lines: &[(u64, &str)]) -> (String, u64) {
        let id = "py:1".parse().unwrap();
        let mut gather = Gather::new(&id, bounds);
        for (at, (number, text)) in lines.iter().enumerate() {
            let rest = lines[at + 1..].iter().map(|(number, _)| *number);
            let newest = lines[..=at].iter().map(|(number, _)| *number).max().unwrap();
            let open = rest.clone().find(|number| *number < newest);
            let next = rest.filter(|number| *number > newest).min().unwrap_or(newest + 1);
            let line = Line {
                order: *number,
                number: *number,
                offset: 0,
                kind: ChunkKind::Out,
                bytes: text.as_bytes(),
                len: text.len() as u64,
            };
            let found = text.find('x').map(|at| at..at + 1);
            gather.line(&line, text, found, Ahead { next, open });
        }
        let matches = gather.matches();
        let shown: Vec<String> = gather
            .finish()
            .into_iter()
            .map(|hit| format!("{}{}", hit.line, if hit.matched { ":" } else { "-" }))
            .collect();
        (shown.join(" "), matches)
    }

    fn bounds(context: u64, matches: u64, chars: usize) -> Bounds {
        Bounds { context, matches, chars, at_least_one: true }
    }

    fn numbered(text: &'static str) -> Vec<(u64, &'static str)> {
        (1..).zip(text.split(' ')).collect()
    }

    #[test]
    fn o6_context_is_merged_and_no_line_comes_twice() {
        let lines = numbered("a b x c x d e f g h x i");
        let shown = |context| gather(bounds(context, 100, 1000), &lines);
        assert_eq!(shown(0), ("3: 5: 11:".to_owned(), 3));
        assert_eq!(shown(1), ("2- 3: 4- 5: 6- 10- 11: 12-".to_owned(), 3));
        assert_eq!(shown(2).0, "1- 2- 3: 4- 5: 6- 7- 9- 10- 11: 12-");
        assert_eq!(shown(1000).0.split(' ').count(), 12);
    }

    #[test]
    fn o6_the_first_matches_are_shown_and_all_are_counted() {
        let lines = numbered("x a x x x b");
        assert_eq!(gather(bounds(0, 2, 1000), &lines), ("1: 3:".to_owned(), 4));
        // As grep has it: what follows the last match is context, whatever it says.
        assert_eq!(gather(bounds(1, 2, 1000), &lines), ("1: 2- 3: 4-".to_owned(), 4));
        assert_eq!(gather(bounds(1, 0, 1000), &lines), (String::new(), 4));
    }

    #[test]
    fn o6_a_line_that_ends_late_finds_its_place_and_its_context() {
        let mut lines: Vec<(u64, &str)> = (1..=500).map(|number| (number, "a")).collect();
        lines[400].1 = "x";
        lines[300].1 = "x";
        // Line 3 stays open to the end.
        let open = lines.remove(2);
        lines.push((open.0, "x"));
        let first = "1- 2- 3: 4- 5- 299- 300- 301: 302- 303-";
        let all = format!("{first} 399- 400- 401: 402- 403-");
        assert_eq!(gather(bounds(2, 9, 1000), &lines), (all, 3));
        assert_eq!(gather(bounds(2, 2, 1000), &lines).0, first);
        assert_eq!(gather(bounds(0, 1, 1000), &lines).0, "3:");
    }

    #[test]
    fn o5_characters_are_bounded_and_the_first_match_is_shown_anyway() {
        let lines = numbered("aaa bbb xxx ccc ddd eee xxx fff");
        let shown = |chars| gather(bounds(1, 9, chars), &lines);
        assert_eq!(shown(100), ("2- 3: 4- 6- 7: 8-".to_owned(), 2));
        assert_eq!(shown(19).0, "2- 3: 4-");
        assert_eq!(shown(20).0, "2- 3: 4- 6- 7:");
        assert_eq!(shown(8).0, "2- 3:");
        assert_eq!(shown(7).0, "3:");
        assert_eq!(shown(0), ("3:".to_owned(), 2));
        let none = Bounds { at_least_one: false, ..bounds(1, 9, 7) };
        assert_eq!(gather(none, &lines), (String::new(), 2));
    }
}
