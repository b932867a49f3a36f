//! Messages of the form `{"kind": …, …}`, read without a copy.
//!
//! The reading that serde derives for them keeps all fields aside until it has seen the tag, even if the tag
//! comes first. This reads the tag, and then the frequent variants directly; all others are read the derived
//! way.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An enum whose variants are named by a field. The derived reading is `serde(remote = "Self")`.
pub(crate) trait Tagged<'de>: Sized {
    /// The field.
    const TAG: &'static str;

    /// Reads the rest of a variant that is read directly; `None` for the others.
    fn direct<A: MapAccess<'de>>(name: &str, rest: &mut A) -> Option<Result<Self, A::Error>>;

    /// Reads any variant.
    fn derived<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Reads a value of an enum; its `Deserialize`.
pub(crate) fn read<'de, T: Tagged<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Fields(PhantomData))
}

/// The rest of the fields, as those of a struct.
pub(crate) fn fields<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    rest: &mut A,
) -> Result<T, A::Error> {
    T::deserialize(serde::de::value::MapAccessDeserializer::new(rest))
}

/// No fields that matter.
pub(crate) fn nothing<'de, T, A: MapAccess<'de>>(value: T, rest: &mut A) -> Result<T, A::Error> {
    while rest.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
    Ok(value)
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Tagged<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut kept = Map::new();
        if let Some(first) = map.next_key_seed(TextVisitor)? {
            if first == T::TAG {
                let name = map.next_value_seed(TextVisitor)?;
                if let Some(read) = T::direct(&name, &mut map) {
                    return read;
                }
                kept.insert(first.into_owned(), Value::String(name.into_owned()));
            } else {
                kept.insert(first.into_owned(), map.next_value()?);
            }
        }
        while let Some((key, value)) = map.next_entry()? {
            kept.insert(key, value);
        }
        T::derived(Value::Object(kept)).map_err(A::Error::custom)
    }
}

/// An enum whose variants are named by an object's only field: `{"reply": …}`. It has `Unknown` for the
/// others.
pub(crate) trait Named<'de>: Sized {
    /// What stands for all names that this version does not know.
    const UNKNOWN: Self;

    /// Reads the value of a name; `None` for an unknown name.
    fn value<A: MapAccess<'de>>(name: &str, map: &mut A) -> Option<Result<Self, A::Error>>;
}

/// Reads a value of such an enum; its `Deserialize`.
pub(crate) fn read_named<'de, T: Named<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Field(PhantomData))
}

struct Field<T>(PhantomData<T>);

impl<'de, T: Named<'de>> Visitor<'de> for Field<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one field")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<T, E> {
        Ok(T::UNKNOWN)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut known = None;
        while let Some(name) = map.next_key_seed(TextVisitor)? {
            match T::value(&name, &mut map) {
                Some(value) => known = Some(value?),
                None => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        Ok(known.unwrap_or(T::UNKNOWN))
    }
}

/// Gives an enum with `Unknown` its reading: the value that each name has, and the variant made of it.
macro_rules! named {
    ($name:ident, $($field:literal => |$value:ident: $of:ty| $made:expr),+ $(,)?) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged::read_named(from)
            }
        }

        impl<'de> Named<'de> for $name {
            const UNKNOWN: Self = $name::Unknown;

            fn value<A: serde::de::MapAccess<'de>>(
                name: &str,
                map: &mut A,
            ) -> Option<Result<Self, A::Error>> {
                Some(match name {
                    $($field => map.next_value::<$of>().map(|$value| $made),)+
                    _ => return None,
                })
            }
        }
    };
}

pub(crate) use named;

/// Visits a string, which is borrowed if it can be.
struct TextVisitor;

impl<'de> DeserializeSeed<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Gives an enum with `serde(remote = "Self")` its reading and writing.
macro_rules! tagged {
    ($name:ty, $tag:literal, $($variant:literal => |$rest:ident| $read:expr),+ $(,)?) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$name>::serialize(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged::read(from)
            }
        }

        impl<'de> $crate::tagged::Tagged<'de> for $name {
            const TAG: &'static str = $tag;

            fn direct<A: serde::de::MapAccess<'de>>(
                name: &str,
                rest: &mut A,
            ) -> Option<Result<Self, A::Error>> {
                Some(match name {
                    $($variant => { let $rest = rest; $read })+
                    _ => return None,
                })
            }

            fn derived<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$name>::deserialize(from)
            }
        }
    };
}

pub(crate) use tagged;

#[cfg(test)]
mod tests {
    use crate::bridge::{BridgeEvent, Done, DoneStatus, Shown};
    use crate::client::{Accepted, FromHost, Reply, Request, ToHost};
    use crate::{EndReason, Finished, Generation, Offset, Outcome, TimeoutStep};

    /// Every order of an object's fields.
    fn orders(fields: &[&str]) -> Vec<String> {
        fn rest(done: &[&str], left: &[&str], all: &mut Vec<String>) {
            if left.is_empty() {
                all.push(format!("{{{}}}", done.join(",")));
            }
            for at in 0..left.len() {
                let mut left = left.to_vec();
                let next = left.remove(at);
                rest(&[done, &[next]].concat(), &left, all);
            }
        }
        let mut all = Vec::new();
        rest(&[], fields, &mut all);
        all
    }

    #[test]
    fn a_message_reads_the_same_wherever_its_tag_stands() {
        let fields = [
            r#""op":"submit""#,
            r#""code":"a\"\n\u00e9""#,
            r#""token":18446744073709551615"#,
            r#""new":[1]"#,
        ];
        for text in orders(&fields) {
            let Request::Submit(mut submit) = serde_json::from_str(&text).unwrap() else {
                panic!("{text}")
            };
            let work = submit.take_work().unwrap();
            assert_eq!(
                (work.code().as_ref(), submit.token),
                ("a\"\n\u{e9}", Some(u64::MAX)),
                "{text}"
            );
        }
        let fields =
            [r#""ev":"done""#, r#""eval":"py:7""#, r#""status":"ok""#, r#""new":{"a":null}"#];
        for text in orders(&fields) {
            let read: BridgeEvent = serde_json::from_str(&text).unwrap();
            let BridgeEvent::Done(Done { eval, status: DoneStatus::Ok, .. }) = read else {
                panic!("{text}")
            };
            assert_eq!(eval, "py:7");
        }
        let finished = r#""finished":{"end":9,"outcome":{"new":1,"kind":"complete"},"generation":2,"start":4,"duration_ms":0}"#;
        for text in orders(&[r#""kind":"accepted""#, r#""eval":3"#, r#""generation":2"#, finished])
        {
            let Reply::Accepted(accepted) = serde_json::from_str(&text).unwrap() else {
                panic!("{text}")
            };
            let end = Finished::new(Outcome::Complete, Generation(2), Offset(4), Offset(9));
            assert_eq!(accepted.finished, Some(Box::new(end)), "{text}");
        }
    }

    #[test]
    fn tags_may_be_escaped_and_unknown_ones_are_no_errors() {
        let read: BridgeEvent =
            serde_json::from_str(r#"{"\u0065v":"v\u0061lue","text":"2","type":"int"}"#).unwrap();
        assert!(matches!(read, BridgeEvent::Value(Shown { ack: false, .. })));
        let read: BridgeEvent = serde_json::from_str(r#"{"ev":"later","text":{}}"#).unwrap();
        assert!(matches!(read, BridgeEvent::Unknown));
        let read: ToHost = serde_json::from_str(r#"{"id":1,"request":{"op":"stop"}}"#).unwrap();
        assert!(matches!(read.request, Request::Stop));
        for wrong in [r#"{}"#, r#"{"op":1}"#, r#"{"code":"1"}"#, r#"[]"#, r#""submit""#] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let killed = Outcome::Ended { reason: EndReason::Signal { signal: 9 } };
        let timeout = |step| Outcome::Timeout { step };
        for outcome in [
            Outcome::Complete,
            Outcome::Error,
            Outcome::Interrupted,
            Outcome::HostDied,
            killed,
            timeout(TimeoutStep::Interrupted),
            timeout(TimeoutStep::ChildrenKilled),
            timeout(TimeoutStep::InterpreterKilled),
        ] {
            let mut finished = Finished::new(outcome.clone(), Generation(1), Offset(2), Offset(3));
            finished.notice = Some("n".to_owned());
            let accepted = Accepted {
                eval: crate::EvalSeq(5),
                generation: Generation(1),
                behind: None,
                duplicate: false,
                finished: Some(Box::new(finished)),
            };
            let sent = FromHost::Reply { id: 8, reply: Reply::Accepted(accepted.clone()) };
            let text = serde_json::to_string(&sent).unwrap();
            assert!(
                text.starts_with(r#"{"reply":{"id":8,"reply":{"kind":"accepted","eval":5,"#),
                "{text}"
            );
            let FromHost::Reply { id: 8, reply: Reply::Accepted(read) } =
                serde_json::from_str(&text).unwrap()
            else {
                panic!("{text}")
            };
            assert_eq!(read, accepted);
        }
    }

    #[test]
    fn e3_timeouts_of_earlier_versions_are_read() {
        for (text, step) in [
            (r#"{"kind":"timeout","killed":false}"#, TimeoutStep::Interrupted),
            (r#"{"kind":"timeout","killed":true}"#, TimeoutStep::InterpreterKilled),
            (
                r#"{"kind":"timeout","killed":false,"children_killed":true}"#,
                TimeoutStep::ChildrenKilled,
            ),
        ] {
            let outcome = Outcome::Timeout { step };
            assert_eq!(serde_json::from_str::<Outcome>(text).unwrap(), outcome);
            assert_eq!(serde_json::to_string(&outcome).unwrap(), text);
        }
    }
}
