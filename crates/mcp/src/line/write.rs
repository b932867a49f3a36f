//! The lines that go back to a client: the one writer for every call. None has its end yet.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::meta::Era;
use super::requests::RequestId;
use super::shape::ShapeRefusal;
use crate::Answer;

/// Bytes that a short answer has around its text, with room for some escapes in it.
const AROUND_TEXT: usize = 160;

/// The answer to a call.
#[derive(Serialize)]
struct AnswerLine<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: CallResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    /// Clients that speak a protocol of before 2026-07-28 do not know this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(serialize_with = "content")]
    content: &'a Answer,
    is_error: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: &'a str,
    },
}

pub(super) fn answer(id: &RequestId, answer: &Answer, era: Era) -> Vec<u8> {
    let result_type = match era {
        Era::Handshake => None,
        Era::Stateless => Some("complete"),
    };
    let result = CallResult { result_type, content: answer, is_error: answer.failed };
    let mut line = Vec::with_capacity(answer.text.len() + AROUND_TEXT);
    // Only a map with keys that are no text, or a full disk, could fail here.
    let _ = serde_json::to_writer(&mut line, &AnswerLine { jsonrpc: "2.0", id, result });
    line
}

fn content<S: Serializer>(answer: &&Answer, serializer: S) -> Result<S::Ok, S::Error> {
    let mut blocks = serializer.serialize_seq(Some(1 + answer.images.len()))?;
    blocks.serialize_element(&Block::Text { text: &answer.text })?;
    for image in &answer.images {
        let data = STANDARD.encode(&image.bytes);
        blocks.serialize_element(&Block::Image { data, mime: &image.mime })?;
    }
    blocks.end()
}

/// How far a call has come, `count` being higher each time.
pub(super) fn progress(token: &RequestId, count: f64, message: &str) -> Vec<u8> {
    let params = json!({"progressToken": token, "progress": count, "message": message});
    let line = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    line.to_string().into_bytes()
}

/// Why a message is not carried out.
pub(super) fn refusal(refusal: &ShapeRefusal) -> Vec<u8> {
    let ShapeRefusal { id, code, message, data } = refusal;
    let mut line = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    if let Some(data) = data {
        line["error"]["data"] = data.clone();
    }
    line.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use rmcp::RoleServer;
    use rmcp::model::{
        JsonRpcMessage, NumberOrString, ProgressNotification, ProgressNotificationParam,
        ProgressToken, ServerNotification, ServerResult,
    };
    use rmcp::service::TxJsonRpcMessage;
    use serde_json::Value;

    use super::*;
    use crate::Image;
    use crate::sdk::result;

    /// Whatever way a call comes, it is answered with the same bytes.
    #[test]
    fn m1_an_answer_is_written_as_the_sdk_writes_it() {
        let picture = Image { mime: "image/png".to_owned(), bytes: vec![0, 1, 2, 255] };
        let odd = "a \"b\" \\ \n\t\u{1} \u{1f600} \u{2028}";
        let answers = [
            Answer::text(""),
            Answer::text(odd.repeat(100)),
            Answer { images: vec![picture.clone(), picture], ..Answer::text(odd) },
            Answer { failed: true, ..Answer::text("[bad_request: no]") },
        ];
        let ids = [
            (RequestId::Number(-1), NumberOrString::Number(-1)),
            (RequestId::Text(odd.into()), NumberOrString::String(odd.into())),
        ];
        for answer in answers {
            for (our_id, their_id) in &ids {
                for era in [Era::Handshake, Era::Stateless] {
                    let mut theirs = ServerResult::CallToolResult(result(answer.clone()));
                    if era == Era::Handshake {
                        theirs.strip_result_type_for_legacy_peer();
                    }
                    let theirs: TxJsonRpcMessage<RoleServer> =
                        JsonRpcMessage::response(theirs, their_id.clone());
                    let ours = super::answer(our_id, &answer, era);
                    assert_eq!(ours, serde_json::to_vec(&theirs).unwrap(), "{answer:?} {era:?}");
                }
            }
        }
    }

    #[test]
    fn m4_progress_is_written_as_the_sdk_writes_it() {
        let token = ProgressToken(NumberOrString::String("t".into()));
        let param = ProgressNotificationParam::new(token, 2.0).with_message("a\nb");
        let theirs = ServerNotification::ProgressNotification(ProgressNotification::new(param));
        let theirs: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::notification(theirs);
        let ours = progress(&RequestId::Text("t".into()), 2.0, "a\nb");
        assert_eq!(serde_json::from_slice::<Value>(&ours).unwrap(), json!(theirs));
    }
}
