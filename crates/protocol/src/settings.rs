//! How a session is started: kept in `meta.json` over restarts, and given to each host.
//!
//! On disk and on the wire all parts lie side by side in one object, which is the form that every version
//! so far has written. A new setting is a new field with a default.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gateway::{GatewayKernel, GatewayTarget};
use crate::words::{Word, words};

/// How a session is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What runs its code.
    #[serde(flatten)]
    pub engine: Engine,
    /// Where that runs.
    #[serde(flatten)]
    pub place: SessionPlace,
    /// What is done at every start.
    #[serde(flatten)]
    pub startup: Startup,
    /// When it ends.
    #[serde(flatten)]
    pub policy: Policy,
    /// How much it may take.
    #[serde(flatten)]
    pub limits: Limits,
}

/// What runs a session's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenEngine")]
pub struct Engine {
    /// The language: `python`.
    pub language: String,
    /// The toolchain that it was started by, where that is more than a language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<String>,
    /// A program that is a bridge of its own and speaks the protocol by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// The interpreter the user named; without it the host looks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// The command that starts it, as words with places to fill in; without it the interpreter is started as its
    /// language says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Which environment of the project the interpreter is taken from; without it the host decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSource>,
    /// Which toolchain or configuration chose all that, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The Jupyter kernel that runs the code, for sessions that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelChoice>,
    /// The address of the server that runs the code, if that runs already. It is left alone at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What one eval leaves for the next.
    pub keeps: Keeps,
}

impl Engine {
    /// What the session speaks, for people: its language, or the kernel whose name stands for one.
    pub fn spoken(&self) -> &str {
        match &self.kernel {
            Some(KernelChoice::Name { name }) => name,
            Some(KernelChoice::Gateway(GatewayKernel {
                wanted: GatewayTarget::Started { kernel: Some(name) },
                ..
            })) => name,
            Some(
                KernelChoice::ConnectionFile { .. }
                | KernelChoice::Gateway(_)
                | KernelChoice::Unknown,
            )
            | None => &self.language,
        }
    }

    /// Whether what runs its code was there before and is left alone at the end.
    pub fn is_left_alone(&self) -> bool {
        let attached = match &self.kernel {
            Some(KernelChoice::ConnectionFile { .. }) => true,
            Some(KernelChoice::Gateway(kernel)) => {
                matches!(kernel.wanted, GatewayTarget::Attached { .. })
            }
            Some(KernelChoice::Name { .. } | KernelChoice::Unknown) | None => false,
        };
        attached || self.server.is_some()
    }

    /// Where its code runs, if that is not this machine for all that is known here (SPEC X-6).
    pub fn runs_at(&self) -> Option<&str> {
        match &self.kernel {
            Some(KernelChoice::Gateway(kernel)) => Some(&kernel.url),
            _ => None,
        }
    }
}

/// Where the interpreter of a session is taken from, if only one kind of environment will do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentSource {
    /// The nearest `.venv` or `venv`.
    Venv,
    /// The environment of the uv project.
    Uv,
    /// The environment of the poetry project.
    Poetry,
    /// The conda environment of the project.
    Conda,
    /// The Clojure of the project, by the Clojure CLI.
    Deps,
    /// The Clojure of the project, by Leiningen.
    Lein,
    /// Babashka.
    Babashka,
    /// One of a newer version, as it was written; a host refuses to start such a session.
    #[serde(untagged)]
    Unknown(Value),
}

/// Which Jupyter kernel runs a session's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum KernelChoice {
    /// The one of this name, which is started and ended with the session.
    Name {
        /// Its name.
        name: String,
    },
    /// One that runs already. It is left alone at the end.
    ConnectionFile {
        /// The file that says how it is reached.
        path: String,
    },
    /// One of a Jupyter Server or gateway.
    Gateway(GatewayKernel),
    /// One that a newer version knows how to reach.
    #[serde(other)]
    Unknown,
}

/// What an eval leaves for the next one of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing but the processes that it started: each eval is a command of its own. So no client is told
    /// when the state of such a session is lost, and its files are removed soon after its end.
    Nothing,
    /// Names, modules, the directory: all that an interpreter has.
    State,
}

// What a newer version may say is read as the one that takes the most care.
words!(Keeps { Nothing => "nothing", State => "state" } else State);

/// The form that `Engine` has in files and messages.
#[derive(Deserialize)]
struct WrittenEngine {
    language: String,
    #[serde(default)]
    toolchain: Option<String>,
    #[serde(default)]
    bridge: Option<String>,
    #[serde(default)]
    interpreter: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    environment: Option<EnvironmentSource>,
    #[serde(default)]
    because: Option<String>,
    #[serde(default)]
    kernel: Option<KernelChoice>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    keeps: Option<Keeps>,
}

impl From<WrittenEngine> for Engine {
    fn from(written: WrittenEngine) -> Engine {
        let WrittenEngine { language, toolchain, bridge, interpreter, .. } = written;
        let WrittenEngine { command, environment, because, kernel, server, keeps, .. } = written;
        // Older versions did not write this. They had one language that keeps nothing, and knew it by its
        // name.
        let keeps = keeps.unwrap_or(match language.as_str() {
            "shell" => Keeps::Nothing,
            _ => Keeps::State,
        });
        Engine {
            language,
            toolchain,
            bridge,
            interpreter,
            command,
            environment,
            because,
            kernel,
            server,
            keeps,
        }
    }
}

/// Where a session runs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    /// The directory the interpreter starts in.
    pub cwd: String,
    /// Variables on top of the environment of the client that starts the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// The layers between this machine and the interpreter, as a newer version wrote them. This version has
    /// none and refuses to start such a session: it would run its code on the wrong machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Value>,
}

/// What is done at every start of a session.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Startup {
    /// Code to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
    /// The file of the user's standard library, which runs before that (SPEC ST-4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdlib: Option<String>,
    /// The text of the project's standard library, which runs after the user's. It is kept as it was when the user
    /// allowed it, because the file may have changed since (SPEC CF-4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_stdlib: Option<String>,
    /// What of all this came with the project, if anything did: each start asks whether it is still allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_project: Option<FromProject>,
    /// What the first reply has to say about the start, apart from how it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What a session has of its project's `.stead` directory, which the user has allowed (SPEC CF-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromProject {
    /// The hash of the directory as it was allowed.
    pub hash: String,
    /// Whether settings of the session are from there; else only the project's standard library is.
    pub sets_up: bool,
}

/// When a session ends, what is done for it meanwhile, and how much is said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// After this time without use; 0 means never.
    pub idle_timeout_ms: u64,
    /// With its first eval; then it is removed from lists, too (SPEC J-2).
    #[serde(default)]
    pub once: bool,
    /// No copies of its state are kept by themselves, so that no eval can be undone (SPEC ST-5).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_undo: bool,
    /// How much its host logs; `STEAD_LOG` has precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLevel>,
}

/// How much hosts and servers log, from least to most (SPEC CF-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What is unusual, too. A word of a newer version is read as this one.
    #[default]
    Warn,
    /// When sessions and evals begin and end, too; never code or output.
    Info,
}

words!(LogLevel {
    Off => "off",
    Error => "error",
    Warn => "warn",
    Info => "info",
} else Warn);

impl LogLevel {
    /// The level of this name.
    pub fn named(word: &str) -> Option<LogLevel> {
        LogLevel::from_word(word)
    }
}

/// How much a session may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How many bytes of output are kept.
    pub quota_bytes: u64,
}

/// The idle timeout unless one is given: 12 h (SPEC S-8).
pub const DEFAULT_IDLE_TIMEOUT_MS: u64 = 12 * 3600 * 1000;
/// The spool quota unless one is given: 1 GiB of output (SPEC O-4), and room for the records' frames.
pub const DEFAULT_QUOTA_BYTES: u64 = (1 << 30) + (64 << 20);

// Both written by hand: values of the environment and code never reach a log.
impl fmt::Debug for SessionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPlace")
            .field("cwd", &self.cwd)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("via", &self.via.len())
            .finish()
    }
}

impl fmt::Debug for Startup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Startup")
            .field("init", &self.init.is_some())
            .field("stdlib", &self.stdlib)
            .field("project_stdlib", &self.project_stdlib.is_some())
            .field("from_project", &self.from_project)
            .field("notice", &self.notice)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first version wrote: such sessions are on disk, and hosts of that version run.
    const FIRST: &str = r#"{"language":"python","interpreter":"/usr/bin/python3","cwd":"/w","env":[["A","1"]],"init":"x = 1","idle_timeout_ms":5,"quota_bytes":7,"once":true}"#;

    fn first() -> Settings {
        serde_json::from_str(FIRST).unwrap()
    }

    #[test]
    fn settings_of_the_first_version_are_read() {
        let expected = Settings {
            engine: Engine {
                language: "python".to_owned(),
                toolchain: None,
                bridge: None,
                interpreter: Some("/usr/bin/python3".to_owned()),
                command: vec![],
                environment: None,
                because: None,
                kernel: None,
                server: None,
                keeps: Keeps::State,
            },
            place: SessionPlace {
                cwd: "/w".to_owned(),
                env: vec![("A".to_owned(), "1".to_owned())],
                via: vec![],
            },
            startup: Startup {
                init: Some("x = 1".to_owned()),
                stdlib: None,
                project_stdlib: None,
                from_project: None,
                notice: None,
            },
            policy: Policy { idle_timeout_ms: 5, once: true, no_undo: false, log: None },
            limits: Limits { quota_bytes: 7 },
        };
        assert_eq!(first(), expected);
        let least = r#"{"language":"shell","cwd":"/","idle_timeout_ms":0,"quota_bytes":0}"#;
        let read: Settings = serde_json::from_str(least).unwrap();
        assert_eq!((read.engine.keeps, read.policy.once), (Keeps::Nothing, false));
    }

    /// What this version writes is what the first one reads: its fields at its places, and others that it skips.
    #[test]
    fn settings_stay_readable_for_the_first_version() {
        let written = serde_json::to_value(first()).unwrap();
        let old: Value = serde_json::from_str(FIRST).unwrap();
        for (name, value) in old.as_object().unwrap() {
            assert_eq!(&written[name], value, "{name}");
        }
        assert_eq!(written["keeps"], "state");
        assert_eq!(serde_json::from_value::<Settings>(written).unwrap(), first());
    }

    #[test]
    fn what_a_newer_version_wrote_is_kept_or_read_with_care() {
        let newer = FIRST.replacen('{', r#"{"keeps":"half","via":[{"ssh":"h"}],"new":[1],"#, 1);
        let read: Settings = serde_json::from_str(&newer).unwrap();
        assert_eq!(read.engine.keeps, Keeps::State);
        let written = serde_json::to_value(&read).unwrap();
        assert_eq!(written["via"], serde_json::json!([{"ssh": "h"}]));
    }

    #[test]
    fn k1_which_kernel_runs_the_code_is_kept() {
        let written = FIRST.replacen('{', r#"{"kernel":{"by":"name","name":"ir"},"#, 1);
        let read: Settings = serde_json::from_str(&written).unwrap();
        assert_eq!(read.engine.kernel, Some(KernelChoice::Name { name: "ir".to_owned() }));
        let again = serde_json::to_value(&read).unwrap();
        assert_eq!(again["kernel"], serde_json::json!({"by": "name", "name": "ir"}));
        let newer = FIRST.replacen('{', r#"{"kernel":{"by":"url","url":"x"},"#, 1);
        let read: Settings = serde_json::from_str(&newer).unwrap();
        assert_eq!(read.engine.kernel, Some(KernelChoice::Unknown));
        let gateway = r#"{"kernel":{"by":"gateway","url":"http://h/","wanted":{"is":"started"}},"#;
        let read: Settings = serde_json::from_str(&FIRST.replacen('{', gateway, 1)).unwrap();
        assert_eq!(read.engine.runs_at(), Some("http://h/"));
        let again = serde_json::to_value(&read).unwrap();
        assert_eq!(serde_json::from_value::<Settings>(again).unwrap(), read);
    }

    #[test]
    fn x5_neither_values_of_the_environment_nor_code_are_in_debug_output() {
        let mut settings = first();
        settings.place.env = vec![("TOKEN".to_owned(), "hunter2".to_owned())];
        settings.startup.init = Some("password = 'hunter2'".to_owned());
        let said = format!("{settings:?}");
        assert!(said.contains("TOKEN") && !said.contains("hunter2"), "{said}");
    }
}
