//! The clients: the socket at which they find the host, and what is said over each connection.

pub(crate) mod connection;
pub(crate) mod listener;
