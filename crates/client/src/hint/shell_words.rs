//! Shell commands that were given to a session in another language.

use super::line::{Failed, FailedLine, matches_pattern};
use super::{Hint, NotNeeded, Whose, modules};

/// Commands whose names are no words of prose and hardly names of variables.
const SURE: &[&str] = &[
    "apt", "apt-get", "awk", "brew", "cd", "chmod", "chown", "cp", "curl", "df", "dnf", "du",
    "echo", "egrep", "export", "gcc", "gh", "grep", "htop", "jq", "ls", "mkdir", "mv", "nano",
    "ping", "ps", "pwd", "pytest", "rg", "rm", "rmdir", "rsync", "rustc", "scp", "sed", "ssh",
    "sudo", "tar", "tree", "uname", "unzip", "vim", "wget", "whoami", "xargs", "yum", "zip",
];

/// Commands whose names are words too. A flag, a path, a file or a pipe has to follow.
const WORDS: &[&str] = &[
    "alias", "bash", "cat", "clear", "cut", "date", "diff", "env", "file", "find", "free", "head",
    "history", "java", "join", "kill", "less", "ln", "make", "man", "more", "nice", "node", "open",
    "paste", "perl", "python", "python3", "ruby", "set", "sh", "sleep", "sort", "source", "split",
    "stat", "tail", "tee", "test", "time", "top", "touch", "tr", "tsc", "type", "uniq", "unset",
    "watch", "wc", "which", "who", "zsh",
];

/// Commands that are followed by one of their own words.
const WITH_VERBS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "add",
            "am",
            "bisect",
            "blame",
            "branch",
            "checkout",
            "cherry-pick",
            "clean",
            "clone",
            "commit",
            "config",
            "diff",
            "fetch",
            "grep",
            "init",
            "log",
            "ls-files",
            "merge",
            "mv",
            "pull",
            "push",
            "rebase",
            "reflog",
            "remote",
            "reset",
            "restore",
            "rev-parse",
            "revert",
            "rm",
            "show",
            "stash",
            "status",
            "submodule",
            "switch",
            "tag",
            "worktree",
        ],
    ),
    (
        "npm",
        &[
            "audit",
            "ci",
            "exec",
            "i",
            "init",
            "install",
            "ls",
            "run",
            "start",
            "test",
            "uninstall",
            "update",
        ],
    ),
    ("pnpm", &["add", "dlx", "exec", "i", "install", "remove", "run", "test"]),
    ("yarn", &["add", "build", "dev", "install", "remove", "run", "start", "test"]),
    ("bun", &["add", "install", "run", "test", "x"]),
    ("npx", &["create-react-app", "eslint", "prettier", "tsc", "tsx", "vite", "vitest"]),
    ("pip", &["check", "download", "freeze", "install", "list", "show", "uninstall"]),
    ("pip3", &["freeze", "install", "list", "show", "uninstall"]),
    ("uv", &["add", "init", "lock", "pip", "python", "remove", "run", "sync", "tool", "venv"]),
    (
        "poetry",
        &["add", "env", "init", "install", "lock", "remove", "run", "shell", "show", "update"],
    ),
    (
        "conda",
        &["activate", "create", "deactivate", "env", "info", "install", "list", "remove", "update"],
    ),
    ("mamba", &["activate", "create", "env", "install", "list", "remove", "update"]),
    ("pipenv", &["install", "run", "shell", "uninstall"]),
    ("pdm", &["add", "install", "remove", "run"]),
    (
        "cargo",
        &[
            "add", "bench", "build", "check", "clippy", "doc", "fmt", "init", "install", "new",
            "run", "test", "update",
        ],
    ),
    ("go", &["build", "env", "fmt", "get", "install", "mod", "run", "test", "version", "vet"]),
    (
        "docker",
        &[
            "build", "compose", "exec", "images", "logs", "ps", "pull", "push", "rm", "rmi", "run",
            "stop",
        ],
    ),
    ("docker-compose", &["build", "down", "logs", "ps", "up"]),
    ("kubectl", &["apply", "create", "delete", "describe", "exec", "get", "logs"]),
    ("make", &["all", "build", "check", "clean", "install", "lint", "run", "test"]),
    ("systemctl", &["restart", "start", "status", "stop"]),
    ("service", &["restart", "start", "status", "stop"]),
    ("brew", &["install", "list", "update"]),
];

/// Words that a sentence has and a command hardly.
const PROSE: &[&str] = &[
    "a", "an", "and", "are", "be", "because", "but", "can", "could", "does", "from", "has", "have",
    "how", "i", "if", "in", "is", "it", "me", "my", "not", "of", "on", "or", "over", "please",
    "should", "sure", "that", "the", "then", "there", "they", "this", "to", "was", "we", "what",
    "when", "will", "with", "would", "you", "your",
];

/// A line that is a shell command, in a session that runs no such commands.
pub(super) fn habit(failed: &Failed<'_>, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
    if failed.is_shell() {
        return assignment(failed, line, failure);
    }
    // A line that compiles in this language is a shell command only if its first word is the unknown name.
    if let FailedLine::Name(name) = failure
        && line.split_whitespace().next() != Some(name)
    {
        return None;
    }
    is_command(line).then(|| command(failed, line, None)).flatten()
}

/// The hint for a shell command; some, such as `cd`, are of no use in a shell of their own.
pub(super) fn command(failed: &Failed<'_>, line: &str, mark: Option<&str>) -> Option<Hint> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let rest = line[first.len()..].trim();
    let alone = !["&&", "|", ";"].iter().any(|sign| line.contains(sign));
    match first {
        "source" | "." if line.contains("/activate") => return Some(activation(line)),
        "conda" | "mamba" if rest.starts_with("activate") => return Some(activation(line)),
        "cd" if alone => return change_dir(failed, rest, Whose::Shell, "cd"),
        "export" if alone => return set_variable(failed, rest),
        _ => {}
    }
    if alone && let Some(install) = modules::install(failed, line) {
        return Some(install);
    }
    Some(Hint::Shell { mark: mark.map(str::to_owned), command: line.to_owned() })
}

fn activation(line: &str) -> Hint {
    Hint::NotNeeded { wrote: line.to_owned(), why: NotNeeded::Activation }
}

/// The hint for `cd`: code of the session has to change its directory, because a shell that does is gone after.
pub(super) fn change_dir(
    failed: &Failed<'_>,
    dir: &str,
    whose: Whose,
    wrote: &str,
) -> Option<Hint> {
    let dir = match ShellValue::read(dir) {
        ShellValue::Text(text) if text.is_empty() => ShellValue::Text("~".to_owned()),
        // `cd -` goes to the previous directory, which only the shell knows.
        ShellValue::Text(text) if text == "-" => ShellValue::Unclear,
        dir => dir,
    };
    let code = match (failed.language, dir) {
        ("python", ShellValue::Unclear) => "os.chdir(…), after import os".to_owned(),
        ("python", ShellValue::Text(dir)) if dir.starts_with('~') => {
            format!("os.chdir(os.path.expanduser({})), after import os", literal(&dir))
        }
        ("python", ShellValue::Text(dir)) => {
            format!("os.chdir({}), after import os", literal(&dir))
        }
        ("node", ShellValue::Unclear) => "process.chdir(…)".to_owned(),
        ("node", ShellValue::Text(dir)) => match dir.strip_prefix('~') {
            Some("") => "process.chdir(os.homedir()), after import os from \"os\"".to_owned(),
            Some(rest) if rest.starts_with('/') => format!(
                "process.chdir(os.homedir() + {}), after import os from \"os\"",
                literal(rest)
            ),
            _ => format!("process.chdir({})", literal(&dir)),
        },
        (_, ShellValue::Unclear) => "cd …".to_owned(),
        (_, ShellValue::Text(dir)) => format!("cd {}", shell_word(&dir)),
    };
    Some(Hint::Instead { wrote: wrote.to_owned(), whose, code })
}

/// What a word of a shell stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ShellValue {
    Text(String),
    /// Only a shell can say: it depends on variables or commands, or there is more than one word.
    Unclear,
}

impl ShellValue {
    fn read(word: &str) -> ShellValue {
        let (mut text, mut chars, mut quote) = (String::new(), word.trim().chars(), None);
        while let Some(c) = chars.next() {
            match (c, quote) {
                ('$' | '`', None | Some('"')) => return ShellValue::Unclear,
                ('\'' | '"', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                ('\\', None | Some('"')) => text.extend(chars.next()),
                (c, None) if c.is_whitespace() || "*?;&|<>()".contains(c) => {
                    return ShellValue::Unclear;
                }
                (c, _) => text.push(c),
            }
        }
        if quote.is_some() { ShellValue::Unclear } else { ShellValue::Text(text) }
    }
}

/// A text as Python and JavaScript write it.
pub(super) fn literal(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "…".to_owned())
}

/// A text as one word of a shell; `~` at its beginning keeps its meaning.
fn shell_word(text: &str) -> String {
    if matches_pattern!(text, r"^[\w./~@%+=:,-]+$") {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn set_variable(failed: &Failed<'_>, rest: &str) -> Option<Hint> {
    let (name, value) = rest.split_once('=')?;
    let name = name.trim();
    if !matches_pattern!(name, r"^[A-Za-z_]\w*$") {
        return None;
    }
    let value = match ShellValue::read(value) {
        ShellValue::Text(value) => literal(&value),
        ShellValue::Unclear => "…".to_owned(),
    };
    let code = match failed.language {
        "python" => format!("os.environ[\"{name}\"] = {value}, after import os"),
        "node" => format!("process.env.{name} = {value}"),
        _ => return None,
    };
    Some(Hint::Instead { wrote: "export".to_owned(), whose: Whose::Shell, code })
}

/// Whether a line is a shell command and neither prose nor a line of a program.
pub(super) fn is_command(line: &str) -> bool {
    let line = line.trim();
    let Some(first) = line.split_whitespace().next() else { return false };
    let rest = line[first.len()..].trim_start();
    if matches_pattern!(
        line,
        r"^(for \w+ in [^:]*;\s*do\b|if \[{1,2} .*\]{1,2}\s*;\s*then\b|while (read|true|\[).*;\s*do\b)"
    ) {
        return true;
    }
    // `FLAVOUR=mint make cake`
    if matches_pattern!(first, r"^[A-Z_][A-Z0-9_]*=\S*$") {
        return is_command(rest);
    }
    if matches_pattern!(first, r"^(\./|~/|/(usr|bin|opt|home|tmp)/)[\w./-]+$") {
        return !is_prose(line) && !rest.starts_with(['=', '(', '*', '/', '+']);
    }
    if first == "." && rest.contains("/activate") {
        return true;
    }
    let operator = ["* ", "+ ", "+="].iter().any(|sign| rest.starts_with(sign))
        || rest.starts_with(['=', '(', '[', ',', ':', ')']);
    if operator || is_prose(rest) {
        return false;
    }
    let next = rest.split_whitespace().next().unwrap_or_default();
    // What a JavaScript module exports.
    if first == "export"
        && matches_pattern!(rest, r"^(const|let|var|function|class|default|async)\b|^[{*]")
    {
        return false;
    }
    if let Some((_, verbs)) = WITH_VERBS.iter().find(|(name, _)| *name == first)
        && (verbs.contains(&next) || is_flag(next))
    {
        return true;
    }
    if SURE.contains(&first) {
        // Four words or more without a sign of a command may as well be the beginning of a sentence.
        return first == "echo"
            || first == "export" && rest.contains('=')
            || rest.split_whitespace().count() < 4
            || has_sign(rest);
    }
    WORDS.contains(&first)
        && (has_sign(rest) || first == "which" && rest.split_whitespace().count() == 1)
}

fn is_prose(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches([',', '.', '?', '!', ':']).to_lowercase();
        PROSE.contains(&word.as_str())
    })
}

/// Whether a flag, a path, a file or a pipe is among the words.
fn has_sign(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        is_flag(word)
            || ["|", "||", "&&", ">", ">>", "<", "2>&1", ".", "..", "~"].contains(&word)
            || matches_pattern!(word, r"^(\./|\.\./|~/|/)[\w.*-]|^[\w.-]+/[\w./*-]+$|^[\w*-]+\.[a-z][a-z0-9]{0,4}$|^\*|^\$\w")
    })
}

fn is_flag(word: &str) -> bool {
    matches_pattern!(word, r"^-{1,2}[A-Za-z0-9][\w-]*(=.*)?$")
}

/// `x = 1` in a shell.
fn assignment(failed: &Failed<'_>, line: &str, failure: FailedLine<'_>) -> Option<Hint> {
    let (name, value) = line.split_once(" = ").or_else(|| line.split_once("= "))?;
    let name = name.trim();
    let meant = failure == FailedLine::Command
        && matches_pattern!(name, r"^[A-Za-z_]\w*$")
        && failed.missing_commands().any(|missing| missing == name);
    let plain = matches_pattern!(value.trim(), r#"^([\w./:-]+|"[^"]*"|'[^']*')$"#);
    (meant && plain).then(|| Hint::Spaces { right: format!("{name}={}", value.trim()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e18_what_is_repeated_is_quoted_as_the_language_wants_it() {
        let text = |text: &str| ShellValue::Text(text.to_owned());
        for (word, wanted) in [
            ("a", text("a")),
            ("'it''s'", text("its")),
            (r#""it's""#, text("it's")),
            (r"a\ b", text("a b")),
            (r#"'say "x"'"#, text(r#"say "x""#)),
            ("'$HOME'", text("$HOME")),
            ("\"$HOME/x\"", ShellValue::Unclear),
            ("$(pwd)", ShellValue::Unclear),
            ("a B=2", ShellValue::Unclear),
            ("'open", ShellValue::Unclear),
            ("", text("")),
        ] {
            assert_eq!(ShellValue::read(word), wanted, "{word}");
        }
        assert_eq!(literal("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!((shell_word("a b"), shell_word("~/x")), ("'a b'".to_owned(), "~/x".to_owned()));
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
