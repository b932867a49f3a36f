//! `stead watch`

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use stead_client::{FollowWait, Followed};

use crate::board::Board;
use crate::context::{Context, NamedArg};
use crate::full_screen::{FullScreen, ScreenCall};
use crate::paint::Paint;
use crate::print::{CommandResult, Mode};
use crate::{exit, follow};

/// How often the screen is drawn at most.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// How often it is drawn for the times on it and the last lines of output, while something runs.
const BUSY_TICK: Duration = Duration::from_secs(1);
/// The same while nothing runs.
const IDLE_TICK: Duration = Duration::from_secs(10);

/// See all sessions live: who runs what, its last line, how it ended
///
/// On a terminal this is one screen that is kept up to date. In a pipe it is a line for each event, as JSON
/// or with `--text` as text. Sessions that begin and end meanwhile come and go. Nothing is asked of the
/// sessions but to be told what happens, and nothing in them is changed or stopped, however this ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  stead watch                       all sessions of the workspace
  stead watch py                    one of them
  stead watch --all                 of all workspaces
  stead watch | jq -r 'select(.type==\"finished\") | .eval_id'

Ctrl-C leaves, as `q` does on a terminal; the exit code is 0.

Lines have a `type`: `lives`, `silent`, `ended` and `stopped` tell of a session, `paused` and `resumed` of its
processes, `accepted` (with `by` and `code`), `queued`, `started`, `waiting_input`, `finished` (with `status`, `ok`,
`last_line`, and `data` as `stead eval` gives it) and `unrecorded` of an eval.
`stead output py --follow` shows what a session writes, too.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    session: NamedArg,
    /// Watch the sessions of all workspaces
    #[arg(short, long, conflicts_with_all = ["session", "name"])]
    all: bool,
}

impl WatchArgs {
    /// The sessions of all workspaces are the same everywhere.
    pub(super) fn needs_workspace(&self) -> bool {
        !self.all
    }

    pub(crate) fn run(self, context: &Context) -> CommandResult {
        let followed = match self.session.given() {
            Some(name) => Followed::Session(context.session_named(name)?),
            None if self.all => Followed::All,
            None => Followed::Workspace,
        };
        let screen = if context.mode == Mode::Text { FullScreen::take() } else { None };
        match screen {
            Some(screen) => board(context, followed, screen),
            None => follow::lines(context, followed, false, false),
        }
    }
}

/// Keeps the screen up to date until Ctrl-C.
fn board(context: &Context, followed: Followed, mut screen: FullScreen) -> CommandResult {
    let mut following = context.client.follow(followed, false)?;
    let here = context.client.workspace.as_str();
    let mut board = Board::default();
    let (mut drawn, mut changed) = (None::<Instant>, true);
    loop {
        let now = Instant::now();
        let tick = if board.is_busy() { BUSY_TICK } else { IDLE_TICK };
        let next = drawn.map(|at| at + if changed { DRAW_EVERY } else { tick });
        if next.is_none_or(|next| next <= now) {
            board.refresh(&context.client);
            screen.draw(board.lines(here, screen.size(), Paint::stdout()));
            (drawn, changed) = (Some(now), false);
            continue;
        }
        match following.next(next, Some(screen.as_fd()))? {
            FollowWait::Event(event) => {
                board.event(event);
                changed = true;
            }
            FollowWait::Deadline => {}
            FollowWait::Woken => match screen.asked() {
                ScreenCall::Leave => return Ok(exit::SUCCESS),
                ScreenCall::Draw => (drawn, changed) = (None, true),
                ScreenCall::Nothing => {}
            },
        }
    }
}
