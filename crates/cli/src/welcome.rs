//! `stead` alone: what is here, the three commands to begin with, and how an agent gets them (SPEC C-10).
//!
//! Writes nothing and starts no session. An interpreter of this machine is started once to see whether it starts;
//! one that came with the project is not. What cannot be found out is left out: the commands to begin with say
//! what is wrong when they are run.

use serde::Serialize;
use stead_client::Client;
use stead_config::{FirstSteps, Language};
use stead_protocol::PROGRAM;
use stead_screen::visible;

use crate::context::Context;
use crate::paint::{CARE, HEAD, Paint};
use crate::print::CommandResult;
use crate::status::{activity_line, state_style};
use crate::text::first_line;

/// Most characters about one session.
const MOST_OF_A_SESSION: usize = 60;
/// Most sessions that are named; `stead ls` has all of them.
const MOST_SESSIONS: usize = 5;

/// The whole text. `context` is there where the directories could be found.
pub(crate) fn welcome(context: Option<&Context>, paint: Paint) -> String {
    let mut told = "stead keeps interpreters alive, so that you can think in code.\n\n".to_owned();
    let languages: Vec<LanguageHere> = match context {
        Some(context) => {
            stead_config::offered().map(|it| LanguageHere::find(it, context)).collect()
        }
        None => Vec::new(),
    };
    if let Some(context) = context {
        told += &format!("{}\n", paint.paint(HEAD, "Here:"));
        told += &row("workspace", &visible(context.client.workspace.as_str()));
        for here in &languages {
            told += &here.row(paint);
        }
        told += &sessions(&context.client, paint);
        told.push('\n');
    }
    told += &begin(&languages, paint);
    told += &format!("\n{}\n", paint.paint(HEAD, "For your agent:"));
    told += &command("stead install", "make it known to the agents' programs on this machine");
    told + "\n`stead --help` lists all commands, `stead eval --help` tells all about one, `stead doctor` what works here.\n"
}

#[derive(Debug, Serialize)]
struct WelcomeData {
    workspace: String,
    languages: Vec<LanguageData>,
    /// Names of the sessions that are here.
    sessions: Vec<String>,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct LanguageData {
    language: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreter: Option<String>,
    /// Why it is this one, or why there is none.
    why: String,
}

/// What is here, for programs.
pub(crate) fn answer(context: &Context) -> CommandResult {
    let languages = stead_config::offered().map(|language| {
        let (interpreter, why) = match context.client.look_for(language, &context.cwd) {
            Ok((path, why)) => (Some(path.to_string()), why.to_string()),
            Err(error) => (None, error.to_string()),
        };
        LanguageData { language: language.name, interpreter, why }
    });
    let listing = context.client.list(false)?;
    let data = WelcomeData {
        workspace: context.client.workspace.as_str().to_owned(),
        languages: languages.collect(),
        sessions: listing.sessions.iter().map(|one| one.status.name.to_string()).collect(),
        version: PROGRAM,
    };
    context.answer("complete", data, String::new)
}

/// A language, and the interpreter that a session in it would have.
struct LanguageHere {
    language: &'static Language,
    /// Its path with the reason for it, or why there is none.
    found: Result<String, String>,
}

impl LanguageHere {
    fn find(language: &'static Language, context: &Context) -> Self {
        let found = match context.client.look_for(language, &context.cwd) {
            Ok((path, why)) => Ok(visible(&format!("{path} ({why})")).into_owned()),
            Err(error) => Err(visible(&error.to_string()).into_owned()),
        };
        LanguageHere { language, found }
    }

    fn row(&self, paint: Paint) -> String {
        let Language { title, oldest, .. } = self.language;
        match &self.found {
            Ok(found) => row(title, found),
            Err(why) => {
                let wanted = oldest.map(|oldest| format!(" {oldest} or newer")).unwrap_or_default();
                let told = format!("{why}; install {title}{wanted} for sessions in it");
                row(title, &paint.paint(CARE, &told))
            }
        }
    }
}

/// The sessions of this workspace, in one line.
fn sessions(client: &Client, paint: Paint) -> String {
    let Ok(listing) = client.list(false) else { return String::new() };
    let told: Vec<String> = listing
        .sessions
        .iter()
        .take(MOST_SESSIONS)
        .map(|one| {
            let doing = first_line(&activity_line(&one.status), MOST_OF_A_SESSION);
            format!("{} {}", one.status.name, paint.paint(state_style(&one.status), &doing))
        })
        .collect();
    let more = listing.sessions.len().saturating_sub(MOST_SESSIONS);
    match (told.is_empty(), more) {
        (true, _) => row("sessions", "none yet; the first command below starts one"),
        (false, 0) => row("sessions", &told.join(", ")),
        (false, more) => row("sessions", &format!("{}, and {more} more", told.join(", "))),
    }
}

/// The three commands, in the first language that can be used here and has something to begin with.
fn begin(languages: &[LanguageHere], paint: Paint) -> String {
    let usable = languages.iter().filter(|here| here.found.is_ok()).map(|here| here.language);
    let mut all = usable.chain(stead_config::offered());
    let mut told = format!("{}\n", paint.paint(HEAD, "Begin with:"));
    if let Some((language, steps)) = all.find_map(|it| Some((it, it.first_steps?))) {
        told += &begin_in(language, steps);
    }
    told + &command("stead ls", "see what sessions there are and what each is doing")
}

fn begin_in(language: &Language, steps: FirstSteps) -> String {
    let alias = language.alias;
    let eval = |code: &str| format!("stead eval -n {alias} '{code}'");
    let starts = format!("run code in the session `{alias}`, which starts if there is none");
    command(&eval(steps.leave), &starts)
        + &command(&eval(steps.use_it), "what the code left is still there: 42")
}

fn row(name: &str, told: &str) -> String {
    format!("  {name:<10} {told}\n")
}

fn command(words: &str, told: &str) -> String {
    format!("  {words:<35} {told}\n")
}
