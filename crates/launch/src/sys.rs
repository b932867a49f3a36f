//! Every call that the compiler cannot vouch for, each behind a function that is safe to call.
//!
//! What rustix offers is used from there; here is only what it does not have, or has for experts.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal};

/// A resource that the kernel limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// The size of a core file.
    Core,
    /// How long a real-time process may compute.
    RealTime,
}

impl Resource {
    // The C libraries disagree about the type of this number.
    #[cfg(target_env = "gnu")]
    fn number(self) -> libc::__rlimit_resource_t {
        match self {
            Resource::Core => libc::RLIMIT_CORE,
            Resource::RealTime => libc::RLIMIT_RTTIME,
        }
    }

    #[cfg(not(target_env = "gnu"))]
    fn number(self) -> libc::c_int {
        match self {
            Resource::Core => libc::RLIMIT_CORE as libc::c_int,
            Resource::RealTime => libc::RLIMIT_RTTIME as libc::c_int,
        }
    }
}

/// What a process may use of a resource; `u64::MAX` means that there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
    /// The limit that holds now.
    pub soft: u64,
    /// How far an ordinary user may raise the soft limit.
    pub hard: u64,
}

/// The limits of a process; 0 is this one.
pub fn limits(pid: u32, resource: Resource) -> io::Result<ResourceLimits> {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let none = std::ptr::null();
    // SAFETY: the record is filled in by the call, which is given nothing to set.
    let result = unsafe { libc::prlimit(pid as libc::pid_t, resource.number(), none, &mut found) };
    checked(result)?;
    Ok(ResourceLimits { soft: found.rlim_cur, hard: found.rlim_max })
}

/// Sets limits of this process. Nothing but a system call, so it may be made between fork and exec.
pub fn set_limits(resource: Resource, limits: ResourceLimits) -> io::Result<()> {
    let limits = libc::rlimit { rlim_cur: limits.soft, rlim_max: limits.hard };
    // SAFETY: the record is plain data.
    checked(unsafe { libc::setrlimit(resource.number(), &limits) })
}

/// A random number from the kernel.
pub fn random() -> io::Result<u64> {
    let mut random = [0; 8];
    // SAFETY: the buffer is as long as is said.
    let got = unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) };
    match usize::try_from(got) {
        Ok(got) if got == random.len() => Ok(u64::from_ne_bytes(random)),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Sends a signal to the main thread of a process; whether it was there.
pub fn signal_main_thread(pid: u32, signal: Signal) -> bool {
    // SAFETY: a system call on integers.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, signal.as_raw()) == 0 }
}

/// A child of this process that has ended; it can still be waited for.
pub fn ended_child() -> Option<u32> {
    // SAFETY: the record is plain data, read only when the call has filled it in.
    let pid = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(libc::P_ALL, 0, &mut info, options) == 0).then(|| info.si_pid())
    };
    pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0)
}

/// Forks; `None` in the child. Refused in a process with several threads: only the calling one would
/// live on in the child, and a lock that another holds would never be given back.
pub fn fork() -> io::Result<Option<Pid>> {
    // The directory has two links of its own and one for each thread.
    if fs::metadata("/proc/self/task")?.nlink() > 3 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    // SAFETY: the process has one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Ends this process at once: nothing is dropped, nothing is flushed. For a forked child, whose copies
/// of its parent's things are not for it to clean up.
pub fn exit_at_once(code: i32) -> ! {
    // SAFETY: the call does not come back.
    unsafe { libc::_exit(code) }
}

/// Runs `prepare` in the new process between fork and exec. `prepare` may make system calls and nothing else:
/// another thread may have held any lock, that of the allocator too, at the moment of the fork.
pub fn before_exec(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all callers, of which there are few, pass a function that makes only system calls.
    unsafe { command.pre_exec(prepare) };
}

/// Large buffers go back to the system when they are freed. By itself the allocator keeps more and more: after
/// one eval of 16 MiB a host would stay at twenty times its size. To be called before another thread is started.
pub fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the parameters are known to the allocator, and no other thread allocates meanwhile.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 512 << 10);
    }
}

/// Makes this process die with its parent; an error if the parent is gone already.
pub fn die_with(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
    if now == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Makes all descriptors from this number on close at exec.
pub fn close_at_exec_from(first: RawFd) {
    // SAFETY: nothing is closed before the whole process is replaced.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
}

/// Closes every descriptor but the standard ones and these. For a process that has just begun, or was just
/// forked, and does nothing more with what is closed.
pub fn close_all_but(keep: &[BorrowedFd<'_>]) {
    let mut keep: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep.into_iter().filter(|fd| *fd >= 3) {
        close_range(first, fd - 1);
        first = fd + 1;
    }
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    if first <= last {
        // SAFETY: the caller does nothing more with what is closed.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// Makes `number` another name of a descriptor, which stays open at exec; what it named is closed.
pub fn put_at(fd: RawFd, number: RawFd) -> io::Result<()> {
    // SAFETY: a system call on integers; descriptors of such numbers are reserved for this.
    match unsafe { libc::dup2(fd, number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Lets a descriptor stay open at exec.
pub fn keep_at_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: a system call on integers.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })
}

/// A descriptor that this process was started with, by its number; `None` if there is no such, or if it
/// is one of the standard ones. It is to be asked for once.
pub fn inherited(fd: RawFd) -> Option<OwnedFd> {
    // SAFETY: a system call on integers.
    let is_open = fd > 2 && unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1;
    // SAFETY: the descriptor is open, and whoever started this process gave it to the caller alone.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Keeps these signals from having their effect, in the calling thread and all that it starts.
pub fn block(signals: &[Signal]) -> io::Result<()> {
    change_mask(libc::SIG_BLOCK, signals)
}

/// Whether this thread holds a signal back.
pub fn is_blocked(signal: Signal) -> bool {
    // SAFETY: without a new set the call only fills in the old one, which is valid for that.
    unsafe {
        let mut held = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut held) == 0
            && libc::sigismember(&held, signal.as_raw()) == 1
    }
}

/// Lets these signals have their effect again.
pub fn unblock(signals: &[Signal]) -> io::Result<()> {
    change_mask(libc::SIG_UNBLOCK, signals)
}

/// A descriptor that is readable when one of these signals has come; they are blocked.
pub fn signal_descriptor(signals: &[Signal]) -> io::Result<OwnedFd> {
    block(signals)?;
    let set = signal_set(signals);
    // SAFETY: the set is valid; the descriptor is new and so nobody else's.
    unsafe {
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Takes the signals that have come since the last time.
pub fn read_signals(descriptor: impl AsFd, mut each: impl FnMut(i32)) {
    const RECORD: usize = size_of::<libc::signalfd_siginfo>();
    let mut buffer = [0; 8 * RECORD];
    while let Ok(read) = rustix::io::read(&descriptor, &mut buffer) {
        // Only whole records are read. Each begins with the signal's number.
        let records = buffer[..read].chunks_exact(RECORD);
        records
            .filter_map(|record| record.first_chunk())
            .map(|n| i32::from_ne_bytes(*n))
            .for_each(&mut each);
        if read < buffer.len() {
            break;
        }
    }
}

/// The effect of a signal on this process from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnSignal {
    /// Its default effect.
    Default,
    /// None, neither here nor in programs that are started.
    Ignore,
    /// It only ends a system call; programs that are started have the default effect again.
    Wake,
}

/// Sets the effect of a signal.
pub fn on_signal(signal: Signal, what: OnSignal) {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    let action = match what {
        OnSignal::Default => libc::SIG_DFL,
        OnSignal::Ignore => libc::SIG_IGN,
        OnSignal::Wake => handler as libc::sighandler_t,
    };
    // SAFETY: the handler does nothing, so it may run at any moment.
    unsafe { libc::signal(signal.as_raw(), action) };
}

/// Gives every signal its default effect and unblocks all: ignored and blocked signals would be inherited
/// from the parent. Makes only system calls, so it may be called between fork and exec.
pub fn standard_signals() {
    // SAFETY: the calls are async-signal-safe; the set is initialised before it is used. Signals
    // that cannot be changed are left as they are.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Changes the words of this process's command line where the kernel put them.
pub fn change_arguments(change: impl FnOnce(&mut [u8])) {
    let Some((start, len)) = argument_memory() else { return };
    // SAFETY: the kernel put our arguments at this place of our own stack, `len` bytes long, and
    // nothing refers to them: the standard library has made copies.
    change(unsafe { std::slice::from_raw_parts_mut(start as *mut u8, len) });
}

/// Where the kernel put this process's arguments, and how many bytes they take.
fn argument_memory() -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
    // Fields 48 and 49, counted from 1; the third is the first after the name.
    let field = |nth: usize| fields.get(nth - 3)?.trim().parse::<usize>().ok();
    let (start, end) = (field(48)?, field(49)?);
    (start != 0 && end > start).then(|| (start, end - start))
}

fn change_mask(how: libc::c_int, signals: &[Signal]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: the set is valid.
    match unsafe { libc::pthread_sigmask(how, &set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn signal_set(signals: &[Signal]) -> libc::sigset_t {
    // SAFETY: the set is initialised by `sigemptyset` before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal.as_raw());
        }
        set
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn signals_are_read_from_a_descriptor() {
        let descriptor = signal_descriptor(&[Signal::USR1, Signal::USR2]).unwrap();
        let read = || {
            let mut came = Vec::new();
            read_signals(&descriptor, |signal| came.push(signal));
            came.sort_unstable();
            came
        };
        assert!(read().is_empty());
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        for signal in [libc::SIGUSR2, libc::SIGUSR1] {
            // SAFETY: a system call on integers; this thread has blocked both signals.
            unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), own, signal) };
        }
        assert_eq!(read(), [libc::SIGUSR1, libc::SIGUSR2]);
        assert!(read().is_empty());
    }

    #[test]
    fn only_what_is_open_and_no_standard_stream_can_be_inherited() {
        let file = File::open("/dev/null").unwrap();
        assert!((0..3).all(|fd| inherited(fd).is_none()));
        assert!(inherited(1 << 20).is_none());
        let fd = inherited(std::os::fd::IntoRawFd::into_raw_fd(file)).unwrap();
        assert!(rustix::io::fcntl_getfd(fd).is_ok());
    }

    #[test]
    fn a_process_with_several_threads_is_not_forked() {
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || told.recv());
        assert!(fork().is_err());
        drop(tell);
        thread.join().unwrap().unwrap_err();
    }
}
