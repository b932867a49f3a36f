//! What is on its way to the client, which may read it late or never.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// How much a client may leave unread before nothing more is taken from it.
const MOST_UNREAD: usize = 16 << 20;
/// How long the last words may take to a client that does not read.
const CLOSE_TIME: Duration = Duration::from_millis(100);

/// How much is on its way to a client that may not read.
#[derive(Debug, Default)]
pub(super) struct Unread {
    bytes: AtomicUsize,
    less: Notify,
}

impl Unread {
    /// Returns once the client has read enough to be listened to and answered.
    pub(super) async fn has_room(&self) {
        let has_room = || self.bytes.load(Ordering::Acquire) < MOST_UNREAD;
        while !has_room() {
            let less = self.less.notified();
            // There may be since that was looked at, and nobody told.
            if has_room() {
                return;
            }
            less.await;
        }
    }
}

/// Lines that were given to the client and those that will be.
pub(super) struct Outbox<W> {
    writer: tokio::sync::Mutex<W>,
    unread: Arc<Unread>,
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub(super) fn new(writer: W, unread: Arc<Unread>) -> Self {
        Outbox { writer: tokio::sync::Mutex::new(writer), unread }
    }

    /// Counts a line as on its way; `write` must follow.
    pub(super) fn take(&self, mut line: Vec<u8>) -> Vec<u8> {
        line.push(b'\n');
        self.unread.bytes.fetch_add(line.len(), Ordering::AcqRel);
        line
    }

    pub(super) async fn write(&self, line: Vec<u8>) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let written = written.await;
        self.unread.bytes.fetch_sub(line.len(), Ordering::AcqRel);
        self.unread.less.notify_waiters();
        written
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.unread.bytes.load(Ordering::Acquire) == 0
    }

    /// Ends what is written, within a short time.
    pub(super) async fn close(&self) -> io::Result<()> {
        let shut = async { self.writer.lock().await.shutdown().await };
        tokio::time::timeout(CLOSE_TIME, shut).await.unwrap_or(Ok(()))
    }

    /// Returns once the client has read enough to be listened to.
    pub(super) async fn has_room(&self) {
        self.unread.has_room().await;
    }
}
