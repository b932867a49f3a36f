//! Looking at processes of other programs.

use std::fs;

/// Ids of all processes whose environment holds this `NAME=value`.
pub fn tagged(tag: &str) -> Vec<u32> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| state_of(*pid).is_some_and(|state| state != 'Z'))
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environ| environ.split(|&b| b == 0).any(|one| one == tag.as_bytes()))
        })
        .collect()
}

/// The state letter of a process, if it is there.
pub fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

/// Whether the main thread of a process waits for what it reads.
pub fn is_reading(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    call.split(' ').next().and_then(|number| number.parse().ok()) == Some(libc::SYS_read)
}

/// Whether the process is there and not just a zombie.
pub fn is_alive(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z')
}

/// The guard of a host: its parent, or a child if the first one was killed.
pub fn guard_of(host: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{host}/stat")).ok()?;
    let parent = stat[stat.rfind(')')? + 2..].split(' ').nth(1)?.parse::<u32>().ok()?;
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    let is_guard = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "session-guard" && is_alive(*pid)
    };
    std::iter::once(parent).chain(children).find(is_guard)
}
