//! Numbers of messages. Kernels of Jupyter's own library count what they send in the ids (`SESSION_PID_7`), on all channels
//! together, so that a message which was thrown away leaves a gap.

use crate::message::JupyterMessage;

/// A kernel throws no message away before this many wait to be read. If fewer were sent since the eval began,
/// a gap has another cause: ids are also given to messages that are not sent.
const NONE_LOST_BELOW: u64 = 1000;

/// What has come since the running eval began.
#[derive(Debug, Default)]
pub(super) struct MessageNumbers {
    /// The beginning of the ids; ids with another beginning are counted by another counter.
    origin: String,
    /// The highest number before the eval, and now.
    before: u64,
    last: u64,
    count: u64,
}

impl MessageNumbers {
    /// An eval begins.
    pub(super) fn begin(&mut self) {
        (self.before, self.count) = (self.last, 0);
    }

    /// Takes note of a message; whether the one before it, by the numbers, has not come.
    pub(super) fn heard(&mut self, message: &JupyterMessage) -> bool {
        let id = message.header["msg_id"].as_str().unwrap_or_default();
        let Some((origin, number)) = id.rsplit_once('_') else { return false };
        // Only ids that begin with `SESSION_PID` end with a counter; other ids may end with a number that
        // means something else.
        let is_counted = origin.rsplit_once('_').is_some_and(|(_, pid)| pid.parse::<u32>().is_ok());
        let (true, Ok(number)) = (is_counted, number.parse::<u64>()) else { return false };
        if self.origin != origin {
            *self = MessageNumbers {
                origin: origin.to_owned(),
                before: number,
                last: number,
                count: 0,
            };
            return false;
        }
        if number > self.before {
            self.count += 1;
        }
        let skips = number > self.last + 1;
        self.last = self.last.max(number);
        skips
    }

    /// How many messages were sent since the eval began and have not come.
    pub(super) fn lost(&self) -> u64 {
        let sent = self.last - self.before;
        if sent < NONE_LOST_BELOW { 0 } else { sent.saturating_sub(self.count) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hear(numbers: &mut MessageNumbers, ids: impl Iterator<Item = String>) {
        for id in ids {
            numbers.heard(&JupyterMessage::request(&id, "s", "stream", json!({})));
        }
    }

    #[test]
    fn o1_a_gap_in_the_numbers_is_a_loss_where_many_were_sent() {
        let mut numbers = MessageNumbers::default();
        let ids = |numbers: std::ops::Range<u64>| numbers.map(|n| format!("ab-cd_77_{n}"));
        hear(&mut numbers, ids(0..50));
        numbers.begin();
        hear(&mut numbers, ids(50..2000));
        assert_eq!(numbers.lost(), 0);
        numbers.begin();
        hear(&mut numbers, ids(2000..2500));
        hear(&mut numbers, ids(3010..3500));
        assert_eq!(numbers.lost(), 510);
        // A few numbers are left out for other reasons.
        numbers.begin();
        hear(&mut numbers, ids(3510..3600));
        assert_eq!(numbers.lost(), 0);
        // Kernels that do not count, and another kernel.
        numbers.begin();
        hear(
            &mut numbers,
            ["5f0e-11aa", "x_y_9999999", "ab-cd_78_9999999"].map(str::to_owned).into_iter(),
        );
        assert_eq!(numbers.lost(), 0);
    }
}
