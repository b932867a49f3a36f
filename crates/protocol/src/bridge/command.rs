//! Host to bridge: lines of plain words, each followed by as many raw bytes as its last word says.
//!
//! A Bash bridge can read that with builtins; JSON in this direction would need a parser in every language.

use std::collections::VecDeque;
use std::fmt;
use std::io::Write;

use crate::{EvalId, MAX_LINE, ShellPlace};

/// As long as most first lines.
const HEAD: usize = 64;
/// No line of words is longer.
const MOST_HEAD: usize = 4 << 10;

/// What the host tells a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// Run this code; answered by `done`, after all other events of the eval.
    Eval {
        /// The eval.
        id: &'a EvalId,
        /// Its code.
        code: &'a str,
    },
    /// Do work that is not code; answered by `done` as an eval is.
    Work {
        /// The eval.
        id: &'a EvalId,
        /// `save`, `load`, `stdlib` or `checkpoint`.
        what: &'a str,
        /// Its argument: lines, of which the first says what it is about.
        argument: &'a str,
    },
    /// Where the next eval runs: a directory and the whole environment. For shell commands only.
    Place(&'a ShellPlace),
    /// The next eval is the last: what its code leaves to be done by threads, timers and exit handlers is part of
    /// it. For bridges that can `last`.
    Last,
    /// The event that asked for this has been recorded: go on.
    Ack,
    /// The signal that follows is meant for this eval; no answer. A bridge that can `interrupts` carries it
    /// out itself, harder each time it comes again for the same eval, and may say `interrupted`.
    Interrupt {
        /// The eval.
        id: &'a EvalId,
    },
    /// Like `Interrupt`, for a question that is being answered.
    InterruptQuery,
    /// Stop all code where it is; answered by `reply`. For bridges that can `pauses`.
    Pause {
        /// Number of the request.
        seq: u64,
    },
    /// Let the code go on; answered by `reply`. For bridges that can `pauses`.
    Resume {
        /// Number of the request.
        seq: u64,
    },
    /// Say `figures`. For bridges that can.
    Figures,
    /// Answer a question about the namespace with `reply`.
    Query {
        /// Number of the question.
        seq: u64,
        /// `vars`, `inspect`, `complete`, `definitions` or `code`.
        what: &'a str,
        /// Its argument.
        arg: &'a str,
    },
    /// Empty the namespace; answered by `reply`.
    Clear {
        /// Number of the request.
        seq: u64,
    },
    /// Copy the interpreter although nobody asked for a checkpoint; answered by `reply`.
    Copy {
        /// Number of the request.
        seq: u64,
    },
    /// End the interpreter in good order.
    Exit,
}

impl Command<'_> {
    /// The bytes to send.
    pub fn encode(&self) -> Vec<u8> {
        let with = |head: fmt::Arguments<'_>, payload: &[u8]| {
            let mut bytes = Vec::with_capacity(HEAD + payload.len());
            // Writing to a `Vec` does not fail.
            let _ = writeln!(bytes, "{head} {}", payload.len());
            bytes.extend_from_slice(payload);
            bytes
        };
        match self {
            Command::Eval { id, code } => with(format_args!("eval {id}"), code.as_bytes()),
            Command::Work { id, what, argument } => {
                with(format_args!("work {id} {what}"), argument.as_bytes())
            }
            Command::Place(place) => with(format_args!("place"), &place.encode()),
            Command::Last => with(format_args!("last"), b""),
            Command::Ack => with(format_args!("ack"), b""),
            Command::Interrupt { id } => with(format_args!("interrupt {id}"), b""),
            Command::InterruptQuery => with(format_args!("interrupt -"), b""),
            Command::Pause { seq } => with(format_args!("pause {seq}"), b""),
            Command::Resume { seq } => with(format_args!("resume {seq}"), b""),
            Command::Figures => with(format_args!("figures"), b""),
            Command::Query { seq, what, arg } => {
                with(format_args!("query {seq} {what}"), arg.as_bytes())
            }
            Command::Clear { seq } => with(format_args!("clear {seq}"), b""),
            Command::Copy { seq } => with(format_args!("copy {seq}"), b""),
            Command::Exit => with(format_args!("exit"), b""),
        }
    }
}

/// A command as it came from the host. It owns the data that the [`Command`] in it borrows.
#[derive(Debug)]
pub struct CommandFrame {
    words: Vec<String>,
    payload: String,
    /// The eval that is named, if one is.
    eval: Option<EvalId>,
    place: Option<ShellPlace>,
}

impl CommandFrame {
    /// What the host wants; `None` for a command of a newer host, which is to be skipped.
    pub fn command(&self) -> Option<Command<'_>> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let seq = |word: &str| word.parse().ok();
        Some(match words[..] {
            ["eval", _] => Command::Eval { id: self.eval.as_ref()?, code: &self.payload },
            ["work", _, what] => {
                Command::Work { id: self.eval.as_ref()?, what, argument: &self.payload }
            }
            ["place"] => Command::Place(self.place.as_ref()?),
            ["last"] => Command::Last,
            ["ack"] => Command::Ack,
            ["interrupt", "-"] => Command::InterruptQuery,
            ["interrupt", _] => Command::Interrupt { id: self.eval.as_ref()? },
            ["pause", number] => Command::Pause { seq: seq(number)? },
            ["resume", number] => Command::Resume { seq: seq(number)? },
            ["figures"] => Command::Figures,
            ["query", number, what] => {
                Command::Query { seq: seq(number)?, what, arg: &self.payload }
            }
            ["clear", number] => Command::Clear { seq: seq(number)? },
            ["copy", number] => Command::Copy { seq: seq(number)? },
            ["exit"] => Command::Exit,
            _ => return None,
        })
    }

    fn new(head: &str, payload: &[u8]) -> CommandFrame {
        let mut words: Vec<String> = head.split(' ').map(str::to_owned).collect();
        // The last word is the length, which was used before.
        words.pop();
        let names = |word: &str| matches!(word, "eval" | "work" | "interrupt");
        let eval =
            words.first().filter(|word| names(word)).and_then(|_| words.get(1)?.parse().ok());
        let is_place = words.first().is_some_and(|word| word == "place");
        CommandFrame {
            eval,
            place: is_place.then(|| ShellPlace::decode(payload)),
            payload: if is_place { String::new() } else { text(payload) },
            words,
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The host does not keep to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("what the host sent is no command")]
pub struct NoCommand;

/// Cuts bytes from the host into commands: the bridge's side of this wire.
#[derive(Debug, Default)]
pub struct Commands {
    bytes: Vec<u8>,
    ready: VecDeque<CommandFrame>,
}

impl Commands {
    /// Takes what was read.
    pub fn push(&mut self, read: &[u8]) -> Result<(), NoCommand> {
        self.bytes.extend_from_slice(read);
        let mut begin = 0;
        while let Some((frame, length)) = frame(&self.bytes[begin..])? {
            self.ready.push_back(frame);
            begin += length;
        }
        self.bytes.drain(..begin);
        Ok(())
    }

    /// The next command.
    pub fn next_frame(&mut self) -> Option<CommandFrame> {
        self.ready.pop_front()
    }

    /// Removes the first command for which `wanted` holds, ahead of its turn; returns whether there was one.
    pub fn take(&mut self, wanted: impl Fn(&Command<'_>) -> bool) -> bool {
        let matches =
            |frame: &CommandFrame| frame.command().is_some_and(|command| wanted(&command));
        let at = self.ready.iter().position(matches);
        at.and_then(|at| self.ready.remove(at)).is_some()
    }
}

/// The first whole command, and how many bytes it takes.
fn frame(bytes: &[u8]) -> Result<Option<(CommandFrame, usize)>, NoCommand> {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() > MOST_HEAD { Err(NoCommand) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| NoCommand)?;
    let length: usize =
        head.rsplit(' ').next().and_then(|word| word.parse().ok()).ok_or(NoCommand)?;
    if end > MOST_HEAD || length > MAX_LINE {
        return Err(NoCommand);
    }
    let payload = bytes.get(end + 1..end + 1 + length);
    Ok(payload.map(|payload| (CommandFrame::new(head, payload), end + 1 + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(id: &EvalId, place: &ShellPlace) -> Vec<u8> {
        let commands = [
            Command::Place(place),
            Command::Last,
            Command::Eval { id, code: "é\nline two" },
            Command::Work { id, what: "save", argument: "/tmp/é\n\ndf" },
            Command::Interrupt { id },
            Command::InterruptQuery,
            Command::Ack,
            Command::Pause { seq: 5 },
            Command::Resume { seq: 6 },
            Command::Figures,
            Command::Query { seq: 2, what: "inspect", arg: "df" },
            Command::Clear { seq: 3 },
            Command::Exit,
        ];
        commands.iter().flat_map(Command::encode).collect()
    }

    #[test]
    fn commands_are_words_then_bytes() {
        let id: EvalId = "py:7".parse().unwrap();
        assert_eq!(Command::Eval { id: &id, code: "é\n" }.encode(), "eval py:7 3\né\n".as_bytes());
        assert_eq!(Command::Query { seq: 2, what: "vars", arg: "" }.encode(), b"query 2 vars 0\n");
        let work = Command::Work { id: &id, what: "load", argument: "/a" };
        assert_eq!(work.encode(), b"work py:7 load 2\n/a");
        assert_eq!(Command::InterruptQuery.encode(), b"interrupt - 0\n");
        assert_eq!(Command::Exit.encode(), b"exit 0\n");
    }

    #[test]
    fn k1_what_is_encoded_is_decoded_wherever_it_is_cut() {
        let id: EvalId = "py:7".parse().unwrap();
        let place = ShellPlace { cwd: "/w".into(), env: vec![("A".into(), "x=\n".into())] };
        let bytes = all(&id, &place);
        for cut in 0..=bytes.len() {
            let mut commands = Commands::default();
            commands.push(&bytes[..cut]).unwrap();
            commands.push(&bytes[cut..]).unwrap();
            let frames = std::iter::from_fn(|| commands.next_frame());
            let again: Vec<u8> =
                frames.flat_map(|frame| frame.command().unwrap().encode()).collect();
            assert_eq!(again, bytes, "{cut}");
        }
    }

    #[test]
    fn k1_a_command_of_a_newer_host_is_skipped_and_garbage_is_told() {
        let mut commands = Commands::default();
        commands.push(b"sing 2\nlaack 0\n").unwrap();
        assert!(commands.next_frame().unwrap().command().is_none());
        assert_eq!(commands.next_frame().unwrap().command(), Some(Command::Ack));
        for garbage in ["\n", "eval py:1\n", "eval py:1 -3\n", "eval py:1 99999999999999\n"] {
            assert_eq!(Commands::default().push(garbage.as_bytes()), Err(NoCommand), "{garbage}");
        }
        assert_eq!(Commands::default().push(&[b'x'; 5000]), Err(NoCommand));
    }

    #[test]
    fn e6_an_interrupt_is_found_behind_other_commands() {
        let id: EvalId = "py:7".parse().unwrap();
        let mut commands = Commands::default();
        commands.push(b"ack 0\ninterrupt py:7 0\nexit 0\n").unwrap();
        assert!(commands.take(|command| *command == Command::Interrupt { id: &id }));
        assert!(!commands.take(|command| *command == Command::Interrupt { id: &id }));
        assert_eq!(commands.next_frame().unwrap().command(), Some(Command::Ack));
        assert_eq!(commands.next_frame().unwrap().command(), Some(Command::Exit));
    }
}
