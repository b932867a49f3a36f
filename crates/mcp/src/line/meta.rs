//! What a client says with a call, in `_meta`, and by which rules of the protocol the call is answered.

use serde_json::{Map, Value, json};

use super::requests::RequestId;
use super::shape::{INVALID_PARAMS, ShapeRefusal};

/// How the protocol's own fields begin.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The first version in which there is no handshake: each request says itself what its client can do.
const STATELESS: &str = "2026-07-28";
/// The protocol's code for a version that the server does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The `_meta` of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallMeta(Map<String, Value>);

/// The rules by which a call is answered (SPEC M-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Before 2026-07-28.
    Handshake,
    /// Since then.
    Stateless,
}

impl CallMeta {
    pub(super) fn new(fields: Map<String, Value>) -> Self {
        CallMeta(fields)
    }

    /// Under which token the client wants to hear of progress, if it does.
    pub(crate) fn progress_token(&self) -> Option<RequestId> {
        self.0.get("progressToken").and_then(RequestId::from_json)
    }

    /// What the client calls itself; without a handshake each call may say it.
    pub(crate) fn client_name(&self) -> Option<&str> {
        self.0.get(CLIENT)?.get("name")?.as_str()
    }

    /// The rules for this call. A client that has not `shaken_hands` must say with each call who it is.
    pub(crate) fn era(&self, shaken_hands: bool, spoken: &[&str]) -> Result<Era, ShapeRefusal> {
        let version = self.0.get(VERSION).and_then(Value::as_str);
        if let Some(version) = version.filter(|version| !spoken.contains(version)) {
            let data = json!({"requested": version, "supported": spoken});
            let message = "Unsupported protocol version".to_owned();
            return Err(ShapeRefusal::new(None, UNSUPPORTED_VERSION, message).with_data(data));
        }
        // Versions are dates, whose order as text is their order in time.
        let stateless = version.is_some_and(|version| version >= STATELESS);
        if shaken_hands && !stateless {
            return Ok(Era::Handshake);
        }
        let capable = self.0.get(CAPABILITIES).is_some_and(Value::is_object);
        let missing: Vec<&str> = [(VERSION, version.is_some()), (CAPABILITIES, capable)]
            .into_iter()
            .filter_map(|(name, there)| (!there).then_some(name))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message =
                format!("request _meta is missing or has malformed required fields: {missing}");
            return Err(ShapeRefusal::new(None, INVALID_PARAMS, message));
        }
        Ok(if stateless { Era::Stateless } else { Era::Handshake })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOKEN: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

    fn era(meta: Value, shaken_hands: bool) -> Result<Era, i64> {
        let Value::Object(fields) = meta else { panic!("an object") };
        CallMeta::new(fields).era(shaken_hands, &SPOKEN).map_err(|refused| refused.code)
    }

    #[test]
    fn m1_each_call_is_answered_by_the_rules_of_its_era() {
        let new = json!({VERSION: "2026-07-28", CAPABILITIES: {}});
        let old = json!({VERSION: "2025-06-18", CAPABILITIES: {}});
        for shaken_hands in [false, true] {
            assert_eq!(era(new.clone(), shaken_hands), Ok(Era::Stateless));
            assert_eq!(era(old.clone(), shaken_hands), Ok(Era::Handshake));
            for bad in
                [json!({VERSION: "2026-07-28"}), json!({VERSION: "2026-07-28", CAPABILITIES: 5})]
            {
                assert_eq!(era(bad, shaken_hands), Err(INVALID_PARAMS));
            }
            let unknown = json!({VERSION: "1999-01-01", CAPABILITIES: {}});
            assert_eq!(era(unknown, shaken_hands), Err(UNSUPPORTED_VERSION));
        }
        for bare in [json!({}), json!({"progressToken": 1}), json!({VERSION: 5})] {
            assert_eq!(era(bare.clone(), true), Ok(Era::Handshake), "{bare}");
            assert_eq!(era(bare.clone(), false), Err(INVALID_PARAMS), "{bare}");
        }
    }
}
