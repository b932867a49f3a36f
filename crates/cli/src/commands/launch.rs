//! `stead launch`

use std::path::PathBuf;

use stead_client::{
    ClientError, EvalStatus, EvalView, LaunchOptions, Launched, RequestError, kernel, language,
};
use stead_config::{CommandTemplate, GATEWAY};
use stead_protocol::{GatewayTarget, KernelChoice};

use crate::context::Context;
use crate::gateway::GatewayArgs;
use crate::interpreter::{GROUP, InterpreterArgs};
use crate::print::{CommandResult, bad_request};
use crate::status::{StatusData, full_text, stdlib_trouble};
use crate::time::Time;
use crate::verdict::verdict;

/// Start a session with settings of your own
///
/// Waits until the interpreter is ready. Only needed for settings, or for a session of your own:
/// `eval` starts a session by itself. Without a name the session gets the short name of its
/// language, or the next one that nobody has (`py-2`), and the answer says which. A session that is
/// named and has ended is started anew with these settings. What a configuration file says of a session of
/// this name holds where the command line says nothing (`stead config`).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead launch                            a Python of your own: py, or py-2, py-3, …
  stead launch python -n data --cwd ./analysis
  stead launch python -n old --python /usr/bin/python3.8
  stead launch node -n web --node ~/.local/node-22/bin/node
  stead launch -n py --env DEBUG=1 --init 'import numpy as np'
  stead launch bash -n build --cwd ./src --init 'alias m=make'
  stead launch -n ml                      a session as .stead/config.toml has it
  stead launch python.poetry              by a toolchain: `stead toolchains` lists them
  stead launch python -n slow --cmd 'nice -n 10 python3'
  stead launch jupyter --kernel ir -n r   any Jupyter kernel; its name alone does, too
  stead launch clojure.bb                 Clojure, by nREPL; any such server: nrepl --cmd 'bb --nrepl-server {port}'
  stead launch gateway --url http://localhost:8888 --kernel python3 -n far
  stead launch perl --bridge ./bridge.pl  a language of your own, by docs/PROTOCOL.md
  stead launch -n batch -- python        the language may stand last")]
pub(crate) struct LaunchArgs {
    /// Language or toolchain; else what the configuration or the name tells, else python
    #[arg(value_name = "LANGUAGE", conflicts_with = "lang")]
    language: Option<String>,
    /// Language, like the argument
    #[arg(short, long = "language", value_name = "LANGUAGE")]
    lang: Option<String>,
    /// Name of the session; else the short name of its language, or the next free one
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// Directory the interpreter starts in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Environment variable for the interpreter; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    #[command(flatten)]
    interpreter: InterpreterArgs,
    /// Jupyter kernel to use, by its name
    #[arg(long, value_name = "NAME", conflicts_with_all = [GROUP, "bridge", "cmd"])]
    kernel: Option<String>,
    /// Jupyter Server or gateway whose kernel is used: its address, or its name in your configuration
    #[arg(long, value_name = "URL", conflicts_with_all = [GROUP, "bridge", "cmd"])]
    url: Option<String>,
    /// Id of a kernel that runs there already; it is left alone at the end
    #[arg(long, value_name = "ID", requires = "url", conflicts_with = "kernel")]
    attach: Option<String>,
    #[command(flatten)]
    access: GatewayArgs,
    /// Program that speaks the bridge protocol by itself (docs/PROTOCOL.md), for any other language
    #[arg(long, value_name = "PATH", conflicts_with = GROUP)]
    bridge: Option<PathBuf>,
    /// Command that starts the interpreter, such as `nice python3`; `{cwd}`, `{host}`, `{bridge}` and for nREPL
    /// `{port}` in it are filled in, and no shell runs it (docs/toolchains.md)
    #[arg(long, value_name = "TEMPLATE", conflicts_with = GROUP)]
    cmd: Option<String>,
    /// Code to run at every start
    #[arg(long, value_name = "CODE")]
    init: Option<String>,
    /// How long to wait for that code; it goes on after that
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    timeout: Time,
    /// Leave your standard library out (see `stead stdlib`); restarts keep to that
    #[arg(long)]
    no_stdlib: bool,
    /// Keep no copies of the state by itself: no eval can be undone, and a crash loses the state
    #[arg(long)]
    no_undo: bool,
    /// End the session after this time without use; 0 means never, 12h unless given or configured
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<Time>,
    /// How many bytes of output are kept, the newest evals' first; 1 GiB unless given
    #[arg(long, value_name = "BYTES")]
    quota: Option<u64>,
}

impl LaunchArgs {
    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let default = stead_config::default_language().name;
        let named = self.interpreter.language.map(|language| language.name);
        let asked = self.language.or(self.lang);
        let given = self.name.as_deref().map(|name| context.session_named(name)).transpose()?;
        let name = match (&given, &asked) {
            (Some(name), _) => name.clone(),
            (None, Some(text)) if self.bridge.is_some() => context.session_named(text)?,
            (None, _) if self.kernel.is_some() && self.attach.is_none() => {
                let kernel = self.kernel.as_deref().unwrap_or_default();
                let name = kernel::session_name(kernel);
                name.ok_or_else(|| bad_request(format!("no kernel is called `{kernel}`")))?
            }
            (None, None) if self.url.is_some() => context.session_named(GATEWAY.name)?,
            (None, text) => {
                let text = text.as_deref().or(named).unwrap_or(default);
                context.client.resolve(language::session_name(text)?)
            }
        };
        let language = asked.or_else(|| named.map(str::to_owned));
        if let (Some(named), Some(text)) = (named, &language)
            && language::language(text).is_ok_and(|language| language.name != named)
        {
            return Err(bad_request(format!("`--{named}` is not for sessions in {text}")));
        }
        let kernel = match self.url {
            Some(server) => {
                let wanted = match self.attach {
                    Some(id) => GatewayTarget::Attached { id },
                    None => GatewayTarget::Started { kernel: self.kernel },
                };
                Some(self.access.kernel(context, server, wanted)?)
            }
            None => self.kernel.map(|name| KernelChoice::Name { name }),
        };
        let here = context.launch(language);
        let launch = LaunchOptions {
            bridge: self.bridge.map(|path| bridge(context, &path)).transpose()?,
            interpreter: self.interpreter.path.map(|path| absolute(context, path)),
            kernel,
            command: self.cmd.map(|text| command(context, &text)).transpose()?,
            otherwise: Some(default.to_owned()),
            cwd: self.cwd.map(|dir| context.path(&dir)),
            env: self.env.iter().map(|pair| variable(pair)).collect::<Result<_, _>>()?,
            init: self.init,
            init_time: Some(self.timeout.0),
            no_stdlib: self.no_stdlib,
            no_undo: self.no_undo,
            idle_timeout_ms: self.idle_timeout.map(Time::millis),
            quota_bytes: self.quota,
            ..here
        };
        let launched = match given {
            Some(_) => context.client.launch(&name, &launch),
            None => context.client.launch_free(&name, &launch),
        };
        answer(context, launched?)
    }
}

/// Tells what was started, and what is wrong with it.
pub(super) fn answer(context: &Context, launched: Launched) -> CommandResult {
    let Launched { status, init, notice } = launched;
    let news = init.as_ref().and_then(init_news);
    let notices = notice.into_iter().chain(stdlib_trouble(&status)).chain(news);
    let notices: Vec<String> = notices.collect();
    let notice = (!notices.is_empty()).then(|| notices.join("; "));
    let mut data = StatusData::new(&status);
    data.notice = notice.as_deref();
    context.answer("complete", data, || {
        full_text(&status) + &notice.as_ref().map(|n| format!("[{n}]\n")).unwrap_or_default()
    })
}

/// What there is to say of init code that has not simply run.
pub(super) fn init_news(init: &EvalView) -> Option<String> {
    let id = init.id_text().unwrap_or_default();
    match init.status {
        EvalStatus::WaitingInput => {
            Some(format!("the init code waits for input: `stead input {id} TEXT`"))
        }
        EvalStatus::Partial | EvalStatus::Queued | EvalStatus::Running => {
            Some(format!("the init code still runs: `stead wait {id}`"))
        }
        _ => verdict(init).error.map(|error| format!("the init code failed: {}", error.message)),
    }
}

/// A command whose program, if it is a relative path, is taken from the current directory.
fn command(context: &Context, text: &str) -> Result<CommandTemplate, ClientError> {
    let command = CommandTemplate::split(text).map_err(|error| RequestError::Command { error })?;
    Ok(match context.cwd.to_str() {
        Some(cwd) => command.beside(cwd),
        None => command,
    })
}

fn bridge(context: &Context, path: &std::path::Path) -> Result<String, crate::print::Failure> {
    let path = context.path(path);
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(bad_request(format!("the path {path:?} is not UTF-8"))),
    }
}

/// A path is taken from the current directory; a bare name is looked up on the PATH.
pub(super) fn absolute(context: &Context, path: String) -> String {
    if !path.contains('/') {
        return path;
    }
    let joined = context.path(path.as_ref());
    joined.to_str().map_or(path, str::to_owned)
}

pub(super) fn variable(pair: &str) -> Result<(String, String), crate::print::Failure> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() && !pair.contains('\0') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        // The value may be a secret, so it is not quoted.
        Some(_) => Err(bad_request("`--env` has an empty name before its `=`")),
        None => Err(bad_request(format!(
            "`--env {}` is not NAME=VALUE: it has no `=`",
            pair.escape_debug()
        ))),
    }
}
