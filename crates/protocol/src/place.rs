//! Where a shell command runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a shell command runs: the caller's own place, which no session keeps (SPEC J-1).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellPlace {
    /// The directory.
    pub cwd: String,
    /// The whole environment.
    pub env: Vec<(String, String)>,
}

impl ShellPlace {
    /// The directory, then `NAME=value` for each variable, each ended by a zero byte.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.cwd.clone().into_bytes();
        bytes.push(0);
        for (name, value) in &self.env {
            bytes.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        bytes
    }

    /// Reads what `encode` makes.
    pub fn decode(bytes: &[u8]) -> ShellPlace {
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let mut parts = bytes.split(|byte| *byte == 0);
        let cwd = text(parts.next().unwrap_or_default());
        let variable = |part: &[u8]| {
            let at = part.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
            Some((text(&part[..at]), text(&part[at + 1..])))
        };
        ShellPlace { cwd, env: parts.filter_map(variable).collect() }
    }
}

// Written by hand so that values of the environment never reach a log.
impl fmt::Debug for ShellPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellPlace").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j1_a_place_is_a_directory_and_variables() {
        let place = ShellPlace::decode(b"/tmp\0A=1\0B=x=y\0=odd\0EMPTY=\0");
        assert_eq!(place.cwd, "/tmp");
        let env: Vec<(&str, &str)> =
            place.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(env, [("A", "1"), ("B", "x=y"), ("EMPTY", "")]);
        assert_eq!(ShellPlace::decode(&place.encode()), place);
    }
}
