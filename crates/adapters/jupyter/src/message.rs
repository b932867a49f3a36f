//! Messages of the Jupyter protocol: parts, signature, JSON. The same over ZeroMQ and over a gateway's WebSocket.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use thiserror::Error;

/// Between the routing identities and the message.
const DELIMITER: &[u8] = b"<IDS|MSG>";
/// The version of the messaging protocol that is spoken.
const VERSION: &str = "5.3";

/// A message. Kernels differ in what they leave out, so nothing here is stricter than it must be.
#[derive(Debug, Clone, PartialEq)]
pub struct JupyterMessage {
    /// `msg_id`, `msg_type`, `session`.
    pub header: Value,
    /// The header of what it answers, or an empty object.
    pub parent: Value,
    /// What it says.
    pub content: Value,
}

/// Why parts are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadMessage {
    /// Parts are missing.
    #[error("a message without all of its parts")]
    Parts,
    /// It is signed with another key.
    #[error("a message with a wrong signature")]
    Signature,
    /// A part is no JSON.
    #[error("a message whose {part} is not JSON: {why}")]
    Json {
        /// Which part.
        part: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

impl JupyterMessage {
    /// A request of this session.
    pub fn request(id: &str, session: &str, kind: &str, content: Value) -> JupyterMessage {
        let header = json!({
            "msg_id": id,
            "msg_type": kind,
            "session": session,
            "username": "stead",
            "date": "",
            "version": VERSION,
        });
        JupyterMessage { header, parent: json!({}), content }
    }

    /// What kind of message it is.
    pub fn kind(&self) -> &str {
        self.header["msg_type"].as_str().unwrap_or_default()
    }

    /// The id of the request that it belongs to; empty if to none.
    pub fn parent_id(&self) -> &str {
        self.parent["msg_id"].as_str().unwrap_or_default()
    }

    /// A text of its content; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.content[name].as_str().unwrap_or_default()
    }
}

/// The key of a connection, by which both sides know each other.
#[derive(Clone)]
pub struct SigningKey(Option<Hmac<Sha256>>);

impl SigningKey {
    /// An empty key means that nothing is signed.
    pub fn new(key: &str) -> SigningKey {
        // HMAC takes a key of any length, so this never fails.
        SigningKey(Hmac::new_from_slice(key.as_bytes()).ok().filter(|_| !key.is_empty()))
    }

    /// The parts to send.
    pub fn encode(&self, message: &JupyterMessage) -> Vec<Vec<u8>> {
        // Kernels parse the date, so it has to be a valid one, but none of them makes use of it.
        let mut header = message.header.clone();
        header["date"] = json!("2000-01-01T00:00:00.000000Z");
        let parts = [&header, &message.parent, &json!({}), &message.content]
            .map(|part| part.to_string().into_bytes());
        let signature = self.sign(&parts).map_or_else(Vec::new, |mac| hex(&mac).into_bytes());
        [DELIMITER.to_vec(), signature].into_iter().chain(parts).collect()
    }

    /// The message in these parts, if it was signed with this key.
    pub fn decode(&self, parts: &[Vec<u8>]) -> Result<JupyterMessage, BadMessage> {
        let at = parts.iter().position(|part| part == DELIMITER).ok_or(BadMessage::Parts)?;
        let [signature, header, parent, metadata, content, ..] = &parts[at + 1..] else {
            return Err(BadMessage::Parts);
        };
        if let Some(mac) = &self.0 {
            let mut mac = mac.clone();
            for part in [header, parent, metadata, content] {
                mac.update(part);
            }
            let given = unhex(signature).ok_or(BadMessage::Signature)?;
            mac.verify_slice(&given).map_err(|_| BadMessage::Signature)?;
        }
        let read = |part, bytes: &[u8]| {
            lenient_json(bytes).map_err(|error| BadMessage::Json { part, why: error.to_string() })
        };
        Ok(JupyterMessage {
            header: read("header", header)?,
            parent: read("parent header", parent)?,
            content: read("content", content)?,
        })
    }

    fn sign(&self, parts: &[Vec<u8>]) -> Option<Vec<u8>> {
        let mut mac = self.0.clone()?;
        for part in parts {
            mac.update(part);
        }
        Some(mac.finalize().into_bytes().to_vec())
    }
}

/// The value of a part. Kernels in Python write what is no JSON: `NaN` and infinities, bytes that are no UTF-8 (names of files
/// have them), and halves of surrogate pairs. That costs a character, not the message.
pub fn lenient_json(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let text = String::from_utf8_lossy(bytes);
        serde_json::from_str(&mended(&text)).map_err(|_| error)
    })
}

/// The text with `null` for `NaN` and infinities that stand outside of strings, and a mark for each half of a surrogate pair.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(next) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word));
        if let (Some(word), false) = (word, quoted) {
            out.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        let length = match next {
            '\\' if quoted => escape(rest, &mut out),
            _ => {
                quoted ^= next == '"';
                out.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// Copies the escape at the beginning of the text; returns its length.
fn escape(text: &str, out: &mut String) -> usize {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let length = match (unit(0), unit(6)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
        (Some(0xd800..0xe000), _) => {
            out.push_str("\\ufffd");
            return 6;
        }
        (Some(_), _) => 6,
        (None, _) => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
    };
    out.push_str(&text[..length]);
    length
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let pair = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> JupyterMessage {
        JupyterMessage::request("m1", "s1", "execute_request", json!({"code": "é"}))
    }

    #[test]
    fn k1_a_message_is_signed_as_jupyter_signs() {
        // By Python: hmac.new(b"key", b"".join([b"{}"] * 4), "sha256").hexdigest()
        let parts = [b"{}".to_vec(), b"{}".to_vec(), b"{}".to_vec(), b"{}".to_vec()];
        let signed = SigningKey::new("key").sign(&parts).unwrap();
        let expected = "ca767b02c5bc061ed184a9a029e7f93a7f2f7ed4e8fe74120fc1212f0b008fa3";
        assert_eq!(hex(&signed), expected);
    }

    #[test]
    fn k1_what_is_encoded_is_decoded_and_identities_are_passed_over() {
        for key in ["", "secret"] {
            let key = SigningKey::new(key);
            let mut parts = key.encode(&message());
            parts.insert(0, b"identity".to_vec());
            parts.push(b"a buffer".to_vec());
            let read = key.decode(&parts).unwrap();
            assert_eq!((read.kind(), read.text("code")), ("execute_request", "é"));
            assert_eq!(read.header["msg_id"], "m1");
        }
    }

    #[test]
    fn k1_a_message_with_a_wrong_key_or_half_of_its_parts_is_none() {
        let parts = SigningKey::new("theirs").encode(&message());
        let ours = SigningKey::new("ours");
        assert_eq!(ours.decode(&parts), Err(BadMessage::Signature));
        assert_eq!(ours.decode(&parts[..4]), Err(BadMessage::Parts));
        assert_eq!(ours.decode(&[]), Err(BadMessage::Parts));
        let mut unsigned = parts.clone();
        unsigned[1] = b"zz".to_vec();
        assert_eq!(ours.decode(&unsigned), Err(BadMessage::Signature));
        let none = SigningKey::new("");
        let mut broken = none.encode(&message());
        broken[5] = b"{\"a\":".to_vec();
        assert!(matches!(none.decode(&broken), Err(BadMessage::Json { part: "content", .. })));
    }

    #[test]
    fn k1_o1_text_that_is_no_unicode_costs_a_character_and_not_the_message() {
        for (bytes, text) in [
            (b"{\"text\":\"na\xffme\"}".as_slice(), "na\u{fffd}me"),
            (b"{\"text\":\"na\xed\xb3\xbfme\"}", "na\u{fffd}\u{fffd}\u{fffd}me"),
            (br#"{"text":"a\udcffb"}"#, "a\u{fffd}b"),
            (br#"{"text":"a\ud83d"}"#, "a\u{fffd}"),
            (br#"{"text":"\ud83d\ud83d\ude00\\udcff\""}"#, "\u{fffd}\u{1f600}\\udcff\""),
            (br#"{"text":"\udcff", "n": NaN}"#, "\u{fffd}"),
        ] {
            assert_eq!(lenient_json(bytes).unwrap()["text"], text, "{}", bytes.escape_ascii());
        }
        for broken in
            [br#"{"text":"\"#.as_slice(), b"{\"text\":\"\xff", br#"{"text":"\u12"}"#, b"\\"]
        {
            assert!(lenient_json(broken).is_err());
        }
    }

    #[test]
    fn k1_numbers_that_are_no_json_cost_no_message() {
        let none = SigningKey::new("");
        let mut parts = none.encode(&message());
        parts[5] = br#"{"a":[NaN,-Infinity,1],"b":"NaN \" Infinity"}"#.to_vec();
        let read = none.decode(&parts).unwrap();
        assert_eq!(read.content, json!({"a": [null, null, 1], "b": "NaN \" Infinity"}));
    }
}
