//! The configuration of a workspace: where its files are, what they say, and what a session is started with.
//!
//! Files are read when a session has to be started and by commands that are about them. For an eval in a session that
//! lives only the user's own file is read, if there is one, and only where no flag says how to answer.

mod effects;
mod gateway;
mod plan;
mod toolchains;
mod trust;

use std::io;
use std::path::{Path, PathBuf};

use stead_config::{
    ConfigFile, ConfigKey, ConfigProblem, Configuration, FileOwner, MOST_CONFIG, read_partly,
};

use crate::{Client, ClientError};

pub use effects::{effects, whole_effects};
pub use gateway::{AskedGateway, GatewayChoice};
pub use plan::Planned;
pub use stead_launch::project::{
    CONFIG_FILE, PROJECT_DIR, ProjectDir, ProjectTrouble, TrustStanding,
};
pub use toolchains::{ListedToolchain, Startable};
pub use trust::{Consent, Unallowed};

/// The configuration of a workspace, with what is wrong with it.
#[derive(Debug)]
pub struct ReadConfig {
    /// The user's file, which need not exist.
    pub user_path: Option<PathBuf>,
    /// The workspace's file, which need not exist.
    pub workspace_path: PathBuf,
    /// What was understood.
    pub configuration: Configuration,
    /// What was not.
    pub problems: Vec<ConfigProblem>,
    /// The workspace's directory, if there is one that can be read as a whole.
    pub project: Option<ProjectDir>,
    /// Why the workspace's directory cannot be read as a whole, so that nobody can allow it. It is among the problems
    /// as well.
    pub trouble: Option<ConfigProblem>,
}

/// The directory of the user's configuration; `None` if the environment names none.
pub(crate) fn user_dir() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let dir = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(dir.join("stead"))
}

/// The value of a key at the top of the user's own file, which holds for all sessions and commands. Every command
/// asks for one, so only the part before the tables is parsed; mistakes in the rest are told at a session's start.
pub fn users_word(key: ConfigKey) -> Option<String> {
    let path = user_dir()?.join(CONFIG_FILE);
    let text = stead_files::read_users_text(&path, MOST_CONFIG).ok()?;
    stead_config::word_at_top(&text, &path, key)
}

impl Client {
    /// Reads the files of this workspace. What is wrong with them is in the answer.
    pub fn read_config(&self) -> ReadConfig {
        let (user_path, user) = read_users();
        let workspace_path = self.workspace.path().join(PROJECT_DIR).join(CONFIG_FILE);
        let (project, trouble) = match ProjectDir::read(self.workspace.path()) {
            Ok(project) => (project, None),
            Err(trouble) => (None, Some(trouble.problem())),
        };
        let text = match (&project, &trouble) {
            (Some(project), _) => project.config(),
            // The file of a directory that cannot be allowed still says which sessions it is about.
            (None, Some(trouble)) if trouble.path != workspace_path => {
                stead_files::read_users_text(&workspace_path, MOST_CONFIG).map(Some)
            }
            (None, _) => Ok(None),
        };
        let workspace = understood(&workspace_path, FileOwner::Workspace, text);
        let (configuration, found) = together(user, workspace);
        let problems = trouble.clone().into_iter().chain(found).collect();
        ReadConfig { user_path, workspace_path, configuration, problems, project, trouble }
    }

    /// What the files of this workspace say, if nothing is wrong with them and the workspace's directory was never
    /// allowed. Then it is enough to know which sessions the directory is about, so its other files are not read.
    fn glance_at_config(&self) -> Option<Configuration> {
        let workspace = self.workspace.path();
        if !workspace.join(PROJECT_DIR).is_dir()
            || self.allow_note().is_some()
            || !ProjectDir::is_sound(workspace)
        {
            return None;
        }
        let (_, user) = read_users();
        let path = workspace.join(PROJECT_DIR).join(CONFIG_FILE);
        let text = stead_files::read_users_text(&path, MOST_CONFIG).map(Some);
        let (configuration, problems) =
            together(user, understood(&path, FileOwner::Workspace, text));
        problems.is_empty().then_some(configuration)
    }
}

/// What can be understood of a file, and what is wrong with it.
#[derive(Debug, Default)]
struct ReadFile {
    /// `None` if there is no file.
    file: Option<ConfigFile>,
    problems: Vec<ConfigProblem>,
}

impl ReadFile {
    /// The file, unless anything is wrong with it: half of what somebody wrote is not what they meant.
    fn whole(self) -> Option<ConfigFile> {
        self.file.filter(|_| self.problems.is_empty())
    }
}

/// The files that count, and all that is wrong with them, each for itself and together.
fn together(user: ReadFile, workspace: ReadFile) -> (Configuration, Vec<ConfigProblem>) {
    let partly = Configuration { user: user.file.clone(), workspace: workspace.file.clone() };
    let alone = user.problems.iter().chain(&workspace.problems).cloned();
    let problems = alone.chain(partly.problems()).collect();
    (Configuration { user: user.whole(), workspace: workspace.whole() }, problems)
}

/// The user's own file, and where it is or would be.
fn read_users() -> (Option<PathBuf>, ReadFile) {
    let path = user_dir().map(|dir| dir.join(CONFIG_FILE));
    let file = path.as_deref().map(|path| {
        let text = stead_files::read_users_text(path, MOST_CONFIG);
        understood(path, FileOwner::User, text.map(Some))
    });
    (path, file.unwrap_or_default())
}

/// What a workspace's directory says in its configuration file, if that can be understood.
fn read_workspace(workspace: &Path, project: &ProjectDir) -> Option<ConfigFile> {
    let path = workspace.join(PROJECT_DIR).join(CONFIG_FILE);
    understood(&path, FileOwner::Workspace, project.config()).whole()
}

/// What the file at a path says, if there is one.
fn understood(path: &Path, owner: FileOwner, text: io::Result<Option<String>>) -> ReadFile {
    match text {
        Ok(None) => ReadFile::default(),
        Ok(Some(text)) => {
            let (file, problems) = read_partly(&text, path, owner);
            ReadFile { file: Some(file), problems }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_there(path) => {
            ReadFile::default()
        }
        Err(error) => ReadFile {
            file: Some(ConfigFile::unread(path, owner)),
            problems: vec![unreadable(path, &error)],
        },
    }
}

/// Whether anything is at a path, be it a link to nowhere.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A file that is there and cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> ConfigProblem {
    let no_text = error.get_ref().and_then(|cause| cause.downcast_ref::<stead_files::NotUtf8>());
    let leads_nowhere = error.kind() == io::ErrorKind::NotFound && is_there(path);
    let fix = match error.kind() {
        _ if leads_nowhere => "mend the link, or remove it",
        io::ErrorKind::PermissionDenied => "make it readable for you",
        io::ErrorKind::FileTooLarge => "no configuration is so large: put data elsewhere",
        _ if no_text.is_some() => "save it as UTF-8",
        _ => "put a text file in its place, or remove it",
    };
    ConfigProblem {
        path: path.to_owned(),
        line: no_text.map(|found| found.line),
        key: None,
        problem: match leads_nowhere {
            true => "it is a link that leads to no file".to_owned(),
            false => format!("it cannot be read: {error}"),
        },
        fix: Some(fix.to_owned()),
    }
}

/// The first of what is wrong, as an error that says how much more there is.
pub(crate) fn first_problem(mut problems: Vec<ConfigProblem>) -> Option<ClientError> {
    let more = problems.len().checked_sub(1)?;
    let problem = Box::new(problems.swap_remove(0));
    Some(crate::RequestError::Config { problem, more }.into())
}
