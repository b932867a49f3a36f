//! Answering an eval that waits for input right at the terminal (SPEC E-8).

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::termios;
use stead_client::{EvalView, WaitAction};
use stead_launch::echo::SilentTerminal;

use crate::print;
use crate::signals::CtrlC;

/// More than a terminal gives in one line.
const LINE_BYTES: usize = 1 << 16;
/// Words in a prompt whose answer nobody should read over a shoulder, where the program cannot say so itself.
const SECRETS: [&str; 3] = ["password", "passphrase", "passcode"];
/// What is a secret as well where just that is asked for: `Token:`, and not `Token count:` or `Delete the token?`.
const ASKED_FOR: [&str; 6] =
    ["pin", "token", "secret", "api key", "secret key", "secret access key"];

/// The person at the terminal, who can be asked what an eval asks.
#[derive(Debug)]
pub(crate) struct TypedAnswers {
    asking: Option<AnswerPrompt>,
}

#[derive(Debug)]
struct AnswerPrompt {
    /// Readable when something was typed, or when the other descriptor that the command waits for is readable.
    any: OwnedFd,
    _hidden: Option<SilentTerminal>,
}

impl TypedAnswers {
    /// The person at the terminal; `None` unless input, output and errors all belong to a terminal.
    pub(crate) fn at_terminal() -> Option<Self> {
        let person =
            io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
        person.then_some(TypedAnswers { asking: None })
    }

    /// Whether the question can be answered here, and then begins to wait for the answer. `also` is what else the
    /// command waits for. A file for an editor is more than a line, and a command in the background of its shell
    /// may not read from the terminal.
    pub(crate) fn ask(&mut self, view: &EvalView, also: Option<BorrowedFd<'_>>) -> bool {
        let stdin = io::stdin();
        let own = termios::tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        if view.editor.is_some() || !own {
            return false;
        }
        let Some(any) = either(stdin.as_fd(), also) else { return false };
        // If somebody else answered the last question, its echo may still be off. The echo is restored first, or
        // this question would take "off" for the terminal's own setting.
        self.asking = None;
        let hidden = match is_secret(view).then(|| SilentTerminal::new(stdin.as_fd())) {
            // A secret is not asked for where it would be shown.
            Some(Err(_)) => return false,
            Some(Ok(hidden)) => Some(hidden),
            None => None,
        };
        self.asking = Some(AnswerPrompt { any, _hidden: hidden });
        true
    }

    /// Whether a question was asked and not answered yet.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// No answer is wanted any more; what comes next begins on a line of its own.
    pub(crate) fn stop(&mut self) {
        if self.asking.take().is_some() {
            print::err(b"\n");
        }
    }

    /// What is waited for while a question is open.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.asking.as_ref().map(|asking| asking.any.as_fd())
    }

    /// The answer, if one was typed. Ctrl-D alone ends the input, behind a text it sends the text as it is.
    pub(crate) fn take(&mut self) -> Option<WaitAction> {
        if self.asking.is_none() || !is_readable(io::stdin().as_fd()) {
            return None;
        }
        let mut line = Vec::with_capacity(LINE_BYTES);
        let read = rustix::io::read(io::stdin(), spare_capacity(&mut line));
        if matches!(read, Err(Errno::INTR | Errno::AGAIN)) {
            return None;
        }
        self.asking = None;
        if !line.ends_with(b"\n") {
            print::err(b"\n");
        }
        Some(match read {
            Ok(0) => WaitAction::Answer { text: String::new(), eof: true },
            Ok(_) => {
                let text = String::from_utf8_lossy(&line).into_owned();
                WaitAction::Answer { text, eof: false }
            }
            // The terminal is gone.
            Err(_) => WaitAction::Leave,
        })
    }
}

fn is_secret(view: &EvalView) -> bool {
    view.secret || asks_for_secret(view.prompt.as_deref().unwrap_or_default())
}

/// Whether the prompt asks for a secret, as far as its words tell.
fn asks_for_secret(prompt: &str) -> bool {
    let prompt = prompt.to_lowercase().replace(['_', '-'], " ");
    if SECRETS.iter().any(|word| prompt.contains(word)) {
        return true;
    }
    let line = prompt.lines().next_back().unwrap_or_default();
    let mut asked = line.trim_end_matches([':', '>', ' ']);
    // `Token (hidden):`, but not `Delete token [y/N]:`.
    if let Some((head, aside)) = asked.rsplit_once(['(', '['])
        && aside.ends_with([')', ']'])
        && !aside.starts_with("y/")
        && !aside.starts_with("yes/")
    {
        asked = head;
    }
    // `Token for example.org:`, but not `Name for the token:`.
    let asked = [" for ", " of "]
        .iter()
        .fold(asked, |text, word| text.split_once(word).map_or(text, |(head, _)| head));
    ASKED_FOR.iter().any(|word| {
        let before = asked.trim_end().strip_suffix(word);
        before.is_some_and(|before| !before.ends_with(char::is_alphanumeric))
    })
}

/// A descriptor that is readable when one of both is.
fn either(one: BorrowedFd<'_>, other: Option<BorrowedFd<'_>>) -> Option<OwnedFd> {
    let any = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
    for fd in [Some(one), other].into_iter().flatten() {
        epoll::add(&any, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN).ok()?;
    }
    Some(any)
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut wanted = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut wanted, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// What a person typed at a question that does not show it.
#[derive(Debug)]
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-D.
    End,
    /// Ctrl-C.
    Nothing,
}

/// Asks on the terminal of this process, whatever its streams are, and does not show what is typed.
pub(crate) fn hidden_line(prompt: &str) -> io::Result<Typed> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let mut ctrl_c = CtrlC::new();
    let hidden = SilentTerminal::new(terminal.as_fd())
        .map_err(|_| io::Error::other("the terminal would show what is typed"))?;
    rustix::io::write(&terminal, prompt.as_bytes())?;
    let any = either(terminal.as_fd(), ctrl_c.as_ref().map(AsFd::as_fd));
    let any = any.ok_or_else(|| io::Error::other("the terminal cannot be waited for"))?;
    let mut line = Vec::with_capacity(LINE_BYTES);
    loop {
        let mut wanted = [PollFd::new(&any, PollFlags::IN)];
        match poll(&mut wanted, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if ctrl_c.as_mut().is_some_and(CtrlC::take) {
            let _ = rustix::io::write(&terminal, b"\n");
            return Ok(Typed::Nothing);
        }
        if !is_readable(terminal.as_fd()) {
            continue;
        }
        match rustix::io::read(&terminal, spare_capacity(&mut line)) {
            Ok(0) => return Ok(Typed::End),
            Ok(_) => break,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    drop(hidden);
    let text = String::from_utf8_lossy(&line).into_owned();
    Ok(Typed::Line(text.trim_end_matches('\n').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e8_a_prompt_that_asks_for_a_secret_is_told_by_its_words() {
        for prompt in [
            "Password for 'https://example.org': ",
            "Enter passphrase (empty for no passphrase): ",
            "PIN: ",
            "Enter your PIN",
            "Token: ",
            "Welcome.\nGitHub token (will be hidden): ",
            "Paste your authentication token for example.org> ",
            "Client secret: ",
            "Enter your API key: ",
            "OPENAI_API_KEY: ",
            "AWS Secret Access Key [None]: ",
        ] {
            assert!(asks_for_secret(prompt), "{prompt}");
        }
        for prompt in [
            "",
            "Press any key to continue",
            "Press any key: ",
            "token count? ",
            "Token count: ",
            "Number of tokens: ",
            "Name for the token: ",
            "API key name: ",
            "Delete the token? ",
            "Delete the token? [y/N]: ",
            "Keep it secret [y/N]: ",
            "Spin: ",
            "Pin which version? ",
            "Shopping: ",
            "AWS Access Key ID [None]: ",
            "Your token is stored.\nname: ",
        ] {
            assert!(!asks_for_secret(prompt), "{prompt}");
        }
    }
}
