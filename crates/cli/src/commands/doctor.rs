//! `stead doctor`

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use stead_client::{
    Client, ClientError, Dirs, EvalOptions, EvalStatus, LaunchOptions, Listed, PROJECT_DIR, Quiet,
    RequestError, Workspace, counted, language,
};
use stead_config::Language;
use stead_protocol::{ErrorCode, PROGRAM, Status};
use stead_screen::visible;

use super::doctor_clients::clients;
use crate::context::Context;
use crate::exit;
use crate::paint::{BAD, GOOD, Paint};
use crate::print::{self, CliReply, CommandResult, Failure, Mode};
use crate::text::bytes;

/// Say what works here and what to do about what does not
///
/// Checks the directories, the interpreters and the configuration, starts and stops a throw-away session, and starts the server of each
/// agent's program that has stead, as that program would, to see whether it lists its tools.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  stead doctor")]
pub(crate) struct DoctorArgs {}

#[derive(Debug, Serialize)]
struct DoctorData {
    checks: Vec<Check>,
    /// What to do next, though nothing is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    next: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    ok: bool,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Check { name, ok: true, message: message.into(), fix: None }
    }

    pub(super) fn problem(name: &'static str, error: &Failure) -> Self {
        Check { name, ok: false, message: error.message.clone(), fix: error.hint.clone() }
    }
}

impl DoctorArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let dirs = &context.client.dirs;
        let mut checks =
            vec![runtime_directory(dirs), state_directory(dirs), disk(&context.client)];
        checks.extend(workspace(context));
        checks.extend(
            stead_config::offered().map(|it| interpreter(it, &context.cwd, &context.client)),
        );
        let client = &context.client;
        checks.push(stdin_waits());
        checks.extend(hosts(client));
        checks.extend([config(client), session(client)]);
        let found = clients(context.client.workspace.path());
        checks.extend(found.checks);
        let problems = checks.iter().filter(|check| !check.ok).count();
        // With a problem no next step is offered: the problem comes first, and may be just what that step meets.
        let next = if problems == 0 { found.next } else { Vec::new() };
        let error = (problems > 0).then(|| {
            let message = match problems {
                1 => "1 check found a problem".to_owned(),
                count => format!("{count} checks found problems"),
            };
            Failure::new(ErrorCode::Unsupported, message)
        });
        let status = if error.is_none() { "complete" } else { "error" };
        match context.mode {
            Mode::Json => print::json(&CliReply::verdict(
                context.command,
                status,
                error.as_ref(),
                DoctorData { checks, next },
            )),
            Mode::Text => {
                let paint = Paint::stdout();
                for check in &checks {
                    let (style, word) = if check.ok { (GOOD, "ok     ") } else { (BAD, "problem") };
                    let word = paint.paint(style, word);
                    print::out(
                        format!("{word}  {:<14} {}\n", check.name, visible(&check.message))
                            .as_bytes(),
                    );
                    if let Some(fix) = &check.fix {
                        print::out(format!("{:>24} {fix}\n", "do:").as_bytes());
                    }
                }
                for step in &next {
                    print::out(format!("{:>7}  {step}\n", "next").as_bytes());
                }
            }
        }
        Ok(if error.is_none() { exit::SUCCESS } else { exit::REQUEST_FAILED })
    }
}

fn runtime_directory(dirs: &Dirs) -> Check {
    match dirs.make_runtime() {
        Ok(_) => Check::ok("runtime", format!("sockets go to {}", dirs.runtime.display())),
        Err(error) => Check::problem("runtime", &error.into()),
    }
}

fn state_directory(dirs: &Dirs) -> Check {
    let probe = dirs.state.join(format!(".doctor-{}", std::process::id()));
    let tried = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&dirs.state)
        .and_then(|()| File::create(&probe))
        .and_then(|_| fs::remove_file(&probe));
    match tried {
        Ok(()) => Check::ok("state", format!("output and history go to {}", dirs.state.display())),
        Err(error) => {
            let message = format!("cannot write to `{}`: {error}", dirs.state.display());
            let error = Failure::new(ErrorCode::ConnectionFailed, message)
                .with_hint("make it writable for you, or set STEAD_STATE_DIR");
            Check::problem("state", &error)
        }
    }
}

/// Why no session can be started from the current directory.
fn workspace(context: &Context) -> Option<Check> {
    let found = Workspace::find_or_gone(None, &context.cwd, &context.client.dirs);
    let error = found.err().filter(|_| !context.workspace_given)?;
    Some(Check::problem("workspace", &error.into()))
}

/// What sessions take, which `gc` and `rm` give back.
fn disk(client: &Client) -> Check {
    match client.disk_usage() {
        Ok((sessions, live, used)) => {
            let message = format!(
                "{} in {}, {}, {live} of them live; `stead gc` and `stead rm` give back",
                bytes(used.bytes),
                counted(used.files, "file", "files"),
                counted(sessions, "session", "sessions"),
            );
            Check::ok("disk", message)
        }
        Err(error) => Check::problem("disk", &error.into()),
    }
}

/// Whether sessions in this language can be started. Only the default language must be there; the others are
/// needed only by people who use them.
fn interpreter(language: &'static Language, cwd: &Path, client: &Client) -> Check {
    let Language { name, title, .. } = language;
    let version = language.oldest.map(|oldest| format!(" {oldest} or newer")).unwrap_or_default();
    match client.look_for(language, cwd) {
        Ok((path, why)) => Check::ok(name, format!("{path} ({why})")),
        Err(error) if language.name == stead_config::default_language().name => {
            let hint = format!(
                "install {title}{version}, or name one: `stead launch {name} --interpreter PATH`"
            );
            let error = Failure::new(ErrorCode::LaunchFailed, error.to_string());
            Check::problem(name, &error.with_hint(hint))
        }
        Err(error) => Check::ok(name, format!("{error}; sessions in {title} need{version}")),
    }
}

/// Whether the host can see that a process waits for input.
fn stdin_waits() -> Check {
    match fs::read("/proc/self/syscall") {
        Ok(_) => Check::ok("input", "the kernel tells which process waits for input"),
        Err(error) => {
            let message = format!("cannot read /proc/self/syscall: {error}");
            let error = Failure::new(ErrorCode::Unsupported, message).with_hint(
                "input() still works; a child or extension that reads stdin shows as running",
            );
            Check::problem("input", &error)
        }
    }
}

/// Whether running sessions were started by this version. Hosts of other versions work as far as both know
/// the same messages, so they are no problem. A host that has no version in common with this client is one, and so is
/// a session whose files are of a newer version.
fn hosts(client: &Client) -> Vec<Check> {
    let listing = match client.list(true) {
        Ok(listing) => listing,
        Err(error) => return vec![Check::problem("hosts", &error.into())],
    };
    let (unheard, heard): (Vec<Listed>, Vec<Listed>) =
        listing.sessions.into_iter().partition(|listed| listed.unheard.is_some());
    let mut checks = vec![by_whom(&heard, unheard.is_empty())];
    checks.extend(unheard.into_iter().filter_map(|Listed { status, unheard }| {
        let mut failure = Failure::from(unheard?);
        failure.message += &format!(" (in `{}`)", status.workspace);
        Some(Check::problem("hosts", &failure))
    }));
    checks.extend(listing.unreadable.into_iter().map(|error| {
        let failure = Failure::new(error.code(), error.message());
        Check::problem("hosts", &failure.with_hint(UNREADABLE))
    }));
    checks
}

/// What can be done where this stead does not understand the files of a session.
const UNREADABLE: &str =
    "use the stead that wrote the session's files; if none can read them, delete its directory";

/// Which stead started the sessions that run. `all` says that there are no others, whose hosts said nothing.
fn by_whom(heard: &[Listed], all: bool) -> Check {
    let live = heard.iter().map(|listed| &listed.status);
    let live: Vec<_> = live.filter(|status| status.host_pid.is_some()).collect();
    let program = |status: &Status| status.program.clone();
    let others: Vec<String> = live
        .iter()
        .filter(|status| program(status).as_deref() != Some(PROGRAM))
        .map(|status| {
            let program =
                program(status).map_or("an older stead".to_owned(), |it| format!("stead {it}"));
            format!("`{}` of {} by {program}", status.name, status.workspace)
        })
        .collect();
    let count = live.len();
    let run = if all { "run" } else { "run and answer" };
    if others.is_empty() {
        return Check::ok(
            "hosts",
            format!("sessions that {run}: {count}, all by this stead, {PROGRAM}"),
        );
    }
    let others = others.join(", ");
    Check::ok(
        "hosts",
        format!(
            "sessions that {run}: {count}; this is stead {PROGRAM}, and not by it run {others}; one that is stopped and used again runs by this one"
        ),
    )
}

/// Whether the configuration can be understood; with a file that cannot be, sessions do not start.
fn config(client: &Client) -> Check {
    let mut read = client.read_config();
    if !read.problems.is_empty() {
        let more = read.problems.len() - 1;
        let problem = Box::new(read.problems.swap_remove(0));
        return Check::problem(
            "config",
            &ClientError::from(RequestError::Config { problem, more }).into(),
        );
    }
    let files = [&read.configuration.user, &read.configuration.workspace];
    let paths = files.into_iter().flatten().map(|file| file.path.display().to_string());
    let paths: Vec<String> = paths.collect();
    let mut message = match paths.is_empty() {
        true => "no configuration files".to_owned(),
        false => format!("understood {}", paths.join(" and ")),
    };
    if !client.is_in_force(&read) {
        let dir = client.workspace.path().join(PROJECT_DIR);
        let dir = dir.display();
        message += &format!("; {dir} is not allowed and does nothing yet: `stead allow --show`");
    }
    Check::ok("config", message)
}

fn session(client: &Client) -> Check {
    match try_session(client) {
        Ok(took) => Check::ok(
            "session",
            format!("started, evaluated and stopped one in {} ms", took.as_millis()),
        ),
        Err(error) => Check::problem("session", &error),
    }
}

fn try_session(client: &Client) -> Result<Duration, Failure> {
    let began = Instant::now();
    let place = TempPlace::new().map_err(|error| {
        let message = format!("could not make a temporary directory: {error}");
        Failure::new(ErrorCode::ConnectionFailed, message).with_hint("set TMPDIR")
    })?;
    let dirs = Dirs { state: place.0.join("state"), ..client.dirs.clone() };
    let workspace = Workspace::find(Some(&place.0), &place.0)?;
    let there = Client { dirs, workspace, ..client.clone() };
    let name = language::session_name(stead_config::default_language().name)?;
    let options = EvalOptions {
        code: "6 * 7".to_owned(),
        key: None,
        soft_timeout: Duration::from_secs(20),
        hard_timeout: None,
        no_queue: false,
        background: false,
        max_chars: 0,
    };
    let evaluated = there.eval(&name, &LaunchOptions::default(), &options, &mut Quiet);
    let stopped = there.stop(&name);
    let view = evaluated?;
    if let Some(error) = crate::verdict::verdict(&view).error {
        return Err(error);
    }
    if view.status != EvalStatus::Complete || view.value().is_none_or(|value| value.text != "42") {
        let message = format!("6 * 7 came back {} and not as 42", view.status.as_str());
        return Err(Failure::new(ErrorCode::EvalError, message));
    }
    stopped?;
    Ok(began.elapsed())
}

/// A directory that is gone afterwards.
struct TempPlace(PathBuf);

impl TempPlace {
    fn new() -> io::Result<Self> {
        let path = env::temp_dir().join(format!("stead-doctor-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TempPlace(path))
    }
}

impl Drop for TempPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;
    use std::thread;

    use serde_json::{Value, json};

    use super::*;

    const HELLO: &str = r#"{"reply":{"id":1,"reply":{"kind":"hello","protocol":7,"versions":{"oldest":7,"newest":7},"program":"9.1.0","generation":1}}}"#;

    fn a_client(place: &Path) -> Client {
        Client {
            dirs: Dirs::new(place.join("state"), place.join("run")),
            workspace: Workspace::find(Some(place), place).unwrap(),
            kind: "test",
            by: Arc::default(),
            program: None,
            kept: None,
        }
    }

    /// Writes what is kept of a session, as a stead would that writes this version of the file.
    fn keep(client: &Client, name: &str, version: u32) {
        let dir = client.dirs.workspace(&client.workspace).join(name);
        fs::create_dir_all(&dir).unwrap();
        let settings = json!({
            "language": "python", "cwd": "/", "env": [], "idle_timeout_ms": 0, "quota_bytes": 1,
        });
        let meta: Value = json!({
            "version": version, "program": "9.1.0", "name": name, "settings": settings,
            "workspace": client.workspace.as_str(), "created_ms": 1,
        });
        fs::write(dir.join("meta.json"), meta.to_string()).unwrap();
    }

    #[test]
    fn u5_a_host_without_a_common_version_and_files_of_a_newer_one_are_problems() {
        let place = tempfile::tempdir().unwrap();
        let client = a_client(place.path());
        keep(&client, "py", 1);
        keep(&client, "sh", 99);
        drop(client.dirs.make_runtime().unwrap());
        let socket = client.dirs.socket(&client.workspace, &"py".parse().unwrap());
        let listener = UnixListener::bind(socket).unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut hello = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
                writeln!(stream, "{HELLO}").unwrap();
            }
        });
        let checks = hosts(&client);
        let said: Vec<(bool, &str)> =
            checks.iter().map(|check| (check.ok, check.message.as_str())).collect();
        let [(true, _), (false, host), (false, files)] = said[..] else { panic!("{said:?}") };
        let versions = ["`py`", "version 7", "9.1.0", "versions 1 to 2", PROGRAM];
        assert!(versions.iter().all(|word| host.contains(word)), "{host}");
        assert!(files.contains("version 99") && files.contains("/sh/meta.json"), "{files}");
        assert!(checks[1..].iter().all(|check| check.fix.is_some()));
    }
}
