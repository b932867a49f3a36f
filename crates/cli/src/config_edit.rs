//! Editing a configuration file: in the user's editor, and checked afterwards.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use stead_client::{ProjectDir, TrustStanding};
use stead_config::{CommandTemplate, ConfigProblem};
use stead_protocol::ErrorCode;

use crate::context::Context;
use crate::print::{Failure, bad_request};

/// What a new file of a workspace begins with.
const WORKSPACE_TEXT: &str =
    "# Sessions of this project, for everyone who works on it: docs/config.md has all keys.
# Others have to say `stead allow` before any of this takes effect.

# [sessions.ml]
# toolchain = \"python.venv\"
# cwd = \"analysis\"
# env = { DEBUG = \"1\" }
# init = '''
# import numpy as np
# '''
# idle_timeout = \"2h\"
";

/// What a new file of the user's begins with.
const USERS_TEXT: &str = "# Your own settings, for all projects: docs/config.md has all keys.

# output = \"text\"
# idle_timeout = \"12h\"
# log = \"warn\"

# [toolchains.slow]
# engine = \"python\"
# cmd = \"nice -n 10 python3\"
";

/// A file after it was edited.
pub(crate) struct Edited {
    pub(crate) path: PathBuf,
    pub(crate) problems: Vec<ConfigProblem>,
    /// What is to be done before the file takes effect, if anything.
    pub(crate) notice: Option<String>,
}

/// Opens the file in the user's editor, makes it if there is none, and checks it afterwards.
pub(crate) fn edit(context: &Context, is_users: bool) -> Result<Edited, Failure> {
    let client = &context.client;
    let read = client.read_config();
    let path = match is_users {
        true => read.user_path.ok_or_else(|| {
            bad_request("there is no place for your configuration").with_hint("set HOME")
        })?,
        false => read.workspace_path,
    };
    check_place(&path)?;
    // Opening a directory in the editor does not allow what somebody else put into it.
    let before = ProjectDir::read(client.workspace.path());
    let mine = match &before {
        Ok(None) => true,
        Ok(Some(project)) => client.trust(project) == TrustStanding::Allowed,
        // Nobody can say what is in a directory that cannot be read.
        Err(_) => false,
    };
    let text = if is_users { USERS_TEXT } else { WORKSPACE_TEXT };
    make(&path, text)
        .map_err(|error| bad_request(format!("could not make `{}`: {error}", path.display())))?;
    let ended = run_editor(&path);
    let after = client.read_config();
    let problems: Vec<ConfigProblem> =
        after.problems.into_iter().filter(|problem| problem.path == path).collect();
    let mut notice = None;
    if let Some(project) = after.project.filter(|_| !is_users) {
        // A user who has edited the file allows it, even with mistakes, which the user can mend. If other files of
        // the directory changed meanwhile, nothing is allowed: nobody has looked at them.
        if mine && before.is_ok_and(|before| project.has_same_rest(before.as_ref())) {
            client.allow(&project)?;
        } else if client.trust(&project) != TrustStanding::Allowed {
            notice = Some(format!(
                "`{}` has content that is not allowed: `stead allow --show`, then `stead allow`",
                project.path.display()
            ));
        }
    }
    // A failed editor is told of last: it may have saved before, and the file that was made for it is there.
    ended?;
    Ok(Edited { path, problems, notice })
}

/// Refuses a path that no editor can open as a text, and one whose parent is no directory.
fn check_place(path: &Path) -> Result<(), Failure> {
    let found = |path: &Path| fs::metadata(path).map(|meta| meta.file_type()).ok();
    let refused = |path: &Path, what: &str, hint: &str| {
        Err(bad_request(format!("`{}` is {what}", path.display())).with_hint(hint))
    };
    if let Some(what) = found(path).and_then(stead_files::not_a_file) {
        let what = format!("{what} and not a regular file");
        return refused(path, &what, "put a text file in its place, or remove it");
    }
    match path.parent() {
        Some(dir) if found(dir).is_some_and(|kind| !kind.is_dir()) => refused(
            dir,
            "not a directory",
            "move it away: the file stands in a directory of this name",
        ),
        _ => Ok(()),
    }
}

fn make(path: &Path, text: &str) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        // A workspace's `.stead` has the usual mode of directories; the user's own directory is private.
        let mode = if dir.ends_with(stead_client::PROJECT_DIR) { 0o777 } else { 0o700 };
        DirBuilder::new().recursive(true).mode(mode).create(dir)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(text.as_bytes())
}

fn run_editor(path: &Path) -> Result<(), Failure> {
    let chosen = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let words = match chosen {
        // VISUAL and EDITOR may have options, such as `code --wait`.
        Some(text) => CommandTemplate::split(&text.replace('{', "{{"))
            .map_err(|error| bad_request(format!("EDITOR is `{text}`: {error}")))?
            .fill(|_| String::new()),
        None => {
            let found = ["sensible-editor", "nano", "vi"].iter().find(|name| on_path(name));
            let found = found.ok_or_else(|| {
                let message = format!("no editor was found for `{}`", path.display());
                bad_request(message).with_hint("set EDITOR, or edit the file yourself")
            })?;
            vec![(*found).to_owned()]
        }
    };
    let ended = Command::new(&words[0]).args(&words[1..]).arg(path).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(
            ErrorCode::EvalError,
            format!("the editor `{}` failed: {status}", words.join(" ")),
        )),
        Err(error) => {
            let message = format!("could not start the editor `{}`: {error}", words.join(" "));
            Err(bad_request(message).with_hint("set EDITOR"))
        }
    }
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| fs::metadata(dir.join(program)).is_ok_and(|it| it.is_file()))
}
