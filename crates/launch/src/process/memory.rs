//! What copies of a process cost: memory that would be free without them.

use std::fs;

use crate::process::tree;

/// How much resident memory is looked at. The kernel walks all of its pages, a gigabyte in some ten
/// milliseconds.
const MOST_LOOKED_AT: u64 = 1 << 30;

/// How many bytes would be free without the copies: pages that one or several of `copies` use, and `live`
/// does not. `None` if that would take too long to find out, or the system does not tell.
pub fn taken_by_copies(live: u32, copies: &[u32]) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let all = copies.iter().copied().chain([live]);
    let resident: u64 = all.clone().filter_map(tree::look).map(|it| it.resident_pages * page).sum();
    if resident > MOST_LOOKED_AT {
        return None;
    }
    // A page that n processes share counts one n-th for each, so the shares add up to the memory of all
    // pages. Without the copies, only the pages of the live process would be left.
    let shares: u64 = all.filter_map(|pid| anonymous(pid, "Pss_Anon:")).sum();
    Some(shares.saturating_sub(anonymous(live, "Anonymous:")?))
}

fn anonymous(pid: u32, field: &str) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
