//! `stead allow`

use serde::Serialize;
use stead_client::{ClientError, PROJECT_DIR, RequestError, TrustStanding, effects, whole_effects};
use stead_screen::visible;

use crate::consent::shown;
use crate::context::Context;
use crate::print::{CommandResult, bad_request};

/// Allow what a project's `.stead` directory sets up
///
/// A project may bring settings: sessions with code that runs at their start, environment variables,
/// commands of toolchains, a standard library. None of that takes effect before you have looked at it
/// and said so, once for its content: when anything in the directory changes, you are asked again.
/// On a terminal the command that needs it asks in place, in short; `--show` shows all of it: code,
/// values of variables, commands, the text of the standard library.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead allow                  allow what the workspace's .stead has now
  stead allow --show           show all that it would do and whether it is allowed
  stead allow --remove         take that back")]
pub(crate) struct AllowArgs {
    /// Only show all that it would do, and whether it is allowed
    #[arg(long, conflicts_with = "remove")]
    show: bool,
    /// Take the permission back; sessions that run go on, and are not started again
    #[arg(long)]
    remove: bool,
}

#[derive(Debug, Serialize)]
struct AllowData {
    path: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What it does, a line each: all of it if that was asked for, else in short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<String>,
    /// What is wrong with its configuration, as far as one line goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

impl AllowArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let client = &context.client;
        let dir = client.workspace.path().join(PROJECT_DIR);
        let path = dir.display().to_string();
        if self.remove {
            let was = client.disallow()?;
            let data = AllowData {
                path: path.clone(),
                allowed: false,
                hash: None,
                effects: vec![],
                notice: None,
            };
            return context.answer("complete", data, || match was {
                true => format!("`{}` is no longer allowed\n", visible(&path)),
                false => format!("`{}` was not allowed\n", visible(&path)),
            });
        }
        // The content that is shown has to be the content that is allowed, so the directory is read once.
        let read = client.read_config();
        if let Some(trouble) = read.trouble {
            let problem = Box::new(trouble);
            return Err(ClientError::from(RequestError::Config { problem, more: 0 }).into());
        }
        let Some(project) = read.project else {
            let message = format!("there is nothing to allow: `{path}` has no files");
            return Err(bad_request(message)
                .with_hint("a project's settings stand in `.stead/config.toml`: docs/config.md"));
        };
        let file = read.configuration.workspace.as_ref();
        let effects = match self.show {
            true => whole_effects(&project, file),
            false => effects(&project, file),
        };
        let before = client.trust(&project);
        if !self.show {
            client.allow(&project)?;
        }
        let allowed = !self.show || before == TrustStanding::Allowed;
        let hash = Some(project.hash.clone());
        let wrong = read.problems.iter().find(|problem| problem.path.starts_with(&dir));
        let notice = wrong.map(|problem| format!("{problem}; `stead config --check` tells all"));
        let data = AllowData {
            path: path.clone(),
            allowed,
            hash,
            effects: effects.clone(),
            notice: notice.clone(),
        };
        context.answer("complete", data, || {
            let word = match (self.show, before) {
                (false, _) | (true, TrustStanding::Allowed) => "allowed",
                (true, TrustStanding::Changed) => "changed since it was allowed",
                (true, TrustStanding::New | TrustStanding::Gone) => "not allowed",
            };
            let notice = notice.map(|notice| format!("[{notice}]\n")).unwrap_or_default();
            let path = visible(&path);
            format!("`{path}` is {word}:\n{}{notice}", shown(&effects))
        })
    }
}
