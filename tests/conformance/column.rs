//! What a language brings to the list: pieces of code, and why it cannot do what it cannot.

use crate::cannot::Cannot;
use crate::talk::Talk;

/// A behaviour: the SPEC item with what is promised, and a check that panics where it does not hold.
pub(crate) type Behaviour = (&'static str, fn(&Talk<'_>));

/// A language's pieces of code. Words in capitals are replaced: `TEXT` has no quotes, `NAME` is a name, `VALUE` a
/// number, `COMMAND` a line for `sh` without single quotes (`QUOTED`: with backslashes before double ones). Pieces are joined by line ends.
///
/// What a language has no piece for stays empty; a behaviour that needs it must then be in `cannot`.
pub(crate) struct Column {
    /// The session's name, which tells the language too.
    pub(crate) session: &'static str,
    /// The language's own name.
    pub(crate) language: &'static str,
    /// The Jupyter kernel that runs its code; empty for a language of stead's own.
    pub(crate) kernel: &'static str,
    /// What keeps the language from some of the list.
    pub(crate) cannot: &'static [Cannot],
    /// What only this language promises.
    pub(crate) own: &'static [Behaviour],

    /// A line that is a remark.
    pub(crate) remark: &'static str,
    /// Runs, and has no value.
    pub(crate) nothing: &'static str,
    /// Code and the value of its last expression.
    pub(crate) value: (&'static str, &'static str),
    /// A value that is shown as a PNG picture.
    pub(crate) picture: &'static str,
    /// Something to wait for, and its value.
    pub(crate) awaited: (&'static str, &'static str),
    /// A value whose text would have millions of characters.
    pub(crate) big_value: &'static str,
    /// A value that cannot be shown.
    pub(crate) broken_value: &'static str,

    /// Writes `TEXT` and a line end to standard output.
    pub(crate) say: &'static str,
    /// The same to standard error.
    pub(crate) complain: &'static str,
    /// Writes `TEXT`, in which backslashes escape, without a line end.
    pub(crate) write: &'static str,
    /// Writes the numbers from 1 to `VALUE`, each to the right of a line of 99 characters.
    pub(crate) lines: &'static str,
    /// Writes `VALUE` times `x` and a line end.
    pub(crate) huge_line: &'static str,

    /// Gives `NAME` the number `VALUE`.
    pub(crate) set: &'static str,
    /// Writes what `NAME` is, and a line end.
    pub(crate) tell: &'static str,
    /// Removes `NAME`.
    pub(crate) forget: &'static str,
    /// Makes `VALUE` names that begin with `many_`.
    pub(crate) set_many: &'static str,
    /// Makes a function `NAME` that says `TEXT`.
    pub(crate) define: &'static str,
    /// Calls the function `NAME`.
    pub(crate) call: &'static str,
    /// The types of a number and of a function, as `vars` tells them.
    pub(crate) types: (&'static str, &'static str),
    /// Takes 40 MB of memory and keeps it as `blob`.
    pub(crate) allocate: &'static str,

    /// Cannot be compiled, and the name of that error.
    pub(crate) syntax_error: (&'static str, &'static str),
    /// Codes that end too early: brackets, strings, blocks.
    pub(crate) incomplete: &'static [&'static str],
    /// Fails with `TEXT`, and the name of that error.
    pub(crate) fail: (&'static str, &'static str),
    /// Makes a function `NAME` that fails with `TEXT`.
    pub(crate) define_failing: &'static str,
    /// An error with a cause, and what its text must contain.
    pub(crate) chained: (&'static str, &'static [&'static str]),
    /// Calls itself without end.
    pub(crate) recurse: &'static str,
    /// Breaks whatever a bridge might need.
    pub(crate) vandalise: &'static str,

    /// Asks `TEXT` and reads a line into `NAME`.
    pub(crate) ask: &'static str,
    /// Reads standard input to its end and writes it.
    pub(crate) read_all: &'static str,

    /// Runs `COMMAND` to its end, with the session's own streams.
    pub(crate) child: &'static str,
    /// Starts `COMMAND` with the session's own streams and goes on.
    pub(crate) background: &'static str,
    /// Writes the working directory, and a line end.
    pub(crate) cwd: &'static str,
    /// Writes the environment variable `NAME`, and a line end.
    pub(crate) env: &'static str,

    /// The engine itself writes of an interrupt: line ends as an interactive shell does, or what happened.
    pub(crate) tells_interrupts: bool,
    /// Computes for ever.
    pub(crate) spin: &'static str,
    /// Sleeps for ever.
    pub(crate) sleep: &'static str,
    /// Computes for ever, whatever is asked of it.
    pub(crate) spin_stubbornly: &'static str,

    /// Ends the eval with exit code `VALUE`.
    pub(crate) exit_eval: &'static str,
    /// Ends the session with exit code `VALUE`.
    pub(crate) exit_session: &'static str,
    /// Says `TEXT` when the session ends.
    pub(crate) at_exit: &'static str,
    /// Sends SIGKILL to the interpreter itself.
    pub(crate) crash: &'static str,
}

impl Column {
    /// A column without a word, to begin with.
    pub(crate) const NONE: Column = Column {
        chained: ("", &[]),
        fail: ("", ""),
        syntax_error: ("", ""),
        incomplete: &[],
        types: ("", ""),
        awaited: ("", ""),
        value: ("", ""),
        session: "",
        language: "",
        kernel: "",
        picture: "",
        cannot: &[],
        own: &[],
        remark: "",
        nothing: "",
        big_value: "",
        broken_value: "",
        say: "",
        complain: "",
        write: "",
        lines: "",
        huge_line: "",
        set: "",
        tell: "",
        forget: "",
        set_many: "",
        define: "",
        call: "",
        allocate: "",
        define_failing: "",
        recurse: "",
        vandalise: "",
        ask: "",
        read_all: "",
        child: "",
        background: "",
        cwd: "",
        env: "",
        tells_interrupts: false,
        spin: "",
        sleep: "",
        spin_stubbornly: "",
        exit_eval: "",
        exit_session: "",
        at_exit: "",
        crash: "",
    };

    /// Why the language cannot do this, if it cannot.
    pub(crate) fn cannot(&self, behaviour: &str) -> Option<&'static str> {
        self.cannot.iter().find(|(_, lacks)| lacks.contains(&behaviour)).map(|(why, _)| *why)
    }

    #[track_caller]
    pub(crate) fn say(&self, text: &str) -> String {
        piece(self.say).replace("TEXT", text)
    }

    #[track_caller]
    pub(crate) fn complain(&self, text: &str) -> String {
        piece(self.complain).replace("TEXT", text)
    }

    #[track_caller]
    pub(crate) fn write(&self, text: &str) -> String {
        piece(self.write).replace("TEXT", text)
    }

    #[track_caller]
    pub(crate) fn set(&self, name: &str, value: u64) -> String {
        piece(self.set).replace("NAME", name).replace("VALUE", &value.to_string())
    }

    #[track_caller]
    pub(crate) fn tell(&self, name: &str) -> String {
        piece(self.tell).replace("NAME", name)
    }

    #[track_caller]
    pub(crate) fn define(&self, name: &str, text: &str) -> String {
        piece(self.define).replace("NAME", name).replace("TEXT", text)
    }

    #[track_caller]
    pub(crate) fn call(&self, name: &str) -> String {
        piece(self.call).replace("NAME", name)
    }

    #[track_caller]
    pub(crate) fn ask(&self, text: &str, name: &str) -> String {
        piece(self.ask).replace("TEXT", text).replace("NAME", name)
    }

    #[track_caller]
    pub(crate) fn child(&self, command: &str) -> String {
        commanded(self.child, command)
    }

    #[track_caller]
    pub(crate) fn background(&self, command: &str) -> String {
        commanded(self.background, command)
    }

    /// Code that goes on once the file is there.
    #[track_caller]
    pub(crate) fn wait_for_file(&self, file: &str) -> String {
        self.child(&format!("until [ -e {file} ]; do sleep 0.01; done"))
    }
}

/// A piece with a command in it, as it is or for a place between double quotes.
#[track_caller]
fn commanded(text: &str, command: &str) -> String {
    let quoted = command.replace('\\', r"\\").replace('"', r#"\""#);
    piece(text).replace("COMMAND", command).replace("QUOTED", &quoted)
}

/// A piece that is there, as text.
#[track_caller]
pub(crate) fn piece(piece: &str) -> String {
    assert!(
        !piece.is_empty(),
        "the column has no such piece; give one, or say in `cannot` why not"
    );
    piece.to_owned()
}

/// Pieces one after the other.
pub(crate) fn join<const N: usize>(pieces: [String; N]) -> String {
    pieces.join("\n")
}
