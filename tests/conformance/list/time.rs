//! Timeouts, pauses and figures.

use std::time::{Duration, Instant};

use stead_testkit::{is_alive, wait_for};

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("E-2 a soft timeout gives what there is, and the eval goes on", soft),
    ("E-2 a soft timeout of nothing does not wait", at_once),
    ("E-4 a background eval gives its id at once", background),
    ("E-3 a hard timeout interrupts, state stays", hard),
    ("E-3 a hard timeout kills a stubborn child, state stays", hard_child),
    ("E-3 a hard timeout ends what ignores it", hard_stubborn),
    ("E-3 a hard timeout that does not pass does nothing", hard_unused),
    ("E-10 a paused eval stands still and goes on", pause),
    ("E-10 a pause counts toward no timeout", pause_and_timeout),
    ("S-10 memory and processes of the whole tree are told", figures),
    ("S-10 the running eval, its time and last line are told", running),
];

fn soft(talk: &Talk<'_>) {
    let column = talk.column;
    let code = join([column.say("early"), column.wait_for_file("go"), column.say("late")]);
    let id = talk.eval_with(["--timeout", "200ms"], code).status("partial").id();
    talk.wait_for_output(&id, "early");
    talk.make_file("go");
    talk.end(&id).complete().out("early\nlate\n");
}

fn at_once(talk: &Talk<'_>) {
    let code = talk.column.wait_for_file("go");
    let id = talk.eval_with(["--timeout", "0"], code).status("partial").id();
    talk.make_file("go");
    talk.end(&id).complete();
}

fn background(talk: &Talk<'_>) {
    let id = talk.start(join([talk.column.wait_for_file("go"), talk.column.say("done")]));
    assert_eq!(talk.output(&id, []).0["status"], "running");
    talk.make_file("go");
    talk.end(&id).complete().out("done\n");
}

fn hard(talk: &Talk<'_>) {
    talk.eval(talk.column.set("x", 41)).complete();
    let code = join([talk.column.say("up"), piece(talk.column.spin)]);
    let reply = talk.eval_with(["--hard-timeout", "500ms"], code).status("timeout");
    reply.has("outcome", "interrupted").up(talk.column);
    talk.says(talk.column.tell("x"), "41\n");
}

fn hard_child(talk: &Talk<'_>) {
    talk.eval(talk.column.set("x", 41)).complete();
    let code = talk.column.child(r#"trap "" INT TERM; echo $$ > pid; while :; do sleep 1; done"#);
    talk.eval_with(["--hard-timeout", "2s"], code).status("timeout");
    let pid = talk.pid_in("pid");
    wait_for("the child's end", || !is_alive(pid));
    talk.says(talk.column.tell("x"), "41\n");
}

fn hard_stubborn(talk: &Talk<'_>) {
    let generation = talk.generation();
    let code = piece(talk.column.spin_stubbornly);
    talk.eval_with(["--hard-timeout", "500ms"], code).status("timeout").has("outcome", "killed");
    talk.eval(talk.column.say("on")).complete().out("on\n").has("generation", generation + 1);
}

fn hard_unused(talk: &Talk<'_>) {
    talk.eval_with(["--hard-timeout", "60s"], talk.column.say("in time")).complete();
    talk.says(talk.column.say("on"), "on\n");
}

/// Code that goes through a file's lines as they come, so that it can be seen whether it runs.
fn ticks(talk: &Talk<'_>) -> String {
    talk.column.child("while [ ! -e go ]; do echo >> ticks; sleep 0.01; done; echo through")
}

fn tick_count(talk: &Talk<'_>) -> u64 {
    std::fs::metadata(talk.env.workspace().join("ticks")).map_or(0, |file| file.len())
}

fn pause(talk: &Talk<'_>) {
    let id = talk.start(ticks(talk));
    wait_for("a tick", || tick_count(talk) > 0);
    talk.command(["pause"]).ok();
    assert_eq!(talk.status()["paused"], true);
    let count = tick_count(talk);
    let begin = Instant::now();
    wait_for("many ticks' time", || begin.elapsed() > Duration::from_millis(300));
    assert_eq!(tick_count(talk), count);
    talk.command(["resume"]).ok();
    wait_for("another tick", || tick_count(talk) > count);
    talk.make_file("go");
    talk.end(&id).complete().out("through\n");
}

fn pause_and_timeout(talk: &Talk<'_>) {
    let code = ticks(talk);
    let id = talk.eval_with(["--bg", "--hard-timeout", "20s"], code).ok().id();
    wait_for("a tick", || tick_count(talk) > 0);
    talk.command(["pause"]).ok();
    let elapsed = || talk.status()["running"]["elapsed_ms"].as_u64().expect("a time");
    let before = elapsed();
    let begin = Instant::now();
    wait_for("some time", || begin.elapsed() > Duration::from_millis(300));
    assert_eq!(elapsed(), before);
    talk.command(["resume"]).ok();
    talk.make_file("go");
    talk.end(&id).complete();
}

fn figures(talk: &Talk<'_>) {
    let column = talk.column;
    let figure = |name: &str| talk.status()[name].as_u64().expect("a figure");
    let (memory, processes) = (figure("memory_bytes"), figure("processes"));
    talk.eval(piece(column.allocate)).complete();
    assert!(figure("memory_bytes") > memory + 30_000_000, "{memory}");
    talk.eval(column.background("echo $$ > pid; exec sleep 1000")).complete();
    talk.pid_in("pid");
    assert!(figure("processes") > processes);
    talk.command(["restart"]).ok();
}

fn running(talk: &Talk<'_>) {
    let id = talk.start_up(&talk.column.wait_for_file("go"));
    let status = talk.status();
    assert_eq!(
        (&status["state"], &status["running"]["eval_id"]),
        (&"running".into(), &id.clone().into())
    );
    assert_eq!(status["running"]["last_line"], "up", "{status:#}");
    assert!(status["running"]["elapsed_ms"].is_u64(), "{status:#}");
    talk.make_file("go");
    talk.end(&id).complete();
}
