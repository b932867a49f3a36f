//! Where a path leads: a kernel may run on another machine or see other files, also one that was started here (by `ssh`, in a
//! container).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use stead_protocol::bridge::Command;

use crate::talk::TalkInput;

/// What the host wants, as the conversation takes it.
pub fn host_input<'a>(command: &'a Command<'a>) -> TalkInput<'a> {
    match command {
        Command::Work { argument, .. } => {
            let path = argument.split('\n').next().unwrap_or_default();
            TalkInput::HostWork(command, path_place(path))
        }
        _ => TalkInput::Host(command),
    }
}

/// What shows whether a path means the same file elsewhere: which machine and user this is, and the device
/// and inode of the path, or of its nearest parent that exists.
fn path_place(path: &str) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut place = String::new();
    for step in Path::new(path).ancestors() {
        if let (Some(text), Ok(found)) = (step.to_str(), fs::metadata(step)) {
            let user = rustix::process::geteuid().as_raw();
            let (device, inode) = (found.dev(), found.ino());
            let _ = write!(place, "{} {user} {device} {inode} {text}", boot.trim());
            break;
        }
    }
    // A path that cannot be looked up gets a place that no kernel takes for its own.
    if place.is_empty() { "- 0 0 0 /".to_owned() } else { place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st2_a_path_is_told_by_the_nearest_thing_that_is_there() {
        let place = path_place("/proc/self/no/such/file");
        let words: Vec<&str> = place.split(' ').collect();
        assert_eq!((words.len(), words[4]), (5, "/proc/self"), "{place}");
        assert!(words[0].len() > 30, "{place}");
        assert_eq!(path_place(""), "- 0 0 0 /");
    }
}
