//! K-1, K-4: kernels that lose messages, are shared, stand behind launchers or flood their readers.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stead_testkit::{TestEnv, kernel_python, wait_for};

use crate::jupyter::{Elsewhere, env, eval};

fn start_bg(env: &TestEnv, session: &str, code: &str) -> String {
    let started = env.json(["eval", "-n", session, "--bg", "--", code]);
    started["data"]["eval_id"].as_str().unwrap_or_else(|| panic!("{started:#}")).to_owned()
}

fn end(env: &TestEnv, id: &str) -> Value {
    env.json(["wait", id, "--timeout", "60s"]);
    env.json(["output", id])
}

#[test]
fn e6_an_interrupt_in_a_shared_kernel_spares_what_somebody_else_runs() {
    let env = env();
    let kernel = Elsewhere::ipykernel(&env);
    for name in ["a", "b"] {
        let file = kernel.path();
        let started = env.json(["start", "jupyter", "--connection-file", file, "-n", name]);
        assert_eq!(started["ok"], true, "{started:#}");
        // The first code has run, so nothing of the start is under way any more.
        env.json(["eval", "-n", name, "--timeout", "60s", "1"]);
    }
    let go = env.workspace().join("go");
    let code = "import os, time\nprint('up', flush=True)\nwhile not os.path.exists(GO): time.sleep(.01)\nprint('through')";
    let theirs = start_bg(&env, "a", &code.replace("GO", &format!("{go:?}")));
    wait_for("it runs", || env.run(["output", &theirs]).stdout.contains("up"));
    let ours = start_bg(&env, "b", "while True: pass");
    let asked = env.json(["interrupt", &ours]);
    assert_eq!(asked["data"]["effect"], "still_running", "{asked:#}");
    // The question of a third session waits there, too, and is given up.
    env.json(["vars", "-n", "b"]);
    std::fs::write(&go, "").unwrap();
    let theirs = end(&env, &theirs);
    assert_eq!(theirs["status"], "complete", "{theirs:#}");
    assert!(theirs.to_string().contains("through"), "{theirs:#}");
    assert_eq!(end(&env, &ours)["status"], "interrupted");
}

#[test]
fn o1_messages_that_never_come_end_no_session() {
    let env = env();
    let said = eval(&env, "toy", "lose idle");
    assert_eq!(said["status"], "complete", "{said:#}");
    assert!(said.to_string().contains("output may be missing"), "{said:#}");
    let said = eval(&env, "toy", "lose reply");
    assert_eq!(said["data"]["error"]["name"], "NoReply", "{said:#}");
    assert_eq!(eval(&env, "toy", "echo on")["data"]["value"], "on");
}

#[test]
fn o1_output_that_a_kernel_threw_away_is_counted_and_told() {
    let env = env();
    eval(&env, "ipython", "1");
    let status = env.json(["status", "-n", "ipython"])["data"].take();
    let adapter = Pid::from_raw(status["pid"].as_u64().unwrap() as i32).unwrap();
    let [up, over] = ["up", "over"].map(|name| env.workspace().join(name));
    let code = format!(
        "import time, os\nopen({up:?}, 'w').close()\nwhile os.path.exists({up:?}): time.sleep(.01)\n\
         for _ in range(4000): print('x' * 8000, flush=True)\nopen({over:?}, 'w').close()"
    );
    let id = start_bg(&env, "ipython", &code);
    wait_for("it runs", || up.exists());
    // Nobody reads what the kernel publishes, which keeps a thousand messages.
    kill_process(adapter, Signal::STOP).unwrap();
    std::fs::remove_file(&up).unwrap();
    wait_for("it is through", || over.exists());
    kill_process(adapter, Signal::CONT).unwrap();
    let ended = end(&env, &id);
    assert_eq!(ended["status"], "complete", "{}", ended["status"]);
    let notice = ended["data"]["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("output is missing") && notice.contains("messages away"), "{notice}");
    assert_eq!(eval(&env, "ipython", "6 * 7")["data"]["value"], "42");
}

#[test]
fn e6_a_kernel_behind_a_launcher_is_interrupted_and_the_launcher_lives() {
    interrupted_behind_a_launcher("print('up', flush=True)\nwhile True: pass");
}

/// The kernel is interrupted before its command is: the other way round the next command would begin.
#[test]
fn e6_a_loop_of_commands_behind_a_launcher_is_interrupted() {
    interrupted_behind_a_launcher("import os\nwhile True: os.system('echo up; exec sleep 1000')");
}

fn interrupted_behind_a_launcher(code: &str) {
    let env = env();
    let python = kernel_python();
    let script = format!("{} -m ipykernel_launcher -f \"$1\"; exit $?", python.display());
    env.install_kernel(
        "launched",
        &json!({"argv": ["/bin/sh", "-c", script, "sh", "{connection_file}"]}),
    );
    eval(&env, "launched", "x = 41");
    let id = start_bg(&env, "launched", code);
    wait_for("it runs", || env.run(["output", &id]).stdout.contains("up"));
    env.json(["interrupt", &id]);
    let ended = end(&env, &id);
    assert_eq!(ended["status"], "interrupted", "{code}");
    assert!(!ended.to_string().contains("_stead_names"), "{ended:#}");
    assert_eq!(eval(&env, "launched", "x")["data"]["value"], "41");
}

#[test]
fn o1_what_children_wrote_before_the_end_is_the_evals() {
    let env = env();
    let code = "import os\nos.system('echo one; echo two >&2'); os.write(1, b'three\\n')";
    for code in [code.to_owned(), format!("{code}\n1/0")] {
        for _ in 0..10 {
            let said = eval(&env, "ipython", &code);
            let chunks = said["data"]["chunks"].to_string();
            for word in ["one", "two", "three"] {
                assert!(chunks.contains(word), "{word}: {said:#}");
            }
        }
    }
}

#[test]
fn h2_a_host_that_stands_still_costs_the_adapter_no_memory() {
    let env = env();
    eval(&env, "toy", "echo 1");
    let status = env.json(["status", "-n", "toy"])["data"].take();
    let pid = |key: &str| status[key].as_u64().unwrap_or_else(|| panic!("{status:#}")) as i32;
    let (host, adapter) = (Pid::from_raw(pid("host_pid")).unwrap(), pid("pid"));
    let children = std::fs::read_to_string(format!("/proc/{adapter}/task/{adapter}/children"));
    let kernel = children.unwrap().trim().to_owned();
    let id = start_bg(&env, "toy", "own_flood 4096");
    wait_for("it writes", || env.run(["output", &id, "--tail", "1"]).stdout.contains("xx"));
    kill_process(host, Signal::STOP).unwrap();
    // The kernel stands in a write that nobody reads.
    let is_stuck = || {
        let call = std::fs::read_to_string(format!("/proc/{kernel}/syscall")).unwrap_or_default();
        call.starts_with("1 0x1 ")
    };
    wait_for("the kernel waits", || (0..50).all(|_| is_stuck()));
    let status = std::fs::read_to_string(format!("/proc/{adapter}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    kill_process(host, Signal::CONT).unwrap();
    assert!(kilobytes < 128 << 10, "{resident}");
    assert_eq!(end(&env, &id)["status"], "complete");
    assert_eq!(env.run(["output", &id, "--raw"]).stdout.len(), 4096 * 65536);
}

#[test]
fn cf3_kernels_are_listed_and_an_environment_has_one_of_its_own() {
    let env = env();
    env.install_kernel("gone", &json!({"argv": ["/no/such/program", "{connection_file}"]}));
    let listed = |env: &TestEnv| env.json(["toolchains"])["data"]["toolchains"].take();
    let find = |listed: &Value, name: &str| {
        let all = listed.as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {listed:#}")).clone()
    };
    let before = listed(&env);
    assert_eq!(find(&before, "toy")["starts"], true, "{before:#}");
    assert_eq!(find(&before, "toy")["engine"], "jupyter");
    let gone = find(&before, "gone");
    assert!(
        gone["starts"] == false && gone["why"].as_str().unwrap().contains("/no/such"),
        "{gone:#}"
    );
    assert_eq!(find(&before, "python.venv.jupyter")["starts"], false);
    // An environment without ipykernel says how to get it.
    let venv = env.workspace().join(".venv");
    let bin = kernel_python().parent().unwrap().to_owned();
    std::fs::create_dir_all(venv.join("bin")).unwrap();
    std::os::unix::fs::symlink(bin.join("python"), venv.join("bin/python")).unwrap();
    let without = find(&listed(&env), "python.venv.jupyter");
    assert!(without["why"].as_str().unwrap().contains("has no ipykernel"), "{without:#}");
    assert!(without["hint"].as_str().unwrap().contains("pip install ipykernel"), "{without:#}");
    // With it, that very Python runs the code.
    std::fs::remove_dir_all(&venv).unwrap();
    std::os::unix::fs::symlink(bin.parent().unwrap(), &venv).unwrap();
    assert_eq!(find(&listed(&env), "python.venv.jupyter")["starts"], true);
    let said = env.json(["eval", "-l", "python.venv.jupyter", "-n", "nb", "--timeout", "60s", "--",
        "import os, sys; (sys.executable, os.environ['VIRTUAL_ENV'], type(get_ipython()).__module__)"]);
    let expected = format!("('{0}/bin/python',\n '{0}',\n 'ipykernel.zmqshell')", venv.display());
    assert_eq!(said["data"]["value"], expected, "{said:#}");
    let named = env.json(["launch", "python.venv.jupyter", "--kernel", "toy", "-n", "x"]);
    assert_eq!(named["ok"], false, "{named:#}");
}
