//! The table of configuration keys: what may stand where, of what kind it is, and what it means.
//!
//! Reading a file, the schema for editors, `stead config` and the reference in docs/config.md are all made of it.

/// A key of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigKey {
    /// How commands answer where no flag says it.
    Output,
    /// How much hosts and servers write to their logs.
    Log,
    /// The toolchain of a session.
    Toolchain,
    /// What a toolchain starts.
    Engine,
    /// The Jupyter kernel.
    Kernel,
    /// The command that starts an interpreter.
    Cmd,
    /// A program that speaks the bridge protocol by itself.
    Bridge,
    /// The interpreter.
    Interpreter,
    /// The address of a server that runs already.
    Server,
    /// Where a session starts.
    Cwd,
    /// Variables of the environment.
    Env,
    /// Code to run at every start.
    Init,
    /// Whether the standard libraries are loaded.
    Stdlib,
    /// When an unused session ends.
    IdleTimeout,
    /// Whether figures are shown.
    Figures,
    /// How much output is kept.
    Quota,
    /// The gateway whose kernel runs a session's code.
    Gateway,
    /// The address of a Jupyter server or gateway.
    Url,
    /// Its token.
    Token,
    /// The variable with its token.
    TokenEnv,
    /// The file with its token.
    TokenFile,
    /// The certificates that are trusted for it.
    CaFile,
}

/// A part of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// What stands before all tables.
    Top,
    /// `[sessions.NAME]`.
    Session,
    /// `[toolchains.NAME]`.
    Toolchain,
    /// `[gateways.NAME]`.
    Gateway,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// The name of a toolchain or engine.
    Name,
    /// A path; `~/` is the home directory, a relative one begins at the workspace.
    Path,
    /// The address of a server.
    Address,
    /// Source text.
    Code,
    /// A text that is neither a name nor a path.
    Text,
    /// `true` or `false`.
    Flag,
    /// A duration.
    Time,
    /// A number of bytes.
    Size,
    /// A command template: one text, or a list of words.
    Command,
    /// A table of texts.
    Variables,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What is known of a key.
#[derive(Debug)]
pub struct KeySpec {
    /// The key.
    pub key: ConfigKey,
    /// How it is written.
    pub name: &'static str,
    /// Where it may stand.
    pub sections: &'static [Section],
    /// What it takes.
    pub kind: KeyKind,
    /// What it means, in a sentence.
    pub what: &'static str,
    /// A value, as it stands in a file.
    pub example: &'static str,
    /// Whether only the user's own file may have it.
    pub users_only: bool,
}

/// The tables of a file, each with tables by name.
pub(crate) const TABLES: [&str; 3] = ["sessions", "toolchains", "gateways"];

/// How much hosts and servers write to their logs, from least to most.
pub const LOG_WORDS: &[&str] = &["off", "error", "warn", "info"];

/// All keys, in the order in which they are told.
pub const KEYS: &[KeySpec] = {
    use Section::{Gateway, Session, Toolchain, Top};
    &[
        KeySpec {
            key: ConfigKey::Output,
            name: "output",
            sections: &[Top],
            kind: KeyKind::Word(&["text", "json"]),
            what: "How commands answer where neither a flag nor STEAD_OUTPUT says it",
            example: "\"json\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::Log,
            name: "log",
            sections: &[Top, Session],
            kind: KeyKind::Word(LOG_WORDS),
            what: "How much hosts and servers log; `info` adds when sessions and evals begin and end, never code or output",
            example: "\"info\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Toolchain,
            name: "toolchain",
            sections: &[Session],
            kind: KeyKind::Name,
            what: "The language or toolchain of the session; else the language that its name tells, else Python",
            example: "\"python.venv\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Engine,
            name: "engine",
            sections: &[Toolchain],
            kind: KeyKind::Name,
            what: "What it starts: a language, or another toolchain whose settings it begins with; with `bridge` any name",
            example: "\"python\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Kernel,
            name: "kernel",
            sections: &[Session, Toolchain, Gateway],
            kind: KeyKind::Name,
            what: "The Jupyter kernel that runs the code, by its name as `jupyter kernelspec list` tells it; a session that has one and neither toolchain nor gateway is in `jupyter`; of a gateway: that of its sessions which name none",
            example: "\"ir\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Cmd,
            name: "cmd",
            sections: &[Toolchain],
            kind: KeyKind::Command,
            what: "The command that starts the interpreter: a text that is split into words as a shell would, or a list of words; `{cwd}`, `{host}`, `{bridge}` and `{port}` are filled in, and no shell runs it",
            example: "\"nice -n 5 {cwd}/.venv/bin/python\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Bridge,
            name: "bridge",
            sections: &[Toolchain],
            kind: KeyKind::Path,
            what: "A program that speaks the bridge protocol by itself (PROTOCOL.md), for a language of your own",
            example: "\"tools/bridge.pl\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Interpreter,
            name: "interpreter",
            sections: &[Session, Toolchain],
            kind: KeyKind::Path,
            what: "The interpreter: an executable, a name on the PATH or, for Python, a virtual environment",
            example: "\"/usr/bin/python3.11\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Server,
            name: "server",
            sections: &[Session, Toolchain],
            kind: KeyKind::Address,
            what: "The nREPL server that runs the code, which runs already and is left alone at the end",
            example: "\"localhost:7888\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::Cwd,
            name: "cwd",
            sections: &[Session, Toolchain],
            kind: KeyKind::Path,
            what: "Directory the interpreter starts in; else the workspace",
            example: "\"analysis\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Env,
            name: "env",
            sections: &[Session, Toolchain],
            kind: KeyKind::Variables,
            what: "Environment variables, on top of those of whoever starts the session",
            example: "{ DEBUG = \"1\" }",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Init,
            name: "init",
            sections: &[Session, Toolchain],
            kind: KeyKind::Code,
            what: "Code to run at every start; if it fails that is said, and the session lives",
            example: "\"import numpy as np\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Stdlib,
            name: "stdlib",
            sections: &[Top, Session, Toolchain],
            kind: KeyKind::Flag,
            what: "Whether the standard libraries are loaded, yours and the project's; true unless given",
            example: "false",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::IdleTimeout,
            name: "idle_timeout",
            sections: &[Top, Session, Toolchain],
            kind: KeyKind::Time,
            what: "End the session after this time without use; 0 means never, 12h unless given",
            example: "\"2h\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Figures,
            name: "figures",
            sections: &[Top, Session, Toolchain],
            kind: KeyKind::Flag,
            what: "Whether figures of matplotlib are shown as pictures (Python); true unless given",
            example: "false",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Quota,
            name: "quota",
            sections: &[Top, Session, Toolchain],
            kind: KeyKind::Size,
            what: "How much output is kept, the newest evals' first; 1 GiB unless given",
            example: "\"256 MiB\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Gateway,
            name: "gateway",
            sections: &[Session],
            kind: KeyKind::Name,
            what: "The gateway whose kernel runs the session's code: a name of `[gateways.NAME]` in your own file",
            example: "\"cluster\"",
            users_only: false,
        },
        KeySpec {
            key: ConfigKey::Url,
            name: "url",
            sections: &[Gateway],
            kind: KeyKind::Text,
            what: "The address of a Jupyter Server, Kernel Gateway or Enterprise Gateway, without a token in it",
            example: "\"https://hub.example:8888/\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::Token,
            name: "token",
            sections: &[Gateway],
            kind: KeyKind::Text,
            what: "The gateway's token; better is one of the next two",
            example: "\"secret\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::TokenEnv,
            name: "token_env",
            sections: &[Gateway],
            kind: KeyKind::Text,
            what: "The environment variable that has the gateway's token",
            example: "\"CLUSTER_TOKEN\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::TokenFile,
            name: "token_file",
            sections: &[Gateway],
            kind: KeyKind::Path,
            what: "The file that has the gateway's token",
            example: "\"~/.config/cluster.token\"",
            users_only: true,
        },
        KeySpec {
            key: ConfigKey::CaFile,
            name: "ca_file",
            sections: &[Gateway],
            kind: KeyKind::Path,
            what: "A file with the certificates that are trusted for the gateway in place of the system's",
            example: "\"~/.config/cluster-ca.pem\"",
            users_only: true,
        },
    ]
};

/// Words that people write, each with the key that they mean.
const MEANT: &[(&str, &str)] = &[
    ("address", "server"),
    ("args", "cmd"),
    ("backend", "engine"),
    ("command", "cmd"),
    ("dir", "cwd"),
    ("directory", "cwd"),
    ("environment", "env"),
    ("executable", "interpreter"),
    ("kernel_name", "kernel"),
    ("kernelspec", "kernel"),
    ("lang", "toolchain"),
    ("language", "toolchain"),
    ("language", "engine"),
    ("limit", "quota"),
    ("loglevel", "log"),
    ("log_level", "log"),
    ("path", "interpreter"),
    ("plots", "figures"),
    ("program", "interpreter"),
    ("python", "interpreter"),
    ("setup", "init"),
    ("startup", "init"),
    ("timeout", "idle_timeout"),
    ("ttl", "idle_timeout"),
    ("variables", "env"),
    ("workdir", "cwd"),
    ("working_directory", "cwd"),
];

impl ConfigKey {
    /// What is known of it.
    pub fn spec(self) -> &'static KeySpec {
        // The table has every key: a test looks.
        KEYS.iter().find(|spec| spec.key == self).unwrap_or(&KEYS[0])
    }

    /// How it is written.
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

impl Section {
    /// The keys that may stand in it.
    pub fn keys(self) -> impl Iterator<Item = &'static KeySpec> {
        KEYS.iter().filter(move |spec| spec.sections.contains(&self))
    }

    /// How it is written.
    pub fn title(self) -> &'static str {
        match self {
            Section::Top => "the top of the file",
            Section::Session => "[sessions.NAME]",
            Section::Toolchain => "[toolchains.NAME]",
            Section::Gateway => "[gateways.NAME]",
        }
    }
}

impl KeyKind {
    /// What it takes, for a sentence.
    pub fn expected(self) -> String {
        match self {
            KeyKind::Name => "a name in quotes".to_owned(),
            KeyKind::Path => "a path in quotes".to_owned(),
            KeyKind::Address => "an address in quotes: \"HOST:PORT\"".to_owned(),
            KeyKind::Text => "a text in quotes".to_owned(),
            KeyKind::Code => "code in quotes; `'''` around it for several lines".to_owned(),
            KeyKind::Flag => "true or false, without quotes".to_owned(),
            KeyKind::Time => {
                "a time such as \"30s\", \"5m\" or \"2h\", or a number of milliseconds".to_owned()
            }
            KeyKind::Size => "a size such as \"256 MiB\", or a number of bytes".to_owned(),
            KeyKind::Command => "a command in quotes, or a list of words".to_owned(),
            KeyKind::Variables => "a table of texts: { NAME = \"value\" }".to_owned(),
            KeyKind::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                quoted.join(" or ")
            }
        }
    }
}

/// The key of a section that is most likely meant by a word that is none.
pub(crate) fn nearest_key(section: Section, given: &str) -> Option<&'static str> {
    let plain = given.to_ascii_lowercase().replace('-', "_");
    let has = |name: &str| section.keys().any(|spec| spec.name == name);
    let meant = MEANT.iter().find(|(word, name)| *word == plain && has(name));
    let tables: &[&str] = if section == Section::Top { &TABLES } else { &[] };
    match meant {
        Some((_, name)) => Some(name),
        None => nearest(&plain, section.keys().map(|spec| spec.name).chain(tables.iter().copied())),
    }
}

/// The word that is nearest to a given one, if any is near.
pub fn nearest<'a>(given: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.chars().take(80).collect();
    // A third of a word may be wrong; of a short one, one letter.
    let most = (given.len() / 3).max(1);
    words
        .into_iter()
        .map(|word| (distance(&given, &word.chars().collect::<Vec<_>>()), word))
        .filter(|(far, word)| *far <= most && *far < word.chars().count())
        .min_by_key(|(far, _)| *far)
        .map(|(_, word)| word)
}

/// How many letters have to be put in, taken out, replaced or swapped with their neighbour.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut least = replaced.min(last[column + 1] + 1).min(now[column] + 1);
            if row > 0 && column > 0 && *a == other[column - 1] && one[row - 1] == *b {
                least = least.min(before[column - 1] + 1);
            }
            now.push(least);
        }
        before = std::mem::replace(&mut last, now);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cf1_every_key_is_in_the_table_once_and_can_stand_somewhere() {
        let names: BTreeSet<_> = KEYS.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), KEYS.len());
        for spec in KEYS {
            assert_eq!(spec.key.spec().name, spec.name);
            assert!(!spec.sections.is_empty() && !spec.what.ends_with('.'), "{}", spec.name);
        }
        for (_, meant) in MEANT {
            assert!(names.contains(meant), "{meant}");
        }
    }

    #[test]
    fn cf1_the_nearest_key_is_found_and_none_where_nothing_is_near() {
        for (section, given, meant) in [
            (Section::Session, "idle_timout", Some("idle_timeout")),
            (Section::Session, "idle-timeout", Some("idle_timeout")),
            (Section::Session, "tolchain", Some("toolchain")),
            (Section::Session, "ENV", Some("env")),
            (Section::Session, "language", Some("toolchain")),
            (Section::Session, "working_directory", Some("cwd")),
            (Section::Toolchain, "command", Some("cmd")),
            (Section::Top, "session", Some("sessions")),
            (Section::Top, "toolchian", Some("toolchains")),
            (Section::Session, "zebra", None),
            (Section::Session, "x", None),
            (Section::Toolchain, "language", Some("engine")),
        ] {
            assert_eq!(nearest_key(section, given), meant, "{given}");
        }
    }
}
