//! What `ps` shows of this process. Everyone on the machine can read it.

use std::ffi::CString;

/// Gives this process another name. Who kills everything called `stead` by that name should meet the
/// hosts and leave their guards to clean up after them.
pub fn rename(name: &str) {
    let Ok(comm) = CString::new(name) else { return };
    let _ = rustix::thread::set_name(&comm);
    overwrite(|memory| {
        let kept = name.len().min(memory.len() - 1);
        memory[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        memory[kept..].fill(0);
    });
}

/// Takes all words but the first `keep` off this process's command line: they may be code, or hold a
/// secret.
pub fn hide_arguments(keep: usize) {
    overwrite(|memory| {
        let ends = memory.iter().enumerate().filter(|(_, byte)| **byte == 0);
        if let Some((end, _)) = ends.take(keep).last() {
            memory[end..].fill(0);
        }
    });
}

/// Changes the arguments where the kernel put them.
fn overwrite(change: impl FnOnce(&mut [u8])) {
    let Some((start, len)) = argument_memory() else { return };
    // SAFETY: the kernel put our arguments at this place of our own stack, `len` bytes long, and
    // nothing refers to them: the standard library has made copies.
    change(unsafe { std::slice::from_raw_parts_mut(start as *mut u8, len) });
}

/// Where the kernel put this process's arguments, and how many bytes they take.
fn argument_memory() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
    // Fields 48 and 49, counted from 1; the third is the first after the name.
    let field = |nth: usize| fields.get(nth - 3)?.trim().parse::<usize>().ok();
    let (start, end) = (field(48)?, field(49)?);
    (start != 0 && end > start).then(|| (start, end - start))
}
