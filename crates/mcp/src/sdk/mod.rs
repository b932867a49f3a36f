//! The one place that knows the protocol's SDK: the handshake, the lists, and whatever else is no call.

mod handler;
mod transport;

use std::io::{self, Write};
use std::sync::Arc;

use rmcp::ServiceExt;
use stead_protocol::{LogLevel, PROGRAM};

use crate::Server;
use crate::line::{Calls, Closing, Incoming, Outgoing, Peer, Unread};
pub use handler::Handler;
#[cfg(test)]
pub(crate) use handler::result;
use transport::StdioTransport;

/// Threads for calls under way. They only wait, and turns bound them per session.
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
    let log = server_log(&server);
    let served = runtime.block_on(serve(server));
    if log {
        said("the client has left");
    }
    // Calls that still wait are only detached from: their evals live in hosts.
    runtime.shutdown_background();
    served
}

/// Says on standard error that the server is there, if it is to log so much (SPEC CF-2); whether it is. Clients keep
/// what servers write there.
fn server_log(server: &Server) -> bool {
    let word = std::env::var("STEAD_LOG").ok().filter(|word| !word.is_empty());
    let word = word.or_else(|| stead_client::users_word(stead_config::ConfigKey::Log));
    let log = word.as_deref().and_then(LogLevel::named) == Some(LogLevel::Info);
    if log {
        said(&format!(
            "stead {PROGRAM} serves {}",
            server.place().here().client.workspace.as_str()
        ));
    }
    log
}

fn said(text: &str) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = stead_protocol::utc(now.map_or(0, |time| time.as_millis() as u64));
    let _ = writeln!(io::stderr(), "{now} info: {text}");
}

async fn serve(server: Server) -> io::Result<()> {
    let (closing, unread) = (Arc::new(Closing::default()), Arc::new(Unread::default()));
    let calls = Arc::new(Calls::new(server, closing.clone(), unread.clone()));
    let reader = Incoming::open();
    let peer = Peer::new(&reader, Outgoing::open(), unread, closing.clone());
    let transport = StdioTransport::new(reader, peer.clone(), calls.clone());
    let served = match Handler::new(calls).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // A client that left before it asked the SDK for anything.
        Err(_) if closing.is_set() => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    served.and(peer.part().await)
}
