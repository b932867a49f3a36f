//! code, commands and values of variables are nowhere to be read where they do not belong.

use std::fs;
use std::path::Path;

use stead_testkit::{TestEnv, wait_for};

use crate::STEAD;
use crate::gate::Gate;

const SECRET: &str = "open-sesame";

/// Command lines of all processes of the environment.
fn command_lines(env: &TestEnv) -> Vec<String> {
    let read = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let lines = env.processes().into_iter().map(read);
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

#[test]
fn x5_neither_code_nor_commands_are_in_command_lines() {
    let env = TestEnv::new(STEAD);
    let python = format!("'{SECRET}'; open('gate').read()");
    let bash = format!(": {SECRET}; cat gate");
    let shells = ["shell", "run"];
    let commands: Vec<Vec<&str>> = vec![
        vec!["eval", "-n", "py", "--timeout", "60s", "--", &python],
        vec!["eval", "-n", "bash", "--timeout", "60s", "--", &bash],
        vec![shells[0], "--timeout", "60s", &bash],
        vec!["--workspace", ".", shells[0], "--timeout", "60s", &bash],
    ];
    for command in commands {
        let gate = Gate::new(&env, "gate");
        let client = env.spawn(&command);
        wait_for("the code to run", || {
            let listed = env.json(["ls"]);
            let sessions = listed["data"]["sessions"].as_array().cloned().unwrap_or_default();
            sessions.iter().any(|session| session["state"] == "running")
        });
        let lines = command_lines(&env);
        assert!(lines.iter().any(|line| line.contains("session-guard")), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains(SECRET)), "{command:?}: {lines:#?}");
        gate.open();
        assert!(client.wait_with_output().unwrap().status.success(), "{command:?}");
        fs::remove_file(env.workspace().join("gate")).unwrap();
    }
}

fn holds(dir: &Path, secret: &str) -> Vec<std::path::PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holds(&path, secret));
        } else if let Ok(text) = fs::read(&path)
            && text.windows(secret.len()).any(|window| window == secret.as_bytes())
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn x5_values_of_variables_are_not_kept_after_stop() {
    let env = TestEnv::new(STEAD);
    let variable = format!("KEY={SECRET}");
    let launch = ["launch", "python", "-n", "py", "--env", &variable];
    // Stopped alive, and stopped when host and guard had been killed.
    for killed in [false, true] {
        assert_eq!(env.json(launch)["ok"], true);
        crate::processes::works_again(&env);
        assert_eq!(env.value("import os; len(os.environ['KEY'])"), SECRET.len().to_string());
        assert_eq!(env.json(["restart", "-n", "py"])["ok"], true);
        assert_eq!(env.value("import os; len(os.environ['KEY'])"), SECRET.len().to_string());
        if killed {
            crate::processes::kill(env.host_pid());
            crate::processes::all_gone(&env);
        }
        assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
        assert_eq!(holds(&env.state_dir(), SECRET), Vec::<std::path::PathBuf>::new());
        let meta = fs::read_to_string(env.session_dir("py").join("meta.json")).unwrap();
        assert!(meta.contains("KEY"), "the name may stay: {meta}");
    }
    crate::processes::works_again(&env);
    assert_eq!(env.value("import os; os.environ.get('KEY')"), "");
}

/// The soft and the hard limit of a process's core files.
fn core_limits(pid: u32) -> [String; 2] {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    [words.next().unwrap(), words.next().unwrap()]
}

#[test]
fn x5_no_process_of_stead_leaves_a_core_file_and_the_users_programs_may() {
    let env = TestEnv::new(STEAD);
    let script = "ulimit -S -c 1024 2>/dev/null || ulimit -S -c 0; grep '^Max core' /proc/self/limits > before
                  \"$0\" eval -n py 1 && \"$0\" shell 'grep ^Max.core /proc/self/limits > inside; sleep 1000 & true'";
    let ran = env.other("/bin/sh").args(["-c", script]).arg(env.program()).output();
    assert!(ran.unwrap().status.success());
    let read = |name: &str| fs::read_to_string(env.workspace().join(name)).unwrap();
    assert_eq!(read("before"), read("inside"));
    let is_ours = |pid: &u32| {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        exe == fs::canonicalize(env.program()).unwrap()
    };
    let (ours, others): (Vec<u32>, Vec<u32>) = env.processes().into_iter().partition(is_ours);
    assert!(ours.len() >= 5, "two hosts, two guards and a runner: {ours:?}");
    for pid in ours {
        assert_eq!(core_limits(pid)[0], "0");
    }
    let expected = core_limits(others[0])[0].clone();
    assert!(others.iter().all(|pid| core_limits(*pid)[0] == expected));
    assert_eq!(read("before").split_whitespace().nth(4), Some(expected.as_str()));
}
