//! Lines that the kernel asks the user for. A thread may ask, and still wait when the eval that started it is over.

use serde_json::{Value, json};
use stead_host_side::cut;
use stead_protocol::bridge::{BridgeEvent, Stream};

use super::published::show_display;
use super::{EvalRun, KernelChannel, KernelTalk, TalkAction, TalkPhase, TalkTimer};
use crate::message::JupyterMessage;

/// How much of a prompt stands in a sentence.
const MOST_PROMPT: usize = 200;
/// IPython's words for an interrupt that has ended a question: nobody waits for the question's answer any more.
const MET_THE_QUESTION: &str = "Interrupted by user";
/// The function of ipykernel that waits for an answer, and its file: both stand in one line of a traceback.
/// If the interrupt comes just after the function has begun, IPython does not say the words above.
const ASKS: [&str; 2] = ["kernelbase.py", "_input_request"];

/// A line that the kernel waits for.
#[derive(Debug)]
pub(super) struct AskedLine {
    question: JupyterMessage,
}

impl AskedLine {
    /// The id of the request whose code asks.
    fn request(&self) -> &str {
        self.question.parent_id()
    }

    fn prompt(&self) -> &str {
        self.question.text("prompt")
    }

    /// The prompt as a part of a sentence.
    fn prompt_words(&self) -> String {
        match self.prompt().trim() {
            "" => String::new(),
            prompt => format!(" (`{}`)", cut(prompt, MOST_PROMPT)),
        }
    }

    fn waits(&self) -> TalkAction {
        TalkAction::Tell(BridgeEvent::Waits {
            prompt: Some(self.prompt().to_owned()).filter(|prompt| !prompt.is_empty()),
            secret: self.question.content["password"] == Value::Bool(true),
            eval: None,
        })
    }
}

impl KernelTalk {
    /// Whether the code of this eval asks.
    pub(super) fn asks(&self, run: &EvalRun) -> bool {
        self.lines.iter().any(|line| line.request() == run.request)
    }

    /// The kernel asks the user for a line.
    pub(super) fn asked(&mut self, message: &JupyterMessage, out: &mut Vec<TalkAction>) {
        if message.kind() != "input_request"
            || matches!(self.phase, TalkPhase::Greeting { .. } | TalkPhase::Leaving)
        {
            return;
        }
        let line = AskedLine { question: message.clone() };
        if let TalkPhase::Running(run) = &mut self.phase
            && run.request == line.request()
        {
            show_display(run, out);
            self.timers.forget(TalkTimer::Unheard);
            if let Some(other) = self.lines.last() {
                let words = other.prompt_words();
                let text = format!(
                    "[a thread waits for input, too{words}: the kernel gives an answer to either of them]\n"
                );
                out.push(TalkAction::Print(Stream::Err, text));
            }
            out.push(line.waits());
            out.push(TalkAction::Listen(true));
            self.lines.push(line);
            return self.grown(out);
        }
        // A kernel asks the client that sent the code, so a thread of code that is over asks here.
        let eval = self.evals.eval_of(line.request());
        let words = line.prompt_words();
        let text = format!("[a thread waits for input{words}, and an `input` answers it]\n");
        out.push(TalkAction::Tell(BridgeEvent::Background { eval, stream: Stream::Err, text }));
        out.push(TalkAction::Listen(true));
        self.lines.push(line);
    }

    /// The line that the next answer is for: the running eval's last question, or else the oldest question.
    fn answered_next(&self) -> Option<usize> {
        let own = match &self.phase {
            TalkPhase::Running(run) => {
                self.lines.iter().rposition(|line| line.request() == run.request)
            }
            _ => None,
        };
        own.or((!self.lines.is_empty()).then_some(0))
    }

    /// The running eval waits for the end of a line that the user has begun, or for one more line.
    pub(super) fn still_waits(&mut self, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Running(run) = &self.phase
            && let Some(at) = self.answered_next()
            && self.lines[at].request() == run.request
        {
            out.push(self.lines[at].waits());
        }
    }

    /// The user has answered what the kernel asked.
    pub(super) fn line(&mut self, answer: Option<String>, out: &mut Vec<TalkAction>) {
        let Some(at) = self.answered_next() else { return };
        let asked = self.lines.remove(at);
        // IPython takes this character for the end of the input; the protocol has no other word for it.
        let end = if self.is_python() { "\u{4}" } else { "" };
        let value = answer.unwrap_or_else(|| end.to_owned());
        let (_, mut message) = self.request("input_reply", json!({"value": value, "status": "ok"}));
        message.parent = asked.question.header;
        out.push(TalkAction::Listen(!self.lines.is_empty()));
        out.push(TalkAction::Send(KernelChannel::Stdin, message));
        self.still_waits(out);
    }

    /// The eval ends. A thread of it that still waits can be answered later; a question of its own code is over.
    pub(super) fn leave_lines(&mut self, run: &mut EvalRun, out: &mut Vec<TalkAction>) {
        let own = |line: &AskedLine| line.request() == run.request;
        let Some(last) = self.lines.iter().rposition(own) else { return };
        // Code that waits for an answer ends only by an interrupt.
        if run.was_interrupted() {
            match run.error.as_ref().or(run.reply.as_ref()) {
                Some(failure) if met_a_question(failure) => drop(self.lines.remove(last)),
                Some(failure) if failure["evalue"].is_string() && self.is_python() => {}
                Some(_) | None => self.lines.retain(|line| !own(line)),
            }
            if self.lines.is_empty() {
                out.push(TalkAction::Listen(false));
            }
        }
        if let Some(left) = self.lines.iter().rfind(|line| own(line)) {
            let words = format!(
                "a thread that it started still waits for input{}, and an `input` answers it",
                left.prompt_words()
            );
            let earlier = run.notice.take().map(|notice| format!("{notice}; ")).unwrap_or_default();
            run.notice = Some(earlier + &words);
        }
    }
}

/// Whether an error of IPython's tells that its own code waited for an answer when it was interrupted.
fn met_a_question(failure: &Value) -> bool {
    let frames = failure["traceback"].as_array().into_iter().flatten();
    let mut lines = frames.filter_map(Value::as_str).flat_map(str::lines);
    failure["evalue"] == MET_THE_QUESTION
        || lines.any(|line| ASKS.iter().all(|word| line.contains(word)))
}
