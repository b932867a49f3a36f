//! The part of `stead doctor` that looks at agents' programs: which of them have stead, and whether it works for them.

use std::path::Path;

use stead_install::{
    CLIENTS, ConfigScope, KnownEntry, LiveServer, McpClient, ProbeTrouble, UserPlaces,
    is_this_stead, probe,
};
use stead_protocol::{ErrorCode, PROGRAM};

use super::doctor::Check;
use crate::install_hints::install_failure;
use crate::print::Failure;

/// What was found out about agents' programs.
#[derive(Debug, Default)]
pub(super) struct ClientsFound {
    pub(super) checks: Vec<Check>,
    /// What to do next, though nothing is wrong.
    pub(super) next: Vec<String>,
}

/// Looks at every client that is here. Entries that say the same are tried once.
pub(super) fn clients(workspace: &Path) -> ClientsFound {
    let mut found = ClientsFound::default();
    let Some(places) = UserPlaces::from_env() else { return found };
    let mut tried: Vec<(KnownEntry, Result<LiveServer, ProbeTrouble>)> = Vec::new();
    let mut without: Vec<&McpClient> = Vec::new();
    let mut have = 0;
    for client in CLIENTS {
        let mut has = false;
        for scope in [ConfigScope::User, ConfigScope::Project] {
            match client.entry_in(scope, &places, workspace) {
                Ok(None) => continue,
                Ok(Some((path, entry)))
                    if scope == ConfigScope::Project
                        && !is_this_stead(&entry, &places, workspace) =>
                {
                    found.checks.push(not_tried(client, &path, &entry));
                }
                Ok(Some((path, entry))) => {
                    if !tried.iter().any(|(known, _)| *known == entry) {
                        let answer = probe(&entry, &places, workspace);
                        tried.push((entry.clone(), answer));
                    }
                    let answer = tried.iter().find(|(known, _)| *known == entry);
                    let Some((_, answer)) = answer else { continue };
                    let place = format!("{} ({})", path.display(), scope.word());
                    found.checks.push(checked(client, scope, &place, &entry, answer));
                }
                // A project's file may be there for another program, so only trouble with the user's file is told.
                Err(_) if scope == ConfigScope::Project || !client.is_here(&places) => continue,
                Err(trouble) => {
                    let failure = install_failure(client, &trouble, None);
                    found.checks.push(Check::problem(client.id, &failure));
                }
            }
            has = true;
        }
        match has {
            true => have += 1,
            false if client.is_here(&places) => without.push(client),
            false => {}
        }
    }
    if without.is_empty() && have == 0 {
        let message =
            "no agent's program was found here; `stead install --help` names those that are known";
        found.checks.push(Check::ok("clients", message));
        found.next.push("`stead eval -n py '1 + 1'` runs code here".to_owned());
    } else if !without.is_empty() {
        let titles: Vec<&str> = without.iter().map(|client| client.title).collect();
        let titles = titles.join(", ");
        found.checks.push(Check::ok("clients", format!("here without stead: {titles}")));
        found.next.push(format!("`stead install` tells {titles} of stead; `--dry-run` shows how"));
    }
    found
}

/// What a project's file starts is not run: anybody may have written it (SPEC CF-4).
fn not_tried(client: &McpClient, path: &Path, entry: &KnownEntry) -> Check {
    let message = format!(
        "{}: {} (project) starts `{}`, which is not this stead or is given more; it was not tried",
        client.title,
        path.display(),
        entry.command.as_deref().unwrap_or("no program"),
    );
    Check::ok(client.id, message)
}

fn checked(
    client: &McpClient,
    scope: ConfigScope,
    place: &str,
    entry: &KnownEntry,
    answer: &Result<LiveServer, ProbeTrouble>,
) -> Check {
    let scope = match scope {
        ConfigScope::User => "",
        ConfigScope::Project => " --scope project",
    };
    let again = format!("stead install --client {}{scope}", client.id);
    let server = match answer {
        Ok(server) => server,
        Err(trouble) => {
            let message =
                format!("{}: its entry in {place} does not work: {trouble}", client.title);
            let failure = Failure::new(ErrorCode::LaunchFailed, message);
            // `stead install` does not replace an entry that the user made.
            let hint = match entry.is_ours() {
                true => format!("enter this stead: `{again}`"),
                false => format!(
                    "if it is to start stead, give that entry another name or take it out, then `{again}`"
                ),
            };
            return Check::problem(client.id, &failure.with_hint(hint));
        }
    };
    let LiveServer { program, name, version, tools } = server;
    let mut message = format!(
        "{}: {place} starts {name} {version} at {}, which lists {tools} tools",
        client.title,
        program.display()
    );
    if entry.off {
        message.push_str("; it is switched off there");
    }
    if version != PROGRAM {
        message.push_str(&format!("; this is stead {PROGRAM}: `{again}` enters this one"));
    }
    Check::ok(client.id, message)
}
