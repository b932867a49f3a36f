//! S-11: the environment of a project is in force for its sessions, for what they start, and for `shell`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

/// What a reply wrote to standard output.
fn out(reply: &Value) -> String {
    let chunks = reply["data"]["chunks"].as_array().cloned().unwrap_or_default();
    let of_kind = chunks.iter().filter(|chunk| chunk["type"] == "out");
    of_kind.filter_map(|chunk| chunk["content"].as_str()).collect()
}

/// A virtual environment with a `pytest` of its own.
fn venv(env: &TestEnv, at: &Path) -> PathBuf {
    let mut command = env.other(env.python().to_str().unwrap());
    command.args(["-m", "venv", "--without-pip"]).arg(at);
    assert!(command.status().unwrap().success());
    let program = at.join("bin/pytest");
    fs::write(&program, "#!/bin/sh\necho tested\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    at.canonicalize().unwrap()
}

const LOOK: &str = "command -v python; command -v pytest; echo \"$VIRTUAL_ENV\"";

fn seen(prefix: &Path) -> String {
    let prefix = prefix.display();
    format!("{prefix}/bin/python\n{prefix}/bin/pytest\n{prefix}\n")
}

#[test]
fn s11_python_pip_and_pytest_of_a_shell_command_are_the_projects() {
    let env = TestEnv::new(STEAD);
    let before = out(&env.json(["shell", "echo $PATH"]));
    let own = venv(&env, &env.workspace().join(".venv"));
    assert_eq!(out(&env.json(["shell", LOOK])), seen(&own));
    let python = "python -c 'import sys; print(sys.prefix)'; pytest; sh -c 'pytest'";
    let wanted = format!("{}\ntested\ntested\n", own.display());
    assert_eq!(out(&env.json(["shell", python])), wanted);
    let path = out(&env.json(["shell", "echo $PATH"]));
    assert_eq!(path, format!("{}/bin:{before}", own.display()));
    // A directory below with an environment of its own has that one.
    let sub = env.workspace().join("sub");
    fs::create_dir(&sub).unwrap();
    let nearer = venv(&env, &sub.join(".venv"));
    assert_eq!(out(&env.json(["shell", "--cwd", "sub", LOOK])), seen(&nearer));
    assert_eq!(out(&env.json(["shell", LOOK])), seen(&own));
}

#[test]
fn s11_sessions_and_what_they_start_are_in_the_environment() {
    let env = TestEnv::new(STEAD);
    let own = venv(&env, &env.workspace().join(".venv"));
    let code = format!("import os, subprocess\n_ = subprocess.run({LOOK:?}, shell=True)");
    let mut command = env.command(["eval", "-n", "py", "--json", &code]);
    let output = command.env("PYTHONHOME", "").output().unwrap();
    assert_eq!(out(&serde_json::from_slice(&output.stdout).unwrap()), seen(&own));
    assert_eq!(
        env.json(["eval", "-n", "py", "'PYTHONHOME' in os.environ"])["data"]["value"],
        "False"
    );
    assert_eq!(out(&env.json(["eval", "-n", "sh", LOOK])), seen(&own));
    let node = format!("require('child_process').execSync({LOOK:?}).toString()");
    let value = env.json(["eval", "-n", "js", &node])["data"]["value"].to_string();
    assert!(value.contains(&format!("{}/bin/pytest", own.display())), "{value}");
}

#[test]
fn s11_an_environment_that_is_active_keeps_its_place_and_a_named_one_wins() {
    let env = TestEnv::new(STEAD);
    let own = venv(&env, &env.workspace().join(".venv"));
    let active = venv(&env, &env.root().join("active"));
    let path =
        format!("{}:{}/bin:/usr/bin:/bin", env.root().join("bin").display(), active.display());
    let reply = |arguments: &[&str]| {
        let mut command = env.command(arguments.iter().chain(&["--json"]));
        command.env("VIRTUAL_ENV", &active).env("PATH", &path);
        let output = command.output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let look = "echo $VIRTUAL_ENV; echo $PATH";
    let kept = format!("{}\n{path}\n", active.display());
    assert_eq!(out(&reply(&["shell", look])), kept);
    let code = format!("import os\n_ = os.system({look:?})");
    assert_eq!(out(&reply(&["eval", "-n", "py", &code])), kept);
    reply(&["launch", "python", "-n", "named", "--python", ".venv"]);
    let wanted = format!("{0}\n{0}/bin:{path}\n", own.display());
    assert_eq!(out(&reply(&["eval", "-n", "named", &code])), wanted);
}

#[test]
fn s11_a_conda_environment_of_the_project_is_in_force_too() {
    let env = TestEnv::new(STEAD);
    let prefix = env.root().join("home/miniconda3/envs/data");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::create_dir_all(prefix.join("conda-meta")).unwrap();
    std::os::unix::fs::symlink(env.python(), prefix.join("bin/python")).unwrap();
    fs::write(env.workspace().join("environment.yml"), "name: data\n").unwrap();
    let look = "echo $CONDA_PREFIX $CONDA_DEFAULT_ENV ${VIRTUAL_ENV-none}; command -v python";
    let wanted = format!("{0} data none\n{0}/bin/python\n", prefix.display());
    assert_eq!(out(&env.json(["shell", look])), wanted);
    let code = format!("import os\n_ = os.system({look:?})");
    assert_eq!(out(&env.json(["eval", "-n", "py", &code])), wanted);
}
