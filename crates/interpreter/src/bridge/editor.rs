//! Editors of ours that read a session's input (SPEC E-19).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use stead_editor::Answer;
use stead_launch::tree;

use super::Bridge;

/// Which processes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Those that the running eval started.
    Young,
    /// All of the session.
    All,
}

/// An editor that waits for an answer.
#[derive(Debug)]
pub struct Editor {
    /// Its process.
    pub pid: u32,
    /// The file it has open.
    pub file: PathBuf,
    /// Whether what it shows comes to the session; not if a program keeps the output of its children.
    pub is_heard: bool,
}

impl Bridge {
    /// The editor of ours that reads this session's input, if there is one.
    pub fn editor(&self, host: u32, among: Among) -> Option<Editor> {
        let is = |fd: &OwnedFd, path: String| {
            let (Ok(ours), Ok(theirs)) = (rustix::fs::fstat(fd), std::fs::metadata(path)) else {
                return false;
            };
            theirs.dev() == ours.st_dev && theirs.ino() == ours.st_ino
        };
        let reads = |pid: u32| is(&self.child.stdin_read, format!("/proc/{pid}/fd/0"));
        let meant = |pid: u32| among == Among::All || !self.is_elder(pid);
        let all = tree::descendants(host).into_iter();
        // The name is asked first: nearly no process has it.
        let (pid, file) = all
            .filter_map(|pid| Some((pid, stead_editor::file_of(pid)?)))
            .find(|(pid, _)| meant(*pid) && reads(*pid))?;
        let shows = format!("/proc/{pid}/fd/2");
        let is_heard = is(&self.child.stderr, shows.clone()) || is(&self.child.stdout, shows);
        Some(Editor { pid, file, is_heard })
    }

    /// Answers an editor: a text is the file's new one, an end of file alone leaves it as it is. The input stays open for
    /// the next editor.
    pub fn answer_editor(&mut self, text: &[u8], eof: bool) -> io::Result<()> {
        let answer = match text {
            [] if eof => Answer::Keep,
            text => Answer::Text(text.to_vec()),
        };
        self.give_input(&answer.encode(), false)
    }
}
