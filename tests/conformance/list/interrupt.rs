//! Interrupts, in each state that a session can be in.

use stead_testkit::{is_alive, wait_for};

use crate::column::{Behaviour, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("E-6 an interrupt while nothing runs hits nothing", idle),
    ("E-6 a busy loop is interrupted, state stays", busy),
    ("E-6 a sleep is interrupted", asleep),
    ("E-6 a wait for input is interrupted", waiting),
    ("E-6 a child that runs is interrupted", child),
    ("E-6 a child that reads is interrupted", reading_child),
    ("E-6 a queued eval is interrupted and never runs", queued),
    ("E-6 a paused eval is interrupted", paused),
    ("E-6 code at the start of a session is interrupted", starting),
    ("E-6 an interrupt of an ended eval spares the one that runs", aimed),
    ("E-6 background processes of earlier evals are spared", spares),
    ("E-6 a second interrupt kills a stubborn child, state stays", second),
    ("PY-12 ten interrupts in a row hit no later eval", repeated),
];

/// What must hold after any interrupt.
#[track_caller]
fn goes_on(talk: &Talk<'_>) {
    talk.says(talk.column.tell("x"), "41\n");
}

fn with_state(talk: &Talk<'_>) {
    talk.eval(talk.column.set("x", 41)).complete();
}

fn idle(talk: &Talk<'_>) {
    with_state(talk);
    talk.command(["interrupt"]).ok().has("effect", "nothing_running");
    goes_on(talk);
}

fn busy(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.start_up(&piece(talk.column.spin));
    talk.interrupt(&id).has("effect", "interrupted");
    talk.end(&id).status("interrupted").up(talk.column).traceback(&[]);
    goes_on(talk);
}

fn asleep(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.start_up(&piece(talk.column.sleep));
    talk.interrupt(&id).has("effect", "interrupted");
    talk.end(&id).status("interrupted").up(talk.column);
    goes_on(talk);
}

fn waiting(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.eval(talk.column.ask("? ", "y")).status("waiting_input").id();
    talk.interrupt(&id).has("effect", "interrupted");
    talk.end(&id).status("interrupted").traceback(&[]);
    goes_on(talk);
}

fn child(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.start(talk.column.child("echo up; exec sleep 1000"));
    talk.wait_for_output(&id, "up");
    talk.interrupt(&id);
    // A language may go on after its child has ended, or be interrupted itself.
    let reply = talk.end(&id);
    assert_ne!(reply.0["status"], "running", "{reply:?}");
    goes_on(talk);
}

fn reading_child(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.eval(talk.column.child("exec cat")).status("waiting_input").id();
    talk.interrupt(&id);
    assert_ne!(talk.end(&id).0["status"], "waiting_input");
    goes_on(talk);
}

fn queued(talk: &Talk<'_>) {
    with_state(talk);
    let first = talk.start_up(&talk.column.wait_for_file("go"));
    let second = talk.start(talk.column.set("x", 42));
    talk.interrupt(&second).has("effect", "dequeued");
    talk.make_file("go");
    talk.end(&first).complete();
    talk.end(&second).status("interrupted");
    goes_on(talk);
}

fn paused(talk: &Talk<'_>) {
    with_state(talk);
    let id = talk.start_up(&piece(talk.column.spin));
    talk.command(["pause"]).ok();
    talk.interrupt(&id);
    talk.command(["resume"]).ok();
    talk.end(&id).status("interrupted");
    goes_on(talk);
}

fn starting(talk: &Talk<'_>) {
    talk.command(["stop"]).ok();
    let column = talk.column;
    let init = format!("{}\n{}\n{}", column.set("x", 41), column.say("up"), column.spin);
    let launch = talk.env.spawn(["launch", column.language, "-n", column.session, "--init", &init]);
    wait_for("the init code", || {
        let listed = talk.env.run(["output", "-n", column.session, "--session", "--tail", "1"]);
        listed.stdout.contains("up")
    });
    talk.command(["interrupt"]).ok();
    assert!(launch.wait_with_output().expect("it ends").status.code().is_some());
    goes_on(talk);
    talk.command(["stop"]).ok();
}

fn aimed(talk: &Talk<'_>) {
    let old = talk.eval(talk.column.set("x", 41)).complete().id();
    let id = talk.start_up(&talk.column.wait_for_file("go"));
    talk.interrupt(&old).has("effect", "nothing_running");
    talk.make_file("go");
    talk.end(&id).complete();
    goes_on(talk);
}

fn spares(talk: &Talk<'_>) {
    with_state(talk);
    talk.eval(talk.column.background("echo $$ > pid; exec sleep 1000")).complete();
    let pid = talk.pid_in("pid");
    let id = talk.start_up(&piece(talk.column.spin));
    talk.interrupt(&id).has("effect", "interrupted");
    talk.end(&id).status("interrupted");
    assert!(is_alive(pid));
    goes_on(talk);
    talk.command(["restart"]).ok();
    wait_for("its end", || !is_alive(pid));
}

fn second(talk: &Talk<'_>) {
    with_state(talk);
    let stubborn = r#"trap "" INT; echo $$ > pid; while :; do sleep 1; done"#;
    let id = talk.start(talk.column.child(stubborn));
    let pid = talk.pid_in("pid");
    let asked = talk.env.spawn(["interrupt", &id]);
    talk.env.run(["interrupt", &id]);
    asked.wait_with_output().expect("it ends");
    wait_for("the child's end", || !is_alive(pid));
    assert_ne!(talk.end(&id).0["status"], "running");
    goes_on(talk);
}

fn repeated(talk: &Talk<'_>) {
    with_state(talk);
    for _ in 0..10 {
        let id = talk.start(piece(talk.column.spin));
        talk.interrupt(&id);
        talk.end(&id).status("interrupted");
        goes_on(talk);
    }
}
