//! From a line of `/proc/P/task/T/syscall` to what the thread waits for, by the numbers of its own system
//! call table. No IO: the process's memory is read later.

/// The system call table that a thread's numbers belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abi {
    X86_64,
    /// A 32 bit program on an x86_64 kernel.
    I386,
    Aarch64,
}

impl Abi {
    /// The table of programs for this machine, if it is known here.
    pub(super) const NATIVE: Option<Abi> = if cfg!(target_arch = "x86_64") {
        Some(Abi::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Abi::Aarch64)
    } else {
        None
    };

    /// How many bytes a pointer or a `long` has.
    pub(super) fn word(self) -> usize {
        if self == Abi::I386 { 4 } else { 8 }
    }
}

/// A call as the kernel shows it: its number, its arguments and the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyscallLine {
    number: u64,
    arguments: [u64; 6],
    stack: u64,
}

impl SyscallLine {
    /// `None` of a thread that runs, or that is not in a call.
    pub(super) fn parse(text: &str) -> Option<SyscallLine> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse::<i64>().ok()?;
        let mut numbers = [0; 7];
        for (number, word) in numbers.iter_mut().zip(words) {
            *number = u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()?;
        }
        let [a, b, c, d, e, f, stack] = numbers;
        Some(SyscallLine {
            number: u64::try_from(number).ok()?,
            arguments: [a, b, c, d, e, f],
            stack,
        })
    }

    /// Whether this may be a 32 bit program: no stack of a 64 bit one is usually that low.
    pub(super) fn is_low(&self) -> bool {
        self.stack < 1 << 32
    }
}

/// The kinds of call that matter for deciding what a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemCall {
    /// Waits until a descriptor has something to read or to accept.
    Read {
        fd: u64,
    },
    /// An array of `struct pollfd`.
    Poll {
        at: u64,
        count: u64,
        timeout: WaitLimit,
    },
    /// Sets of bits.
    Select {
        count: u64,
        read: u64,
        write: u64,
        timeout: WaitLimit,
    },
    /// A descriptor that watches others.
    Epoll {
        fd: u64,
        timeout: WaitLimit,
    },
    /// Waits for time to pass.
    Sleep,
    /// Waits for another thread, and maybe not for ever.
    Futex {
        timed: bool,
    },
    /// Waits for children.
    Children(Which),
    /// Waits for a signal without end.
    Signals,
    /// A call that goes on after a stop; the arguments are those of the call that it was.
    Restarted {
        arguments: [u64; 6],
    },
    Other,
}

/// Which children a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Any,
    One(u32),
    /// The one behind this descriptor.
    Pidfd(u64),
}

/// Where the end of a wait stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitLimit {
    None,
    Millis(u64),
    /// Two numbers in memory, seconds first; `wide` if each has eight bytes.
    Memory {
        at: u64,
        wide: bool,
        micros: bool,
    },
}

impl WaitLimit {
    /// Of an `int` in milliseconds. Registers hold 64 bits, of which only the lower half counts.
    fn of_int(millis: u64) -> WaitLimit {
        u64::try_from(millis as u32 as i32).map_or(WaitLimit::None, WaitLimit::Millis)
    }

    fn at(at: u64, wide: bool, micros: bool) -> WaitLimit {
        if at == 0 { WaitLimit::None } else { WaitLimit::Memory { at, wide, micros } }
    }
}

/// Names of the calls that are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Read,
    Sendfile,
    Poll,
    Ppoll,
    /// The same with times of eight bytes, for 32 bit programs.
    PpollTime64,
    Select,
    Pselect,
    PselectTime64,
    Epoll,
    EpollPwait2,
    Sleep,
    Futex,
    FutexTime64,
    Wait4,
    Waitid,
    Signals,
    /// The same with a time as third argument.
    TimedSignals,
    Restart,
}

/// What the thread waits for.
pub(super) fn decode(line: SyscallLine, abi: Abi) -> SystemCall {
    let [a, b, c, d, e, _] = line.arguments;
    let wide = abi.word() == 8;
    let Some(name) = name(line.number, abi) else { return SystemCall::Other };
    match name {
        Name::Read => SystemCall::Read { fd: a },
        Name::Sendfile => SystemCall::Read { fd: b },
        Name::Poll => SystemCall::Poll { at: a, count: b, timeout: WaitLimit::of_int(c) },
        Name::Ppoll => SystemCall::Poll { at: a, count: b, timeout: WaitLimit::at(c, wide, false) },
        Name::PpollTime64 => {
            SystemCall::Poll { at: a, count: b, timeout: WaitLimit::at(c, true, false) }
        }
        Name::Select => SystemCall::Select {
            count: a,
            read: b,
            write: c,
            timeout: WaitLimit::at(e, wide, true),
        },
        Name::Pselect => SystemCall::Select {
            count: a,
            read: b,
            write: c,
            timeout: WaitLimit::at(e, wide, false),
        },
        Name::PselectTime64 => SystemCall::Select {
            count: a,
            read: b,
            write: c,
            timeout: WaitLimit::at(e, true, false),
        },
        Name::Epoll => SystemCall::Epoll { fd: a, timeout: WaitLimit::of_int(d) },
        Name::EpollPwait2 => SystemCall::Epoll { fd: a, timeout: WaitLimit::at(d, true, false) },
        Name::Sleep => SystemCall::Sleep,
        Name::Futex | Name::FutexTime64 => {
            // FUTEX_WAIT, FUTEX_WAIT_BITSET and FUTEX_LOCK_PI take a time as fourth argument; the
            // rest does not block.
            match b & 0x7f {
                0 | 6 | 9 | 13 => SystemCall::Futex { timed: d != 0 },
                _ => SystemCall::Other,
            }
        }
        Name::Wait4 => SystemCall::Children(match u32::try_from(a as i32) {
            Ok(pid) if pid > 0 => Which::One(pid),
            _ => Which::Any,
        }),
        Name::Waitid => SystemCall::Children(match a {
            1 => Which::One(b as u32),
            3 => Which::Pidfd(b),
            _ => Which::Any,
        }),
        Name::Signals => SystemCall::Signals,
        Name::TimedSignals if c == 0 => SystemCall::Signals,
        Name::TimedSignals => SystemCall::Sleep,
        Name::Restart => SystemCall::Restarted { arguments: line.arguments },
    }
}

/// What a restarted call was, by the kernel's function that it sleeps in.
pub(super) fn decode_restarted(arguments: [u64; 6], sleeps_in: &str) -> SystemCall {
    let [a, b, c, ..] = arguments;
    match sleeps_in {
        name if name.contains("poll") => {
            SystemCall::Poll { at: a, count: b, timeout: WaitLimit::of_int(c) }
        }
        name if name.contains("nanosleep") => SystemCall::Sleep,
        // The kernel restarts a futex wait like this only if the wait has a time limit.
        name if name.contains("futex") => SystemCall::Futex { timed: true },
        _ => SystemCall::Other,
    }
}

fn name(number: u64, abi: Abi) -> Option<Name> {
    Some(match (abi, number) {
        // read, pread64, readv, recvfrom, recvmsg, accept, accept4, splice, tee, preadv, preadv2
        (Abi::X86_64, 0 | 17 | 19 | 43 | 45 | 47 | 275 | 276 | 288 | 295 | 327) => Name::Read,
        (Abi::X86_64, 40) => Name::Sendfile,
        (Abi::X86_64, 7) => Name::Poll,
        (Abi::X86_64, 271) => Name::Ppoll,
        (Abi::X86_64, 23) => Name::Select,
        (Abi::X86_64, 270) => Name::Pselect,
        (Abi::X86_64, 232 | 281) => Name::Epoll,
        (Abi::X86_64, 441) => Name::EpollPwait2,
        (Abi::X86_64, 35 | 230) => Name::Sleep,
        (Abi::X86_64, 202) => Name::Futex,
        (Abi::X86_64, 61) => Name::Wait4,
        (Abi::X86_64, 247) => Name::Waitid,
        (Abi::X86_64, 34 | 130) => Name::Signals,
        (Abi::X86_64, 128) => Name::TimedSignals,
        (Abi::X86_64, 219) => Name::Restart,
        // read, readv, pread64, splice, tee, preadv, accept4, recvfrom, recvmsg, preadv2
        (Abi::I386, 3 | 145 | 180 | 313 | 315 | 333 | 364 | 371 | 372 | 378) => Name::Read,
        (Abi::I386, 187 | 239) => Name::Sendfile,
        (Abi::I386, 168) => Name::Poll,
        (Abi::I386, 309) => Name::Ppoll,
        (Abi::I386, 414) => Name::PpollTime64,
        (Abi::I386, 142) => Name::Select,
        (Abi::I386, 308) => Name::Pselect,
        (Abi::I386, 413) => Name::PselectTime64,
        (Abi::I386, 256 | 319) => Name::Epoll,
        (Abi::I386, 441) => Name::EpollPwait2,
        (Abi::I386, 162 | 267 | 407) => Name::Sleep,
        (Abi::I386, 240) => Name::Futex,
        (Abi::I386, 422) => Name::FutexTime64,
        (Abi::I386, 7 | 114) => Name::Wait4,
        (Abi::I386, 284) => Name::Waitid,
        (Abi::I386, 29 | 72 | 179) => Name::Signals,
        (Abi::I386, 177 | 421) => Name::TimedSignals,
        (Abi::I386, 0) => Name::Restart,
        // read, readv, pread64, preadv, splice, tee, accept, recvfrom, recvmsg, accept4, preadv2
        (Abi::Aarch64, 63 | 65 | 67 | 69 | 76 | 77 | 202 | 207 | 212 | 242 | 286) => Name::Read,
        (Abi::Aarch64, 71) => Name::Sendfile,
        (Abi::Aarch64, 73) => Name::Ppoll,
        (Abi::Aarch64, 72) => Name::Pselect,
        (Abi::Aarch64, 22) => Name::Epoll,
        (Abi::Aarch64, 441) => Name::EpollPwait2,
        (Abi::Aarch64, 101 | 115) => Name::Sleep,
        (Abi::Aarch64, 98) => Name::Futex,
        (Abi::Aarch64, 260) => Name::Wait4,
        (Abi::Aarch64, 95) => Name::Waitid,
        (Abi::Aarch64, 133) => Name::Signals,
        (Abi::Aarch64, 137) => Name::TimedSignals,
        (Abi::Aarch64, 128) => Name::Restart,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> SyscallLine {
        SyscallLine::parse(text).unwrap()
    }

    #[test]
    fn e8_a_call_is_known_by_the_table_of_its_program() {
        let poll = "7 0x7ffd0 0x2 0xffffffff 0x0 0x0 0x0 0x7ffc00000000 0x7f0000000000";
        assert_eq!(
            decode(line(poll), Abi::X86_64),
            SystemCall::Poll { at: 0x7ffd0, count: 2, timeout: WaitLimit::None }
        );
        // The same number is `waitpid` in a 32 bit program.
        assert_eq!(decode(line("7 0x5"), Abi::I386), SystemCall::Children(Which::One(5)));
        assert_eq!(decode(line("3 0x0"), Abi::I386), SystemCall::Read { fd: 0 });
        assert_eq!(decode(line("3 0x0"), Abi::X86_64), SystemCall::Other);
        assert_eq!(decode(line("327 0x4"), Abi::X86_64), SystemCall::Read { fd: 4 });
        assert_eq!(decode(line("63 0x0"), Abi::Aarch64), SystemCall::Read { fd: 0 });
        assert!(line(poll.replace("0x7ffc00000000", "0xffb00000").as_str()).is_low());
        assert!(!line(poll).is_low());
    }

    #[test]
    fn e8_a_timeout_of_minus_one_is_none_however_wide_its_register_is() {
        for minus_one in ["0xffffffff", "0xffffffffffffffff"] {
            let text = format!("232 0x3 0x0 0x10 {minus_one}");
            assert_eq!(
                decode(line(&text), Abi::X86_64),
                SystemCall::Epoll { fd: 3, timeout: WaitLimit::None }
            );
        }
        let limited = decode(line("232 0x3 0x0 0x10 0x1f4"), Abi::X86_64);
        assert_eq!(limited, SystemCall::Epoll { fd: 3, timeout: WaitLimit::Millis(500) });
    }

    #[test]
    fn e8_a_restarted_call_is_what_it_was() {
        let SystemCall::Restarted { arguments } =
            decode(line("219 0x10 0x1 0xffffffff"), Abi::X86_64)
        else {
            panic!()
        };
        let poll = SystemCall::Poll { at: 0x10, count: 1, timeout: WaitLimit::None };
        assert_eq!(decode_restarted(arguments, "poll_schedule_timeout.constprop.0"), poll);
        assert_eq!(decode_restarted(arguments, "do_sys_poll"), poll);
        assert_eq!(decode_restarted(arguments, "hrtimer_nanosleep"), SystemCall::Sleep);
        assert_eq!(decode_restarted(arguments, "0"), SystemCall::Other);
    }

    #[test]
    fn a_thread_that_runs_is_in_no_call() {
        assert_eq!(SyscallLine::parse("running\n"), None);
        assert_eq!(SyscallLine::parse("-1 0x7ffc 0x7f00"), None);
    }
}
