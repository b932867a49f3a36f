//! Which binary is under test, and what it has for tests only.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable that makes a host of a test build stop, break or hurry at an exact point. A binary that is shipped
/// knows none of them (docs/TESTING.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// The point at which the host stops itself.
    PauseAt,
    /// The point at which the host panics.
    PanicAt,
    /// Which change on disk is refused, and how.
    Refuse,
    /// The file that says that something was refused.
    Refused,
    /// How many milliseconds a new connection has for its first message.
    HelloLimitMs,
}

impl Hook {
    fn variable(self) -> &'static str {
        match self {
            Hook::PauseAt => "STEAD_PAUSE_AT",
            Hook::PanicAt => "STEAD_PANIC_AT",
            Hook::Refuse => "STEAD_REFUSE",
            Hook::Refused => "STEAD_REFUSED",
            Hook::HelloLimitMs => "STEAD_HELLO_LIMIT_MS",
        }
    }

    /// Sets this hook for a command, and for the host that the command starts.
    ///
    /// # Panics
    /// When the command's binary has no hooks: the test would wait for something that never happens. `./test` knows
    /// this message and leaves such a test out of those that it runs with the shipped binary.
    #[track_caller]
    pub fn set(self, command: &mut Command, value: impl AsRef<OsStr>) {
        let program = Path::new(command.get_program());
        // What cargo builds for tests has hooks; only another binary has to be looked at.
        assert!(
            given().is_none() || has_hooks(program),
            "[needs test hooks] `{}` of a binary that has none: {}",
            self.variable(),
            program.display()
        );
        command.env(self.variable(), value);
    }
}

/// The binary under test: what `STEAD_BIN` names, else the one that cargo built for this test.
pub(crate) fn program(built: &Path) -> PathBuf {
    given().unwrap_or_else(|| built.to_owned())
}

fn given() -> Option<PathBuf> {
    std::env::var_os("STEAD_BIN").map(PathBuf::from)
}

fn has_hooks(program: &Path) -> bool {
    let name = Hook::PanicAt.variable().as_bytes();
    let binary = std::fs::read(program).expect("the binary under test can be read");
    binary.windows(name.len()).any(|bytes| bytes == name)
}
