//! A terminal's whole screen, which is given back as it was however the command ends.

use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;

use rustix::event::epoll;
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use stead_launch::sys;

use crate::print;
use crate::redraw::TerminalSize;

/// How the terminal was before the screen was taken, for a panic, which ends the process at once.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Tells the keyboard from the signals.
const KEYS: u64 = 1;

const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// The screen, and the signals that have to do with it.
#[derive(Debug)]
pub(crate) struct FullScreen {
    /// Readable if one of the others is, or the terminal is gone.
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
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            usual(info);
        }));
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
        if let Ok(before) = tcgetattr(&stdin) {
            // Keys are not shown, and are read at once; Ctrl-C stays a signal.
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            let _ = tcsetattr(&stdin, OptionalActions::Now, &quiet);
            *BEFORE.lock().unwrap_or_else(|e| e.into_inner()) = Some(before);
        }
        print::out(ENTER);
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
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        let or = |size: u16, usual| if size == 0 { usual } else { usize::from(size).max(2) };
        TerminalSize { columns: or(columns, 80), rows: or(rows, 24) }
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
                    // No more keys come from there.
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
            give_back();
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
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

/// Gives the screen, the cursor and the keyboard back. A terminal that is gone takes nothing, which is as well.
fn give_back() {
    let _ = std::io::stdout().write_all(LEAVE).and_then(|()| std::io::stdout().flush());
    if let Some(before) = BEFORE.lock().unwrap_or_else(|e| e.into_inner()).take() {
        // Keys that nobody read are not for the shell.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &before);
    }
}
