//! The one place that knows the protocol's SDK: our calls in, its results out.

mod closing;
mod eval_line;
mod express;
mod handler;
mod lanes;
mod outbox;
mod requests;
mod scan;
mod shape;
mod stdio;
mod transport;

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;

use crate::Server;
use closing::Closing;
use express::Express;
pub use handler::Handler;
use outbox::Unread;
use stdio::{Incoming, Outgoing};
use transport::Lines;

/// Threads for calls under way. They only wait, and lanes bound them per session.
const CALL_THREADS: usize = 1024;

/// Serves one client on standard input and output until it leaves.
///
/// # Errors
/// When the pipes cannot be used.
pub fn serve_stdio(server: Server) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(CALL_THREADS)
        .build()?;
    let served = runtime.block_on(serve(server));
    // Calls that still wait are only detached from: their evals live in hosts.
    runtime.shutdown_background();
    served
}

async fn serve(server: Server) -> io::Result<()> {
    let closing = Arc::new(Closing::default());
    let server = Arc::new(server);
    let unread = Arc::new(Unread::default());
    let handler = Handler::new(server.clone(), closing.clone(), unread.clone());
    let (reader, writer) = (Incoming::open(), Outgoing::open());
    let express =
        reader.descriptor().map(|client| Express::new(server, handler.open_calls(), client));
    match handler.serve(Lines::new(reader, writer, express, closing.clone(), unread)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // A client that left before it asked for anything.
        Err(_) if closing.is_set() => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}
