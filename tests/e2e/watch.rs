//! `stead watch` and following a session: everything that anyone runs, and nothing is harmed (SPEC E-17, C-9).

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_testkit::{Ran, ReadLines, Terminal, TestEnv, state_of, wait_for};

use crate::STEAD;
use crate::gate::Gate;
use crate::processes::{signal, stopped};
use crate::tmux::Tmux;

struct Piped {
    child: Child,
    lines: ReadLines,
}

impl Piped {
    fn run(mut command: Command) -> Piped {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
        let lines = ReadLines::of(child.stdout.take().expect("a pipe"));
        Piped { child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.next_line().expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next line of this type; those before it are passed over.
    #[track_caller]
    fn wait(&self, kind: &str) -> Value {
        loop {
            let line = self.next();
            if line["type"] == kind {
                return line;
            }
        }
    }

    fn signal(&mut self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a pid is not zero");
        kill_process(pid, signal).expect("the command lives");
        self.child.wait().expect("it ends");
    }
}

/// The screen with its times replaced, which differ from run to run.
fn timeless(screen: &str) -> String {
    let mut words = Vec::new();
    for line in screen.lines() {
        let mut shown = String::new();
        for word in line.split_inclusive(' ') {
            let bare = word.trim_end_matches([' ', ',', ':']);
            let is_time = bare.strip_suffix('s').is_some_and(|number| {
                !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
            });
            shown.push_str(&if is_time { word.replacen(bare, "TIME", 1) } else { word.to_owned() });
        }
        words.push(shown.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    words.join("\n")
}

#[test]
fn e17_watch_is_one_screen_with_all_sessions() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.json(["eval", "-n", "sh", "echo built; false"]);
    env.json(["eval", "-n", "ask", "-l", "python", "--", "name = input('who? ')"]);
    let code = format!("print('step 1', flush=True)\n{}\nprint('step 2')", gate.code());
    let mut agent = env.command(["eval", "-n", "py", "--bg", "--", &code]);
    assert!(agent.env("STEAD_BY", "claude#3f9a").stdout(Stdio::null()).status().unwrap().success());
    env.json(["eval", "-n", "py", "--bg", "6 * 7"]);

    let tmux = Tmux::new(&env, "watch");
    tmux.type_line("stead watch; echo left with $?");
    let screen = tmux.wait("all sessions", |screen| {
        ["  step 1", "who?", "ExitStatus", "queued"].iter().all(|word| screen.contains(word))
    });
    let workspace = env.workspace().display().to_string();
    let head: String = format!("{workspace} 3 sessions");
    assert_eq!(
        timeless(&screen),
        format!(
            "{head}\n\n\
             ask waiting TIME ask:1 cli: name = input('who? ')\n\
             waits for input: who?\n\
             py running TIME py:1 claude#3f9a: print('step 1', flush=True)…\n\
             queued: py:2 step 1\n\
             sh idle sh:1 cli: echo built; false\n\
             error in TIME: ExitStatus: exit status 1, TIME ago"
        )
    );
    assert_eq!(tmux.says("#{alternate_on} #{cursor_flag}"), "1 0");
    // Sessions go on, come and go, and the screen follows.
    env.json(["pause", "-n", "py"]);
    tmux.wait("the pause", |screen| screen.contains("py   paused"));
    env.json(["resume", "-n", "py"]);
    gate.open();
    let screen = tmux.wait("the next eval", |screen| {
        screen.contains("py:2 cli: 6 * 7") && screen.contains("complete in")
    });
    assert!(screen.lines().any(|line| line.ends_with("  42")), "{screen}");
    env.json(["eval", "-n", "new", "-l", "python", "1"]);
    env.json(["stop", "-n", "sh"]);
    tmux.wait("one more and one less", |screen| {
        screen.contains("new:1") && !screen.contains("sh:1") && screen.contains("3 sessions")
    });
    env.run(["eval", "-n", "new", "import os; os._exit(3)"]);
    tmux.wait("an end", |screen| screen.contains("new  ended") && screen.contains("code 3"));
    // A small window: no line is wider, what has no room is counted.
    tmux.resize(40, 5);
    let small = tmux.wait("the small screen", |screen| screen.contains("more sessions"));
    assert!(
        small.lines().count() <= 5 && small.lines().all(|line| line.chars().count() < 40),
        "{small}"
    );
    tmux.resize(80, 24);
    tmux.wait("the screen as it was", |screen| screen.contains("new:2"));
    tmux.keys(&["C-c"]);
    let screen = tmux.wait("the end of the watch", |screen| screen.contains("left with"));
    assert!(screen.contains("left with 0"), "{screen}");
    assert_eq!(tmux.says("#{alternate_on} #{cursor_flag}"), "0 1");
    // Keys that were typed meanwhile went nowhere, and `q` leaves too; typing is shown again.
    tmux.type_line("stead watch; echo left with $?");
    tmux.wait("the screen again", |screen| screen.contains("waits for input"));
    tmux.keys(&["q"]);
    tmux.wait("the end of the watch", |screen| screen.contains("left with 0"));
    tmux.keys(&["-l", "echo typed"]);
    tmux.wait("typing to be shown", |screen| screen.contains("$ echo typed"));
    let state = env.json(["status", "-n", "ask"]);
    assert_eq!(state["data"]["state"], "waiting_input", "{state:#}");
}

#[test]
fn e17_a_watch_can_be_put_aside_and_taken_up_again() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let tmux = Tmux::new(&env, "aside");
    let press = |line: &str| {
        tmux.keys(&["-l", line]);
        tmux.keys(&["Enter"]);
    };
    tmux.type_line("stead watch");
    tmux.wait("the screen", |screen| screen.contains("py:1"));
    for round in ["one", "two"] {
        tmux.keys(&["C-z"]);
        tmux.wait("the shell", |screen| screen.contains("Stopped") && screen.ends_with('$'));
        assert_eq!(tmux.says("#{alternate_on} #{cursor_flag}"), "0 1");
        // In the background it stops again, and takes neither the screen nor the keyboard.
        press("bg");
        let watch = stopped(&env);
        // The shell may say in between that the watch has stopped. Where it is typed to before it asks for the next line, its
        // prompt stands before the answer.
        press(&format!("echo goes {round}"));
        let answer = format!("goes {round}");
        tmux.wait("typing to be shown", |screen| {
            screen.contains(&format!("echo goes {round}"))
                && screen.lines().any(|line| line.trim_start_matches("$ ") == answer)
        });
        // The shell has let it go on, and it stops itself as soon as it runs.
        wait_for("the watch to stop", || state_of(watch) == Some('T'));
        assert_eq!(tmux.says("#{alternate_on}"), "0");
        press("fg");
        tmux.wait("the screen again", |screen| screen.contains("py:1") && !screen.contains('$'));
        assert_eq!(tmux.says("#{alternate_on} #{cursor_flag}"), "1 0");
    }
    tmux.keys(&["q"]);
    tmux.wait("the shell", |screen| screen.ends_with('$'));
    tmux.keys(&["-l", "echo typed"]);
    tmux.wait("typing to be shown", |screen| screen.ends_with("$ echo typed"));
}

#[test]
fn e17_a_host_that_is_stopped_by_a_signal_is_silent_on_the_screen_until_it_goes_on() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.json(["eval", "-n", "py", "--bg", "--", &gate.code()]);
    let host = env.host_pid();
    let watch = Piped::run(env.command(["watch"]));
    watch.wait("started");
    let tmux = Tmux::new(&env, "silent");
    tmux.type_line("stead watch");
    tmux.wait("the eval", |screen| screen.contains("py   running"));
    signal(host, Signal::STOP);
    tmux.wait("the silence", |screen| {
        screen.contains("py   silent") && screen.contains("does not answer")
    });
    assert!(watch.wait("silent")["reason"].as_str().unwrap().contains("does not answer"));
    signal(host, Signal::CONT);
    assert_eq!(watch.wait("lives")["session"], "py");
    // What it ran before runs on.
    tmux.wait("the eval again", |screen| screen.contains("py   running"));
    gate.open();
    assert_eq!(watch.wait("finished")["eval_id"], "py:1");
    tmux.wait("the end", |screen| screen.contains("py   idle"));
    let mut watch = watch;
    watch.signal(Signal::INT);
}

#[test]
fn e17_an_end_is_told_once_and_a_hint_with_it() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let mut watch = Piped::run(env.command(["watch"]));
    watch.wait("lives");
    env.run(["eval", "-n", "py", "pip install requests"]);
    let finished = watch.wait("finished");
    let hint = finished["data"]["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("stead shell"), "{finished:#}");
    let follow = Piped::run(env.command(["output", "py", "--follow", "--text"]));
    assert_eq!(follow.lines.next_line().expect("a line"), "[py: lives, generation 1]");
    env.run(["eval", "-n", "py", "git status"]);
    while !follow.lines.next_line().expect("a line").starts_with("[hint: this is a shell command") {
    }
    env.json(["stop", "py"]);
    env.json(["eval", "-n", "next", "-l", "python", "1"]);
    env.json(["stop", "next"]);
    // What two sessions do may be told in any order.
    let (mut ends, mut of_next) = (0, Vec::new());
    while ends == 0 || of_next.last().is_none_or(|kind| kind != "stopped") {
        let line = watch.next();
        match line["session"].as_str() {
            Some("next") => of_next.push(line["type"].clone()),
            _ => ends += usize::from(line["type"] == "stopped"),
        }
    }
    assert_eq!((ends, &of_next[0]), (1, &"lives".into()), "{of_next:?}");
    watch.signal(Signal::INT);
}

#[test]
fn e17_watch_all_shows_the_sessions_of_every_workspace_with_their_place() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let other = env.root().join("elsewhere");
    std::fs::create_dir(&other).unwrap();
    let there = other.display().to_string();
    env.json(["eval", "--workspace", &there, "-n", "far", "-l", "python", "2"]);
    let tmux = Tmux::new(&env, "all");
    tmux.type_line("stead watch --all");
    tmux.wait("both", |screen| {
        screen.contains("py:1") && screen.contains("elsewhere/far") && screen.contains("2 sessions")
    });
    let mut watch = Piped::run(env.command(["watch", "--all"]));
    let (first, second) = (watch.wait("lives"), watch.wait("lives"));
    let places = [&first, &second].map(|line| line["workspace"].as_str());
    assert!(places.contains(&None) && places.iter().flatten().any(|at| at.ends_with("elsewhere")));
    env.json(["eval", "--workspace", &there, "-n", "far", "3"]);
    let accepted = watch.wait("accepted");
    assert_eq!((&accepted["session"], &accepted["code"]), (&"far".into(), &"3".into()));
    watch.signal(Signal::INT);
}

#[test]
fn c9_a_session_that_is_followed_no_longer_costs_no_thread() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let named = |name: &str| {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let name_of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        threads.filter_map(|task| name_of(task).ok()).any(|it| it.trim() == name)
    };
    let client = env.client();
    let workspace = client.workspace.clone();
    let mut following = client.follow(stead_client::Followed::Workspace, false).unwrap();
    let first = following.next(None, None).unwrap();
    assert!(matches!(first, stead_client::FollowWait::Event(_)), "{first:?} {workspace:?}");
    // A thread takes its name when it begins to run, which may be after the first event of the other.
    wait_for("both threads", || named("finder") && named("follow py"));
    drop(following);
    wait_for("the threads to end", || !named("finder") && !named("follow py"));
}

#[test]
fn e17_a_signal_gives_the_screen_back_and_stops_nothing() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.json(["eval", "-n", "py", "--bg", "--", &gate.code()]);
    for deadly in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = Terminal::run(env.command(["watch"]));
        terminal.wait_for("py:1");
        let pid = Pid::from_raw(terminal.pid() as i32).expect("a pid is not zero");
        kill_process(pid, deadly).expect("the command lives");
        let (exit, shown) = terminal.finish();
        assert_eq!(exit, Some(0), "{shown:?}");
        assert!(shown.ends_with("\x1b[?25h\x1b[?1049l"), "{shown:?}");
    }
    assert_eq!(env.status()["state"], "running");
    gate.open();
    wait_for("the eval to end", || env.status()["state"] == "idle");
}

#[test]
fn e17_in_a_pipe_watch_is_a_line_for_each_event() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let mut watch = Piped::run(env.command(["watch"]));
    // The session begins after the watch.
    let code = format!("{}\nprint('last')\n40 + 2", gate.code());
    let mut agent = env.command(["eval", "-n", "py", "--bg", "--", &code]);
    assert!(agent.env("STEAD_BY", "claude").stdout(Stdio::null()).status().unwrap().success());
    let lives = watch.next();
    assert_eq!((&lives["type"], &lives["session"]), (&"lives".into(), &"py".into()), "{lives}");
    let accepted = watch.wait("accepted");
    assert_eq!((&accepted["by"], &accepted["code"]), (&"claude".into(), &code.as_str().into()));
    let started = watch.wait("started");
    assert_eq!(started["eval_id"], "py:1", "{started}");
    env.json(["eval", "-n", "py", "--bg", "input('so? ')"]);
    let queued = watch.wait("queued");
    assert_eq!((&queued["eval_id"], &queued["behind"]), (&"py:2".into(), &"py:1".into()));
    env.json(["pause", "-n", "py"]);
    watch.wait("paused");
    env.json(["resume", "-n", "py"]);
    watch.wait("resumed");
    gate.open();
    let finished = watch.wait("finished");
    assert_eq!(finished["status"], "complete", "{finished:#}");
    assert_eq!(finished["last_line"], "last", "{finished:#}");
    assert_eq!(finished["data"]["value"], "42", "{finished:#}");
    assert_eq!(watch.wait("waiting_input")["prompt"], "so? ");
    env.json(["interrupt", "py:2"]);
    let finished = watch.wait("finished");
    assert_eq!((&finished["ok"], &finished["status"]), (&false.into(), &"interrupted".into()));
    env.run(["eval", "-n", "py", "exit(3)"]);
    let ended = watch.wait("ended");
    assert!(ended["reason"].as_str().unwrap().contains('3'), "{ended}");
    env.json(["eval", "-n", "py", "1"]);
    assert_eq!(watch.wait("lives")["generation"], 2);
    env.json(["stop", "-n", "py"]);
    assert_eq!(watch.wait("stopped")["session"], "py");
    watch.signal(Signal::INT);
    let Ran { stdout, .. } = env.in_shell("stead eval -n py 5; true");
    assert!(stdout.contains("\"5\""), "{stdout}");
}

#[test]
fn c9_a_session_is_followed_over_restarts_and_kills() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    let mut follow = Piped::run(env.command(["output", "-n", "py", "--follow"]));
    assert_eq!(follow.wait("lives")["generation"], 1);
    let eval = |code: &str| drop(env.run(["eval", "-n", "py", "--", code]));
    eval("print('one'); 1/0");
    let out = follow.wait("out");
    assert_eq!((&out["eval_id"], &out["content"]), (&"py:2".into(), &"one\n".into()));
    assert_eq!(follow.wait("error")["eval_id"], "py:2");
    let finished = follow.wait("finished");
    assert_eq!((&finished["by"], &finished["ok"]), (&"cli".into(), &false.into()), "{finished}");
    env.json(["restart", "-n", "py"]);
    eval("print('two')");
    assert_eq!(follow.wait("started")["generation"], 2);
    assert_eq!(follow.wait("out")["content"], "two\n");
    // The host is killed while an eval runs; the next one goes on.
    let gate = Gate::new(&env, "gate");
    let code = format!("print('three', flush=True)\n{}", gate.code());
    env.json(["eval", "-n", "py", "--bg", "--", &code]);
    assert_eq!(follow.wait("out")["content"], "three\n");
    let host = Pid::from_raw(env.host_pid() as i32).expect("a pid is not zero");
    kill_process(host, Signal::KILL).expect("the host lives");
    let finished = follow.wait("finished");
    assert_eq!(finished["data"]["outcome"], "host_died", "{finished:#}");
    follow.wait("ended");
    // The first eval after a loss is refused and told of it.
    eval("print('lost')");
    eval("print('four')");
    assert_eq!(follow.wait("lives")["generation"], 3);
    assert_eq!(follow.wait("out")["content"], "four\n");
    follow.signal(Signal::TERM);
    assert_eq!(env.value("7"), "7");
}

#[test]
fn c9_a_person_follows_a_session_and_leaves() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    env.value("1");
    let tmux = Tmux::new(&env, "follow");
    tmux.type_line("stead output py --follow; echo left with $?");
    tmux.wait("the session", |screen| screen.contains("[py: lives, generation 1]"));
    let code = format!(
        "print('begin')\nfor n in (1, 2):\n  print(f'\\r{{n}} of 2', end='', flush=True)\n  {}\nprint()",
        gate.code()
    );
    env.json(["eval", "-n", "py", "--bg", "--", &code]);
    tmux.wait("the first state", |screen| screen.contains("1 of 2"));
    gate.open();
    let screen = tmux.wait("the second state", |screen| screen.contains("2 of 2"));
    assert_eq!(screen, "[py: lives, generation 1]\n[py:2 cli: print('begin')…]\nbegin\n2 of 2");
    gate.open();
    tmux.wait("the end of the first", |screen| screen.contains("py:2 complete"));
    env.value("40 + 2");
    let screen = tmux.wait("the next eval", |screen| screen.contains("py:3 complete"));
    let last: Vec<&str> = screen.lines().skip(3).collect();
    assert_eq!(last[0], "2 of 2");
    assert!(last[1].starts_with("[py:2 complete in "), "{screen}");
    assert_eq!(last[2..4], ["[py:3 cli: 40 + 2]", "42"]);
    tmux.keys(&["C-c"]);
    tmux.wait("the end", |screen| screen.contains("left with 0"));
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn c9_a_wait_says_what_it_waits_for() {
    let env = TestEnv::new(STEAD);
    let gate = Gate::new(&env, "gate");
    let code = format!("print('up')\n{}", gate.code());
    env.json(["eval", "-n", "py", "--bg", "--", &code]);
    // A pause before it has begun would find it queued.
    assert_eq!(env.json(["wait", "py:1", "--match", "up"])["ok"], true);
    let mut terminal = Terminal::run(env.command(["eval", "-n", "py", "6 * 7"]));
    terminal.wait_for("queued behind py:1");
    wait_for("the first to run", || env.status()["state"] == "running");
    env.json(["pause", "-n", "py"]);
    terminal.wait_for("the session is paused");
    // Time that passes in a paused session is not taken for running.
    let late = env.json(["output", "py:1", "--wait", "10ms"]);
    assert_eq!(
        (&late["status"], &late["data"]["paused"]),
        (&"partial".into(), &true.into()),
        "{late:#}"
    );
    let Ran { stderr, .. } = env.run(["output", "py:1", "--text"]);
    assert!(stderr.contains("session `py` is paused"), "{stderr}");
    env.json(["resume", "-n", "py"]);
    gate.open();
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.ends_with("42\r\n"), "{shown:?}");
}
