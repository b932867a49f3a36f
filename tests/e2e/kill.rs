//! H-1: whatever is killed, and when: code runs at most once, every eval has one outcome, nothing
//! is left over, and the record is whole.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stead_testkit::{Hook, TestEnv, is_alive, pause, state_of, wait_for, wait_for_some};

use crate::STEAD;
use crate::processes::{
    DAEMONS, all_gone, children, history, kill, one_outcome_each, reply, runs, signal, sockets,
    stopped, works_again,
};

const ROUNDS: usize = 3;

/// An environment whose session `py` has a past: `py:1`.
fn with_past() -> TestEnv {
    let env = TestEnv::new(STEAD);
    assert_eq!(env.value("'the past'"), "'the past'");
    env.json(["stop", "-n", "py"]);
    env
}

/// Starts `py:2`, which leaves a mark and starts daemons, in a host that pauses at `point`.
fn eval_pausing_at(env: &TestEnv, point: &str) -> Child {
    let code = format!("open('ran', 'a').write('x\\n')\n{DAEMONS}");
    let mut command = env.command(["eval", "-n", "py", "--", &code]);
    Hook::PauseAt.set(&mut command, point);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary runs")
}

/// Kills the client of `py:2` while its host stands still at `point`; then the host goes on.
fn kill_client_at(env: &TestEnv, point: &str) {
    let mut client = eval_pausing_at(env, point);
    let host = stopped(env);
    client.kill().unwrap();
    client.wait().unwrap();
    signal(host, Signal::CONT);
}

fn wait_for_daemons(env: &TestEnv) {
    wait_for("the daemons", || env.workspace().join("up").exists());
}

fn past_is_readable(env: &TestEnv) {
    let past = env.json(["output", "py:1"]);
    assert_eq!(past["data"]["value"], "'the past'", "{past:#}");
}

/// Kills the host at `point`; `ran` says whether the code had been sent by then. Returns what the
/// client was told.
fn host_killed_at(point: &str, ran: bool) -> (TestEnv, Value) {
    let env = with_past();
    let client = eval_pausing_at(&env, point);
    let host = stopped(&env);
    if ran {
        wait_for_daemons(&env);
    }
    kill(host);
    let told = reply(client);
    all_gone(&env);
    (env, told)
}

fn recovers(env: &TestEnv, ran: bool) {
    past_is_readable(env);
    works_again(env);
    past_is_readable(env);
    assert_eq!(runs(env), usize::from(ran));
    one_outcome_each(env);
    assert_eq!(sockets(env), 1);
}

#[test]
fn h1_a_host_killed_before_it_took_code_leaves_nothing() {
    for point in ["locked", "bound", "ready"] {
        for _ in 0..ROUNDS {
            let (env, told) = host_killed_at(point, false);
            assert_eq!(told["error"]["code"], "launch_failed", "{point}: {told:#}");
            assert_eq!(sockets(&env), 0, "{point}");
            recovers(&env, false);
        }
    }
}

#[test]
fn h1_a_host_killed_before_it_ran_code_does_not_run_it_later() {
    for _ in 0..ROUNDS {
        let env = with_past();
        // Its init code, `py:2`, waits for as long as there is no writer, so what follows cannot have been sent.
        let init =
            "import os\nif not os.path.exists('gate'):\n os.mkfifo('gate')\n open('gate').read()";
        let mut launch = env.command(["launch", "python", "-n", "py", "--init", init]);
        Hook::PauseAt.set(&mut launch, "accepted");
        launch.stdout(Stdio::piped()).stderr(Stdio::piped());
        let launch = launch.spawn().expect("the binary runs");
        wait_for("the init code", || env.workspace().join("gate").exists());
        let client = env.spawn(["eval", "-n", "py", "--", "open('ran', 'a').write('x\\n')"]);
        kill(stopped(&env));
        let told = reply(client);
        assert_eq!(reply(launch)["ok"], false);
        all_gone(&env);
        assert_eq!(told["data"]["eval_id"], "py:3", "{told:#}");
        let not_run = |told: &Value| {
            assert_eq!(told["status"], "ended", "{told:#}");
            assert_eq!(told["data"]["outcome"], "host_died", "{told:#}");
            assert_eq!(told["data"]["notice"], "it did not run", "{told:#}");
            assert!(!told.to_string().contains("may have run"), "{told:#}");
        };
        not_run(&told);
        not_run(&env.json(["output", "py:3"]));
        died(&env);
        recovers(&env, false);
        not_run(&env.json(["output", "py:3"]));
        died(&env);
    }
}

#[test]
fn h1_a_host_killed_while_code_runs_is_told() {
    for (point, ran) in [("started", false), ("sent", true), ("done", true)] {
        for _ in 0..ROUNDS {
            let (env, told) = host_killed_at(point, ran);
            assert_eq!(told["status"], "ended", "{point}: {told:#}");
            assert_eq!(told["data"]["outcome"], "host_died", "{point}: {told:#}");
            assert_eq!(sockets(&env), 0, "{point}");
            died(&env);
            recovers(&env, ran);
            died(&env);
        }
    }
}

/// A session that waits for code records it as taken in and started at once.
#[test]
fn h1_a_host_that_was_idle_and_is_killed_with_its_next_code_is_told() {
    for (point, ran) in [("accepted", false), ("started", false), ("sent", true), ("done", true)] {
        let env = with_past();
        let mut launch = env.command(["launch", "python", "-n", "py"]);
        Hook::PauseAt.set(&mut launch, point);
        assert!(launch.output().expect("the binary runs").status.success(), "{point}");
        let code = format!("open('ran', 'a').write('x\\n')\n{DAEMONS}");
        let client = env.spawn(["eval", "-n", "py", "--", &code]);
        let host = stopped(&env);
        if ran {
            wait_for_daemons(&env);
        }
        kill(host);
        let told = reply(client);
        assert_eq!(told["data"]["outcome"], "host_died", "{point}: {told:#}");
        // The record of its start does not tell whether the code was sent.
        assert!(told.to_string().contains("its code may have run"), "{point}: {told:#}");
        all_gone(&env);
        died(&env);
        recovers(&env, ran);
        died(&env);
    }
}

/// `py:2` is known to have ended with its host, before and after the next host wrote that down.
fn died(env: &TestEnv) {
    let evals = env.json(["evals", "-n", "py"]);
    let second = &evals["data"]["evals"][1];
    assert_eq!(second["eval_id"], "py:2", "{evals:#}");
    assert_eq!(second["status"], "ended", "{evals:#}");
    let output = env.json(["output", "py:2"]);
    assert_eq!(output["data"]["outcome"], "host_died", "{output:#}");
    let waited = env.json(["output", "py:2", "--wait", "30s"]);
    assert_eq!(waited["data"]["outcome"], "host_died", "{waited:#}");
}

#[test]
fn h1_an_outcome_that_was_recorded_stays_when_the_host_is_killed() {
    for _ in 0..ROUNDS {
        let (env, told) = host_killed_at("finished", true);
        assert_eq!(told["status"], "complete", "{told:#}");
        let lost = env.eval("1");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        recovers(&env, true);
        assert_eq!(env.json(["output", "py:2"])["status"], "complete");
    }
}

#[test]
fn h1_a_host_killed_while_it_interrupts_restarts_or_ends_leaves_nothing() {
    let cases = [
        ("interrupting", "interrupt"),
        ("restarting", "restart"),
        ("stopping", "stop"),
        ("ended", "stop"),
    ];
    for (point, verb) in cases {
        for _ in 0..ROUNDS {
            let env = with_past();
            let code = format!("open('ran', 'a').write('x\\n')\n{DAEMONS}");
            let code = match verb {
                "interrupt" => format!("{code}\nwhile True: pass"),
                _ => code,
            };
            let mut command = env.command(["eval", "-n", "py", "--timeout", "0", "--", &code]);
            Hook::PauseAt.set(&mut command, point);
            command.output().expect("the binary runs");
            wait_for_daemons(&env);
            if verb != "interrupt" {
                let waited = env.json(["output", "py:2", "--wait", "60s"]);
                assert_eq!(waited["status"], "complete", "{waited:#}");
            }
            let client = env.spawn([verb, "-n", "py"]);
            kill(stopped(&env));
            reply(client);
            all_gone(&env);
            assert_eq!(sockets(&env), 0, "{point}");
            past_is_readable(&env);
            works_again(&env);
            assert_eq!(runs(&env), 1);
            one_outcome_each(&env);
        }
    }
}

#[test]
fn h1_a_host_that_panics_dies_whole() {
    let env = with_past();
    let code = format!("open('ran', 'a').write('x\\n')\n{DAEMONS}");
    let mut command = env.command(["eval", "-n", "py", "--", &code]);
    Hook::PanicAt.set(&mut command, "done");
    command.stdout(Stdio::piped());
    let told = reply(command.spawn().unwrap());
    assert_eq!(told["data"]["outcome"], "host_died", "{told:#}");
    all_gone(&env);
    let log = env.run(["logs", "-n", "py"]);
    assert!(log.stdout.contains("panicked"), "{log:?}");
    recovers(&env, true);
}

#[test]
fn h1_a_killed_interpreter_ends_the_eval_and_is_told() {
    for point in ["ready", "accepted", "started", "sent", "done", "finished"] {
        for _ in 0..ROUNDS {
            let env = with_past();
            let mut client = eval_pausing_at(&env, point);
            let host = stopped(&env);
            if matches!(point, "sent" | "done" | "finished") {
                wait_for_daemons(&env);
            }
            let interpreter = children(host)[0];
            kill(interpreter);
            wait_for("the interpreter's death", || !is_alive(interpreter));
            signal(host, Signal::CONT);
            // A host that was gone before the code came is followed by another, which stops at that point, too.
            let is_stopped = |pid: &u32| state_of(*pid) == Some('T');
            wait_for("the reply", || {
                let again = env.processes().into_iter().find(is_stopped);
                again.into_iter().for_each(|host| signal(host, Signal::CONT));
                client.try_wait().unwrap().is_some()
            });
            let told = reply(client);
            let status = told["status"].as_str().unwrap();
            let code = told["error"]["code"].as_str().unwrap_or_default();
            match point {
                // The second host has run it, and lives.
                "ready" if status == "complete" => drop(env.run(["stop", "-n", "py"])),
                // Whether its bridge was ready by then is open.
                "ready" | "accepted" => {
                    assert!(code == "launch_failed" || status == "ended", "{point}: {told:#}");
                }
                // It may have said that it was done before it was killed.
                "sent" if status == "complete" => {}
                "started" | "sent" => {
                    assert_eq!(status, "ended", "{point}: {told:#}");
                    let message = told["error"]["message"].as_str().unwrap();
                    assert!(message.contains("SIGKILL"), "{point}: {told:#}");
                }
                _ => assert_eq!(status, "complete", "{point}: {told:#}"),
            }
            all_gone(&env);
            past_is_readable(&env);
            works_again(&env);
            assert!(runs(&env) <= 1);
            one_outcome_each(&env);
        }
    }
}

#[test]
fn s4_a_killed_client_does_nothing_to_its_eval() {
    for point in ["accepted", "started", "sent", "done", "finished"] {
        for _ in 0..ROUNDS {
            let env = with_past();
            kill_client_at(&env, point);
            let output = env.json(["output", "py:2", "--wait", "60s"]);
            assert_eq!(output["status"], "complete", "{point}: {output:#}");
            assert_eq!(env.value("6 * 7"), "42");
            assert_eq!(runs(&env), 1);
            one_outcome_each(&env);
        }
    }
}

#[test]
fn s4_a_client_killed_while_it_starts_a_host_leaves_a_host_or_none() {
    for point in ["locked", "bound", "ready"] {
        let env = with_past();
        kill_client_at(&env, point);
        assert_eq!(env.value("6 * 7"), "42");
        assert_eq!(runs(&env), 0);
        one_outcome_each(&env);
    }
}

#[test]
fn s4_output_goes_on_after_a_streaming_client_was_killed() {
    let env = TestEnv::new(STEAD);
    env.eval("import os");
    for (round, stream) in [true, false, true].into_iter().enumerate() {
        let code = format!(
            "print('begin', flush=True)\nopen('begun{round}', 'w').close()\n\
             while not os.path.exists('go{round}'): pass\nprint('end')\n{round}"
        );
        let mut arguments = vec!["eval", "-n", "py"];
        arguments.extend(stream.then_some("--stream"));
        arguments.extend(["--", &code]);
        let mut client = env.spawn(arguments);
        wait_for("the eval to begin", || env.workspace().join(format!("begun{round}")).exists());
        client.kill().unwrap();
        client.wait().unwrap();
        fs::write(env.workspace().join(format!("go{round}")), "").unwrap();
        let id = format!("py:{}", round + 2);
        let output = env.json(["output", &id, "--wait", "60s"]);
        assert_eq!(output["status"], "complete", "{output:#}");
        assert_eq!(output["data"]["value"], round.to_string(), "{output:#}");
        assert_eq!(output["data"]["chunks"][0]["content"], "begin\nend\n", "{output:#}");
    }
    one_outcome_each(&env);
}

#[test]
fn s6_the_eval_that_ends_the_interpreter_says_how() {
    let env = TestEnv::new(STEAD);
    let cases = [
        ("os._exit(3)", "exited with code 3"),
        ("os.abort()", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
    ];
    for (generation, (code, how)) in cases.into_iter().enumerate() {
        let code = format!("import os\nprint('last words', flush=True)\n{code}");
        let reply = env.eval(&code);
        assert_eq!(reply["status"], "ended", "{reply:#}");
        assert_eq!(reply["ok"], false, "{reply:#}");
        assert_eq!(reply["data"]["generation"], generation + 1, "{reply:#}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(how), "{reply:#}");
        assert_eq!(reply["data"]["chunks"][0]["content"], "last words\n", "{reply:#}");
        all_gone(&env);
        let status = env.status();
        assert_eq!(status["state"], "ended", "{status:#}");
    }
    // The last end was told with the eval, so this one runs and says that it begins anew.
    let fresh = env.eval("6 * 7");
    assert_eq!(fresh["data"]["value"], "42", "{fresh:#}");
    assert_eq!(fresh["data"]["generation"], 5, "{fresh:#}");
    assert!(fresh["data"]["notice"].as_str().unwrap().contains("SIGKILL"), "{fresh:#}");
    one_outcome_each(&env);
}

#[test]
fn s6_state_lost_while_idle_is_told_before_anything_runs() {
    let env = TestEnv::new(STEAD);
    // A copy for undo would take the place of the interpreter.
    env.json(["launch", "py", "--no-undo"]);
    for generation in 1..=ROUNDS {
        env.value("x = 1");
        kill(env.interpreter_pid());
        all_gone(&env);
        let lost = env.eval("open('ran', 'a').write('x\\n')");
        assert_eq!(lost["ok"], false, "{lost:#}");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        assert!(lost["error"]["message"].as_str().unwrap().contains("SIGKILL"), "{lost:#}");
        assert_eq!(runs(&env), generation - 1);
        let fresh = env.eval("open('ran', 'a').write('x\\n'); 'x' in globals()");
        assert_eq!(fresh["data"]["value"], "False", "{fresh:#}");
        assert_eq!(fresh["data"]["generation"], generation + 1, "{fresh:#}");
    }
    assert_eq!(runs(&env), ROUNDS);
    one_outcome_each(&env);
}

#[test]
fn s6_state_lost_with_an_unwatched_eval_is_told() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-n", "py", "--bg", "--", "import os; os._exit(3)"]);
    all_gone(&env);
    let lost = env.eval("1");
    assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
    assert!(lost["error"]["message"].as_str().unwrap().contains("code 3"), "{lost:#}");
    assert_eq!(env.value("6 * 7"), "42");
}

#[test]
fn s6_a_host_killed_while_idle_is_told_before_anything_runs() {
    let env = TestEnv::new(STEAD);
    for generation in 1..=ROUNDS {
        env.value(&format!("x = 1\n{DAEMONS}"));
        kill(env.host_pid());
        all_gone(&env);
        assert_eq!(sockets(&env), 0);
        assert_eq!(env.status()["state"], "ended");
        let lost = env.eval("open('ran', 'a')");
        assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
        assert!(!env.workspace().join("ran").exists());
        let fresh = env.eval("'x' in globals()");
        assert_eq!(fresh["data"]["value"], "False", "{fresh:#}");
        assert_eq!(fresh["data"]["generation"], generation + 1, "{fresh:#}");
    }
    one_outcome_each(&env);
}

#[test]
fn h1_what_a_host_without_guard_leaves_is_swept_by_the_next() {
    let env = TestEnv::new(STEAD);
    env.value(DAEMONS);
    let host = env.host_pid();
    let guard = wait_for_some("the guard", || {
        env.processes().into_iter().find(|pid| children(*pid) == [host])
    });
    kill(guard);
    wait_for("the guard's death", || !is_alive(guard));
    assert_eq!(env.value("6 * 7"), "42");
    kill(host);
    wait_for("the host's death", || !is_alive(host));
    let lost = env.eval("1");
    assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
    assert_eq!(env.value("6 * 7"), "42");
    env.json(["stop", "-n", "py"]);
    all_gone(&env);
}

#[test]
fn h1_nothing_claims_to_run_after_the_machine_restarted() {
    let env = TestEnv::new(STEAD);
    env.value("'the past'");
    env.json(["eval", "-n", "py", "--bg", "--", "while True: pass"]);
    env.json(["eval", "-n", "other", "-l", "python", "--", "1"]);
    // All at once, as far as can be: first none may go on, then none may clean up.
    let all = env.processes();
    for step in [Signal::STOP, Signal::KILL] {
        all.iter().for_each(|pid| signal(*pid, step));
    }
    all_gone(&env);
    fs::remove_dir_all(env.runtime_dir()).unwrap();
    let sessions = env.json(["ls"]);
    let sessions = sessions["data"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        assert_eq!(session["state"], "ended", "{session:#}");
        assert!(session.get("pid").is_none(), "{session:#}");
        assert!(session.get("running").is_none(), "{session:#}");
    }
    let evals = env.json(["evals", "-n", "py"]);
    let statuses: Vec<&str> = evals["data"]["evals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|eval| eval["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["complete", "ended"]);
    past_is_readable(&env);
    assert!(!history(&env).is_empty());
    let lost = env.eval("1");
    assert_eq!(lost["error"]["code"], "session_lost", "{lost:#}");
    works_again(&env);
    one_outcome_each(&env);
}

#[test]
fn h1_user_code_has_the_signals_and_the_mask_of_a_fresh_process() {
    let env = TestEnv::new(STEAD);
    // As from `nohup` or a script's `&`, which leave signals ignored.
    let script = "umask 027; trap '' HUP INT TERM USR1";
    assert!(env.after(script, &["eval", "-n", "py", "1"]).output().unwrap().status.success());
    let status = env.value("print(open('/proc/self/status').read())");
    let output = env.json(["output", "py:2"]);
    assert_eq!(status, "");
    let status = output["data"]["chunks"][0]["content"].as_str().unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_owned()
    };
    let mask = |name: &str| u64::from_str_radix(&field(name), 16).unwrap();
    assert_eq!(mask("SigBlk:"), 0, "{status}");
    // Python itself ignores SIGPIPE and SIGXFSZ; beyond 31 they are the C library's affair.
    assert_eq!(mask("SigIgn:") & 0x7fff_ffff, 1 << 12 | 1 << 24, "{status}");
    assert_eq!(field("Umask:"), "0027");
    let client = env.spawn(["eval", "-n", "py", "--", "open('up', 'w').close()\nwhile True: pass"]);
    wait_for_daemons(&env);
    env.json(["interrupt", "-n", "py"]);
    assert_eq!(reply(client)["status"], "interrupted");
}

/// Kills a random process of the environment every 20 to 100 ms, clients included.
fn kill_at_random(env: &TestEnv, seed: u64, until: Instant) -> usize {
    let (mut state, mut kills) = (seed, 0);
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    while Instant::now() < until {
        let processes = env.processes();
        if !processes.is_empty() {
            let victim = processes[random(processes.len() as u64) as usize];
            // It may be gone by now.
            let pid = Pid::from_raw(victim as i32).expect("a pid is not zero");
            kills += usize::from(kill_process(pid, Signal::KILL).is_ok());
        }
        pause(Duration::from_millis(20 + random(80)));
    }
    kills
}

/// Longer with `STEAD_KILLER_SECONDS`.
#[test]
fn h1_random_kills_lose_and_repeat_nothing() {
    let env = TestEnv::new(STEAD);
    let asked = std::env::var("STEAD_KILLER_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(asked.unwrap_or(8));
    let names = ["py", "python", "a", "b"];
    let (kills, told) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_at_random(&env, 7, until));
        let worker = |name: &'static str| {
            let env = &env;
            move || {
                let mut told = Vec::new();
                for round in 0.. {
                    if Instant::now() >= until {
                        break;
                    }
                    let id = format!("{name}-{round}");
                    let code = format!("open('ran', 'a').write('{id}\\n'); '{id}'");
                    let arguments = ["eval", "-n", name, "-l", "python", "--", &code];
                    let ran = env.run(arguments);
                    // A killed client says nothing.
                    if ran.code.is_some() {
                        told.push((id, ran.json()));
                    }
                }
                told
            }
        };
        let workers: Vec<_> = names.into_iter().map(|name| scope.spawn(worker(name))).collect();
        let told: Vec<_> = workers.into_iter().flat_map(|one| one.join().unwrap()).collect();
        (killer.join().unwrap(), told)
    });
    let ran = fs::read_to_string(env.workspace().join("ran")).unwrap();
    let count = |id: &str| ran.lines().filter(|line| *line == id).count();
    let mut complete = 0;
    for (id, reply) in &told {
        let code = reply["error"]["code"].as_str().unwrap_or_default();
        let runs = count(id);
        assert!(runs <= 1, "`{id}` ran {runs} times");
        match (reply["status"].as_str().unwrap(), code) {
            ("complete", _) => assert_eq!((runs, complete += 1), (1, ()), "{reply:#}"),
            ("error", "session_lost" | "launch_failed") => assert_eq!(runs, 0, "{reply:#}"),
            ("error", "connection_failed") | ("ended", _) => {}
            _ => panic!("{reply:#}"),
        }
    }
    let mut ids: Vec<&str> = ran.lines().collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ran.lines().count(), "something ran twice");
    eprintln!("{kills} kills, {} replies, {complete} of them complete", told.len());
    works_again(&env);
    one_outcome_each(&env);
    for name in names {
        env.run(["eval", "-n", name, "-l", "python", "--", "1"]);
        env.run(["stop", "-n", name]);
    }
    all_gone(&env);
}
