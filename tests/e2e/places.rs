//! X-5, S-1: directories that sessions live in, who may use them, and which session is meant.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stead_testkit::TestEnv;

use crate::STEAD;

/// An ordinary user; no account is needed. Tests run as root.
const OTHER: u32 = 12345;

fn json(command: &mut Command) -> (Option<i32>, Value) {
    let output = command.output().unwrap();
    let reply = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error} in {output:?}"));
    (output.status.code(), reply)
}

#[track_caller]
fn refused(command: &mut Command, code: &str) -> String {
    let (exit, reply) = json(command);
    assert_eq!(exit, Some(2), "{reply:#}");
    assert_eq!(reply["error"]["code"], code, "{reply:#}");
    assert!(reply["error"]["hint"].is_string(), "{reply:#}");
    format!("{} {}", reply["error"]["message"], reply["error"]["hint"])
}

/// The same command as an ordinary user, in directories of that user's own.
pub(crate) fn as_other(env: &TestEnv, arguments: &[&str]) -> Command {
    assert!(rustix::process::geteuid().is_root(), "these tests need root, to become someone else");
    fs::set_permissions(env.root(), Permissions::from_mode(0o755)).unwrap();
    let own = env.root().join("other");
    if !own.exists() {
        DirBuilder::new().mode(0o700).create(&own).unwrap();
        chown(&own, Some(OTHER), Some(OTHER)).unwrap();
    }
    let mut command = env.other("setpriv");
    command
        .args([&format!("--reuid={OTHER}"), &format!("--regid={OTHER}"), "--clear-groups", "--"])
        .arg(env.program())
        .args(arguments)
        .env("HOME", &own)
        // The newest Python may be in root's home.
        .env("PATH", "/usr/bin:/bin")
        .env("STEAD_STATE_DIR", own.join("state"))
        .env("STEAD_RUNTIME_DIR", own.join("run"))
        .current_dir("/");
    command
}

#[test]
fn x5_everything_is_for_this_user_alone() {
    let env = TestEnv::new(STEAD);
    let mut open = env.after("umask 000", &["eval", "-n", "py", "print('x')"]);
    assert!(open.output().unwrap().status.success());
    let mut sockets = 0;
    let mut look = vec![env.state_dir(), env.runtime_dir()];
    while let Some(path) = look.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = meta.mode() & 0o777;
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}: {mode:o}", path.display());
        sockets += usize::from(meta.file_type().is_socket());
        if meta.is_dir() {
            look.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(sockets, 1);
}

fn socket(env: &TestEnv) -> PathBuf {
    let mut found = fs::read_dir(env.runtime_dir()).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|e| e == "sock")).expect("a socket")
}

#[test]
fn e8_an_interpreter_that_cannot_be_looked_at_is_believed_when_it_waits() {
    let env = TestEnv::new(STEAD);
    let run = |arguments: &[&str]| -> Value {
        let output = as_other(&env, arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Undumpable: an ordinary user's host may no longer see what it does.
    let code = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); input('dark? ')";
    let reply = run(&["eval", "-n", "py", "--timeout", "10s", "--", code]);
    assert_eq!(reply["status"], "waiting_input", "{reply:#}");
    assert_eq!(reply["data"]["prompt"], "dark? ", "{reply:#}");
    let reply = run(&["input", "-n", "py", "yes"]);
    assert_eq!(reply["data"]["value"], "'yes'", "{reply:#}");
    assert_eq!(run(&["stop", "-n", "py"])["ok"], true);
}

#[test]
fn x5_another_user_cannot_connect_even_if_the_modes_let_it() {
    let env = TestEnv::new(STEAD);
    env.value("x = 1");
    let socket = socket(&env);
    let connect = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry:\n  s.connect(sys.argv[1])\n  \
                   s.sendall(b'{\"id\":1,\"request\":{\"op\":\"hello\",\"protocol\":1,\"client\":\"x\"}}\\n')\n  \
                   print('got', s.recv(100))\nexcept OSError as e: print(type(e).__name__)";
    let as_other = || {
        let output = Command::new("setpriv")
            .args([
                &format!("--reuid={OTHER}"),
                &format!("--regid={OTHER}"),
                "--clear-groups",
                "--",
            ])
            .args(["/usr/bin/python3", "-c", connect])
            .arg(&socket)
            .current_dir("/")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(as_other(), "PermissionError\n");
    // Someone loosens everything by hand: the host still looks who is calling.
    for path in [env.root().to_owned(), env.runtime_dir(), socket.clone()] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let said = as_other();
    assert!(
        said == "got b''\n" || said == "ConnectionResetError\n" || said == "BrokenPipeError\n",
        "{said}"
    );
    fs::set_permissions(env.runtime_dir(), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(env.value("x"), "1");
}

#[test]
fn x5_a_runtime_directory_that_others_could_touch_is_refused() {
    let env = TestEnv::new(STEAD);
    let real = env.root().join("real");
    DirBuilder::new().mode(0o700).create(&real).unwrap();
    let link = env.root().join("link");
    symlink(&real, &link).unwrap();
    let file = env.root().join("file");
    fs::write(&file, "").unwrap();
    let alien = env.root().join("alien");
    DirBuilder::new().mode(0o700).create(&alien).unwrap();
    chown(&alien, Some(OTHER), Some(OTHER)).unwrap();
    let wide = |mode: u32| {
        let path = env.root().join(format!("mode{mode:o}"));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    for (dir, why) in [
        (link, "symbolic link"),
        (file, "not a directory"),
        (alien, "belongs to user 12345"),
        (wide(0o777), "0777"),
        (wide(0o750), "0750"),
    ] {
        let before = fs::symlink_metadata(&dir).unwrap().mode();
        for arguments in [&["eval", "-n", "py", "1"][..], &["launch", "-n", "py"]] {
            let mut command = env.command(arguments);
            let said = refused(command.env("STEAD_RUNTIME_DIR", &dir), "connection_failed");
            assert!(said.contains(why) && said.contains("STEAD_RUNTIME_DIR"), "{said}");
        }
        assert_eq!(fs::symlink_metadata(&dir).unwrap().mode(), before, "it was left alone");
    }
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let env = TestEnv::new(STEAD);
    let file = env.root().join("file");
    fs::write(&file, "").unwrap();
    let mut command = env.command(["eval", "-n", "py", "1"]);
    let said = refused(command.env("STEAD_STATE_DIR", &file), "connection_failed");
    assert!(said.contains("file"), "{said}");
    let (_, listed) = json(env.command(["ls"]).env("STEAD_STATE_DIR", &file));
    assert!(listed["ok"] == true || listed["error"]["message"].as_str().unwrap().contains("file"));
    let mut command = env.command(["eval", "-n", "py", "1"]);
    let said = refused(command.env("STEAD_STATE_DIR", "relative"), "bad_request");
    assert!(said.contains("absolute"), "{said}");

    let mut unwritable = as_other(&env, &["eval", "-n", "py", "1 + 1"]);
    let locked = env.root().join("locked");
    DirBuilder::new().mode(0o755).create(&locked).unwrap();
    unwritable.env("STEAD_STATE_DIR", locked.join("state"));
    let said = refused(&mut unwritable, "connection_failed");
    assert!(said.contains("locked") && said.contains("ermission denied"), "{said}");
}

#[test]
fn an_ordinary_user_can_do_everything() {
    let env = TestEnv::new(STEAD);
    let (exit, reply) = json(&mut as_other(
        &env,
        &["eval", "-n", "py", "--workspace", "/", "import os; os.getuid()"],
    ));
    assert_eq!(exit, Some(0), "{reply:#}");
    assert_eq!(reply["data"]["value"], "12345");
    let (_, listed) = json(&mut as_other(&env, &["ls", "--all"]));
    assert_eq!(listed["data"]["sessions"].as_array().unwrap().len(), 1, "{listed:#}");
    let (exit, _) = json(&mut as_other(&env, &["stop", "-n", "py", "--workspace", "/"]));
    assert_eq!(exit, Some(0));
}

#[test]
fn directories_follow_the_environment() {
    let env = TestEnv::new(STEAD);
    let home = env.root().join("home");
    let xdg = env.root().join("xdg");
    DirBuilder::new().mode(0o700).create(&xdg).unwrap();
    let plain = |arguments: &[&str]| {
        let mut command = env.command(arguments);
        command
            .env_remove("STEAD_STATE_DIR")
            .env_remove("STEAD_RUNTIME_DIR")
            .env("XDG_RUNTIME_DIR", &xdg);
        command
    };
    let (exit, reply) = json(&mut plain(&["eval", "-n", "py", "1"]));
    assert_eq!(exit, Some(0), "{reply:#}");
    assert!(home.join(".local/state/stead/sessions").is_dir());
    assert!(xdg.join("stead").is_dir());
    assert_eq!(json(&mut plain(&["stop", "-n", "py"])).0, Some(0));
    // A directory that is named and missing is made.
    let missing = env.root().join("not/yet");
    let (exit, reply) = json(plain(&["eval", "-n", "py", "1"]).env("XDG_RUNTIME_DIR", &missing));
    assert_eq!(exit, Some(0), "{reply:#}");
    assert_eq!(json(plain(&["stop", "-n", "py"]).env("XDG_RUNTIME_DIR", &missing)).0, Some(0));
    let said = refused(plain(&["eval", "-n", "py", "1"]).env_remove("HOME"), "bad_request");
    assert!(said.contains("HOME"), "{said}");
}

#[test]
fn without_a_home_sessions_work_where_the_directories_are_named() {
    let env = TestEnv::new(STEAD);
    let (exit, reply) = json(env.command(["eval", "-n", "py", "1 + 1"]).env_remove("HOME"));
    assert_eq!((exit, &reply["data"]["value"]), (Some(0), &"2".into()), "{reply:#}");
}

#[test]
fn a_runtime_path_too_long_for_a_socket_works() {
    let env = TestEnv::new(STEAD);
    // The socket's own name has 37 bytes; the limit of an address is 107.
    for length in [69, 70, 71, 72, 150, 200] {
        let mut dir = env.root().join("r");
        while dir.as_os_str().len() + 101 < length {
            dir = dir.join("d".repeat(90));
        }
        let dir = dir.join("e".repeat(length - dir.as_os_str().len() - 1));
        assert_eq!(dir.as_os_str().len(), length);
        let run = |arguments: &[&str]| json(env.command(arguments).env("STEAD_RUNTIME_DIR", &dir));
        let (exit, reply) = run(&["eval", "-n", "py", "1 + 1"]);
        assert_eq!((exit, &reply["data"]["value"]), (Some(0), &"2".into()), "{length}: {reply:#}");
        assert_eq!(run(&["status", "-n", "py"]).1["data"]["state"], "idle");
        assert_eq!(run(&["stop", "-n", "py"]).0, Some(0));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "the socket is gone");
    }
}

fn eval_in(env: &TestEnv, cwd: &Path, more: &[&str]) -> Value {
    let mut arguments = vec!["eval", "-n", "py"];
    arguments.extend(more);
    json(env.command(arguments).current_dir(cwd)).1
}

#[test]
fn s1_the_nearest_marked_directory_is_the_workspace() {
    let env = TestEnv::new(STEAD);
    let root = env.workspace();
    for dir in ["git/.git", "git/a/b", "git/inner/.stead", "git/inner/c", "plain/d"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    assert_eq!(eval_in(&env, &root.join("git/a/b"), &["x = 'git'"])["ok"], true);
    assert_eq!(eval_in(&env, &root.join("git/a"), &["x"])["data"]["value"], "'git'");
    assert_eq!(eval_in(&env, &root.join("git/inner/c"), &["x = 'inner'"])["ok"], true);
    assert_eq!(eval_in(&env, &root.join("git/inner"), &["x"])["data"]["value"], "'inner'");
    assert_eq!(eval_in(&env, &root.join("git"), &["x"])["data"]["value"], "'git'");
    assert_eq!(eval_in(&env, &root.join("plain/d"), &["x = 'd'"])["ok"], true);
    assert_eq!(eval_in(&env, &root.join("plain"), &["'x' in globals()"])["data"]["value"], "False");
    let given = ["--workspace", "git", "x"];
    assert_eq!(eval_in(&env, &root, &given)["data"]["value"], "'git'");
    let (_, here) = json(env.command(["ls"]).current_dir(root.join("git/a")));
    let here = here["data"]["sessions"].as_array().unwrap();
    assert_eq!(here.len(), 1);
    assert_eq!(here[0]["workspace"], root.join("git").to_str().unwrap());
    assert_eq!(here[0]["cwd"], root.join("git/a/b").to_str().unwrap());
    let (_, all) = json(&mut env.command(["ls", "--all"]));
    let mut all: Vec<&str> = all["data"]["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["workspace"].as_str().unwrap())
        .collect();
    all.sort_unstable();
    let named = ["git", "git/inner", "plain", "plain/d"].map(|dir| root.join(dir));
    assert_eq!(all, named.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>());
    // A link to a workspace is the workspace.
    symlink(root.join("git"), root.join("link")).unwrap();
    assert_eq!(eval_in(&env, &root, &["--workspace", "link", "x"])["data"]["value"], "'git'");
}

#[test]
fn s7_restart_clear_and_stop() {
    let env = TestEnv::new(STEAD);
    assert_eq!(
        env.run(["launch", "-n", "py", "--env", "MARK=kept", "--init", "import os"]).code,
        Some(0)
    );
    env.value("x = 1");
    let pid = env.interpreter_pid();
    assert_eq!(env.json(["clear", "-n", "py"])["ok"], true);
    assert_eq!(env.interpreter_pid(), pid, "the process stays");
    assert_eq!(env.value("'x' in globals()"), "False");
    let restarted = env.json(["restart", "-n", "py"]);
    assert_eq!(restarted["data"]["generation"], 2, "{restarted:#}");
    assert_ne!(env.interpreter_pid(), pid);
    assert_eq!(env.value("os.environ['MARK']"), "'kept'");
    let host = env.host_pid();
    assert_eq!(env.json(["stop", "-n", "py"])["ok"], true);
    assert!(!stead_testkit::is_alive(host) || env.processes().iter().all(|pid| *pid != host));
    assert_eq!(env.json(["ls"])["data"]["sessions"], serde_json::json!([]));
    let gone = env.run(["status", "-n", "py"]);
    assert_eq!((gone.code, &gone.json()["error"]["code"]), (Some(2), &"session_not_found".into()));
    // A new session of that name begins anew, with none of the old settings.
    let fresh = env.eval("import os; os.environ.get('MARK')");
    assert_eq!(fresh["data"]["value"], Value::Null, "{fresh:#}");
    assert_eq!(env.run(["stop", "--all"]).code, Some(0));
    assert_eq!(env.json(["ls"])["data"]["sessions"], serde_json::json!([]));
}

#[test]
fn s10_status_tells_everything() {
    let env = TestEnv::new(STEAD);
    let gate = crate::gate::Gate::new(&env, "gate");
    env.value("x = 1");
    let code = format!("print('working')\n{}", gate.code());
    env.json(["eval", "-n", "py", "--bg", &code]);
    stead_testkit::wait_for("the last line", || env.status()["running"]["last_line"] == "working");
    for status in [env.status(), env.json(["ls"])["data"]["sessions"][0].clone()] {
        assert_eq!(status["name"], "py");
        assert_eq!(status["state"], "running");
        assert_eq!(status["generation"], 1);
        assert_eq!(status["language"], "python");
        assert!(status["version"].as_str().unwrap().starts_with("3."), "{status:#}");
        assert_eq!(status["workspace"], env.workspace().to_str().unwrap());
        assert_eq!(status["cwd"], env.workspace().to_str().unwrap());
        assert_eq!(status["evals"], 2);
        assert_eq!(status["running"]["eval_id"], "py:2");
        assert_eq!(status["variables"], 1, "{status:#}");
        assert_eq!(status["sandbox"], "off");
        assert!(status["memory_bytes"].as_u64().unwrap() > 1_000_000, "{status:#}");
        assert_eq!(status["processes"], 1);
        for number in ["pid", "host_pid", "started_ms", "last_used_ms", "cpu_ms", "idle_timeout_ms"]
        {
            assert!(status[number].is_u64(), "{number} in {status:#}");
        }
        assert!(status["running"]["elapsed_ms"].is_u64(), "{status:#}");
        assert!(Path::new(status["interpreter"].as_str().unwrap()).is_file(), "{status:#}");
        assert!(!status["why"].as_str().unwrap().is_empty(), "{status:#}");
    }
    let text = env.run(["status", "-n", "py", "--text"]).stdout;
    for word in
        ["state", "running", "interpreter", "chosen", "memory", "cpu", "generation", "sandbox"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    gate.open();
    env.json(["output", "py:2", "--wait", "60s"]);
}

#[test]
fn s9_s1_sessions_of_a_directory_that_was_removed_can_be_listed_and_stopped() {
    for by_flag in [true, false] {
        let env = TestEnv::new(STEAD);
        let place = env.workspace().join("worktree");
        fs::create_dir_all(place.join(".git")).unwrap();
        let (place, sh) = (place.to_str().unwrap(), "sleep 1000 & echo $!");
        let started = env.json(["eval", "--workspace", place, "-n", "sh", sh]);
        assert_eq!(started["status"], "complete", "{started:#}");
        // The command stands in the directory when it is removed, or names it.
        let ask = |command: &str| {
            let program = env.program().to_str().unwrap().to_owned();
            let line = match by_flag {
                true => format!("rm -rf {place}; exec {program} {command} --workspace {place}"),
                false => format!(
                    "mkdir -p {place}; cd {place}; rm -rf {place}; exec {program} {command}"
                ),
            };
            json(env.other("/bin/sh").args(["-c", &line])).1
        };
        let listed = ask("ls");
        assert_eq!(listed["data"]["sessions"][0]["name"], "sh", "{listed:#}");
        let stopped = ask("stop sh");
        assert_eq!(stopped["ok"], true, "{stopped:#}");
        assert!(env.processes().is_empty());
    }
}
