//! The calls that the compiler cannot vouch for, each behind a function that is safe to call.

use std::os::fd::OwnedFd;

use stead_client::Begun;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

/// Lets the runtime wait on a descriptor.
pub(crate) fn watch_descriptor(
    fd: OwnedFd,
    interest: Interest,
) -> Result<AsyncFd<OwnedFd>, AsyncFdRegisterError<OwnedFd>> {
    // SAFETY: an `OwnedFd` is the same descriptor for as long as it lives.
    unsafe { AsyncFd::register_with_interest(fd, interest) }
}

/// Lets the runtime wait for what a host says about an eval; gives the eval back if that is not possible.
pub(crate) fn watch_begun(begun: Begun) -> Result<AsyncFd<Begun>, Box<Begun>> {
    // SAFETY: a `Begun` owns its connection, and keeps the same one until it is finished.
    let watched = unsafe { AsyncFd::register_with_interest(begun, Interest::READABLE) };
    watched.map_err(|error| Box::new(error.into_parts().0))
}
