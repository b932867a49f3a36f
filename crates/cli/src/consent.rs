//! Asking a person whether what came with a project may start sessions (SPEC CF-4).

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::process::Signal;
use stead_client::{Consent, TrustStanding, Unallowed};
use stead_launch::sys;
use stead_screen::visible;

/// How the user is asked; not at all where nobody sits at a terminal.
pub(crate) fn consent() -> Option<Consent> {
    let person = io::stdin().is_terminal() && io::stderr().is_terminal();
    person.then_some(ask as Consent)
}

fn ask(unallowed: &Unallowed) -> bool {
    let mut said = String::new();
    let dir = unallowed.dir.to_string_lossy();
    let dir = visible(&dir);
    said += &match unallowed.standing {
        TrustStanding::Changed => format!("`{dir}` has changed since you allowed it. It would:\n"),
        _ => format!("`{dir}` came with this project and wants to set up sessions. It would:\n"),
    };
    said += &shown(&unallowed.effects);
    said += &format!("To see all of it first, say no, then: {}\n", how_to_see_all(unallowed));
    said += "Allow it? [y/N] ";
    let mut terminal = io::stderr().lock();
    if terminal.write_all(said.as_bytes()).and_then(|()| terminal.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    // Nothing has begun yet, so Ctrl-C ends the command, even if the command holds Ctrl-C for its eval.
    let held = sys::is_blocked(Signal::INT);
    let _ = sys::unblock(&[Signal::INT]);
    let heard = io::stdin().lock().read_line(&mut answer);
    if held {
        let _ = sys::block(&[Signal::INT]);
    }
    heard.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The command that shows all that is to be allowed, and where to give it.
fn how_to_see_all(unallowed: &Unallowed) -> String {
    let workspace = unallowed.dir.parent().unwrap_or(&unallowed.dir);
    format!("`stead allow --show` (in `{}`)", visible(&workspace.to_string_lossy()))
}

/// What a directory would do, a line each. No line is left out, because the one that matters could be the last.
pub(crate) fn shown(effects: &[String]) -> String {
    let line = |line: &String| format!("  {}\n", visible(line));
    effects.iter().map(line).collect()
}
