//! The kept settings of a session, and those that a new one is started with.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use stead_config::AskedStart;
use stead_protocol::{FILES_VERSION, FileVersion, Meta, PROGRAM, SessionName};

use crate::reach::kernel;
use crate::{Client, ClientError, LaunchOptions, RequestError, Workspace};

impl Client {
    /// The kept settings of a session; `None` if there never was one of this name.
    pub(crate) fn meta(&self, name: &SessionName) -> Result<Option<Meta>, ClientError> {
        self.door(name).locate();
        let Some(meta) = read_meta(&self.dir(name).meta())? else { return Ok(None) };
        if meta.workspace != self.workspace.as_str() {
            let path = self.dir(name).path().to_owned();
            let ours = self.workspace.as_str().to_owned();
            let error = RequestError::OtherWorkspace { path, theirs: meta.workspace, ours };
            return Err(error.into());
        }
        Ok(Some(meta))
    }

    /// The kept settings of a session that must exist.
    pub(crate) fn require(&self, name: &SessionName, stopped: bool) -> Result<Meta, ClientError> {
        match self.meta(name)? {
            Some(meta) if stopped || !meta.stopped => Ok(meta),
            _ => Err(self.not_found(name)),
        }
    }

    fn not_found(&self, name: &SessionName) -> ClientError {
        ClientError::NotFound {
            name: name.clone(),
            workspace: self.workspace.as_str().to_owned(),
            existing: self.names().unwrap_or_default(),
            around: self.around(|there| there.has(name)),
        }
    }

    /// The error for a session that cannot be started because its name tells no language (SPEC S-5).
    pub(crate) fn not_startable(
        &self,
        name: &SessionName,
        configured: Vec<SessionName>,
    ) -> ClientError {
        ClientError::NoLanguage {
            name: name.clone(),
            configured,
            workspace: self.workspace.as_str().to_owned(),
            existing: self.names().unwrap_or_default(),
            around: self.around(|there| there.has(name)),
        }
    }

    /// The nearest workspace around this one for which `holds` is true: a repository may lie inside another.
    pub(crate) fn around(&self, holds: impl Fn(&Client) -> bool) -> Option<String> {
        self.workspace.path().ancestors().skip(1).find_map(|path| {
            let workspace = Workspace::stored(path.to_str()?.to_owned());
            let there = Client { workspace, kept: None, ..self.clone() };
            holds(&there).then(|| there.workspace.as_str().to_owned())
        })
    }

    fn has(&self, name: &SessionName) -> bool {
        // Names of languages may be written in two ways.
        let name = self.resolve(name.clone());
        matches!(self.meta(&name), Ok(Some(meta)) if !meta.stopped)
    }

    /// Refuses a language that is not the one of an existing session.
    pub(crate) fn check_language(
        &self,
        name: &SessionName,
        language: Option<&str>,
    ) -> Result<(), ClientError> {
        let Some(wanted) = language else { return Ok(()) };
        let meta = self.meta(name)?.filter(|meta| !meta.stopped);
        // The language of a user's own bridge is not in the table of languages.
        if meta.as_ref().is_some_and(|meta| meta.settings.engine.language == wanted) {
            return Ok(());
        }
        let has = meta.map(|meta| meta.settings.engine);
        let spoken = has.as_ref().map(|has| has.spoken().to_owned());
        let other = |has: String| {
            let (name, wanted) = (name.clone(), wanted.to_owned());
            Err(RequestError::OtherLanguage { name, has, wanted }.into())
        };
        let (engine, toolchain) = match stead_config::language(wanted) {
            Some(language) => (language.name.to_owned(), None),
            // A kernel's name stands for a language, too.
            None if spoken.as_deref() == Some(wanted) => return Ok(()),
            None => match self.toolchain_wanted(name, wanted) {
                Ok(found) => found,
                Err(error) => {
                    let kernel = kernel::named(wanted, self.workspace.path()).ok_or(error)?.name;
                    return match spoken {
                        Some(has) if has != kernel => other(has),
                        _ => Ok(()),
                    };
                }
            },
        };
        let (Some(has), Some(spoken)) = (has, spoken) else { return Ok(()) };
        match &toolchain {
            _ if has.language != engine => other(spoken),
            Some(_) if has.toolchain != toolchain => other(has.toolchain.unwrap_or(spoken)),
            _ => Ok(()),
        }
    }

    /// The language and the name of a toolchain that is more than a language.
    fn toolchain_wanted(
        &self,
        name: &SessionName,
        wanted: &str,
    ) -> Result<(String, Option<String>), ClientError> {
        if let Some((language, _)) = stead_config::built_in(wanted) {
            return Ok((language.name.to_owned(), Some(wanted.to_owned())));
        }
        let configuration = self.read_config().configuration;
        if configuration.toolchain(wanted).is_none() {
            return Err(self.no_toolchain(wanted.to_owned()));
        }
        let asked = AskedStart { toolchain: Some(wanted.to_owned()), ..AskedStart::default() };
        let planned = self.preview(&configuration, name, &asked)?;
        Ok((planned.settings.engine.language, Some(wanted.to_owned())))
    }

    /// The settings that a session without a host is started with: its kept ones, or those that its name
    /// implies.
    pub(crate) fn meta_for(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Meta, ClientError> {
        match self.meta(name)?.filter(|meta| !meta.stopped) {
            Some(meta) => {
                self.check_kept(&meta, launch.consent)?;
                Ok(Meta { found: None, program: Some(PROGRAM.to_owned()), ..meta })
            }
            None => self.new_meta(name, launch),
        }
    }

    pub(crate) fn new_meta(
        &self,
        name: &SessionName,
        launch: &LaunchOptions,
    ) -> Result<Meta, ClientError> {
        let settings = self.planned(name, launch)?.settings;
        Ok(Meta {
            version: FILES_VERSION,
            program: Some(PROGRAM.to_owned()),
            name: name.clone(),
            workspace: self.workspace.as_str().to_owned(),
            settings,
            created_ms: now_ms(),
            stopped: false,
            found: None,
        })
    }

    pub(crate) fn mark_stopped(&self, name: &SessionName) -> Result<(), ClientError> {
        let meta = self.require(name, false)?.into_stopped();
        let path = self.dir(name).meta();
        let bytes = serde_json::to_vec(&meta)
            .map_err(|error| ClientError::file("write", &path)(error.into()))?;
        stead_spool::write_atomically(&path, &bytes).map_err(ClientError::spool(name))
    }
}

pub(crate) fn read_meta(path: &Path) -> Result<Option<Meta>, ClientError> {
    let bytes = match stead_files::read(path, stead_files::MOST_SETTINGS) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ClientError::file("read", path)(error)),
    };
    let bad = |error: serde_json::Error| ClientError::file("understand", path)(error.into());
    let version: FileVersion = serde_json::from_slice(&bytes).map_err(bad)?;
    if version.is_newer() {
        let newer = version.version;
        let why = format!(
            "written by a newer stead{}: version {newer}, this one ({PROGRAM}) reads up to {FILES_VERSION}",
            version.program.map(|program| format!(" ({program})")).unwrap_or_default()
        );
        return Err(ClientError::file("understand", path)(io::Error::other(why)));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(bad)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
