//! Shell commands: evals in sessions of their own, as many of them as run at once (SPEC J-1).

use stead_config::SHELL;
use stead_protocol::ShellPlace;
use stead_protocol::{ErrorCode, SessionName};

use crate::{Client, ClientError, EvalOptions, EvalView, LaunchOptions, RequestError, Watcher};

/// How many commands may run at once in a workspace.
const MOST_AT_ONCE: usize = 64;

impl Client {
    /// Runs a command at once in a fresh shell, using the first shell session that is idle.
    pub fn shell(
        &self,
        options: &EvalOptions,
        place: &ShellPlace,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let launch =
            LaunchOptions { language: Some(SHELL.name.to_owned()), ..LaunchOptions::default() };
        let options = EvalOptions { no_queue: true, ..options.clone() };
        let mut refused = None;
        for number in 1..=MOST_AT_ONCE {
            let name = session(number)?;
            let mut run = || self.eval_at(&name, &launch, &options, Some(place), watcher);
            let ran = match run() {
                // Lost state does not matter to a command: none relies on what an earlier one left in its
                // shell.
                Err(ClientError::Lost { .. }) => run(),
                Err(error) if error.code() == ErrorCode::SessionLost => run(),
                ran => ran,
            };
            match ran {
                Err(error)
                    if matches!(error.code(), ErrorCode::SessionBusy | ErrorCode::WaitingInput) =>
                {
                    refused = Some(error);
                }
                ran => return ran,
            }
        }
        Err(refused.unwrap_or_else(|| RequestError::NoShellFree.into()))
    }
}

fn session(number: usize) -> Result<SessionName, ClientError> {
    let name = match number {
        1 => SHELL.name.to_owned(),
        more => format!("{}-{more}", SHELL.name),
    };
    Ok(name.parse()?)
}
