//! Which processes and threads were there before the running eval: interrupts spare them.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use stead_launch::census::Census;
use stead_launch::tree;

use super::interpreter::Interpreter;
use super::limit::HardLimit;

/// The processes and threads that were there before the running eval, and the interpreter's image then.
#[derive(Debug, Default)]
pub(super) struct Elders {
    known: HashSet<u32>,
    surroundings: Surroundings,
    /// When they were listed, in clock ticks since boot.
    looked_at: u64,
    /// When the running eval began, in clock ticks since boot.
    born_after: u64,
    census: Census,
    /// The interpreter's image at its start, by which a replaced program is noticed.
    image: Option<ProcessImage>,
    /// The interpreter's name before the running eval began, for a process that has no executable any more.
    name: Option<String>,
    /// The file with the interpreter's name, kept open because it is read for every eval.
    comm: Option<File>,
}

/// Whether the processes that were left by the last eval are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Surroundings {
    #[default]
    Unknown,
    Known,
}

/// What a process runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProcessImage {
    /// The device and number of its executable: the path would be another one once the file was replaced, as by
    /// an upgrade.
    file: (u64, u64),
    /// The beginning of its arguments, since a program may exec itself with other arguments.
    words: Vec<u8>,
}

/// So much of a process's arguments is compared.
const WORDS: usize = 16 << 10;

impl Interpreter {
    /// An eval or a question begins now: its interrupts spare all that was there before.
    pub(super) fn begin(&mut self) {
        self.aim.begin();
        (self.clears, self.limit) = (None, HardLimit::Off);
        self.nudges.end();
        self.look_around();
        self.elders.surroundings = Surroundings::Unknown;
        self.elders.born_after = ticks_since_boot();
    }

    /// Lists processes and threads, if the list is not up to date; best while no client waits. Processes and
    /// threads that appear between this look and the next eval are told from that eval's own by their age.
    pub(super) fn look_around(&mut self) {
        let (pid, elders) = (self.core(), &mut self.elders);
        if elders.surroundings == Surroundings::Known {
            return;
        }
        elders.surroundings = Surroundings::Known;
        elders.known = elders.census.take(&self.family, pid);
        elders.looked_at = ticks_since_boot();
        elders.name = elders.read_name(pid);
        if elders.image.is_none() {
            elders.image = image(pid);
        }
    }

    /// Whether a process or thread was there before the running eval began.
    pub(super) fn is_elder(&self, id: u32) -> bool {
        let elders = &self.elders;
        id != self.core()
            && tree::look(id).is_none_or(|process| {
                let known = elders.known.contains(&id) && process.start_ticks <= elders.looked_at;
                known || process.start_ticks < elders.born_after
            })
    }

    /// Whether the process is no longer the program that was started. A process that has ended has no
    /// executable, but still has its name.
    pub(super) fn is_replaced(&self) -> bool {
        let elders = &self.elders;
        match image(self.core()) {
            Some(image) => elders.image.as_ref().is_some_and(|known| *known != image),
            None => {
                let name = tree::name(self.core());
                name.is_some() && elders.name.is_some() && name != elders.name
            }
        }
    }
}

impl Elders {
    fn read_name(&mut self, pid: u32) -> Option<String> {
        let mut name = [0; 32];
        let comm = match &mut self.comm {
            Some(comm) => comm,
            none => none.insert(File::open(format!("/proc/{pid}/comm")).ok()?),
        };
        let read = comm.read_at(&mut name, 0).ok()?;
        String::from_utf8(name[..read].to_vec()).ok()
    }
}

/// What a process runs, unless it has ended.
pub(super) fn image(pid: u32) -> Option<ProcessImage> {
    let exe = std::fs::metadata(format!("/proc/{pid}/exe")).ok()?;
    let mut words = vec![0; WORDS];
    // In one call: a process that ends between two has no second part, and would pass for another program.
    let length = File::open(format!("/proc/{pid}/cmdline")).ok()?.read_at(&mut words, 0).ok()?;
    words.truncate(length);
    // Nor is one that ends before this call another program.
    (length > 0).then_some(ProcessImage { file: (exe.dev(), exe.ino()), words })
}

pub(super) fn ticks_since_boot() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let per_second = rustix::param::clock_ticks_per_second();
    now.tv_sec as u64 * per_second + now.tv_nsec as u64 * per_second / 1_000_000_000
}

#[cfg(test)]
#[path = "elders_tests.rs"]
mod tests;
