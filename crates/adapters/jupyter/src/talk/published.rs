//! What the kernel tells everybody: output, values, errors, and whether it is busy.

use std::time::Duration;

use serde_json::Value;
use stead_protocol::bridge::{BridgeEvent, Shown, Stream};

use super::commands::{SAYS_THAT_IT_RUNS, YOUNG};
use super::{EvalAge, EvalRun, EvalStage, KernelTalk, RunTask, TalkAction, TalkPhase, TalkTimer};
use crate::bundle;
use crate::message::JupyterMessage;

impl KernelTalk {
    pub(super) fn published(&mut self, message: &JupyterMessage, out: &mut Vec<TalkAction>) {
        if let TalkPhase::Greeting { heard, .. } = &mut self.phase {
            *heard = true;
            return self.look_whether_greeted(out);
        }
        self.note_state(message);
        let lone_display = self.facts.as_ref().is_some_and(|facts| facts.quirks.displays_values);
        if let TalkPhase::Running(run) = &mut self.phase
            && let EvalStage::Late { more, .. } = &mut run.stage
        {
            if run.after == message.parent_id() {
                return match (message.text("execution_state"), *more) {
                    ("idle", true) => self.wait_for_late_output(false, out),
                    ("idle", false) => self.finish(&Value::Null, out),
                    _ => {}
                };
            }
            *more |= run.request == message.parent_id();
        }
        let young = self.young();
        let run = match &mut self.phase {
            TalkPhase::Running(run) if run.request == message.parent_id() => run,
            _ => return self.background(message, out),
        };
        self.timers.forget(TalkTimer::Unheard);
        match message.kind() {
            "execute_input" if run.age != EvalAge::Grown => {
                run.age = EvalAge::Young;
                self.timers.set(TalkTimer::Grown, young);
            }
            "stream" => {
                show_display(run, out);
                let stream = stream_of(message);
                out.push(TalkAction::Print(stream, message.text("text").to_owned()));
                self.grown(out);
            }
            "execute_result" => {
                show_display(run, out);
                if let Some(earlier) = run.value.replace(message.content.clone()) {
                    show_value(&earlier, None, true, out);
                }
            }
            "display_data" if lone_display => {
                show_display(run, out);
                run.display = Some(message.content.clone());
            }
            "display_data" => show(&message.content, false, out),
            "update_display_data" => {
                show_display(run, out);
                show(&message.content, true, out);
            }
            "error" => {
                show_display(run, out);
                run.error = Some(message.content.clone());
            }
            "status" => match message.text("execution_state") {
                "busy" if run.age == EvalAge::Waits => {
                    run.age = EvalAge::Taken;
                    // Of work a kernel says only that it is busy, and not that it runs the code.
                    let grown = match run.task {
                        RunTask::Code(_) => SAYS_THAT_IT_RUNS,
                        RunTask::Work(_) => YOUNG,
                    };
                    self.timers.set(TalkTimer::Grown, grown);
                }
                "idle" => {
                    run.idle = true;
                    self.look_whether_over(out);
                }
                _ => {}
            },
            // Widgets, debuggers and what is yet to be thought of: nothing that a session without a browser can show.
            _ => {}
        }
    }

    /// How long the kernel's own code may still run after the kernel has said that it runs the user's code.
    fn young(&self) -> Duration {
        let warms_up = self.facts.as_ref().is_some_and(|facts| facts.quirks.warms_up);
        if warms_up && self.evals.is_first() { SAYS_THAT_IT_RUNS } else { YOUNG }
    }

    /// Notes what the kernel says of where it is with the request that was sent last.
    fn note_state(&mut self, message: &JupyterMessage) {
        let parent = message.parent_id();
        let state = match message.kind() {
            "status" => message.text("execution_state"),
            _ => "busy",
        };
        if let Some(asked) = self.outstanding.as_mut().filter(|asked| asked.id == parent) {
            asked.begun |= state == "busy";
            asked.idle |= state == "idle";
        }
        if let TalkPhase::Asking(asked) = &mut self.phase
            && asked.request == parent
        {
            asked.begun |= state == "busy";
        }
    }

    /// Output of code that is over, or of somebody else who uses the same kernel.
    fn background(&self, message: &JupyterMessage, out: &mut Vec<TalkAction>) {
        let content = &message.content;
        let (stream, text) = match message.kind() {
            "stream" => (stream_of(message), message.text("text").to_owned()),
            "execute_result" | "display_data" | "update_display_data" => {
                let shown = bundle::choose(&content["data"], true);
                let kinds: Vec<_> = shown.displays.iter().map(|(mime, _)| mime.as_str()).collect();
                let text =
                    shown.text.unwrap_or_else(|| format!("({} was shown)", kinds.join(", ")));
                (Stream::Out, text + "\n")
            }
            "error" => {
                let text = format!("{}: {}\n", message.text("ename"), message.text("evalue"));
                (Stream::Err, text)
            }
            _ => return,
        };
        let eval = self.evals.eval_of(message.parent_id());
        // Kernels that close their sockets log and publish errors about that, which are left out.
        if eval.is_none() && matches!(self.phase, TalkPhase::Leaving) {
            return;
        }
        out.push(TalkAction::Tell(BridgeEvent::Background { eval, stream, text }));
    }
}

fn stream_of(message: &JupyterMessage) -> Stream {
    match message.text("name") {
        "stderr" => Stream::Err,
        _ => Stream::Out,
    }
}

/// Shows the display that was held back, because something follows it.
pub(super) fn show_display(run: &mut EvalRun, out: &mut Vec<TalkAction>) {
    if let Some(content) = run.display.take() {
        show(&content, false, out);
    }
}

/// Shows something that code has put on display.
fn show(content: &Value, update: bool, out: &mut Vec<TalkAction>) {
    let shown = bundle::choose(&content["data"], false);
    let id = content["transient"]["display_id"].as_str().map(str::to_owned);
    let text = shown.text.map(|text| ("text/plain".to_owned(), text));
    for (mime, data) in shown.displays.into_iter().chain(text) {
        let id = id.clone();
        let event = BridgeEvent::Display { mime, data, note: None, id, update, ack: true };
        out.push(TalkAction::Tell(event));
    }
}

/// Shows the value of code. `ack` says that something may follow.
pub(super) fn show_value(
    content: &Value,
    type_name: Option<String>,
    ack: bool,
    out: &mut Vec<TalkAction>,
) {
    let shown = bundle::choose(&content["data"], true);
    for (mime, data) in shown.displays {
        let event = BridgeEvent::Display { mime, data, note: None, id: None, update: false, ack };
        out.push(TalkAction::Tell(event));
    }
    if let Some(text) = shown.text {
        let type_name = type_name.unwrap_or_default();
        out.push(TalkAction::Tell(BridgeEvent::Value(Shown { text, type_name, ack })));
    }
}
