//! Lines that threads ask for, and evals that end meanwhile.

use serde_json::json;
use stead_protocol::bridge::Command;

use super::tests::{Talked, error, id};
use super::{KernelChannel, TalkInput};

/// A kernel with an eval that runs and that has asked for a line.
fn asking() -> (Talked, String) {
    let mut kernel = Talked::ipython();
    kernel.eval("t.start()");
    kernel.says("execute_input", json!({}));
    let request = kernel.request.clone();
    assert_eq!(asks(&mut kernel, &request, "later: "), ["waits later: ", "listen true"]);
    (kernel, request)
}

fn asks(kernel: &mut Talked, request: &str, prompt: &str) -> Vec<String> {
    kernel.on(KernelChannel::Stdin, request, "input_request", json!({"prompt": prompt}))
}

fn answer(kernel: &mut Talked) -> Vec<String> {
    kernel.step(TalkInput::Line(Some("x".to_owned())))
}

#[test]
fn e9_a_thread_that_outlives_its_eval_is_answered() {
    let (mut kernel, _) = asking();
    kernel.reply(json!({"status": "ok"}));
    let ended = kernel.idle();
    assert!(!ended.iter().any(|word| word.starts_with("listen")), "{ended:?}");
    assert_eq!(answer(&mut kernel), ["listen false", "Stdin input_reply"]);
    assert!(answer(&mut kernel).is_empty());
}

#[test]
fn e9_what_the_running_eval_asks_is_answered_before_what_a_thread_asks() {
    let (mut kernel, first) = asking();
    kernel.reply(json!({"status": "ok"}));
    kernel.idle();
    // Code that runs beside the thread does not wait.
    kernel.eval("input('now: ')");
    assert!(kernel.step(TalkInput::PartOfLine).is_empty());
    let second = kernel.request.clone();
    // IPython's threads all listen to the same socket.
    let told = asks(&mut kernel, &second, "now: ");
    assert!(told[0].contains("a thread waits for input, too (`later:`)"), "{told:?}");
    assert_eq!(told[1..], ["waits now: ", "listen true"]);
    assert_eq!(kernel.step(TalkInput::PartOfLine), ["waits now: "]);
    assert_eq!(answer(&mut kernel), ["listen true", "Stdin input_reply"]);
    assert_eq!(answer(&mut kernel), ["listen false", "Stdin input_reply"]);
    // The thread asks again, while the other eval runs and after it.
    let told = asks(&mut kernel, &first, "again: ");
    assert!(told[0].starts_with("background") && told[1] == "listen true", "{told:?}");
    kernel.reply(json!({"status": "ok"}));
    kernel.idle();
    let told = asks(&mut kernel, &first, "");
    assert!(told[0].starts_with("background") && told[1] == "listen true", "{told:?}");
    assert_eq!(answer(&mut kernel), ["listen true", "Stdin input_reply"]);
    assert_eq!(answer(&mut kernel), ["listen false", "Stdin input_reply"]);
}

#[test]
fn e9_an_interrupt_ends_the_question_of_the_code_and_not_that_of_a_thread() {
    let asks =
        "File kernelbase.py:1544, in Kernel._input_request(self, prompt)\n-> 1544 while True:";
    for (message, frame, left) in [
        ("Interrupted by user", "", false),
        ("", asks, false),
        ("", "File threading.py:1149, in Thread.join(self, timeout)", true),
        (
            "",
            "Cell In[2], line 3\n  2 while '_input_request' not in stack: pass\n  3 t.join()",
            true,
        ),
    ] {
        let (mut kernel, _) = asking();
        kernel.host(Command::Interrupt { id: &id() });
        let mut failure = error("KeyboardInterrupt");
        failure["evalue"] = json!(message);
        failure["traceback"] = json!(["KeyboardInterrupt", frame]);
        kernel.says("error", failure.clone());
        kernel.reply(failure);
        kernel.idle();
        // The kernel says what became of the names.
        kernel.reply(json!({"status": "ok"}));
        assert_eq!(!answer(&mut kernel).is_empty(), left, "{message} {frame}");
    }
}

#[test]
fn e8_an_eval_whose_threads_ask_waits_until_each_has_its_line() {
    let (mut kernel, request) = asking();
    asks(&mut kernel, &request, "second: ");
    assert_eq!(answer(&mut kernel), ["listen true", "Stdin input_reply", "waits later: "]);
    assert_eq!(answer(&mut kernel), ["listen false", "Stdin input_reply"]);
}
