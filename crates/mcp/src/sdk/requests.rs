//! Requests that have no answer yet.
//!
//! The SDK tells them apart by id alone, and an id that was cancelled may be used again while the old
//! call still ends: its answer would then be taken for the new one's. So each gets an id of ours.

use std::collections::HashMap;

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::TxJsonRpcMessage;

/// What open requests may hold together; more are refused rather than kept.
const MOST_BYTES: usize = 128 << 20;

/// Open requests of one client.
#[derive(Debug, Default)]
pub(super) struct Requests {
    ours: HashMap<RequestId, RequestId>,
    theirs: HashMap<RequestId, Open>,
    bytes: usize,
    count: u64,
}

#[derive(Debug)]
struct Open {
    id: RequestId,
    bytes: usize,
}

impl Requests {
    /// Opens a request of this size; our id for it, or why it cannot be.
    pub(super) fn begin(
        &mut self,
        id: &RequestId,
        bytes: usize,
        keep_id: bool,
    ) -> Result<RequestId, String> {
        if self.ours.contains_key(id) {
            return Err("`id` is in use by an open request".to_owned());
        }
        if self.bytes > 0 && self.bytes + bytes > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(format!("open requests hold {most} MiB already; wait for some of them"));
        }
        self.count += 1;
        let ours = match keep_id {
            true => id.clone(),
            false => RequestId::String(format!("stead {}", self.count).into()),
        };
        self.bytes += bytes;
        self.ours.insert(id.clone(), ours.clone());
        self.theirs.insert(ours.clone(), Open { id: id.clone(), bytes });
        Ok(ours)
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.theirs.is_empty()
    }

    /// Closes a request that will get no answer: our id for it, if it is open.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<RequestId> {
        let ours = self.ours.get(id)?.clone();
        self.end(&ours);
        Some(ours)
    }

    /// Closes a request; the client's id for it, if it is open.
    pub(super) fn end(&mut self, ours: &RequestId) -> Option<RequestId> {
        let Open { id, bytes } = self.theirs.remove(ours)?;
        self.bytes -= bytes;
        self.ours.remove(&id);
        Some(id)
    }

    /// Gives an answer the client's id and closes its request; whether anybody waits for it.
    pub(super) fn address(&mut self, message: &mut TxJsonRpcMessage<RoleServer>) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => match &mut error.id {
                Some(id) => id,
                None => return true,
            },
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return true,
        };
        let theirs = self.end(id);
        if let Some(theirs) = &theirs {
            *id = theirs.clone();
        }
        theirs.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5_an_id_can_be_used_again_once_it_was_cancelled_or_answered() {
        let mut requests = Requests::default();
        let id = RequestId::Number(7);
        let first = requests.begin(&id, 10, false).unwrap();
        assert!(requests.begin(&id, 10, false).unwrap_err().contains("in use"));
        assert_eq!(requests.cancel(&id), Some(first.clone()));
        assert_eq!(requests.cancel(&id), None);
        let second = requests.begin(&id, 10, false).unwrap();
        assert_ne!(first, second);
        assert_eq!(requests.end(&first), None);
        assert_eq!(requests.end(&second), Some(id));
        assert_eq!((requests.bytes, requests.ours.len(), requests.theirs.len()), (0, 0, 0));
    }

    #[test]
    fn m8_what_open_requests_hold_is_bounded() {
        let mut requests = Requests::default();
        requests.begin(&RequestId::Number(1), MOST_BYTES + 1, false).unwrap();
        assert!(requests.begin(&RequestId::Number(2), 1, false).unwrap_err().contains("128 MiB"));
        requests.cancel(&RequestId::Number(1));
        requests.begin(&RequestId::Number(2), 1, true).unwrap();
    }
}
