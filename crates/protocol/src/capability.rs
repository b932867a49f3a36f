//! What a bridge says in `hello` that it can do beyond evals.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

macro_rules! capabilities {
    ($($(#[$doc:meta])+ $name:ident => $word:literal,)+) => {
        /// One thing that a bridge can do. The rest of the host asks for these and never for a language.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Capability {
            $($(#[$doc])+ $name,)+
            /// Something that a newer bridge can do.
            Unknown(String),
        }

        /// All that this version knows, in the order of their bits.
        const KNOWN: &[(Capability, &str)] = &[$((Capability::$name, $word),)+];
    };
}

capabilities! {
    /// Empties the namespace: the command `clear`.
    Clear => "clear",
    /// Lists names: `query SEQ vars`.
    Vars => "vars",
    /// Tells about one name: `query SEQ inspect`.
    Inspect => "inspect",
    /// Completes names: `query SEQ complete`.
    Complete => "complete",
    /// Tells with `done` what an eval did to the names.
    Changed => "changed",
    /// Gives its compiled form for the next start: `query SEQ code`.
    Code => "code",
    /// Reads `interrupt` while code runs, carries it out by itself and gets no signal.
    Interrupts => "interrupts",
    /// Says when its main thread waits for input in an event loop; while it does not say so, the thread does
    /// not wait.
    Waits => "waits",
    /// Only the bridge knows when its code waits for input: it says `waits` and `waits_no_more`, and nothing
    /// else counts.
    OwnWaits => "own_waits",
    /// Must not be sent NUL characters.
    NoNul => "no_nul",
    /// Is a shell: it waits for the processes it starts, and can lose signals meanwhile.
    Shell => "shell",
    /// Goes on to the end of its code after an interrupt that another process took, and tells its exit code.
    GoesOn => "goes_on",
    /// Carries out `pause` and `resume`, since its code runs elsewhere.
    Pauses => "pauses",
    /// Tells `figures` of processes elsewhere when it is asked.
    Figures => "figures",
    /// Writes names to a file: the work `save`.
    Save => "save",
    /// Takes names from such a file: the work `load`.
    Load => "load",
    /// Defines the standard library of the user: the work `stdlib`.
    Stdlib => "stdlib",
    /// Tells what a source text defines: `query SEQ definitions`.
    Definitions => "definitions",
    /// Copies its interpreter: the work `checkpoint`.
    Checkpoint => "checkpoint",
    /// What it saves without names is its whole state: a new interpreter that loads it is as this one was.
    SavesAll => "saves_all",
    /// Has processes of its own from the beginning: those that live at its hello are the interpreter, and nothing
    /// that an eval has left behind.
    OwnProcesses => "own_processes",
    /// Takes `exit` while code runs as well, to leave in good order what runs the code elsewhere.
    Leaves => "leaves",
    /// Lets all that the code of its last eval has left to be done be part of that eval: the command `last`.
    Last => "last",
}

impl Capability {
    /// The word for it on the wire.
    pub fn word(&self) -> &str {
        match self {
            Capability::Unknown(word) => word,
            known => self.bit().map_or("", |bit| {
                debug_assert_eq!(&KNOWN[bit].0, known);
                KNOWN[bit].1
            }),
        }
    }

    fn bit(&self) -> Option<usize> {
        KNOWN.iter().position(|(known, _)| known == self)
    }
}

impl From<&str> for Capability {
    fn from(word: &str) -> Self {
        let known = KNOWN.iter().find(|(_, known)| *known == word);
        known.map_or_else(|| Capability::Unknown(word.to_owned()), |(known, _)| known.clone())
    }
}

/// All that one bridge can do. A list of words on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A bit for each that is known.
    known: u32,
    unknown: Vec<String>,
}

impl Capabilities {
    /// Whether this is among them.
    pub fn has(&self, capability: &Capability) -> bool {
        match capability {
            Capability::Unknown(word) => self.unknown.contains(word),
            known => known.bit().is_some_and(|bit| self.known & (1 << bit) != 0),
        }
    }

    /// Adds one.
    pub fn insert(&mut self, capability: Capability) {
        match capability.bit() {
            Some(bit) => self.known |= 1 << bit,
            None if self.has(&capability) => {}
            None => self.unknown.push(capability.word().to_owned()),
        }
    }

    /// Their words; those that this version does not know come last.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let known = KNOWN.iter().enumerate().filter(|(bit, _)| self.known & (1 << bit) != 0);
        known.map(|(_, (_, word))| *word).chain(self.unknown.iter().map(String::as_str))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(all: I) -> Self {
        let mut set = Capabilities::default();
        all.into_iter().for_each(|capability| set.insert(capability));
        set
    }
}

impl<const N: usize> From<[Capability; N]> for Capabilities {
    fn from(all: [Capability; N]) -> Self {
        all.into_iter().collect()
    }
}

impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.words())
    }
}

impl<'de> Deserialize<'de> for Capabilities {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Capabilities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of what a bridge can do")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Capabilities, A::Error> {
                let mut set = Capabilities::default();
                // What is no word says nothing that this version could go by.
                while let Some(word) = all.next_element::<Value>()? {
                    word.as_str().into_iter().for_each(|word| set.insert(Capability::from(word)));
                }
                Ok(set)
            }
        }
        from.deserialize_seq(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k1_capabilities_are_words_and_a_newer_one_is_kept() {
        let text = r#"["clear","own_waits","sings","sings"]"#;
        let can: Capabilities = serde_json::from_str(text).unwrap();
        assert!(can.has(&Capability::Clear) && can.has(&Capability::OwnWaits));
        assert!(!can.has(&Capability::Vars) && !can.has(&Capability::Unknown("vars".into())));
        assert!(can.has(&Capability::Unknown("sings".into())));
        assert_eq!(serde_json::to_string(&can).unwrap(), r#"["clear","own_waits","sings"]"#);
        assert_eq!(Capabilities::default(), serde_json::from_str("[]").unwrap());
    }

    #[test]
    fn k1_every_capability_has_a_word_and_a_bit_of_its_own() {
        assert!(KNOWN.len() <= 32);
        for (capability, word) in KNOWN {
            assert_eq!(capability.word(), *word);
            assert_eq!(Capability::from(*word), *capability);
            assert_eq!(
                Capabilities::from([capability.clone()]).words().collect::<Vec<_>>(),
                [*word]
            );
        }
    }
}
