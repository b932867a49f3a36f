//! What the command line does while an eval runs: stream, spin, obey Ctrl-C (SPEC C-7, C-9).

use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use stead_client::{ClientError, EvalView, Page, PageItem, Standing, WaitAction, Watcher};
use stead_protocol::{ChunkKind, EvalId, SessionName};

use crate::answer::TypedAnswers;
use crate::json_stream::JsonStream;
use crate::print::{self, Mode};
use crate::reply::DEFAULT_MAX_CHARS;
use crate::signals::{CtrlC, Exits, Leave};
use crate::spinner::Spinner;
use crate::text_writer::TextWriter;
use crate::{exit, text};

/// Why a command waits for an eval, which decides what Ctrl-C does (SPEC C-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It started the eval: the first Ctrl-C interrupts the eval, the second leaves it running.
    Run,
    /// It looks at an eval, or answers one, that was there before: Ctrl-C leaves and interrupts nothing.
    Look,
}

/// Watches one eval for the command line.
#[derive(Debug)]
pub(crate) struct EvalWatcher {
    show: Show,
    ear: Ear,
    answers: Option<TypedAnswers>,
    /// The session, once the eval has an id.
    session: Option<SessionName>,
}

/// What can end or change the wait from outside.
#[derive(Debug)]
enum Ear {
    /// The command runs the eval.
    Run { ctrl_c: Option<CtrlC>, pressed: bool },
    /// The command looks. It takes Ctrl-C over only once it follows the eval; until then, and without a
    /// terminal, Ctrl-C ends the process as usual.
    Look { terminal: bool, exits: Option<Exits>, unheard: usize },
}

impl Ear {
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Ear::Run { ctrl_c, .. } => ctrl_c.as_ref().map(AsFd::as_fd),
            Ear::Look { exits, .. } => exits.as_ref().map(AsFd::as_fd),
        }
    }
}

/// After so many bytes of output a command that looks hears Ctrl-C even if there is more output at once.
const HEAR_EVERY: usize = 64 << 10;

#[derive(Debug)]
enum Show {
    Nothing,
    /// Chunks as lines of JSON.
    Json(JsonStream),
    /// Chunks as text.
    Text(Box<TextWriter>),
    /// A spinner with the last line.
    Spinner {
        spinner: Spinner,
        last_line: Vec<u8>,
        /// What it waits for, if it does not run.
        held_by: Option<String>,
    },
}

impl EvalWatcher {
    /// A watch that streams, or shows a spinner if standard error is a terminal.
    pub(crate) fn new(mode: Mode, stream: bool, raw: bool, purpose: Purpose) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let show = match (stream, mode) {
            (true, Mode::Json) => Show::Json(JsonStream::default()),
            (true, Mode::Text) => Show::Text(Box::new(TextWriter::new(raw))),
            (false, Mode::Text) if terminal => {
                Show::Spinner { spinner: Spinner::new(), last_line: Vec::new(), held_by: None }
            }
            (false, _) => Show::Nothing,
        };
        let ear = match purpose {
            Purpose::Run => {
                let ctrl_c = if terminal { CtrlC::new() } else { None };
                Ear::Run { ctrl_c, pressed: false }
            }
            Purpose::Look => Ear::Look { terminal, exits: None, unheard: 0 },
        };
        EvalWatcher { show, ear, answers: None, session: None }
    }

    /// Leaves if Ctrl-C was pressed while a command that looks copies a long output.
    fn hear(&mut self, bytes: usize) {
        let Ear::Look { exits: Some(exits), unheard, .. } = &mut self.ear else { return };
        *unheard += bytes;
        if *unheard >= HEAR_EVERY {
            *unheard = 0;
            if exits.take() == Some(Leave::CtrlC) {
                print::leave(exit::LEFT);
            }
        }
    }

    /// The same watch, which asks a person at the terminal what the eval asks, if there is one.
    pub(crate) fn answering(self, mode: Mode) -> Self {
        let answers = (mode == Mode::Text).then(TypedAnswers::at_terminal).flatten();
        EvalWatcher { answers, ..self }
    }

    /// Shows what the eval wrote before its question, with the cursor behind the question.
    fn show_question(&mut self, view: &EvalView) {
        let page = Page::new(&view.content, DEFAULT_MAX_CHARS);
        match &mut self.show {
            Show::Text(writer) => writer.settle(),
            Show::Nothing | Show::Json(_) => {}
            Show::Spinner { spinner, .. } => {
                spinner.clear();
                let mut writer = TextWriter::new(false);
                let id = view.id().map(|id| id.to_string());
                writer.page(&page, id.as_deref());
            }
        }
        let prompt = view.prompt.as_deref().unwrap_or_default().trim_end();
        let shown = match page.items.last() {
            Some(PageItem::Text { text, .. }) => text.trim_end().ends_with(prompt),
            _ => prompt.is_empty(),
        };
        if !shown {
            print::err(format!("{prompt} ").as_bytes());
        }
    }

    /// Whether output was written as it came.
    pub(crate) fn streamed(&self) -> bool {
        matches!(self.show, Show::Json(_) | Show::Text(_))
    }

    /// Ends the watch; nothing of it stays on the terminal.
    pub(crate) fn finish(mut self) -> Option<TextWriter> {
        self.answers.iter_mut().for_each(TypedAnswers::stop);
        match self.show {
            Show::Spinner { mut spinner, .. } => {
                spinner.clear();
                None
            }
            Show::Text(writer) => Some(*writer),
            Show::Json(mut stream) => {
                stream.finish();
                None
            }
            Show::Nothing => None,
        }
    }
}

impl Watcher for EvalWatcher {
    fn wants_output(&self) -> bool {
        !matches!(self.show, Show::Nothing)
    }

    fn stands(&mut self, standing: Standing) {
        let Show::Spinner { held_by, .. } = &mut self.show else { return };
        *held_by = match standing {
            Standing::Queued(behind) => Some(match (behind, &self.session) {
                (Some(seq), Some(name)) => format!("queued behind {name}:{}", seq.0),
                _ => "waits for the interpreter".to_owned(),
            }),
            Standing::Paused => Some("the session is paused".to_owned()),
            Standing::Running => None,
        };
    }

    fn accepted(&mut self, id: &EvalId) {
        self.session = Some(id.session.clone());
        if let Show::Spinner { spinner, .. } = &mut self.show {
            spinner.restart();
        }
        if let Ear::Look { terminal, exits, .. } = &mut self.ear {
            *exits = Exits::new(*terminal);
        }
    }

    fn chunk(&mut self, kind: ChunkKind, bytes: &[u8]) {
        self.hear(bytes.len());
        match &mut self.show {
            Show::Nothing => {}
            Show::Text(writer) => writer.chunk(kind, bytes),
            Show::Json(stream) => stream.chunk(kind, bytes),
            Show::Spinner { last_line, .. } => {
                if !kind.is_own_output() {
                    return;
                }
                let trimmed = bytes.trim_ascii_end();
                if let Some(line) = trimmed.rsplit(|b| matches!(b, b'\n' | b'\r')).next()
                    && !line.is_empty()
                {
                    *last_line = line[..line.len().min(400)].to_vec();
                }
            }
        }
    }

    fn asks(&mut self, view: &EvalView) -> bool {
        let ear = self.ear.wake();
        let asks = self.answers.as_mut().is_some_and(|answers| answers.ask(view, ear));
        if asks {
            self.show_question(view);
        }
        asks
    }

    fn not_taken(&mut self, error: &ClientError) {
        print::err(format!("[not taken: {error}]\n").as_bytes());
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        if let Some(any) = self.answers.as_ref().and_then(TypedAnswers::wake) {
            return Some(any);
        }
        self.ear.wake()
    }

    fn woken(&mut self) -> WaitAction {
        if let Some(answer) = self.answers.as_mut().and_then(TypedAnswers::take) {
            if let Show::Spinner { spinner, .. } = &mut self.show {
                spinner.restart();
            }
            return answer;
        }
        let (ctrl_c, pressed) = match &mut self.ear {
            Ear::Run { ctrl_c, pressed } => (ctrl_c, pressed),
            Ear::Look { exits, .. } => {
                return match exits.as_mut().and_then(Exits::take) {
                    Some(Leave::CtrlC) => {
                        self.answers.iter_mut().for_each(TypedAnswers::stop);
                        WaitAction::Leave
                    }
                    Some(Leave::Unread) => print::leave(exit::SUCCESS),
                    None => WaitAction::GoOn,
                };
            }
        };
        if !ctrl_c.as_mut().is_some_and(CtrlC::take) {
            return WaitAction::GoOn;
        }
        self.answers.iter_mut().for_each(TypedAnswers::stop);
        if *pressed {
            return WaitAction::Leave;
        }
        *pressed = true;
        if let Show::Spinner { spinner, .. } = &mut self.show {
            spinner.clear();
        }
        print::err(b"[interrupting; Ctrl-C again leaves it running]\n");
        WaitAction::Interrupt
    }

    fn tick(&mut self) -> Option<Instant> {
        // Nothing is drawn over what a person types.
        if self.answers.as_ref().is_some_and(TypedAnswers::is_asking) {
            return None;
        }
        match &mut self.show {
            Show::Nothing => None,
            Show::Json(stream) => stream.draw(),
            Show::Text(writer) => writer.draw(),
            Show::Spinner { spinner, last_line, held_by } => {
                Some(spinner.draw(|| held_by.clone().unwrap_or_else(|| text::last_line(last_line))))
            }
        }
    }
}
