//! What a descriptor of another process is, as `/proc/P/fd` and `/proc/P/fdinfo` tell.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::PipeId;
use super::facts::{End, WaitSource};
use super::threads::WatchedFile;

/// How deep epoll descriptors are followed that watch other epoll descriptors.
const DEEPEST: usize = 3;

/// What stands behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pipe(u64),
    Socket(u64),
    Epoll,
    /// By the kernel's number for it, which older kernels do not tell.
    Event(Option<u64>),
    Timer {
        armed: bool,
    },
    Signals {
        mask: u64,
    },
    Process(Option<u32>),
    Master(Option<u32>),
    Terminal(u32),
    Other,
}

/// Looks at one descriptor.
pub(super) fn kind(pid: u32, fd: u64) -> Option<Kind> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    let link = link.to_str()?;
    let inode = |prefix: &str| link.strip_prefix(prefix)?.strip_suffix(']')?.parse().ok();
    if let Some(inode) = inode("pipe:[") {
        return Some(Kind::Pipe(inode));
    }
    if let Some(inode) = inode("socket:[") {
        return Some(Kind::Socket(inode));
    }
    if let Some(number) = link.strip_prefix("/dev/pts/").and_then(|number| number.parse().ok()) {
        return Some(Kind::Terminal(number));
    }
    let field = |name: &str| field(&info(pid, fd), name);
    Some(match link {
        "anon_inode:[eventpoll]" => Kind::Epoll,
        "anon_inode:[eventfd]" => Kind::Event(field("eventfd-id:").and_then(|id| id.parse().ok())),
        "anon_inode:[timerfd]" => {
            Kind::Timer { armed: field("it_value:").as_deref() != Some("(0, 0)") }
        }
        "anon_inode:[signalfd]" => {
            let mask = field("sigmask:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
            Kind::Signals { mask: mask.unwrap_or(u64::MAX) }
        }
        "/dev/ptmx" | "/dev/pts/ptmx" => {
            Kind::Master(field("tty-index:").and_then(|index| index.parse().ok()))
        }
        "/dev/tty" => controlling_terminal(pid).map_or(Kind::Other, Kind::Terminal),
        link if link == "anon_inode:[pidfd]" || link.starts_with("pidfd:") => {
            Kind::Process(field("Pid:").and_then(|pid| pid.parse().ok()))
        }
        _ => Kind::Other,
    })
}

fn info(pid: u32, fd: u64) -> String {
    fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default()
}

fn field(info: &str, name: &str) -> Option<String> {
    info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

/// The number of a process's pseudo-terminal.
fn controlling_terminal(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let device: i64 = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    // Pseudo-terminals have eight major numbers, each with 256 terminals.
    (136..144).contains(&major).then(|| ((major - 136) * 256 + minor) as u32)
}

/// The sources of what a descriptor is watched for; none if nothing can come.
pub(super) fn sources(
    pid: u32,
    watch: WatchedFile,
    pipe: PipeId,
    into: &mut Vec<WaitSource>,
    deep: usize,
) {
    if watch.input && pipe.is(pid, watch.fd) {
        return into.push(WaitSource::Stdin);
    }
    let Some(kind) = kind(pid, watch.fd) else { return into.push(WaitSource::Outside) };
    let source = match kind {
        Kind::Pipe(inode) if watch.input => WaitSource::Holders(End::PipeWriter(inode)),
        Kind::Pipe(inode) if watch.output => WaitSource::Holders(End::PipeReader(inode)),
        // A pipe that is watched for neither input nor output reports only that it was closed.
        Kind::Pipe(_) => return,
        Kind::Socket(inode) => match super::diag::socket(inode) {
            super::diag::Socket::Peer(peer) => WaitSource::Holders(End::Socket(peer)),
            super::diag::Socket::Listening => WaitSource::Outside,
            super::diag::Socket::Elsewhere => WaitSource::Remote,
        },
        Kind::Epoll if deep < DEEPEST => {
            for member in members(pid, watch.fd) {
                member.sources(pid, pipe, into, deep + 1);
            }
            return;
        }
        Kind::Event(Some(id)) => WaitSource::Holders(End::Event(id)),
        Kind::Timer { armed: false } => return,
        Kind::Signals { mask } if mask & bit(libc::SIGCHLD) != 0 => WaitSource::Children,
        Kind::Signals { mask } if mask & bit(libc::SIGALRM) != 0 => WaitSource::Outside,
        Kind::Signals { .. } => return,
        Kind::Process(Some(other)) => WaitSource::Process(other),
        Kind::Master(Some(number)) => WaitSource::Holders(End::Terminal(number)),
        Kind::Terminal(number) => WaitSource::Holders(End::Master(number)),
        Kind::Epoll
        | Kind::Event(None)
        | Kind::Timer { armed: true }
        | Kind::Process(None)
        | Kind::Master(None)
        | Kind::Other => WaitSource::Outside,
    };
    into.push(source);
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// What an epoll descriptor watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    fd: u64,
    events: u32,
    /// Device and inode: the descriptor number may be closed by now, or belong to another file.
    file: Option<(u64, u64)>,
}

/// All that an epoll descriptor watches.
pub(super) fn members(pid: u32, epoll: u64) -> Vec<Member> {
    info(pid, epoll).lines().filter_map(Member::parse).collect()
}

impl Member {
    /// `tfd: 5 events: 19 data: 7f pos:0 ino:2a1 sdev:d`, all but the first number in hex.
    fn parse(line: &str) -> Option<Member> {
        let (mut fd, mut events, mut device, mut inode) = (None, 0, None, None);
        let line = line.strip_prefix("tfd:").map(|rest| format!("tfd:{rest}"))?;
        let words: Vec<&str> = line.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        for pair in words.chunks_exact(2) {
            let hex = || u64::from_str_radix(pair[1], 16).ok();
            match pair[0] {
                "tfd" => fd = pair[1].parse().ok(),
                "events" => events = hex()? as u32,
                "ino" => inode = hex(),
                "sdev" => device = hex().map(device_number),
                _ => {}
            }
        }
        Some(Member { fd: fd?, events, file: device.zip(inode) })
    }

    fn is_input(&self) -> bool {
        let input = libc::EPOLLIN | libc::EPOLLPRI | libc::EPOLLRDHUP;
        self.events & input as u32 != 0
    }

    /// Whether it watches for something to read from this pipe.
    pub(super) fn is(&self, pid: u32, pipe: PipeId) -> bool {
        self.is_input()
            && match self.file {
                Some(file) => file == (pipe.dev, pipe.ino),
                None => pipe.is(pid, self.fd),
            }
    }

    fn sources(self, pid: u32, pipe: PipeId, into: &mut Vec<WaitSource>, deep: usize) {
        if self.is(pid, pipe) {
            return into.push(WaitSource::Stdin);
        }
        // An edge-triggered watch reports room in a pipe that never was full only once, so it is not counted.
        let edges = self.events & libc::EPOLLET as u32 != 0;
        let output = self.events & libc::EPOLLOUT as u32 != 0 && !edges;
        let Some(fd) = self.number(pid) else { return into.push(WaitSource::Outside) };
        let watch = WatchedFile { fd, input: self.is_input(), output };
        if watch.input || watch.output {
            sources(pid, watch, pipe, into, deep);
        }
    }

    /// A number that the file has in that process now.
    fn number(self, pid: u32) -> Option<u64> {
        let Some(file) = self.file else { return Some(self.fd) };
        let is = |fd: u64| {
            let meta = fs::metadata(format!("/proc/{pid}/fd/{fd}"));
            meta.is_ok_and(|meta| (meta.dev(), meta.ino()) == file)
        };
        if is(self.fd) {
            return Some(self.fd);
        }
        numbers(pid).into_iter().find(|fd| is(*fd))
    }
}

/// The device as `stat` has it: the kernel's own form has twenty bits for the minor number.
fn device_number(device: u64) -> u64 {
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    rustix::fs::makedev(major as u32, minor as u32)
}

/// Numbers of all descriptors of a process.
fn numbers(pid: u32) -> Vec<u64> {
    let Ok(all) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Which ends a process holds, of those that matter.
pub(super) fn held(pid: u32, wanted: &dyn Fn(End) -> bool, mut found: impl FnMut(End)) {
    for fd in numbers(pid) {
        let end = match kind(pid, fd) {
            Some(Kind::Pipe(inode)) => {
                // The permissions of the link in `/proc/P/fd` say how the file is open.
                let mode = fs::symlink_metadata(format!("/proc/{pid}/fd/{fd}"));
                let mode = mode.map_or(0o600, |meta| meta.mode());
                for (bit, end) in [(0o200, End::PipeWriter(inode)), (0o400, End::PipeReader(inode))]
                {
                    if mode & bit != 0 && wanted(end) {
                        found(end);
                    }
                }
                continue;
            }
            Some(Kind::Socket(inode)) => End::Socket(inode),
            Some(Kind::Event(Some(id))) => End::Event(id),
            Some(Kind::Master(Some(number))) => End::Master(number),
            Some(Kind::Terminal(number)) => End::Terminal(number),
            _ => continue,
        };
        if wanted(end) {
            found(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e8_what_an_epoll_watches_is_known_by_its_inode() {
        let line = "tfd:        5 events:       19 data:     7f0000000005  pos:0 ino:2a1 sdev:d";
        let member = Member::parse(line).unwrap();
        assert_eq!((member.fd, member.events, member.file), (5, 0x19, Some((13, 0x2a1))));
        assert!(member.is(1, PipeId { dev: 13, ino: 0x2a1 }));
        assert!(!member.is(1, PipeId { dev: 13, ino: 0x2a2 }));
        // One that is not watched for input now.
        let disarmed = Member::parse(&line.replace("19", "0")).unwrap();
        assert!(!disarmed.is(1, PipeId { dev: 13, ino: 0x2a1 }));
        // Older kernels tell the number only.
        assert_eq!(Member::parse("tfd: 5 events: 19 data: 5").unwrap().file, None);
        assert_eq!(Member::parse("pos:\t0"), None);
    }
}
