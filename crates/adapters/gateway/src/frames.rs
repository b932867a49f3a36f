//! How messages stand in a WebSocket: the form `v1.kernel.websocket.jupyter.org`, and the older one that is all JSON.

use serde_json::{Value, json};
use stead_jupyter::{JupyterMessage, KernelChannel, SigningKey, lenient_json};
use tungstenite::Message;

/// The name of the newer form.
pub(crate) const V1: &str = "v1.kernel.websocket.jupyter.org";

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireForm {
    V1,
    Json,
}

impl WireForm {
    /// A message as it is sent.
    pub(crate) fn write(self, channel: KernelChannel, message: &JupyterMessage) -> Message {
        // Servers want unsigned parts, so the delimiter and the empty signature, which come first, are left out.
        let parts = SigningKey::new("").encode(message).split_off(2);
        match self {
            WireForm::V1 => Message::binary(v1(channel_name(channel), &parts)),
            WireForm::Json => {
                let text = |part: &Vec<u8>| String::from_utf8_lossy(part).into_owned();
                let [header, parent, metadata, content] = parts.as_slice() else {
                    return Message::text("{}");
                };
                Message::text(format!(
                    r#"{{"channel":{},"header":{},"parent_header":{},"metadata":{},"content":{},"buffers":[]}}"#,
                    json!(channel_name(channel)),
                    text(header),
                    text(parent),
                    text(metadata),
                    text(content)
                ))
            }
        }
    }

    /// The message that was sent in this form; an error says why it is no message.
    pub(crate) fn read(self, message: &Message) -> Result<(KernelChannel, JupyterMessage), String> {
        match (self, message) {
            (WireForm::V1, Message::Binary(bytes)) => read_v1(bytes),
            (WireForm::Json, Message::Text(text)) => read_json(text.as_bytes()),
            (WireForm::Json, Message::Binary(bytes)) => {
                read_json(first_buffer(bytes).ok_or("a message whose parts do not fit")?)
            }
            _ => Err("a message in a form that was not agreed upon".to_owned()),
        }
    }
}

fn channel_name(channel: KernelChannel) -> &'static str {
    match channel {
        KernelChannel::Shell => "shell",
        KernelChannel::Control => "control",
        KernelChannel::Published => "iopub",
        KernelChannel::Stdin => "stdin",
    }
}

fn channel_of(name: &str) -> Result<KernelChannel, String> {
    Ok(match name {
        "shell" => KernelChannel::Shell,
        "control" => KernelChannel::Control,
        "iopub" => KernelChannel::Published,
        "stdin" => KernelChannel::Stdin,
        _ => return Err("a message of no known channel".to_owned()),
    })
}

/// The number of offsets, the offsets, and the parts that they lead to, all numbers of 8 bytes.
fn v1(channel: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    let count = parts.len() + 2;
    let mut offset = 8 * (1 + count);
    let mut bytes = (count as u64).to_le_bytes().to_vec();
    let lengths = std::iter::once(channel.len()).chain(parts.iter().map(Vec::len));
    for length in std::iter::once(0).chain(lengths) {
        offset += length;
        bytes.extend((offset as u64).to_le_bytes());
    }
    bytes.extend(channel.bytes());
    parts.iter().for_each(|part| bytes.extend(part));
    bytes
}

fn read_v1(bytes: &[u8]) -> Result<(KernelChannel, JupyterMessage), String> {
    let torn = || "a message whose parts do not fit".to_owned();
    let number = |at: usize| {
        let eight = bytes.get(at..at.checked_add(8)?)?;
        usize::try_from(u64::from_le_bytes(eight.try_into().ok()?)).ok()
    };
    let count = number(0).filter(|count| (6..=10_000).contains(count)).ok_or_else(torn)?;
    let mut parts = Vec::new();
    for at in 1..count {
        let (from, to) = (number(8 * at), number(8 * (at + 1)));
        let (Some(from), Some(to)) = (from, to) else { return Err(torn()) };
        parts.push(bytes.get(from..to).ok_or_else(torn)?);
    }
    let channel = channel_of(std::str::from_utf8(parts[0]).map_err(|_| torn())?)?;
    let mut signed = vec![b"<IDS|MSG>".to_vec(), Vec::new()];
    signed.extend(parts[1..].iter().map(|part| part.to_vec()));
    let message = SigningKey::new("").decode(&signed).map_err(|error| error.to_string())?;
    Ok((channel, message))
}

/// The part with the JSON, of a message that brings raw data, too.
fn first_buffer(bytes: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(four.try_into().ok()?) as usize)
    };
    let count = number(0)?;
    let from = number(4)?;
    let to = if count > 1 { number(8)? } else { bytes.len() };
    bytes.get(from..to)
}

fn read_json(bytes: &[u8]) -> Result<(KernelChannel, JupyterMessage), String> {
    let mut value: Value =
        lenient_json(bytes).map_err(|error| format!("a message that is not JSON: {error}"))?;
    let channel = channel_of(value["channel"].as_str().unwrap_or_default())?;
    let mut part = |name: &str| value.get_mut(name).map(Value::take).unwrap_or_default();
    let (header, parent) = (part("header"), part("parent_header"));
    Ok((channel, JupyterMessage { header, parent, content: part("content") }))
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
