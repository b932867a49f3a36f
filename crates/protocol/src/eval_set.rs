//! A set of evals, as ranges of their numbers.

use serde::{Deserialize, Serialize};

use crate::EvalSeq;

/// A set of evals; in JSON a list of first and last numbers: `[[1,4],[6,6]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct EvalSet {
    /// In order, and with a gap between each two.
    ranges: Vec<(u64, u64)>,
}

impl EvalSet {
    /// Whether no eval is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether this eval is in it.
    pub fn contains(&self, eval: EvalSeq) -> bool {
        self.range_of(eval.0).is_ok()
    }

    /// The last eval of it.
    pub fn last(&self) -> Option<EvalSeq> {
        self.ranges.last().map(|(_, last)| EvalSeq(*last))
    }

    /// All evals of it, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = EvalSeq> + '_ {
        self.ranges.iter().flat_map(|(first, last)| (*first..=*last).map(EvalSeq))
    }

    /// Adds an eval.
    pub fn insert(&mut self, eval: EvalSeq) {
        let Err(at) = self.range_of(eval.0) else { return };
        let before = at.checked_sub(1).filter(|at| self.ranges[*at].1 + 1 == eval.0);
        let after = self.ranges.get(at).is_some_and(|(first, _)| *first == eval.0 + 1);
        match (before, after) {
            (Some(before), true) => {
                self.ranges[before].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (Some(before), false) => self.ranges[before].1 = eval.0,
            (None, true) => self.ranges[at].0 = eval.0,
            (None, false) => self.ranges.insert(at, (eval.0, eval.0)),
        }
    }

    /// Takes an eval out.
    pub fn remove(&mut self, eval: EvalSeq) {
        let Ok(at) = self.range_of(eval.0) else { return };
        let (first, last) = self.ranges[at];
        let left = [(first, eval.0 - 1), (eval.0 + 1, last)];
        let left = left.into_iter().filter(|(first, last)| first <= last);
        self.ranges.splice(at..=at, left);
    }

    /// The evals of this set that are not in the other.
    pub fn without<'a>(&'a self, other: &'a EvalSet) -> impl Iterator<Item = EvalSeq> + 'a {
        self.iter().filter(|eval| !other.contains(*eval))
    }

    /// The first eval of this set that is not in the other. Looks at ranges only.
    pub fn first_without(&self, other: &EvalSet) -> Option<EvalSeq> {
        let missing = |(first, last): &(u64, u64)| match other.range_of(*first) {
            Ok(at) if other.ranges[at].1 >= *last => None,
            Ok(at) => Some(EvalSeq(other.ranges[at].1 + 1)),
            Err(_) => Some(EvalSeq(*first)),
        };
        self.ranges.iter().find_map(missing)
    }

    /// How many evals are in it.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Whether all evals of this set are in the other. Looks at ranges only, so that a long history costs nothing.
    pub fn is_subset(&self, other: &EvalSet) -> bool {
        self.ranges.iter().all(|(first, last)| {
            let within = other.range_of(*first).map(|at| other.ranges[at].1 >= *last);
            within.unwrap_or(false)
        })
    }

    /// The evals of this set before one.
    pub fn before(&self, eval: EvalSeq) -> EvalSet {
        let earlier = self.ranges.iter().filter(|(first, _)| *first < eval.0);
        EvalSet { ranges: earlier.map(|(first, last)| (*first, (*last).min(eval.0 - 1))).collect() }
    }

    /// Keeps only the last so many ranges.
    pub fn forget_oldest(&mut self, most: usize) {
        let over = self.ranges.len().saturating_sub(most);
        self.ranges.drain(..over);
    }

    /// The range that holds a number, or where one would stand.
    fn range_of(&self, eval: u64) -> Result<usize, usize> {
        let at = self.ranges.partition_point(|(_, last)| *last < eval);
        match self.ranges.get(at) {
            Some((first, _)) if *first <= eval => Ok(at),
            _ => Err(at),
        }
    }
}

impl FromIterator<EvalSeq> for EvalSet {
    fn from_iter<I: IntoIterator<Item = EvalSeq>>(evals: I) -> Self {
        let mut set = EvalSet::default();
        evals.into_iter().for_each(|eval| set.insert(eval));
        set
    }
}

impl From<Vec<(u64, u64)>> for EvalSet {
    /// What comes from a file may be anything: ranges that are not in order are left out.
    fn from(mut ranges: Vec<(u64, u64)>) -> Self {
        let mut end = None;
        ranges.retain(|(first, last)| {
            let fits = first <= last && end.is_none_or(|end: u64| *first > end.saturating_add(1));
            if fits {
                end = Some(*last);
            }
            fits
        });
        EvalSet { ranges }
    }
}

impl From<EvalSet> for Vec<(u64, u64)> {
    fn from(set: EvalSet) -> Self {
        set.ranges
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn st5_a_set_of_evals_is_what_was_put_in_and_not_taken_out() {
        let (mut set, mut plain, mut seed) = (EvalSet::default(), BTreeSet::new(), 7u64);
        for _ in 0..5_000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let eval = EvalSeq(1 + (seed >> 33) % 40);
            if seed >> 63 == 0 {
                set.insert(eval);
                plain.insert(eval.0);
            } else {
                set.remove(eval);
                plain.remove(&eval.0);
            }
            let listed: Vec<u64> = set.iter().map(|eval| eval.0).collect();
            assert_eq!(listed, plain.iter().copied().collect::<Vec<_>>());
            assert_eq!(set.last().map(|eval| eval.0), plain.last().copied());
            assert!((0..50).all(|n| set.contains(EvalSeq(n)) == plain.contains(&n)));
        }
        let half: EvalSet = set.iter().filter(|eval| eval.0 % 2 == 0).collect();
        assert!(half.is_subset(&set) && (half == set || !set.is_subset(&half)));
        assert_eq!(set.first_without(&half), set.without(&half).next());
        assert_eq!(half.first_without(&set), None);
        assert_eq!(set.count(), plain.len() as u64);
        for eval in 0..50 {
            let listed: Vec<u64> = set.before(EvalSeq(eval)).iter().map(|eval| eval.0).collect();
            assert_eq!(listed, plain.range(..eval).copied().collect::<Vec<_>>());
        }
        let read: EvalSet = serde_json::from_str("[[1,3],[5,5]]").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "[[1,3],[5,5]]");
        let other: EvalSet = [2, 5].map(EvalSeq).into_iter().collect();
        assert_eq!(read.without(&other).map(|eval| eval.0).collect::<Vec<_>>(), [1, 3]);
        let odd: EvalSet = serde_json::from_str("[[4,2],[5,9],[7,8],[11,11]]").unwrap();
        assert_eq!(serde_json::to_string(&odd).unwrap(), "[[5,9],[11,11]]");
    }
}
