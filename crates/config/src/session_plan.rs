//! What one session is started with: the values that won, and where each comes from.

use std::collections::BTreeMap;

use stead_protocol::{EnvironmentSource, KernelChoice};

use crate::file::ConfigTable;
use crate::keys::ConfigKey;
use crate::language::Language;
use crate::template::CommandTemplate;
use crate::value::{ConfigValue, Sourced, ValueOrigin};

/// What a session is started with.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    /// What runs its code.
    pub engine: PlannedEngine,
    /// The toolchain, where it is more than a language, and who chose it.
    pub toolchain: Option<Sourced<String>>,
    /// Where a file names the session's toolchain, if that toolchain is no more than a language.
    pub language_at: Option<ValueOrigin>,
    /// Which environment of the project the interpreter is taken from.
    pub environment: Option<EnvironmentSource>,
    /// The Jupyter kernel.
    pub kernel: Option<KernelChoice>,
    /// All that is set.
    pub values: BTreeMap<ConfigKey, Sourced<ConfigValue>>,
    /// Whether a configuration file has a session of this name.
    pub configured: bool,
    /// Whether the workspace's own files have a say in it.
    pub uses_workspace: bool,
}

/// What runs a session's code.
#[derive(Debug, Clone)]
pub enum PlannedEngine {
    /// A language of the table.
    Known(&'static Language),
    /// A language of the user's own, whose bridge is a program.
    Own(String),
}

impl PlannedEngine {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            PlannedEngine::Known(language) => language.name,
            PlannedEngine::Own(name) => name,
        }
    }

    /// Its name as people write it.
    pub(crate) fn title(&self) -> &str {
        match self {
            PlannedEngine::Known(language) => language.title,
            PlannedEngine::Own(name) => name,
        }
    }
}

/// Keys that say which program runs. A layer that has one of them makes those of the layers below void.
pub(crate) const PROGRAM: [ConfigKey; 4] =
    [ConfigKey::Cmd, ConfigKey::Bridge, ConfigKey::Interpreter, ConfigKey::Server];

impl SessionPlan {
    /// Puts values over those that are there.
    pub(crate) fn layer(&mut self, table: &ConfigTable) {
        let sets = |key: ConfigKey| table.values.contains_key(&key);
        if [ConfigKey::Bridge, ConfigKey::Interpreter, ConfigKey::Server].into_iter().any(sets) {
            self.values.retain(|key, _| !PROGRAM.contains(key));
            self.environment = None;
        } else if sets(ConfigKey::Cmd) {
            // A command makes interpreter and server of weaker places void, but not a bridge: it starts that bridge.
            self.values.remove(&ConfigKey::Interpreter);
            self.values.remove(&ConfigKey::Server);
            self.environment = None;
        }
        let own = table.values.iter().filter(|(key, _)| **key != ConfigKey::Output);
        for (key, value) in own {
            match (self.values.get_mut(key), &value.value) {
                (
                    Some(Sourced { value: ConfigValue::Variables(known), .. }),
                    ConfigValue::Variables(new),
                ) => known.extend(new.clone()),
                _ => drop(self.values.insert(*key, value.clone())),
            }
        }
    }

    fn value(&self, key: ConfigKey) -> Option<&ConfigValue> {
        self.values.get(&key).map(|sourced| &sourced.value)
    }

    /// What a key is set to, if that is a text.
    pub fn text(&self, key: ConfigKey) -> Option<&str> {
        match self.value(key)? {
            ConfigValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What a key is set to, if that is yes or no.
    pub fn flag(&self, key: ConfigKey) -> Option<bool> {
        match self.value(key)? {
            ConfigValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// What a key is set to, if that is a time in milliseconds or a size in bytes.
    pub fn number(&self, key: ConfigKey) -> Option<u64> {
        match self.value(key)? {
            ConfigValue::Millis(number) | ConfigValue::Bytes(number) => Some(*number),
            _ => None,
        }
    }

    /// The command that starts the interpreter.
    pub fn command(&self) -> Option<&CommandTemplate> {
        match self.value(ConfigKey::Cmd)? {
            ConfigValue::Command(command) => Some(command),
            _ => None,
        }
    }

    /// Its variables.
    pub fn variables(&self) -> Vec<(String, String)> {
        match self.value(ConfigKey::Env) {
            Some(ConfigValue::Variables(all)) => {
                all.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Who chose the program that runs, if a file did: the key and its place.
    pub fn because(&self) -> Option<String> {
        let file = |sourced: &Sourced<ConfigValue>, key: ConfigKey| match &sourced.origin {
            ValueOrigin::File { .. } => Some(format!("`{}` of {}", key.name(), sourced.origin)),
            _ => None,
        };
        let program = PROGRAM.iter().chain(&[ConfigKey::Kernel, ConfigKey::Gateway]);
        let program = program.into_iter().find_map(|key| file(self.values.get(key)?, *key));
        let toolchain = self.toolchain.as_ref().map(|toolchain| {
            let at = match &toolchain.origin {
                ValueOrigin::File { .. } => format!(" ({})", toolchain.origin),
                _ => String::new(),
            };
            format!("toolchain `{}`{at}", toolchain.value)
        });
        let language = || {
            self.language_at.as_ref().map(|at| format!("toolchain `{}` ({at})", self.engine.name()))
        };
        let toolchain = toolchain.or_else(language);
        match (program, toolchain) {
            (None, None) => None,
            (one, other) => Some([one, other].into_iter().flatten().collect::<Vec<_>>().join(", ")),
        }
    }
}
