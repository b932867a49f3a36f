//! How an eval ends: when its reply has come and the kernel is idle, since output may come after the reply.

use std::time::Duration;

use serde_json::Value;
use stead_host_side::cut;
use stead_protocol::bridge::{BridgeEvent, Done, DoneStatus, Stream};

use super::published::{show_display, show_value};
use super::reconnect::KeptOutput;
use super::{
    EvalAge, EvalRun, EvalStage, Interrupting, KernelOwner, KernelTalk, RunTask, TalkAction,
    TalkPhase, TalkTimer,
};
use crate::bundle::has_picture;
use crate::python;
use crate::quirks::InterruptWay;

/// Time after which kernels that throw away requests soon after an error take requests again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// How often code is sent that the kernel throws away.
const MOST_TRIES: u32 = 4;
const MOST_TRACEBACK: usize = 64 << 10;
const MOST_MESSAGE: usize = 8 << 10;
/// Longer code is not looked at for whether it only ends too early.
const MOST_CHECKED: usize = 1 << 20;

/// What the reply to an eval says of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyWord {
    Ok,
    Error,
    /// `abort` or `aborted`: it was interrupted, or not run at all.
    Aborted,
}

impl ReplyWord {
    fn of(reply: &Value) -> ReplyWord {
        match reply["status"].as_str() {
            Some("error") => ReplyWord::Error,
            Some("abort" | "aborted") => ReplyWord::Aborted,
            _ => ReplyWord::Ok,
        }
    }
}

impl KernelTalk {
    /// The eval may be over; then what is left to ask about it is asked.
    pub(super) fn look_whether_over(&mut self, out: &mut Vec<TalkAction>) {
        let TalkPhase::Running(run) = &mut self.phase else { return };
        let (EvalStage::Code, true, Some(reply)) = (run.stage, run.idle, &run.reply) else {
            return;
        };
        let word = ReplyWord::of(reply);
        if word == ReplyWord::Aborted
            && matches!(run.age, EvalAge::Waits | EvalAge::Taken)
            && run.interrupt == Interrupting::No
            && run.tries < MOST_TRIES
        {
            run.stage = EvalStage::Again;
            self.timers.set(TalkTimer::Again, AGAIN_AFTER);
            return;
        }
        let RunTask::Code(code) = &run.task else { return self.work_replied(out) };
        if self.facts.as_ref().is_some_and(|facts| facts.quirks.idle_early) {
            // Even a value may come after the answer to the first question, so at least two questions are asked.
            return self.wait_for_late_output(true, out);
        }
        let Some(facts) = &mut self.facts else { return };
        let was_asked = !facts.tells_names;
        facts.tells_names = python::has_names(reply);
        if !facts.python || facts.tells_names || (word == ReplyWord::Ok && was_asked) {
            let reply = reply.clone();
            return self.finish(&reply, out);
        }
        let failed = run.error.as_ref().unwrap_or(reply);
        // If code could not be compiled, the helper also says whether the code only ends too early.
        let source =
            (is_syntax_error(failed) && code.len() <= MOST_CHECKED).then_some(code.as_str());
        let question = python::silent(&python::call("after", source));
        run.stage = EvalStage::Names;
        let id = self.ask_shell("execute_request", question, out);
        if let TalkPhase::Running(run) = &mut self.phase {
            run.after = id;
        }
    }

    /// Sends a request before whose answer the kernel publishes its late output; `more` says that another
    /// request follows.
    pub(super) fn wait_for_late_output(&mut self, more: bool, out: &mut Vec<TalkAction>) {
        let id = self.ask_shell("kernel_info_request", serde_json::json!({}), out);
        if let TalkPhase::Running(run) = &mut self.phase {
            run.stage = EvalStage::Late { replied: false, more };
            run.after = id;
        }
    }

    /// The eval that ends: nothing is waited for any more.
    pub(super) fn take_run(&mut self, out: &mut Vec<TalkAction>) -> Option<Box<EvalRun>> {
        let phase = std::mem::replace(&mut self.phase, TalkPhase::Idle);
        let TalkPhase::Running(mut run) = phase else { return None };
        self.timers.forget_eval();
        self.kept = KeptOutput::Known;
        let lost = match self.owner {
            KernelOwner::Ours { .. } => self.numbers.lost(),
            // The kernel's answers to other clients have numbers, too, so a gap means nothing.
            KernelOwner::Others => 0,
        };
        if lost > 0 {
            run.notice = Some(format!(
                "output is missing: the kernel published faster than it was read and threw {lost} messages away"
            ));
        }
        self.leave_lines(&mut run, out);
        self.leave_work(&run, out);
        Some(run)
    }

    /// Tells how the eval ended. `told` is the reply that says what became of the names.
    pub(super) fn finish(&mut self, told: &Value, out: &mut Vec<TalkAction>) {
        let Some(mut run) = self.take_run(out) else { return };
        let reply = run.reply.take().unwrap_or_default();
        let word = ReplyWord::of(&reply);
        let names = python::names_told(told);
        for payload in reply["payload"].as_array().into_iter().flatten() {
            // Text that would open in a pager, as for `name?` in IPython, is printed.
            if payload["source"] == "page"
                && let Some(text) = payload["data"]["text/plain"].as_str()
            {
                out.push(TalkAction::Print(Stream::Out, text.trim_end().to_owned() + "\n"));
            }
        }
        if run.value.is_none() && word == ReplyWord::Ok {
            // A display with a picture is no value, although a few words come with it.
            run.value = run.display.take_if(|content| !has_picture(&content["data"]));
        }
        show_display(&mut run, out);
        if let Some(value) = &run.value {
            let language = self.facts.as_ref().map(|facts| facts.language.clone());
            show_value(value, names.type_name.or(language), false, out);
        }
        let sent = run.was_interrupted();
        let way = self.interrupt_way();
        let mut failure = run.error.take();
        if let Some(error) = failure.take_if(|_| word == ReplyWord::Ok) {
            // The code came to its end, but its value could not be shown.
            let text = traceback(&error).unwrap_or_default();
            out.push(TalkAction::Print(Stream::Err, text));
        }
        let says_interrupt = |error: &Value| {
            error["ename"]
                .as_str()
                .is_some_and(|name| name.to_ascii_lowercase().contains("interrupt"))
        };
        let interrupted = sent
            && match (word, &failure) {
                (ReplyWord::Aborted, _) => true,
                // A shell tells only its exit code, and not that it was interrupted.
                (ReplyWord::Error, Some(_)) if way == InterruptWay::Children => true,
                (ReplyWord::Error, Some(error)) => says_interrupt(error),
                // Deno says that the code failed, but not why.
                (ReplyWord::Error, None) => true,
                (ReplyWord::Ok, _) => false,
            };
        let exit_code = failure.as_ref().and_then(exit_code);
        let status = match word {
            _ if exit_code == Some(0) => DoneStatus::Ok,
            _ if interrupted => DoneStatus::Interrupted,
            ReplyWord::Ok => DoneStatus::Ok,
            ReplyWord::Error | ReplyWord::Aborted => DoneStatus::Error,
        };
        let failure = failure.unwrap_or(reply.clone());
        if status == DoneStatus::Error && word == ReplyWord::Aborted && failure["ename"].is_null() {
            let message = "the kernel threw the code away and did not run it";
            out.push(error("Aborted", message, None, false));
        } else if status == DoneStatus::Error || (interrupted && failure["ename"].is_string()) {
            let name = error_name(failure["ename"].as_str().unwrap_or_default());
            let message = failure["evalue"].as_str().unwrap_or_default();
            out.push(error(&name, message, traceback(&failure), names.incomplete));
        }
        if self.leaves(&reply, out) {
            return;
        }
        out.push(TalkAction::Tell(BridgeEvent::Done(Done {
            exit_code,
            changed: names.changed,
            variables: names.variables,
            notice: run.notice,
            ..Done::new(run.eval, status)
        })));
    }

    /// Ends the session if the code has asked for that; says whether it has.
    pub(super) fn leaves(&mut self, reply: &Value, out: &mut Vec<TalkAction>) -> bool {
        let leaves = asks_to_exit(reply);
        if leaves {
            out.push(TalkAction::Tell(BridgeEvent::Exiting { code: 0, reason: None }));
            self.command(&stead_protocol::bridge::Command::Exit, "", out);
        }
        leaves
    }
}

/// The end of an eval that did nothing to the names.
pub(super) fn done(eval: &str, status: DoneStatus) -> BridgeEvent {
    BridgeEvent::Done(Done::new(eval, status))
}

pub(super) fn error(
    name: &str,
    message: &str,
    traceback: Option<String>,
    incomplete: bool,
) -> TalkAction {
    TalkAction::Tell(BridgeEvent::Error {
        name: name.to_owned(),
        message: cut(message, MOST_MESSAGE),
        traceback,
        incomplete,
        missing: None,
    })
}

/// xeus-python says `<class 'ValueError'>`, and bash_kernel nothing.
fn error_name(ename: &str) -> String {
    let class = ename.strip_prefix("<class '").and_then(|rest| rest.strip_suffix("'>"));
    let name = class.unwrap_or(ename).trim();
    if name.is_empty() { "Error".to_owned() } else { name.to_owned() }
}

/// The code of an exit that IPython takes for an error.
fn exit_code(failure: &Value) -> Option<i32> {
    if error_name(failure["ename"].as_str()?) != "SystemExit" {
        return None;
    }
    match failure["evalue"].as_str().unwrap_or_default() {
        "" | "None" => Some(0),
        text => Some(text.parse().unwrap_or(1)),
    }
}

fn is_syntax_error(failure: &Value) -> bool {
    let name = error_name(failure["ename"].as_str().unwrap_or_default());
    matches!(
        name.as_str(),
        "SyntaxError" | "IndentationError" | "TabError" | "_IncompleteInputError"
    )
}

fn traceback(failure: &Value) -> Option<String> {
    let lines = failure["traceback"].as_array()?;
    let lines: Vec<String> = lines.iter().filter_map(Value::as_str).map(without_colours).collect();
    let text = lines.join("\n");
    (!text.trim().is_empty()).then(|| cut(text.trim_end(), MOST_TRACEBACK) + "\n")
}

/// Kernels colour tracebacks whatever reads them.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..begin]);
        let after = &rest[begin + 2..];
        let end = after.find(|c: char| ('@'..='~').contains(&c));
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain + rest
}

/// Whether the code has asked to end the kernel, as `exit` does in IPython.
fn asks_to_exit(reply: &Value) -> bool {
    let payload = reply["payload"].as_array();
    payload
        .into_iter()
        .flatten()
        .any(|one| one["source"] == "ask_exit" && one["keepkernel"] != Value::Bool(true))
}
