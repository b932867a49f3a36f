//! The user knows that earlier state is gone.

use crate::host::Host;

impl Host {
    pub(super) fn acknowledge_loss(&mut self) {
        if self.loss.take().is_some() {
            self.ledger.report();
        }
    }
}
