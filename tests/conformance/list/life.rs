//! How sessions begin and end.

use rustix::process::{Pid, Signal, kill_process};
use stead_testkit::{is_alive, wait_for};

use crate::column::{Behaviour, join, piece};
use crate::talk::Talk;

pub(crate) const LIST: &[Behaviour] = &[
    ("PY-13 an exit ends the eval and says its code", exit_eval),
    ("S-6 the end of the session is told, then a fresh start", exit_session),
    ("S-6 what is said at the end belongs to the eval that ended it", at_exit),
    ("S-6 the signal that killed an interpreter is told", crash),
    ("S-6 an end that nobody was told of keeps the next code from running", lost),
    ("S-7 restart begins anew, with another generation", restart),
    ("S-7 restart ends what runs", restart_while_running),
    ("S-7 stop ends what runs, and its output stays", stop_while_running),
    ("S-9 stop leaves no daemon", no_daemon_after_stop),
    ("S-9 the end of an interpreter leaves no daemon", no_daemon_after_end),
    ("S-10 status names interpreter, version and directory", status),
    ("CF-2 directory and environment are as asked", settings),
    ("CF-2 init code runs at every start", init),
    ("S-4 a client that is killed leaves the eval running", killed_client),
];

/// A command that becomes a daemon: in a session of its own, fallen to nobody, with an empty environment.
const DAEMON: &str = "(setsid env -i /bin/sh daemon.sh </dev/null >/dev/null 2>&1 &)";

fn exit_eval(talk: &Talk<'_>) {
    let column = talk.column;
    let exit = |code: u32| piece(column.exit_eval).replace("VALUE", &code.to_string());
    let code = join([column.set("x", 1), exit(3), column.say("never")]);
    talk.eval(code).status("error").has("exit_code", 3).out("");
    talk.eval(exit(0)).complete().has("exit_code", 0);
    talk.says(column.tell("x"), "1\n");
}

fn exit_session(talk: &Talk<'_>) {
    let column = talk.column;
    let generation = talk.generation();
    let exit = piece(column.exit_session).replace("VALUE", "3");
    let code = join([column.say("last"), exit]);
    talk.eval(code).status("ended").has("exit_code", 3).out("last\n");
    let fresh = talk.eval(column.say("on")).complete().out("on\n").says("fresh");
    fresh.has("generation", generation + 1);
    talk.eval(column.say("on")).complete();
}

fn at_exit(talk: &Talk<'_>) {
    let column = talk.column;
    talk.eval(piece(column.at_exit).replace("TEXT", "bye")).complete();
    let exit = piece(column.exit_session).replace("VALUE", "0");
    talk.eval(join([column.say("last"), exit])).status("ended").out("last\nbye\n");
}

fn crash(talk: &Talk<'_>) {
    let column = talk.column;
    talk.without_copies();
    // A kernel publishes by a thread of its own, which dies with it: only what was read before is sure.
    let published = !column.kernel.is_empty();
    let waits = if published { column.wait_for_file("go") } else { String::new() };
    let code = join([column.say("last"), waits, piece(column.crash)]);
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| talk.eval(code));
        if published {
            wait_for("the last words", || {
                let asked = ["output", "-n", column.session, "--session", "--tail", "1"];
                talk.env.run(asked).stdout.contains("last")
            });
            talk.make_file("go");
        }
        ended.join().expect("an answer").status("ended").says("SIGKILL").out("last\n");
    });
    talk.eval(column.say("on")).complete().out("on\n").says("fresh");
}

fn lost(talk: &Talk<'_>) {
    talk.without_copies();
    let pid = talk.status()["pid"].as_u64().expect("a process id") as i32;
    kill_process(Pid::from_raw(pid).expect("not zero"), Signal::KILL).expect("it is ours");
    talk.wait_for_state("ended");
    let code = talk.column.child("echo ran >> runs");
    talk.eval(&code).refused("session_lost").says("SIGKILL");
    assert!(!talk.has_file("runs"));
    talk.eval(&code).complete();
}

fn restart(talk: &Talk<'_>) {
    let before = talk.status();
    talk.eval(talk.column.set("x", 1)).complete();
    talk.command(["restart"]).ok();
    let after = talk.status();
    assert_ne!(before["pid"], after["pid"]);
    assert_eq!(after["generation"].as_u64(), before["generation"].as_u64().map(|n| n + 1));
    if talk.column.cannot("ST-1 names are listed with their types").is_none() {
        assert_eq!(talk.vars(), []);
    }
}

fn restart_while_running(talk: &Talk<'_>) {
    let id = talk.start_up(&piece(talk.column.spin));
    talk.command(["restart"]).ok();
    talk.output(&id, []).status("ended").out("up\n");
    talk.says(talk.column.say("on"), "on\n");
}

fn stop_while_running(talk: &Talk<'_>) {
    let id = talk.start_up(&piece(talk.column.spin));
    talk.command(["stop"]).ok();
    talk.output(&id, []).status("ended").out("up\n");
}

fn daemon(talk: &Talk<'_>) -> u32 {
    let script = talk.env.workspace().join("daemon.sh");
    std::fs::write(script, "echo $$ > pid; exec sleep 1000").expect("the workspace is there");
    talk.eval(talk.column.child(DAEMON)).complete();
    let pid = talk.pid_in("pid");
    wait_for("the daemon", || is_alive(pid));
    pid
}

fn no_daemon_after_stop(talk: &Talk<'_>) {
    let pid = daemon(talk);
    talk.command(["stop"]).ok();
    assert!(!is_alive(pid));
}

fn no_daemon_after_end(talk: &Talk<'_>) {
    let pid = daemon(talk);
    talk.eval(piece(talk.column.crash)).status("ended");
    assert!(!is_alive(pid));
    talk.says(talk.column.say("on"), "on\n");
}

fn status(talk: &Talk<'_>) {
    let status = talk.status();
    assert_eq!(
        (&status["language"], &status["state"]),
        (&talk.column.language.into(), &"idle".into())
    );
    for name in ["version", "interpreter", "why", "cwd"] {
        assert!(status[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {status:#}");
    }
    talk.says(piece(talk.column.cwd), &format!("{}\n", status["cwd"].as_str().unwrap_or("?")));
}

fn settings(talk: &Talk<'_>) {
    let column = talk.column;
    talk.command(["stop"]).ok();
    let dir = talk.env.root().join("else where");
    std::fs::create_dir_all(&dir).expect("a directory");
    let dir = dir.canonicalize().expect("a directory");
    let path = dir.to_str().expect("a temp path is text");
    let set = ["--cwd", path, "--env", "GREETING=größe = 2"];
    talk.env.json([&["launch", column.language, "-n", column.session][..], &set].concat());
    talk.says(piece(column.cwd), &format!("{path}\n"));
    talk.says(piece(column.env).replace("NAME", "GREETING"), "größe = 2\n");
    talk.command(["restart"]).ok();
    talk.says(piece(column.cwd), &format!("{path}\n"));
    talk.command(["stop"]).ok();
}

fn init(talk: &Talk<'_>) {
    let column = talk.column;
    talk.command(["stop"]).ok();
    let init = column.set("x", 41);
    talk.env.json(["launch", column.language, "-n", column.session, "--init", &init]);
    talk.says(column.tell("x"), "41\n");
    talk.command(["restart"]).ok();
    talk.says(column.tell("x"), "41\n");
    talk.command(["stop"]).ok();
}

fn killed_client(talk: &Talk<'_>) {
    let column = talk.column;
    let code =
        join([column.child("echo up > up"), column.wait_for_file("go"), column.say("through")]);
    let mut client = talk.env.spawn(["eval", "-n", column.session, "--", &code]);
    talk.wait_for_file("up");
    client.kill().expect("it is ours");
    client.wait().expect("it ends");
    let id = talk.status()["running"]["eval_id"].as_str().expect("an eval").to_owned();
    talk.make_file("go");
    talk.end(&id).complete().out("through\n");
}
