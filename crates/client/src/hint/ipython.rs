//! Habits of IPython and of those who copy from a terminal or a page: magics, `!command`, `name?`, prompts, fences.

use super::line::{Failed, FailedLine, matches_pattern};
use super::shell_words::{self, change_dir, is_command, literal};
use super::{Hint, NotNeeded, Whose, modules};

pub(super) fn habit(failed: &Failed<'_>, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
    if line.starts_with("```") || line == "~~~" {
        return Some(Hint::Fence);
    }
    for prompt in [">>>", "..."] {
        if failure == FailedLine::Syntax
            && line
                .strip_prefix(prompt)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            return Some(Hint::Prompt { prompt });
        }
    }
    if matches!(failure, FailedLine::Syntax | FailedLine::Name("In"))
        && matches_pattern!(line, r"^In \[\d*\]:")
    {
        return Some(Hint::Prompt { prompt: "In [1]:" });
    }
    if let Some(command) = line.strip_prefix("$ ")
        && !failed.is_shell()
    {
        return shell_words::command(failed, command.trim(), None);
    }
    magic(failed, line).or_else(|| bang(failed, line)).or_else(|| question(failed, line))
}

/// `%name …`, `%%name …`, `x = %name …`; only those that IPython has.
fn magic(failed: &Failed<'_>, line: &str) -> Option<Hint> {
    let assigned = matches_pattern!(line, r"^[A-Za-z_]\w*\s*=\s*%[a-z]");
    let start = if assigned { line.find('%')? } else { 0 };
    let text = line[start..].strip_prefix('%')?;
    let (sign, text) = match text.strip_prefix('%') {
        Some(text) => ("%%", text),
        None => ("%", text),
    };
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (wrote, rest) = (format!("{sign}{name}"), rest.trim());
    // A magic with `%%` is about the lines below it, one with `%` about the rest of its line.
    let command = || match sign {
        "%%" => below(failed, line),
        _ => rest.to_owned(),
    };
    let python = failed.language == "python";
    let instead =
        |code: String| Hint::Instead { wrote: wrote.clone(), whose: Whose::IPython, code };
    let hint = match name {
        "bash" | "sh" | "script" | "system" | "sx" | "cmd" | "zsh" if failed.is_shell() => {
            Hint::NotNeeded { wrote, why: NotNeeded::SameLanguage }
        }
        "python" | "python3" if python => Hint::NotNeeded { wrote, why: NotNeeded::SameLanguage },
        "javascript" | "js" if failed.language == "node" => {
            Hint::NotNeeded { wrote, why: NotNeeded::SameLanguage }
        }
        "bash" | "sh" | "script" | "system" | "sx" | "cmd" | "zsh" => {
            Hint::Shell { mark: Some(wrote), command: command() }
        }
        "python" | "python3" => other("Python", "python"),
        "javascript" | "js" => other("JavaScript", "node"),
        "ls" | "ll" | "cat" | "mkdir" | "rmdir" | "cp" | "mv" | "rm" | "man" | "less" | "more"
        | "pwd" => {
            let command = format!("{name} {rest}").trim().to_owned();
            Hint::Shell { mark: Some("%".to_owned()), command }
        }
        "pip" | "conda" | "mamba" | "uv" => {
            let command = format!("{name} {rest}");
            modules::install(failed, &command)
                .unwrap_or(Hint::Shell { mark: Some("%".to_owned()), command })
        }
        "matplotlib" | "pylab" => Hint::NotNeeded { wrote, why: NotNeeded::Figures },
        "config" if rest.starts_with("InlineBackend") => {
            Hint::NotNeeded { wrote, why: NotNeeded::Figures }
        }
        "autoreload" | "aimport" => Hint::NotNeeded { wrote, why: NotNeeded::Reload },
        "load_ext" | "reload_ext" if rest.contains("autoreload") => {
            Hint::NotNeeded { wrote: format!("{wrote} autoreload"), why: NotNeeded::Reload }
        }
        "time" => Hint::NotNeeded { wrote, why: NotNeeded::Timing },
        "timeit" if python => {
            instead("timeit.timeit(lambda: …, number=100), after import timeit".to_owned())
        }
        "timeit" => Hint::NotNeeded { wrote, why: NotNeeded::Timing },
        "prun" | "lprun" if python => {
            instead("cProfile.run(\"…\", sort=\"cumtime\"), after import cProfile".to_owned())
        }
        "memit" | "mprun" if python => {
            instead("tracemalloc.start() and tracemalloc.get_traced_memory()".to_owned())
        }
        "cd" => change_dir(failed, rest, Whose::IPython, &wrote)?,
        "env" | "set_env" if python => {
            let (name, value) = rest.split_once(['=', ' ']).unwrap_or((rest, ""));
            instead(match (name.trim(), value.trim()) {
                ("", _) => "dict(os.environ), after import os".to_owned(),
                (name, "") => format!("os.environ[{}], after import os", literal(name)),
                (name, value) => {
                    format!("os.environ[{}] = {}, after import os", literal(name), literal(value))
                }
            })
        }
        "run" if python && !rest.is_empty() => {
            let file = rest.split_whitespace().find(|word| !word.starts_with('-')).unwrap_or(rest);
            instead(format!(
                "globals().update(runpy.run_path({}, run_name=\"__main__\")), after import runpy",
                literal(file)
            ))
        }
        "writefile" | "file" if python => {
            let file =
                rest.split_whitespace().find(|word| !word.starts_with('-')).unwrap_or("FILE");
            instead(format!(
                "pathlib.Path({}).write_text(\"\"\"…\"\"\"), after import pathlib",
                literal(file)
            ))
        }
        "capture" if python => instead("contextlib.redirect_stdout(io.StringIO())".to_owned()),
        "debug" | "pdb" if python => instead("pdb.pm(), after import pdb".to_owned()),
        "load" if python => instead(format!("exec(open({}).read())", literal(rest))),
        "who" | "whos" | "who_ls" => Hint::Names,
        "reset" | "reset_selective" => Hint::Forget,
        "pinfo" | "pinfo2" | "pdoc" | "psource" | "pfile" if is_name(rest) => help(failed, rest),
        "sql" => Hint::Sql,
        known if OTHER_MAGICS.contains(&known) => Hint::NoSuch { wrote },
        _ => return None,
    };
    Some(hint)
}

const OTHER_MAGICS: &[&str] = &[
    "alias",
    "autocall",
    "bookmark",
    "capture",
    "colors",
    "config",
    "cpaste",
    "cython",
    "debug",
    "dirs",
    "dhist",
    "doctest_mode",
    "edit",
    "env",
    "gui",
    "hist",
    "history",
    "html",
    "HTML",
    "latex",
    "load",
    "load_ext",
    "logstart",
    "lsmagic",
    "macro",
    "magic",
    "markdown",
    "memit",
    "mprun",
    "notebook",
    "paste",
    "pdb",
    "perl",
    "popd",
    "pprint",
    "precision",
    "prun",
    "lprun",
    "pushd",
    "quickref",
    "R",
    "recall",
    "reload_ext",
    "rerun",
    "ruby",
    "run",
    "save",
    "sc",
    "set_env",
    "store",
    "svg",
    "SVG",
    "tb",
    "tensorboard",
    "unload_ext",
    "writefile",
    "file",
    "xdel",
    "xmode",
];

/// The first line below a cell's magic, with `…` if there are more.
fn below(failed: &Failed<'_>, magic: &str) -> String {
    let mut lines = failed.code.lines().map(str::trim).skip_while(|line| *line != magic).skip(1);
    let mut lines = lines.by_ref().filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("…").to_owned();
    if lines.next().is_some() { format!("{first}; …") } else { first }
}

/// `!command`, `!!command`, `name = !command`.
fn bang(failed: &Failed<'_>, line: &str) -> Option<Hint> {
    if matches_pattern!(line, r"^[A-Za-z_]\w*(\s*,\s*\w+)*\s*=\s*!\s*[\w./~]") {
        let (_, command) = line.split_once('!')?;
        let command = command.trim();
        // In `ready = !done` the `!` is the `not` of another language, so a known command has to follow.
        return match failed.language {
            "python" if is_command(command) => Some(Hint::Instead {
                wrote: "!".to_owned(),
                whose: Whose::IPython,
                code: format!(
                    "subprocess.run({}, shell=True, capture_output=True, text=True).stdout.splitlines(), after import subprocess",
                    serde_json::to_string(command).ok()?
                ),
            }),
            "node" if is_command(command) => Some(Hint::Instead {
                wrote: "!".to_owned(),
                whose: Whose::IPython,
                code: format!(
                    "require(\"child_process\").execSync({}).toString()",
                    serde_json::to_string(command).ok()?
                ),
            }),
            _ => None,
        };
    }
    let command = line.strip_prefix('!')?.trim_start_matches('!').trim();
    let begins = command.starts_with(|c: char| c.is_ascii_alphabetic() || "./~_".contains(c));
    // JavaScript has an operator `!`, and a shell's own `!` stands apart from the command.
    let meant = match failed.language {
        "python" => begins && !matches_pattern!(command, r"^\w+\s*(==|!=|=|and\b|or\b)"),
        "node" => begins && is_command(command),
        _ => {
            begins
                && line.starts_with('!')
                && failed
                    .missing_commands()
                    .any(|word| line.split_whitespace().next() == Some(word))
        }
    };
    if !meant {
        return None;
    }
    if failed.is_shell() {
        return Some(Hint::NoMark { mark: "!".to_owned() });
    }
    shell_words::command(failed, command, Some("!"))
}

/// `name?`, `?name`, `name??`.
fn question(failed: &Failed<'_>, line: &str) -> Option<Hint> {
    let name = match line.strip_prefix('?') {
        Some(rest) => rest.trim_start_matches('?'),
        None => line.strip_suffix('?')?.trim_end_matches('?'),
    };
    is_name(name).then(|| help(failed, name))
}

fn help(failed: &Failed<'_>, name: &str) -> Hint {
    Hint::Help { name: name.to_owned(), has_help: failed.language == "python" }
}

/// Whether it is a name, with dots in it or not.
fn is_name(text: &str) -> bool {
    matches_pattern!(text, r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
}

/// Code in another language that sessions can be started in.
pub(super) fn other(title: &'static str, language: &str) -> Hint {
    let session = stead_config::language(language).filter(|language| language.offered);
    Hint::OtherLanguage { title, session: session.map(|language| language.name) }
}
