//! What the process's exit code says (SPEC C-6).

use stead_client::EvalView;
use stead_protocol::Outcome;

/// The request was carried out; the eval may still run.
pub(crate) const SUCCESS: u8 = 0;
/// The code failed, was interrupted, or ended its session.
pub(crate) const CODE_FAILED: u8 = 1;
/// The request could not be carried out.
pub(crate) const REQUEST_FAILED: u8 = 2;
/// The hard timeout passed.
pub(crate) const HARD_TIMEOUT: u8 = 3;
/// The user stopped waiting with a second Ctrl-C; the eval goes on.
pub(crate) const LEFT: u8 = 130;

/// The exit code that the eval's own code ended with, as a shell would pass it on.
pub(crate) fn of_code(view: &EvalView) -> Option<u8> {
    match view.outcome.as_ref()? {
        Outcome::Complete | Outcome::Error | Outcome::Ended { .. } => {
            view.exit_code.map(|code| (code & 0xff) as u8)
        }
        // Code that was stopped from outside has no exit code of its own.
        _ => None,
    }
}
