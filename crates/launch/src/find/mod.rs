//! Which interpreter a session runs: one file for each way to find one, and what they share.

mod asked;
mod clojure;
mod environment;
mod kernels;
mod on_path;
mod poetry;
mod project;
mod python;
mod shims;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use stead_config::{Finder, Language, VersionManagers};
use stead_protocol::{EnvironmentSource, FoundInterpreter, StartTrouble};
use thiserror::Error;

pub use asked::{AskedProgram, NotSaid, Patient, ProgramQuestion, ProgramSaid, Programs};
pub use clojure::find as find_server;
pub use environment::Environment;
pub use kernels::{KernelSpec, kernel, kernels};
use shims::{is_script, through_shim};

/// What a session needs of its interpreter.
pub struct Search<'a> {
    /// The interpreter that the user named.
    pub named: Option<&'a str>,
    /// Where the session starts.
    pub cwd: &'a Path,
    /// The session's whole environment.
    pub env: &'a [(OsString, OsString)],
    /// The directory that caches which interpreter a shim leads to.
    pub cache_dir: &'a Path,
    /// Whether an interpreter is taken to start without a try: it is known to start, or must not be run just
    /// to be found.
    pub proven: &'a dyn Fn(&Path) -> bool,
    /// Programs that know where interpreters are, and interpreters that have to show that they start.
    pub programs: &'a dyn Programs,
}

/// Finds the interpreter for a session in this language.
pub fn find(language: &Language, search: &Search<'_>) -> Result<FoundInterpreter, FindError> {
    match &language.finder {
        Finder::OnPath(wanted) => on_path::find(wanted, search),
        Finder::Python(managers) => python::find(managers, search),
        Finder::Kernel => kernels::find(search),
        Finder::Server => Err(FindError::NoServer { title: language.title }),
        // There is nothing to find on this machine: the session's settings say what runs.
        Finder::Settings => Err(FindError::None {
            program: language.name,
            looked: "the session's settings".to_owned(),
        }),
    }
}

/// Finds the interpreter for a session in this language, in one kind of environment only.
pub fn find_in(
    source: &EnvironmentSource,
    language: &Language,
    search: &Search<'_>,
) -> Result<FoundInterpreter, FindError> {
    match (&language.finder, language.finder.version_managers()) {
        (Finder::Server, _) => clojure::find(source, search).map(|(found, _)| found),
        (Finder::Kernel, _) => kernels::find_in(source, search),
        (_, Some(managers)) => project::find(source, managers, search),
        (_, None) => find(language, search),
    }
}

/// The program that a command begins with: a path, or a name on the PATH of the session.
pub fn find_program(program: &str, search: &Search<'_>) -> Result<PathBuf, FindError> {
    search.named_path(program)
}

/// Whether a program came with a project: it lies in the workspace, or in an environment in the directory of
/// a session or above. A command that only shows which interpreters there are does not run such a program,
/// because anybody may have written it (SPEC CF-4).
pub fn came_with_project(program: &Path, workspace: &Path, cwd: &Path) -> bool {
    let in_environment =
        |dir: &Path| ["venv", ".venv"].iter().any(|name| program.starts_with(dir.join(name)));
    program.starts_with(workspace) || cwd.ancestors().any(in_environment)
}

impl Search<'_> {
    /// A variable of the session's environment.
    fn var(&self, name: &str) -> Option<OsString> {
        let (_, value) = self.env.iter().rfind(|(known, _)| known == name)?;
        Some(value.clone())
    }

    /// All executables of this name on the PATH, in its order.
    fn all_on_path(&self, program: &str) -> Vec<PathBuf> {
        let path = self.var("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program))
            .filter(|candidate| is_executable(candidate))
            .collect()
    }

    /// The first executable of this name on the PATH.
    fn on_path(&self, program: &str) -> Option<PathBuf> {
        self.all_on_path(program).into_iter().next()
    }

    /// The executable that was named: a path, or a name on the PATH.
    fn named_path(&self, named: &str) -> Result<PathBuf, FindError> {
        let error = |why: String| FindError::Named { path: named.into(), why };
        if !named.contains('/') {
            return self.on_path(named).ok_or_else(|| error("not found on `PATH`".to_owned()));
        }
        let path = self.cwd.join(named);
        match fs::metadata(&path) {
            Err(cause) => Err(error(cause.to_string())),
            Ok(_) if !is_executable(&path) => Err(error("it is not an executable file".to_owned())),
            Ok(_) => Ok(path),
        }
    }

    /// The interpreter at `path`, or the real one behind it if that is a shim.
    fn resolved(
        &self,
        path: PathBuf,
        why: String,
        managers: &VersionManagers,
    ) -> Result<FoundInterpreter, FindError> {
        let (path, why) = if is_script(&path) && !(self.proven)(&path) {
            let real = through_shim(&path, managers, self)?;
            (real, format!("{why}, through the shim {}", path.display()))
        } else {
            (path, why)
        };
        Ok(FoundInterpreter::new(path.to_string_lossy().into_owned(), why))
    }

    /// The session's directory and its ancestors, up to home or root.
    fn upward(&self) -> impl Iterator<Item = &Path> {
        let home = self.var("HOME").map(PathBuf::from);
        let mut past_home = false;
        self.cwd.ancestors().take_while(move |dir| {
            let within = !past_home;
            past_home |= home.as_deref() == Some(dir);
            within
        })
    }
}

/// Why the interpreter that the user named was taken.
const NAMED: &str = "named by the user";

/// More bytes than any file has that tells what a project needs.
const MOST_PROJECT_FILE: u64 = 4 << 20;

/// Why no interpreter was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// The one that was named cannot be run.
    #[error("`{}` cannot be run: {why}", path.display())]
    Named {
        /// The path or name as given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No such program was found.
    #[error("no `{program}` was found (looked at {looked})")]
    None {
        /// The program's name.
        program: &'static str,
        /// The places that were searched, in order.
        looked: String,
    },
    /// Programs were found, and none of them starts.
    #[error("no `{program}` starts: {passed_over}")]
    NoneStarts {
        /// The program's name.
        program: &'static str,
        /// Which were tried, and what is wrong with each.
        passed_over: String,
    },
    /// The project has no environment of the kind that was asked for.
    #[error("{missing}")]
    NoEnvironment {
        /// What is not there.
        missing: String,
        /// How it can be made.
        make: String,
    },
    /// There is no Jupyter kernel of this name.
    #[error("there is no Jupyter kernel `{name}`; {}", listed(known))]
    NoKernel {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A Jupyter kernel is described in a way that cannot be understood.
    #[error("`{}` does not describe a Jupyter kernel: {why}", path.display())]
    BadKernel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing says which server is to run the code.
    #[error("nothing says which {title} server is to run the code")]
    NoServer {
        /// What kind of server, as people write it.
        title: &'static str,
    },
    /// A shim was found that does not lead to an interpreter.
    #[error("`{}` is a launcher script and did not name an interpreter: {why}", path.display())]
    Shim {
        /// The shim.
        path: PathBuf,
        /// What it said.
        why: String,
    },
}

/// The kernels that there are, for a sentence.
fn listed(known: &[String]) -> String {
    match known {
        [] => "none is installed".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    }
}

impl FindError {
    /// The same as data, for front ends that give advice.
    pub fn trouble(&self, language: &str) -> Option<StartTrouble> {
        let language = language.to_owned();
        Some(match self {
            FindError::None { program, .. } => {
                StartTrouble::Missing { language, program: (*program).to_owned() }
            }
            FindError::NoneStarts { program, .. } => {
                StartTrouble::NoneStarts { language, program: (*program).to_owned() }
            }
            FindError::Named { path, .. } | FindError::Shim { path, .. } => {
                let path = path.to_string_lossy().into_owned();
                StartTrouble::NotRunnable { language, path }
            }
            FindError::NoEnvironment { make, .. } => {
                StartTrouble::NoEnvironment { language, make: make.clone() }
            }
            FindError::NoKernel { name, known } => {
                StartTrouble::NoKernel { name: name.clone(), known: known.clone() }
            }
            FindError::BadKernel { .. } | FindError::NoServer { .. } => return None,
        })
    }

    /// The reason alone, without the path it is about.
    fn why(self) -> String {
        match self {
            FindError::Named { why, .. } | FindError::Shim { why, .. } => why,
            other => other.to_string(),
        }
    }
}

/// Whether this is a file that can be executed.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A file of the user's project, if it can be read and is of any usual size.
fn users_text(path: &Path) -> Option<String> {
    stead_files::read_users_text(path, MOST_PROJECT_FILE).ok()
}

/// Makes a program. Another process writes it: one that a test beside this starts meanwhile would
/// inherit the open file, and what is open for writing cannot be run.
#[cfg(test)]
fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut shell = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut shell.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}
