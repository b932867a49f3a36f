//! A terminal's whole screen, which is given back as it was however the command ends.

use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};

use rustix::event::epoll;
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use stead_launch::sys;

use crate::print;
use crate::redraw::TerminalSize;

/// Whether the screen is taken. This is global, because a panic or a failed write ends the process from anywhere
/// and has to give the screen back.
static TAKEN: Mutex<TakenScreen> = Mutex::new(TakenScreen::No);

/// Whether this process has the terminal's screen, and how its keyboard was before.
enum TakenScreen {
    No,
    Yes {
        before: Option<Termios>,
    },
    /// The shell has the screen, because this process was stopped.
    Lent {
        before: Option<Termios>,
    },
}

/// Tells the keyboard from the signals.
const KEYS: u64 = 1;

const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// The screen, and the signals that have to do with it.
#[derive(Debug)]
pub(crate) struct FullScreen {
    /// Readable if a signal or a key has come, or the terminal is gone.
    any: OwnedFd,
    signals: OwnedFd,
    drawn: Vec<String>,
}

/// What a signal or a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenCall {
    Nothing,
    /// The screen has another size, or came back.
    Draw,
    /// Leave, as for Ctrl-C.
    Leave,
}

impl FullScreen {
    /// Takes the screen; `None` if standard output is no terminal that can be drawn on.
    pub(crate) fn take() -> Option<Self> {
        if !std::io::stdout().is_terminal() || !print::moves_the_cursor() {
            return None;
        }
        let wanted =
            [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::WINCH, Signal::TSTP];
        let signals = sys::signal_descriptor(&wanted).ok()?;
        let any = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
        let add = |fd: BorrowedFd<'_>, wanted| {
            epoll::add(&any, fd, epoll::EventData::new_u64(0), wanted).is_ok()
        };
        let heard = add(signals.as_fd(), epoll::EventFlags::IN);
        add(std::io::stdout().as_fd(), epoll::EventFlags::empty());
        if !heard {
            return None;
        }
        let screen = FullScreen { any, signals, drawn: Vec::new() };
        let keyboard = std::io::stdin();
        if keyboard.is_terminal() {
            let (data, wanted) = (epoll::EventData::new_u64(KEYS), epoll::EventFlags::IN);
            let _ = epoll::add(&screen.any, keyboard.as_fd(), data, wanted);
        }
        screen.enter();
        Some(screen)
    }

    fn enter(&self) {
        let stdin = std::io::stdin();
        let mut taken = lock();
        let before = match std::mem::replace(&mut *taken, TakenScreen::No) {
            // The first settings of the keyboard count: those that a shell makes meanwhile are for its own prompt.
            TakenScreen::Yes { before } | TakenScreen::Lent { before } => before,
            TakenScreen::No => tcgetattr(&stdin).ok(),
        };
        if let Some(before) = &before {
            // Keys are not shown, and are read at once; Ctrl-C stays a signal.
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            let _ = tcsetattr(&stdin, OptionalActions::Now, &quiet);
        }
        *taken = TakenScreen::Yes { before };
        drop(taken);
        print::out(ENTER);
    }

    /// Stops this process until the terminal is its own again: a shell that lets it go on in the background keeps the
    /// terminal.
    fn stand_by(&self) {
        lend();
        loop {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
            let owner = rustix::termios::tcgetpgrp(std::io::stdout());
            if owner.is_ok_and(|owner| owner == rustix::process::getpgrp()) || owner.is_err() {
                return;
            }
        }
    }

    /// Draws these lines; only those that have changed are written.
    pub(crate) fn draw(&mut self, lines: Vec<String>) {
        let mut bytes = String::new();
        for (at, line) in lines.iter().enumerate() {
            if self.drawn.get(at) != Some(line) {
                bytes.push_str(&format!("\x1b[{};1H{line}\x1b[K", at + 1));
            }
        }
        if self.drawn.len() > lines.len() {
            bytes.push_str(&format!("\x1b[{};1H\x1b[J", lines.len() + 1));
        }
        self.drawn = lines;
        if !bytes.is_empty() {
            print::out(bytes.as_bytes());
        }
    }

    /// How much room there is.
    pub(crate) fn size(&self) -> TerminalSize {
        TerminalSize::of(std::io::stdout()).unwrap_or(TerminalSize::USUAL)
    }

    /// Whether `q` was pressed, or the terminal is gone.
    fn keys_and_end(&mut self) -> ScreenCall {
        let mut events = Vec::with_capacity(4);
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let room = rustix::buffer::spare_capacity(&mut events);
        if epoll::wait(&self.any, room, Some(&now)).is_err() {
            return ScreenCall::Nothing;
        }
        for event in events {
            let epoll::Event { flags, data } = event;
            if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
                return ScreenCall::Leave;
            }
            if data.u64() == KEYS {
                let mut keys = [0; 64];
                match rustix::io::read(std::io::stdin(), &mut keys) {
                    Ok(count) if keys[..count].contains(&b'q') => return ScreenCall::Leave,
                    Ok(1..) => {}
                    // No more keys come from standard input.
                    Ok(0) | Err(_) => drop(epoll::delete(&self.any, std::io::stdin())),
                }
            }
        }
        ScreenCall::Nothing
    }

    /// What the signals and keys that came ask for.
    pub(crate) fn asked(&mut self) -> ScreenCall {
        let mut asked = self.keys_and_end();
        let mut stop = false;
        sys::read_signals(&self.signals, |signal| {
            if signal == Signal::TSTP.as_raw() {
                stop = true;
            } else if signal == Signal::WINCH.as_raw() {
                asked = if asked == ScreenCall::Leave { asked } else { ScreenCall::Draw };
            } else {
                asked = ScreenCall::Leave;
            }
        });
        if stop && asked != ScreenCall::Leave {
            // Ctrl-Z: the shell gets its screen back until this process goes on.
            self.stand_by();
            self.enter();
            asked = ScreenCall::Draw;
        }
        if asked == ScreenCall::Draw {
            self.drawn.clear();
            print::out(b"\x1b[2J");
        }
        asked
    }
}

impl AsFd for FullScreen {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.any.as_fd()
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the screen, the cursor and the keyboard back, if they were taken.
pub(crate) fn give_back() {
    lend();
    *lock() = TakenScreen::No;
}

/// Gives the screen back, and remembers the settings of the keyboard. If the terminal is gone, the writes fail,
/// which does no harm.
fn lend() {
    let mut taken = lock();
    let before = match std::mem::replace(&mut *taken, TakenScreen::No) {
        TakenScreen::Yes { before } => before,
        other @ (TakenScreen::No | TakenScreen::Lent { .. }) => return *taken = other,
    };
    // The buffer of standard output is passed by: a failed write may have left bytes in it, and may hold its lock.
    let mut rest = LEAVE;
    while let Ok(count @ 1..) = rustix::io::write(std::io::stdout(), rest) {
        rest = &rest[count..];
    }
    if let Some(before) = &before {
        // `Flush` drops keys that nobody read: they were not for the shell.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
    }
    *taken = TakenScreen::Lent { before };
}

fn lock() -> MutexGuard<'static, TakenScreen> {
    TAKEN.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::Command;

    use stead_testkit::Terminal;

    use super::FullScreen;

    /// Run by the test below, on a terminal of its own.
    #[test]
    #[ignore = "it panics"]
    fn panics_with_the_screen_taken() {
        crate::give_the_terminal_back_on_panic();
        let _silent = stead_launch::echo::SilentTerminal::new(std::io::stdin().as_fd()).unwrap();
        let _screen = FullScreen::take().unwrap();
        panic!("what a pity");
    }

    #[test]
    fn e17_a_panic_gives_the_terminal_back_before_it_speaks() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test = "full_screen::tests::panics_with_the_screen_taken";
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        let mut terminal = Terminal::run(command);
        terminal.wait_for("what a pity");
        terminal.end();
        assert!(terminal.shows_typing());
        let (_, shown) = terminal.finish();
        let (before, after) = shown.split_once("\x1b[?25h\x1b[?1049l").unwrap();
        assert!(before.contains("\x1b[?1049h") && after.contains("what a pity"), "{shown:?}");
        assert!(!after.contains("\x1b[?1049"), "given back once: {shown:?}");
    }
}
