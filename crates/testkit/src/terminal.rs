//! A command on a terminal of its own, as a person would run it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Far beyond what any wait takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running command whose three streams are a terminal of 80 columns.
pub struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<String>,
    seen: String,
}

impl Terminal {
    /// Runs the command on a new terminal.
    ///
    /// # Panics
    /// When there is no terminal to be had, or the command cannot be started.
    pub fn run(command: Command) -> Terminal {
        Terminal::run_as(command, "xterm")
    }

    /// Runs the command on a new terminal that calls itself `term`.
    ///
    /// # Panics
    /// When there is no terminal to be had, or the command cannot be started.
    pub fn run_as(mut command: Command, term: &str) -> Terminal {
        let (ours, theirs) = open();
        let stream = || theirs.try_clone().expect("a descriptor is copied");
        command.env("TERM", term).stdin(stream()).stdout(stream()).stderr(stream());
        // SAFETY: both calls are async-signal-safe and touch no memory of this process.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY as _, 0);
                Ok(())
            });
        }
        let child = command.spawn().expect("the command starts");
        // The command holds copies too, which would keep the terminal open after its end.
        drop(command);
        drop(theirs);
        let keys = File::from(ours);
        let mut from = keys.try_clone().expect("a descriptor is copied");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let (mut buffer, mut bytes) = ([0; 4096], Vec::new());
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                bytes.extend_from_slice(&buffer[..count]);
                // A read may end within a character, whose rest comes with the next.
                let whole = match std::str::from_utf8(&bytes) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => bytes.len(),
                };
                let rest = bytes.split_off(whole);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if send.send(text).is_err() {
                    return;
                }
                bytes = rest;
            }
        });
        Terminal { child, keys, screen, seen: String::new() }
    }

    /// The command's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types; `\x03` is Ctrl-C.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until this has been shown.
    ///
    /// # Panics
    /// When it is not within a minute, or the command ends without it.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("{text:?}"), |seen| seen.contains(text));
    }

    /// Waits until all that was shown is as wanted.
    ///
    /// # Panics
    /// When it is not within a minute, or the command ends without it.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !wanted(&self.seen) {
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(text) => self.seen.push_str(&text),
                Err(error) => panic!("{error} before {what} in {:?}", self.seen),
            }
        }
    }

    /// Whether the terminal shows what is typed.
    ///
    /// # Panics
    /// When the terminal does not say.
    pub fn shows_typing(&self) -> bool {
        // SAFETY: the record is filled in by the call before it is read.
        let modes = unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.keys.as_raw_fd(), &mut modes), 0);
            modes
        };
        modes.c_lflag & libc::ECHO != 0
    }

    /// Waits for the command's end; its exit code and all that was shown.
    ///
    /// # Panics
    /// When it does not end within a minute.
    #[track_caller]
    pub fn finish(mut self) -> (Option<i32>, String) {
        (self.end(), self.seen)
    }

    /// Waits for the command's end; its exit code.
    ///
    /// # Panics
    /// When it does not end within a minute.
    #[track_caller]
    pub fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.screen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(text) => self.seen.push_str(&text),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("the command does not end; it showed {:?}", self.seen);
                }
            }
        }
        self.child.wait().expect("the command has ended").code()
    }
}

/// Both ends of a new pseudo-terminal: ours and the command's.
fn open() -> (OwnedFd, OwnedFd) {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers lead to live variables, or are null where that is allowed.
    let opened = unsafe {
        libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), &size)
    };
    assert_eq!(opened, 0, "no terminal: {}", std::io::Error::last_os_error());
    for fd in [ours, theirs] {
        // SAFETY: sets a flag on a descriptor that was just made.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    keep_output(theirs);
    // SAFETY: the descriptors were just made and belong to nobody else.
    unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

/// On Ctrl-C a terminal sends the signal first and then drops what was written and not read yet: on a busy machine that is
/// what the command has already said about the Ctrl-C. This one keeps it.
fn keep_output(terminal: RawFd) {
    // SAFETY: all its fields are numbers, for which zeros are values.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is an open terminal, and the pointer leads to a live variable.
    assert_eq!(unsafe { libc::tcgetattr(terminal, &mut modes) }, 0, "no modes of a terminal");
    modes.c_lflag |= libc::NOFLSH;
    // SAFETY: as above.
    assert_eq!(unsafe { libc::tcsetattr(terminal, libc::TCSANOW, &modes) }, 0, "not a terminal");
}
