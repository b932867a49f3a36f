//! Editors that wait for the running eval (SPEC E-19): what is shown of them.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stead_interpreter::{Among, Editor};
use stead_protocol::bridge::Stream;

use crate::host::Host;

/// The most that is shown of a file whose editor is not heard.
const MOST_SHOWN: u64 = 64 << 10;

impl Host {
    /// The editor of ours that waits for the running eval.
    pub(crate) fn editor(&self) -> Option<Editor> {
        self.bridge.as_ref()?.editor(self.pid, Among::Young)
    }

    /// Shows, once, the file of an editor whose own output a program keeps to itself
    /// (`subprocess.run(…, capture_output=True)`): nobody could answer without it.
    pub(crate) fn show_editor(&mut self, editor: &Editor) {
        if editor.is_heard || self.shown_editor.replace(editor.pid) == Some(editor.pid) {
            return;
        }
        let mut shown = format!("editor: {}\n", editor.file.display()).into_bytes();
        shown.extend(head(&editor.file));
        if !shown.ends_with(b"\n") {
            shown.push(b'\n');
        }
        self.ledger.output(Stream::Err, &shown);
    }
}

/// The beginning of a file; nothing of one that cannot be read at once.
fn head(file: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file);
    if let Ok(opened) = opened
        && opened.metadata().is_ok_and(|meta| meta.is_file())
    {
        let _ = opened.take(MOST_SHOWN).read_to_end(&mut head);
    }
    head
}
