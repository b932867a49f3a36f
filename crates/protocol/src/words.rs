//! Enums that are sent as one word.
//!
//! A peer of a newer version may send an unknown word, or an object in place of a word. Neither may make the
//! message unreadable, so both are read as the variant that stands for all others.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// An enum that is sent as a word.
pub(crate) trait Word: Sized {
    /// What stands for all words that this version does not know.
    const OTHER: Self;

    /// What a word means.
    fn from_word(word: &str) -> Option<Self>;
}

/// Reads a word; the `Deserialize` of all of them.
pub(crate) fn read<'de, T: Word, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Reading(PhantomData))
}

struct Reading<T>(PhantomData<T>);

impl<'de, T: Word> Visitor<'de> for Reading<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        Ok(T::from_word(word).unwrap_or(T::OTHER))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(T::OTHER)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::OTHER)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::OTHER)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<T, E> {
        Ok(T::OTHER)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<T, E> {
        Ok(T::OTHER)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Ok(T::OTHER)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::OTHER)
    }
}

/// Gives an enum its words. The last line names the variant that stands for all others.
macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? } else $other:ident) => {
        impl $name {
            /// The word for it, as it is sent.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl $crate::words::Word for $name {
            const OTHER: Self = $name::$other;

            fn from_word(word: &str) -> Option<Self> {
                Some(match word {
                    $($word => $name::$variant,)+
                    _ => return None,
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::words::read(from)
            }
        }
    };
}

pub(crate) use words;
