//! What `ps` shows of this process. Everyone on the machine can read it.

use std::ffi::CString;

use crate::sys::change_arguments;

/// Gives this process another name. A user who kills everything called `stead` should hit the hosts and leave
/// their guards, which clean up after them.
pub fn rename(name: &str) {
    let Ok(comm) = CString::new(name) else { return };
    let _ = rustix::thread::set_name(&comm);
    change_arguments(|memory| {
        let kept = name.len().min(memory.len() - 1);
        memory[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        memory[kept..].fill(0);
    });
}

/// Takes all words but the first `keep` off this process's command line: they may be code, or hold a
/// secret.
pub fn hide_arguments(keep: usize) {
    change_arguments(|memory| {
        let ends = memory.iter().enumerate().filter(|(_, byte)| **byte == 0);
        if let Some((end, _)) = ends.take(keep).last() {
            memory[end..].fill(0);
        }
    });
}
