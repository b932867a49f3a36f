//! What is on its way to the client, which may read it late or never.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::stdio::Outgoing;

/// How much a client may leave unread before nothing more is taken from it.
const MOST_UNREAD: usize = 16 << 20;
/// How long the last words may take to a client that does not read.
const CLOSE_TIME: Duration = Duration::from_millis(100);

/// How much is on its way to a client that may not read.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    bytes: AtomicUsize,
    less: Notify,
}

impl Unread {
    /// Returns once the client has read enough to be listened to and answered.
    pub(crate) async fn has_room(&self) {
        while !self.has_room_now() {
            let less = self.less.notified();
            // Room may have been made after the look above and before `notified`, which does not hear of it then.
            if self.has_room_now() {
                return;
            }
            less.await;
        }
    }

    fn has_room_now(&self) -> bool {
        self.bytes.load(Ordering::Acquire) < MOST_UNREAD
    }
}

/// Lines that were given to the client and those that will be.
#[derive(Debug)]
pub(crate) struct Outbox {
    writer: tokio::sync::Mutex<Outgoing>,
    unread: Arc<Unread>,
}

impl Outbox {
    pub(crate) fn new(writer: Outgoing, unread: Arc<Unread>) -> Self {
        Outbox { writer: tokio::sync::Mutex::new(writer), unread }
    }

    /// Counts a line as on its way; `write` must follow.
    pub(crate) fn take(&self, mut line: Vec<u8>) -> Vec<u8> {
        line.push(b'\n');
        self.unread.bytes.fetch_add(line.len(), Ordering::AcqRel);
        line
    }

    pub(crate) async fn write(&self, line: Vec<u8>) -> io::Result<()> {
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
    pub(crate) fn is_idle(&self) -> bool {
        self.unread.bytes.load(Ordering::Acquire) == 0
    }

    /// Finishes writing, within a short time.
    pub(crate) async fn close(&self) -> io::Result<()> {
        let shut = async { self.writer.lock().await.shutdown().await };
        tokio::time::timeout(CLOSE_TIME, shut).await.unwrap_or(Ok(()))
    }

    /// Returns once the client has read enough to be listened to.
    pub(crate) async fn has_room(&self) {
        self.unread.has_room().await;
    }

    /// Whether it has by now.
    pub(crate) fn has_room_now(&self) -> bool {
        self.unread.has_room_now()
    }

    /// Returns when a line has been written, or could not be.
    pub(crate) fn written(&self) -> Notified<'_> {
        self.unread.less.notified()
    }
}
