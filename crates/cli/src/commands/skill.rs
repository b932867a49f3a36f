//! `stead skill`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stead_install::ConfigScope;
use stead_protocol::{ErrorCode, with_causes};
use stead_screen::visible;

use super::install::{scope_parser, user_places};
use crate::context::Context;
use crate::exit;
use crate::print::{self, CommandResult, Failure};
use crate::skill::{PLUGIN_MARK, SKILL_MARK, plugin, skill};

/// Where agents look for skills.
const PLACES: [&str; 2] = [".agents/skills/stead/SKILL.md", ".claude/skills/stead/SKILL.md"];

/// Write a skill that tells agents how to use stead
///
/// Without an option it goes to standard output, whatever the mode. `--install` writes it to where agents look:
/// `.agents/skills` (Codex, Gemini CLI, Copilot, Zed, opencode and others) and `.claude/skills` (Claude Code), in the project or,
/// with `--scope user`, in the home directory. A file that somebody else wrote is never overwritten; of one that is
/// written anew, a copy as it was is kept in stead's state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead skill | less
  stead skill --install                   for this project
  stead skill --install --scope user      for all projects
  stead skill --path notes/SKILL.md
  stead skill --plugin stead-plugin       a plugin for Claude Code: server, skill and a hook")]
pub(crate) struct SkillArgs {
    /// Write it to where agents look for skills
    #[arg(long)]
    install: bool,
    /// With `--install`, whose directories: those of this project, or yours, for all projects
    #[arg(long, value_name = "SCOPE", value_parser = scope_parser(), default_value = "project")]
    scope: ConfigScope,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    path: Option<PathBuf>,
    /// Write a plugin for Claude Code into this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["install", "path"])]
    plugin: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct SkillData {
    files: Vec<SkillFileData>,
}

#[derive(Debug, Serialize)]
struct SkillFileData {
    path: String,
    /// `written` or `unchanged`.
    action: &'static str,
    /// A copy of the file as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
}

impl SkillArgs {
    /// Only a skill for the project goes to the project.
    pub(super) fn needs_workspace(&self) -> bool {
        self.install && self.scope == ConfigScope::Project
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let files: Vec<(PathBuf, String)> = if let Some(dir) = &self.plugin {
            let dir = context.path(dir);
            plugin().into_iter().map(|file| (dir.join(file.path), file.text)).collect()
        } else if let Some(path) = &self.path {
            vec![(context.path(path), skill())]
        } else if self.install {
            let below = match self.scope {
                ConfigScope::Project => context.client.workspace.path().to_owned(),
                ConfigScope::User => user_places()?.home().to_owned(),
            };
            PLACES.iter().map(|path| (below.join(path), skill())).collect()
        } else {
            print::out(skill().as_bytes());
            return Ok(exit::SUCCESS);
        };
        // All files are checked first, so that nothing is written if one of them cannot be.
        let is_ours = self.plugin.as_deref().is_some_and(|dir| is_our_plugin(&context.path(dir)));
        let mut planned = Vec::new();
        for (path, text) in files {
            let there = there(&path, &text, is_ours)?;
            planned.push((path, text, there));
        }
        let mut written = Vec::new();
        for (path, text, there) in planned {
            let backup = match &there {
                FileThere::Earlier(there) => Some(keep(&context.client.dirs.state, &path, there)?),
                FileThere::Nothing | FileThere::Same => None,
            };
            let action = if matches!(there, FileThere::Same) { "unchanged" } else { "written" };
            if action == "written" {
                write(&path, &text)?;
            }
            written.push(SkillFileData { path: path.display().to_string(), action, backup });
        }
        let lines: Vec<String> = written.iter().map(SkillFileData::line).collect();
        context.answer("complete", SkillData { files: written }, || lines.concat())
    }
}

impl SkillFileData {
    fn line(&self) -> String {
        let backup = self.backup.as_ref().map(|it| format!(" (as it was: {})", visible(it)));
        format!("{}: {}{}\n", self.action, visible(&self.path), backup.unwrap_or_default())
    }
}

/// What is at a path that is to be written.
enum FileThere {
    Nothing,
    /// What would be written.
    Same,
    /// A file that stead wrote, of an earlier version or with changes by somebody else.
    Earlier(String),
}

/// What is at the path; an error if a file is there that must not be overwritten.
fn there(path: &Path, text: &str, is_ours: bool) -> Result<FileThere, Failure> {
    let there = match stead_files::read_users_text(path, stead_files::MOST_NOTE) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileThere::Nothing),
        Err(error) => return Err(failed("read", path, &error)),
    };
    let is_ours = is_ours || there.contains(SKILL_MARK);
    match there == text {
        true => Ok(FileThere::Same),
        false if is_ours => Ok(FileThere::Earlier(there)),
        false => {
            let message = format!("`{}` is there and was not written by stead", path.display());
            Err(Failure::new(ErrorCode::BadRequest, message)
                .with_hint("nothing was written; move it away, or name another place"))
        }
    }
}

/// Keeps a file as it is, and says where.
fn keep(state: &Path, path: &Path, text: &str) -> Result<String, Failure> {
    let kept = stead_install::keep_copy(state, "skill", path, text);
    let kept = kept.map(|path| path.display().to_string());
    kept.map_err(|error| {
        Failure::new(ErrorCode::ConnectionFailed, with_causes(&error))
            .with_hint("see to it that you may write there, or set STEAD_STATE_DIR")
    })
}

/// Whether a directory holds a plugin that stead wrote.
fn is_our_plugin(dir: &Path) -> bool {
    stead_files::read_users_text(&dir.join("README.md"), stead_files::MOST_NOTE)
        .is_ok_and(|there| there.contains(PLUGIN_MARK))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(|error| failed("make the directory", dir, &error))?;
    // By the rename the file is there whole or not at all; a link that leads to the file stays.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let beside = real.with_file_name(format!(".{name}.stead-{}", std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &real));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed("write", path, &error)
    })
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> Failure {
    let message = format!("could not {doing} `{}`: {error}", path.display());
    Failure::new(ErrorCode::ConnectionFailed, message)
        .with_hint("see to it that you may write there, or name another file with `--path`")
}
