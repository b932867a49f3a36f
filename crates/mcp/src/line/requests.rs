//! Requests that have no answer yet.
//!
//! A client may use an id again as soon as it has cancelled the request, while the work for it still ends.
//! So each request has a number of ours, and an answer goes to the request with that number, or to none.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

/// Most bytes of all open requests together; further requests are refused.
const MOST_BYTES: usize = 128 << 20;

/// The id of a request as its client wrote it; a token for progress is of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Number(i64),
    Text(Arc<str>),
}

impl RequestId {
    /// The id that a value is, if it may be one.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_i64().map(RequestId::Number),
            Value::String(text) => Some(RequestId::Text(text.as_str().into())),
            _ => None,
        }
    }

    /// The id as a value.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            RequestId::Number(number) => (*number).into(),
            RequestId::Text(text) => (**text).into(),
        }
    }
}

/// Open requests of one client.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: HashMap<RequestId, OpenRequest>,
    ids: HashMap<u64, RequestId>,
    bytes: usize,
    count: u64,
}

#[derive(Debug)]
struct OpenRequest {
    number: u64,
    bytes: usize,
    /// Where to tell a call that it was cancelled; everything else is the SDK's.
    call: Option<Arc<Notify>>,
}

/// A request that its client has cancelled.
#[derive(Debug)]
pub(crate) enum Cancelled {
    /// A call, which was told that it is cancelled.
    Call,
    /// A request that the SDK knows by this number.
    Other(u64),
}

impl Requests {
    /// Opens a call of this size: its number, and where it hears that it was cancelled; or why it cannot be.
    pub(crate) fn open_call(
        &mut self,
        id: &RequestId,
        bytes: usize,
    ) -> Result<(u64, Arc<Notify>), String> {
        let cancelled = Arc::new(Notify::new());
        let number = self.insert(id, bytes, Some(cancelled.clone()))?;
        Ok((number, cancelled))
    }

    /// Opens a request of this size that is no call: its number, or why it cannot be.
    pub(crate) fn open_other(&mut self, id: &RequestId, bytes: usize) -> Result<u64, String> {
        self.insert(id, bytes, None)
    }

    fn insert(
        &mut self,
        id: &RequestId,
        bytes: usize,
        call: Option<Arc<Notify>>,
    ) -> Result<u64, String> {
        if self.open.contains_key(id) {
            return Err("`id` is in use by an open request".to_owned());
        }
        if self.bytes > 0 && self.bytes + bytes > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(format!("open requests hold {most} MiB already; wait for some of them"));
        }
        self.count += 1;
        self.bytes += bytes;
        self.open.insert(id.clone(), OpenRequest { number: self.count, bytes, call });
        self.ids.insert(self.count, id.clone());
        Ok(self.count)
    }

    /// Closes a request that will get no answer, if it is open; a call is told.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<Cancelled> {
        let OpenRequest { number, bytes, call } = self.open.remove(id)?;
        self.ids.remove(&number);
        self.bytes -= bytes;
        Some(match call {
            Some(cancelled) => {
                cancelled.notify_one();
                Cancelled::Call
            }
            None => Cancelled::Other(number),
        })
    }

    /// Closes a request that is about to be answered: the id to answer to, unless it was cancelled.
    pub(crate) fn close(&mut self, number: u64) -> Option<RequestId> {
        let id = self.ids.remove(&number)?;
        if let Some(request) = self.open.remove(&id) {
            self.bytes -= request.bytes;
        }
        Some(id)
    }

    /// Whether none is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a call is open.
    pub(crate) fn has_calls(&self) -> bool {
        self.open.values().any(|request| request.call.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5_an_id_can_be_used_again_once_it_was_cancelled_or_answered() {
        let mut requests = Requests::default();
        let id = RequestId::Number(7);
        let (first, _) = requests.open_call(&id, 10).unwrap();
        assert!(requests.open_call(&id, 10).unwrap_err().contains("in use"));
        assert!(requests.open_other(&id, 10).unwrap_err().contains("in use"));
        assert!(matches!(requests.cancel(&id), Some(Cancelled::Call)));
        assert!(requests.cancel(&id).is_none());
        let second = requests.open_other(&id, 10).unwrap();
        assert_eq!(requests.close(first), None);
        assert_eq!(requests.close(second), Some(id));
        assert_eq!((requests.bytes, requests.open.len(), requests.ids.len()), (0, 0, 0));
    }

    #[test]
    fn m5_the_number_five_and_the_text_five_are_two_requests() {
        let mut requests = Requests::default();
        let (number, text) = (RequestId::Number(5), RequestId::Text("5".into()));
        requests.open_call(&number, 1).unwrap();
        let other = requests.open_other(&text, 1).unwrap();
        assert!(matches!(requests.cancel(&text), Some(Cancelled::Other(known)) if known == other));
        assert!(requests.has_calls());
        assert!(matches!(requests.cancel(&number), Some(Cancelled::Call)));
        assert!(requests.is_empty());
    }

    #[test]
    fn m8_what_open_requests_hold_is_bounded() {
        let mut requests = Requests::default();
        requests.open_call(&RequestId::Number(1), MOST_BYTES + 1).unwrap();
        assert!(requests.open_call(&RequestId::Number(2), 1).unwrap_err().contains("128 MiB"));
        requests.cancel(&RequestId::Number(1));
        requests.open_other(&RequestId::Number(2), 1).unwrap();
    }
}
