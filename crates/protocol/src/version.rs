//! Which versions of the client wire a program speaks, and how two that differ find a common one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// A range of versions, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The oldest that is still spoken.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
}

impl Versions {
    /// Those of the client wire that this program speaks, as a client and as a host.
    ///
    /// 1: requests and evals. 2: `submit` takes `work`, of which `clear` is one; `follow`.
    pub const OURS: Versions = Versions { oldest: 1, newest: 2 };

    /// The versions of a peer that names one version and may name a range.
    pub fn of_peer(protocol: u32, range: Option<Versions>) -> Versions {
        range.unwrap_or(Versions { oldest: protocol, newest: protocol })
    }

    /// The newest version that both speak.
    pub fn common(self, other: Versions) -> Option<u32> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => write!(f, "version {}", self.newest),
            false => write!(f, "versions {} to {}", self.oldest, self.newest),
        }
    }
}

/// One side of a conversation that fails: its program and the versions it speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The version of its program, if it says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The versions of the wire that it speaks.
    pub versions: Versions,
}

impl Speaker {
    /// This program.
    pub fn this() -> Self {
        Speaker { program: Some(PROGRAM.to_owned()), versions: Versions::OURS }
    }

    /// The program as an error's message names it, after the word for its side.
    pub fn in_brackets(&self) -> String {
        self.program.as_ref().map(|program| format!(" (stead {program})")).unwrap_or_default()
    }

    /// Why the two sides cannot talk, for an error's message.
    pub fn skew(host: &Speaker, client: &Speaker) -> String {
        format!(
            "the host{} speaks {} of the protocol, the client{} {}",
            host.in_brackets(),
            host.versions,
            client.in_brackets(),
            client.versions
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(oldest: u32, newest: u32) -> Versions {
        Versions { oldest, newest }
    }

    #[test]
    fn the_newest_version_that_both_speak_is_spoken() {
        for (ours, theirs, common) in [
            (range(1, 2), range(1, 1), Some(1)),
            (range(1, 2), range(1, 2), Some(2)),
            (range(1, 2), range(2, 5), Some(2)),
            (range(1, 2), range(3, 5), None),
            (range(2, 3), range(1, 1), None),
        ] {
            assert_eq!(ours.common(theirs), common);
            assert_eq!(theirs.common(ours), common);
        }
    }

    #[test]
    fn who_cannot_speak_with_whom_is_named() {
        let host = Speaker { program: Some("0.1.0".to_owned()), versions: range(1, 2) };
        let said = Speaker::skew(&host, &Speaker { program: None, versions: range(7, 7) });
        assert_eq!(
            said,
            "the host (stead 0.1.0) speaks versions 1 to 2 of the protocol, the client version 7"
        );
    }
}
