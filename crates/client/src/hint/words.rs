//! The sentence for each hint. Calls in it are those of the front end that shows it.

use stead_protocol::{EndReason, SessionName};

use super::{Hint, LostBy, NotNeeded, Whose};

/// How much of something that the user wrote is repeated.
const REPEATED: usize = 160;

/// How a front end writes the calls that hints name.
pub trait HintCalls {
    /// The call that runs a shell command.
    fn shell(&self, command: &str) -> String;
    /// The call that runs code in this language.
    fn eval(&self, language: &str) -> String;
    /// The call that tells what a name holds.
    fn inspect(&self, session: &SessionName, name: &str) -> String;
    /// The call that lists all names.
    fn names(&self, session: &SessionName) -> String;
    /// The call that forgets all names.
    fn clear(&self, session: &SessionName) -> String;
    /// The call that starts the session anew.
    fn restart(&self, session: &SessionName) -> String;
}

impl Hint {
    /// The hint as one line, about code in `session`.
    pub fn text(&self, session: &SessionName, calls: &dyn HintCalls) -> String {
        match self {
            Hint::Fence => "send the code without the fence (```) around it".to_owned(),
            Hint::Prompt { prompt } => format!("send the code without the `{prompt}` prompts"),
            Hint::Instead { wrote, whose, code } => {
                let whose = match whose {
                    Whose::IPython => "IPython's",
                    Whose::Shell => "a shell's",
                };
                format!("`{}` is {whose}; here: {}", short(wrote), short(code))
            }
            Hint::NotNeeded { wrote, why } => {
                let why = match why {
                    NotNeeded::Figures => "figures are shown by themselves",
                    NotNeeded::Reload => {
                        "modules that have changed on disk are named in a note, and importlib.reload(module) loads one again"
                    }
                    NotNeeded::Activation => {
                        "the project's environment is in force, also for shell commands"
                    }
                    NotNeeded::Timing => {
                        "replies say how long an eval took from one second on; for less, time it in the code"
                    }
                    NotNeeded::SameLanguage => "this session runs that already",
                };
                format!("leave out `{}`: {why}", short(wrote))
            }
            Hint::NoSuch { wrote } => {
                format!(
                    "`{}` is IPython's and there is nothing like it here: leave it out",
                    short(wrote)
                )
            }
            Hint::Shell { mark: Some(mark), command } => {
                format!(
                    "`{}` is IPython's; for shell commands: {}",
                    short(mark),
                    calls.shell(&short(command))
                )
            }
            Hint::Shell { mark: None, command } => {
                format!("this is a shell command; run it so: {}", calls.shell(&short(command)))
            }
            Hint::NoMark { mark } => {
                format!("leave out the `{mark}`: this session runs shell commands")
            }
            Hint::Help { name, has_help } => {
                let help =
                    if *has_help { format!(", or help({})", short(name)) } else { String::new() };
                format!("`?` is IPython's; here: {}{help}", calls.inspect(session, &short(name)))
            }
            Hint::Names => format!("all names: {}", calls.names(session)),
            Hint::Forget => format!("to forget all names: {}", calls.clear(session)),
            Hint::Install { module, command, restart } => {
                let how = calls.shell(&short(command));
                let then = match restart {
                    true => format!(", then {}", calls.restart(session)),
                    false => String::new(),
                };
                match module {
                    Some(module) => {
                        format!("`{}` is not installed; install it so: {how}{then}", short(module))
                    }
                    None => format!("packages are installed by a shell command: {how}{then}"),
                }
            }
            Hint::NotInstalled { command } => {
                format!(
                    "not installed in this environment; packages are installed with: {}",
                    short(command)
                )
            }
            Hint::Gone { module, instead } => format!("`{}` {instead}", short(module)),
            Hint::OtherLanguage { title, session: Some(language) } => {
                format!("this looks like {title}: {}", calls.eval(language))
            }
            Hint::OtherLanguage { title, session: None } => {
                format!(
                    "this looks like {title}, and there are no sessions in it: write it to a file and run that with {}",
                    calls.shell("…")
                )
            }
            Hint::TypeScript => format!(
                "this is TypeScript, and the session runs JavaScript: leave out the types, or write a file and run it so: {}",
                calls.shell("npx tsx FILE.ts")
            ),
            Hint::Sql => {
                "this looks like SQL: give it to your database connection as a string".to_owned()
            }
            Hint::Word { wrote, right, title } => format!("{title} writes {right}, not `{wrote}`"),
            Hint::Display => {
                "the last value is shown by itself; or: from IPython.display import display"
                    .to_owned()
            }
            Hint::Import { code } => format!("not imported: {code}"),
            Hint::Spaces { right } => {
                format!("a shell wants no spaces around `=`: {}", short(right))
            }
            Hint::Fresh { name, eval, lost } => {
                let (name, from) = (short(name), format!("{session}:{}", eval.0));
                let how = match lost {
                    LostBy::Clear { eval } => {
                        format!("all names were cleared by {session}:{}", eval.0)
                    }
                    LostBy::End { reason } => {
                        format!("the session was started afresh{}", why(reason.as_ref()))
                    }
                    LostBy::Undo => {
                        return format!(
                            "`{name}` came from {from}, which was undone: run the code that makes it again"
                        );
                    }
                };
                format!(
                    "`{name}` was known before {how}; it came from {from}: run the code that makes it again"
                )
            }
        }
    }
}

fn why(reason: Option<&EndReason>) -> String {
    reason.map(|reason| format!(" ({})", short(&reason.to_string()))).unwrap_or_default()
}

/// A text of the user's on one line, without what would end a quotation or confuse a terminal.
fn short(text: &str) -> String {
    let text = stead_screen::plain(text.as_bytes()).replace('\n', " ");
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
