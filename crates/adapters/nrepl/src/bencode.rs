//! Bencode, the form of nREPL's messages: byte strings, whole numbers, lists and dictionaries.
//!
//! By hand: it is two hundred lines, the crates for it want a whole message in memory before they look at it, and none bounds
//! what a stranger's bytes may cost. This decoder takes bytes as they come and goes over none of them twice.

use std::collections::BTreeMap;

use thiserror::Error;

/// No message may have more bytes: a line of the host's protocol may not either.
pub const MOST_MESSAGE: usize = 97 << 20;
/// No message may have more parts. An empty list takes two bytes on the wire and many more in memory.
const MOST_PARTS: usize = 1 << 20;
/// No message may be deeper.
const MOST_DEPTH: usize = 64;
/// The longest whole number: the sign and the digits of an `i64`.
const MOST_DIGITS: usize = 20;
/// Bytes of messages that were taken are dropped from the buffer when there are so many of them.
const GIVE_BACK: usize = 64 << 10;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bencode {
    /// A byte string; nREPL's are UTF-8.
    Bytes(Vec<u8>),
    /// A whole number.
    Integer(i64),
    /// A list.
    List(Vec<Bencode>),
    /// A dictionary. Of two values with one key the later counts.
    Dictionary(BTreeMap<String, Bencode>),
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadBencode {
    /// The bytes begin with something that no message begins with.
    #[error("it sent what is no message: {found}")]
    NoMessage {
        /// The first of it, as text.
        found: String,
    },
    /// The bytes are no message from this place on.
    #[error("byte {at} of a message is {found}")]
    Byte {
        /// How many bytes of the message come before it.
        at: usize,
        /// What stands there, as text.
        found: String,
    },
    /// A message is larger than any may be.
    #[error("a message is larger than {} MiB", MOST_MESSAGE >> 20)]
    TooLarge,
    /// A message has more parts than any may have.
    #[error("a message has more than {MOST_PARTS} parts")]
    TooManyParts,
    /// A message is deeper than any may be.
    #[error("a message has lists in lists, {MOST_DEPTH} deep")]
    TooDeep,
}

/// A list or dictionary whose end has not come.
#[derive(Debug)]
enum OpenPart {
    List(Vec<Bencode>),
    Dictionary { entries: BTreeMap<String, Bencode>, key: Option<String> },
}

/// Makes messages of bytes.
#[derive(Debug, Default)]
pub struct BencodeDecoder {
    bytes: Vec<u8>,
    /// Where the message begins that is being read.
    begin: usize,
    /// What was read of it.
    at: usize,
    open: Vec<OpenPart>,
    parts: usize,
}

/// What stands at the place that is looked at.
enum BencodeToken {
    /// More bytes are needed to tell.
    Unfinished,
    /// A list or dictionary begins.
    Open(OpenPart),
    /// One ends.
    Close,
    Value(Bencode),
}

impl BencodeDecoder {
    /// Takes more bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.begin > GIVE_BACK && self.begin > self.bytes.len() / 2 {
            self.bytes.drain(..self.begin);
            self.at -= self.begin;
            self.begin = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message.
    pub fn next_message(&mut self) -> Result<Option<BTreeMap<String, Bencode>>, BadBencode> {
        loop {
            let value = match self.token()? {
                BencodeToken::Unfinished => return Ok(None),
                BencodeToken::Open(part) => {
                    if self.open.len() == MOST_DEPTH {
                        return Err(BadBencode::TooDeep);
                    }
                    self.open.push(part);
                    continue;
                }
                BencodeToken::Value(value) => value,
                BencodeToken::Close => match self.open.pop() {
                    Some(OpenPart::List(items)) => Bencode::List(items),
                    Some(OpenPart::Dictionary { entries, key: None }) => {
                        Bencode::Dictionary(entries)
                    }
                    Some(OpenPart::Dictionary { key: Some(_), .. }) | None => {
                        self.at -= 1;
                        return Err(self.wrong());
                    }
                },
            };
            match (self.open.last_mut(), value) {
                (Some(OpenPart::List(items)), value) => items.push(value),
                (Some(OpenPart::Dictionary { entries, key }), value) => match (key.take(), value) {
                    (Some(name), value) => drop(entries.insert(name, value)),
                    (None, Bencode::Bytes(name)) => {
                        *key = Some(String::from_utf8_lossy(&name).into_owned());
                    }
                    (None, _) => return Err(self.wrong()),
                },
                (None, Bencode::Dictionary(entries)) => {
                    (self.begin, self.parts) = (self.at, 0);
                    return Ok(Some(entries));
                }
                // A message begins with the byte of a dictionary, or `token` has refused it already.
                (None, _) => return Err(self.wrong()),
            }
        }
    }

    fn token(&mut self) -> Result<BencodeToken, BadBencode> {
        let Some(first) = self.bytes.get(self.at).copied() else {
            return Ok(BencodeToken::Unfinished);
        };
        if self.open.is_empty() && first != b'd' {
            let found = shown(&self.bytes[self.begin..]);
            return Err(BadBencode::NoMessage { found });
        }
        let token = match first {
            b'd' => {
                BencodeToken::Open(OpenPart::Dictionary { entries: BTreeMap::new(), key: None })
            }
            b'l' => BencodeToken::Open(OpenPart::List(Vec::new())),
            b'e' => BencodeToken::Close,
            b'i' => {
                let Some(digits) = self.until(b'e', 1)? else {
                    return Ok(BencodeToken::Unfinished);
                };
                let length = digits.len();
                let number = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
                let number = number.ok_or_else(|| self.wrong())?;
                self.at += length + 1;
                BencodeToken::Value(Bencode::Integer(number))
            }
            b'0'..=b'9' => {
                let Some(digits) = self.until(b':', 0)? else {
                    return Ok(BencodeToken::Unfinished);
                };
                let head = digits.len() + 1;
                let length = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
                let length: usize = match length {
                    Some(length) => length,
                    None if digits.contains(&b'-') => return Err(self.wrong()),
                    None => return Err(BadBencode::TooLarge),
                };
                let begin = self.at + head;
                let end = begin.checked_add(length).ok_or(BadBencode::TooLarge)?;
                if end - self.begin > MOST_MESSAGE {
                    return Err(BadBencode::TooLarge);
                }
                let Some(bytes) = self.bytes.get(begin..end) else {
                    return Ok(BencodeToken::Unfinished);
                };
                let value = BencodeToken::Value(Bencode::Bytes(bytes.to_vec()));
                self.at = end - 1;
                value
            }
            _ => return Err(self.wrong()),
        };
        self.at += 1;
        self.parts += 1;
        if self.at - self.begin > MOST_MESSAGE {
            return Err(BadBencode::TooLarge);
        }
        if self.parts > MOST_PARTS {
            return Err(BadBencode::TooManyParts);
        }
        Ok(token)
    }

    /// The digits up to this byte; none if that has not come.
    fn until(&self, end: u8, skip: usize) -> Result<Option<&[u8]>, BadBencode> {
        let rest = &self.bytes[self.at + skip..];
        let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        let length = rest.iter().take(MOST_DIGITS + 1).take_while(|byte| is_digit(byte)).count();
        match rest.get(length) {
            Some(byte) if *byte == end => Ok(Some(&rest[..length])),
            Some(_) => Err(self.wrong()),
            None => Ok(None),
        }
    }

    fn wrong(&self) -> BadBencode {
        let found = shown(&self.bytes[self.at.min(self.bytes.len())..]);
        BadBencode::Byte { at: self.at - self.begin, found }
    }
}

/// The first of some bytes, for an error.
fn shown(bytes: &[u8]) -> String {
    let first = &bytes[..bytes.len().min(60)];
    format!("`{}`", String::from_utf8_lossy(first).escape_debug())
}

impl Bencode {
    /// The text of a byte string.
    pub fn text(&self) -> Option<String> {
        match self {
            Bencode::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// Appends the bytes of this value.
    pub fn write(&self, to: &mut Vec<u8>) {
        match self {
            Bencode::Bytes(bytes) => write_bytes(bytes, to),
            Bencode::Integer(number) => to.extend(format!("i{number}e").bytes()),
            Bencode::List(items) => {
                to.push(b'l');
                items.iter().for_each(|item| item.write(to));
                to.push(b'e');
            }
            Bencode::Dictionary(entries) => write_message(entries, to),
        }
    }
}

impl From<&str> for Bencode {
    fn from(text: &str) -> Bencode {
        Bencode::Bytes(text.as_bytes().to_vec())
    }
}

/// Appends the bytes of a dictionary.
pub(crate) fn write_message(entries: &BTreeMap<String, Bencode>, to: &mut Vec<u8>) {
    to.push(b'd');
    for (key, value) in entries {
        write_bytes(key.as_bytes(), to);
        value.write(to);
    }
    to.push(b'e');
}

fn write_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    to.extend(format!("{}:", bytes.len()).bytes());
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Vec<BTreeMap<String, Bencode>>, BadBencode> {
        let mut decoder = BencodeDecoder::default();
        decoder.push(bytes);
        let mut messages = Vec::new();
        while let Some(message) = decoder.next_message()? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn k3_messages_are_read_whole_and_none_before_its_end() {
        let bytes = b"d2:id1:13:numi-7e6:statusl4:done5:errordeeede";
        let messages = decoded(bytes).unwrap();
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0]["id"], Bencode::from("1"));
        assert_eq!(messages[0]["num"], Bencode::Integer(-7));
        let status = vec!["done".into(), "error".into(), Bencode::Dictionary(BTreeMap::new())];
        assert_eq!(messages[0]["status"], Bencode::List(status));
        for cut in 0..bytes.len() - 2 {
            assert!(decoded(&bytes[..cut]).unwrap().is_empty(), "{cut}");
        }
    }

    #[test]
    fn k3_what_is_no_message_is_told_at_once() {
        for (bytes, part) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], "`HTTP/1.1 400 Bad Request"),
            (b"i1e", "no message"),
            (b"4:text", "no message"),
            (b"dxe", "byte 1 of a message is `xe`"),
            (b"d1:ae", "byte 4"),
            (b"di1ei2ee", "byte"),
            (b"d1:ai1x", "byte"),
            (b"d1:ai99999999999999999999e", "byte"),
            (b"d-1:", "byte 1"),
            (b"d999999999:", "larger than 97 MiB"),
            (b"d99999999999999999999:", "larger than 97 MiB"),
            (b"d1:a111111111111111111111111", "byte"),
        ] {
            let error = decoded(bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn k3_depth_and_parts_are_bounded() {
        let deep = [b"d1:a".to_vec(), b"l".repeat(100)].concat();
        assert_eq!(decoded(&deep), Err(BadBencode::TooDeep));
        let wide = [b"d1:al".to_vec(), b"le".repeat(MOST_PARTS)].concat();
        assert_eq!(decoded(&wide), Err(BadBencode::TooManyParts));
    }

    #[test]
    fn k3_a_message_of_64_mib_is_read_in_pieces() {
        let size = 64 << 20;
        let mut decoder = BencodeDecoder::default();
        decoder.push(format!("d3:out{size}:").as_bytes());
        let piece = vec![b'x'; 1 << 16];
        for _ in 0..size / piece.len() {
            assert_eq!(decoder.next_message(), Ok(None));
            decoder.push(&piece);
        }
        decoder.push(b"ede");
        let message = decoder.next_message().unwrap().unwrap();
        assert!(matches!(&message["out"], Bencode::Bytes(bytes) if bytes.len() == size));
        assert_eq!(decoder.next_message(), Ok(Some(BTreeMap::new())));
    }

    fn any_value() -> impl Strategy<Value = Bencode> {
        let leaf = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20).prop_map(Bencode::Bytes),
            any::<i64>().prop_map(Bencode::Integer),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Bencode::List),
                prop::collection::btree_map("[a-z/?]{0,8}", inner, 0..6)
                    .prop_map(Bencode::Dictionary),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn k3_what_was_written_is_read_however_it_is_cut(
            values in prop::collection::vec(prop::collection::btree_map("[a-z]{1,4}", any_value(), 0..5), 1..4),
            size in 1usize..40,
        ) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| write_message(value, &mut bytes));
            let mut decoder = BencodeDecoder::default();
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                while let Some(message) = decoder.next_message().unwrap() {
                    read.push(message);
                }
            }
            prop_assert_eq!(read, values);
        }

        #[test]
        fn k3_no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&bytes);
            let _ = decoded(&[b"d1:a".to_vec(), bytes].concat());
        }
    }
}
