//! Who sent an eval (SPEC E-16).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name and instance that are kept.
const MAX_NAME: usize = 64;
const MAX_INSTANCE: usize = 32;

/// Who sent an eval: a name, and which process of that name. Written as one word, `name` or `name#instance`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct By {
    /// `cli`, an MCP client's name, `init` for the code of every start.
    name: String,
    instance: Option<String>,
}

impl By {
    /// A sender of whom only the name is known.
    pub fn named(name: &str) -> By {
        By { name: clean(name, MAX_NAME), instance: None }
    }

    /// One process of that name.
    pub fn instance(name: &str, instance: &str) -> By {
        let instance = clean(instance, MAX_INSTANCE);
        By { instance: (!instance.is_empty()).then_some(instance), ..By::named(name) }
    }

    /// The code that a session runs at every start.
    pub fn init() -> By {
        By::named("init")
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Text that breaks neither the lines of a list nor the form with `#`.
fn clean(text: &str, most: usize) -> String {
    let plain = text.chars().map(|c| if c.is_control() || c == '#' { '_' } else { c });
    plain.take(most).collect()
}

impl From<&str> for By {
    fn from(text: &str) -> By {
        match text.rsplit_once('#') {
            Some((name, instance)) => By::instance(name, instance),
            None => By::named(text),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.instance {
            Some(instance) => write!(f, "#{instance}"),
            None => Ok(()),
        }
    }
}

/// The words ` by cli`, or none if nobody is known.
#[derive(Debug, Clone, Copy)]
pub struct ByWhom<'a>(pub Option<&'a By>);

impl fmt::Display for ByWhom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(by) if !by.name.is_empty() => write!(f, " by {by}"),
            Some(_) | None => Ok(()),
        }
    }
}

impl Serialize for By {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.instance {
            None => to.serialize_str(&self.name),
            Some(_) => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for By {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Ok(By::from(&*text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e16_a_name_and_an_instance_are_one_word() {
        for (by, text) in [
            (By::named("cli"), "cli"),
            (By::instance("claude code", "3f9a"), "claude code#3f9a"),
            (By::instance("a#b\n", "c"), "a_b_#c"),
        ] {
            assert_eq!(by.to_string(), text);
            assert_eq!(serde_json::to_value(&by).unwrap(), text);
            assert_eq!(serde_json::from_value::<By>(text.into()).unwrap(), by);
        }
        assert_eq!(By::instance("mcp", ""), By::named("mcp"));
        assert_eq!(By::named(&"x".repeat(1000)).name().len(), MAX_NAME);
    }
}
