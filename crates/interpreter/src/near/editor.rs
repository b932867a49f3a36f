//! Editors of stead's own that read a session's input (SPEC E-19), and how their files are shown.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use stead_editor::EditorAnswer;
use stead_protocol::bridge::Stream;

use super::Tell;
use super::interpreter::Interpreter;
use crate::told::Told;

/// Most bytes that are shown of a file whose editor's output does not reach the session.
const MOST_SHOWN: u64 = 64 << 10;

/// Which processes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// Those that the running eval started.
    Young,
    /// All of the session.
    All,
}

/// An editor that waits for an answer.
#[derive(Debug)]
pub(super) struct Editor {
    /// Its process.
    pub(super) pid: u32,
    /// The file it has open.
    pub(super) file: PathBuf,
    /// Whether its output reaches the session; it does not if a program captures the output of its children.
    pub(super) is_heard: bool,
}

impl Interpreter {
    /// The editor of stead's own that reads this session's input, if there is one.
    pub(super) fn editor(&self, among: Among) -> Option<Editor> {
        let is = |fd: &OwnedFd, path: String| {
            let (Ok(ours), Ok(theirs)) = (rustix::fs::fstat(fd), std::fs::metadata(path)) else {
                return false;
            };
            theirs.dev() == ours.st_dev && theirs.ino() == ours.st_ino
        };
        let reads = |pid: u32| is(&self.child.ends.stdin_read, format!("/proc/{pid}/fd/0"));
        let meant = |pid: u32| among == Among::All || !self.is_elder(pid);
        let all = self.family.members().into_iter();
        // The name is looked at first, because hardly any process has it.
        let (pid, file) = all
            .filter_map(|pid| Some((pid, stead_editor::file_of(pid)?)))
            .find(|(pid, _)| meant(*pid) && reads(*pid))?;
        let shows = format!("/proc/{pid}/fd/2");
        let is_heard =
            is(&self.child.ends.stderr, shows.clone()) || is(&self.child.ends.stdout, shows);
        Some(Editor { pid, file, is_heard })
    }

    /// Answers an editor: a text becomes the file's content, an end of file alone leaves the file as it is.
    /// The input stays open for the next editor.
    pub(super) fn answer_editor(&mut self, text: &[u8], eof: bool) -> io::Result<()> {
        let answer = match text {
            [] if eof => EditorAnswer::Keep,
            text => EditorAnswer::Text(text.to_vec()),
        };
        self.give_input(&answer.encode(), false)
    }

    /// Shows, once, the file of an editor whose output a program captures (`subprocess.run(…,
    /// capture_output=True)`): without the file nobody could answer.
    pub(super) fn show_editor(&mut self, editor: &Editor, tell: Tell<'_>) {
        if editor.is_heard || self.shown_editor.replace(editor.pid) == Some(editor.pid) {
            return;
        }
        let mut shown = format!("editor: {}\n", editor.file.display()).into_bytes();
        shown.extend(head(&editor.file));
        if !shown.ends_with(b"\n") {
            shown.push(b'\n');
        }
        tell(Told::Output { stream: Stream::Err, bytes: Cow::Owned(shown) });
    }
}

/// The beginning of a file; empty if the file cannot be read without waiting.
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
