//! Which eval each request to what runs the code was for, so that late output finds its eval.

use std::collections::VecDeque;

/// How many requests are remembered.
const REMEMBERED: usize = 10_000;

/// Requests and their evals, the newest last.
#[derive(Debug, Default)]
pub struct AskedEvals {
    known: VecDeque<(String, String)>,
}

impl AskedEvals {
    /// The request was sent for that eval.
    pub fn remember(&mut self, request: &str, eval: &str) {
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back((request.to_owned(), eval.to_owned()));
    }

    /// The eval whose request this was.
    pub fn eval_of(&self, request: &str) -> Option<String> {
        let found = self.known.iter().rev().find(|(known, _)| known == request);
        found.map(|(_, eval)| eval.clone())
    }

    /// Whether only one request was sent until now.
    pub fn is_first(&self) -> bool {
        self.known.len() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o1_the_newest_requests_are_known_and_the_oldest_forgotten() {
        let mut asked = AskedEvals::default();
        asked.remember("first", "py:1");
        assert!(asked.is_first());
        (0..REMEMBERED).for_each(|n| asked.remember(&format!("r{n}"), &format!("py:{n}")));
        assert_eq!(asked.eval_of("first"), None);
        assert_eq!(asked.eval_of("r0").as_deref(), Some("py:0"));
        assert!(!asked.is_first());
    }
}
