//! CF-1, CF-2 and CF-4: what configuration files say, who may say it, and what sessions make of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;
use stead_testkit::{Terminal, TestEnv};

use crate::STEAD;

/// Writes a file of the workspace.
pub(crate) fn write(env: &TestEnv, path: &str, text: &str) -> PathBuf {
    let path = env.workspace().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Writes the user's own file.
pub(crate) fn write_users(env: &TestEnv, text: &str) -> PathBuf {
    let path = env.root().join("home/.config/stead/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[track_caller]
pub(crate) fn value(env: &TestEnv, name: &str, code: &str) -> String {
    let reply = env.json(["eval", "-n", name, "--", code]);
    assert_eq!(reply["status"], "complete", "{reply:#}");
    reply["data"]["value"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn refused(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run(arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    ran.json()["error"].clone()
}

#[track_caller]
fn allow(env: &TestEnv) {
    assert_eq!(env.json(["allow"])["ok"], true);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn cf2_a_session_is_started_as_the_files_say_by_launch_and_by_the_first_eval() {
    let env = TestEnv::new(STEAD);
    fs::create_dir_all(env.workspace().join("src/deep")).unwrap();
    let config = "idle_timeout = \"2h\"\n\n[sessions.ml]\ntoolchain = \"python\"\ncwd = \"src\"\nenv = { A = \"1\", B = \"x=y\" }\ninit = \"import math\\nz = 41\"\n\n[sessions.tools]\ntoolchain = \"bash\"\ninit = 'greet() { echo \"hello $1\"; }'\nquota = \"2 MiB\"\nidle_timeout = 60000\n";
    write(&env, ".stead/config.toml", config);
    write_users(
        &env,
        "[sessions.ml]\nenv = { A = \"user\", U = \"mine\" }\nidle_timeout = \"1h\"\n",
    );
    allow(&env);
    // Wherever in the workspace it is asked for.
    let mut command = env.command(["eval", "-n", "ml", "--json", "--", "z + 1"]);
    let reply: Value = serde_json::from_slice(
        &command.current_dir(env.workspace().join("src/deep")).output().unwrap().stdout,
    )
    .unwrap();
    assert_eq!(reply["data"]["value"], "42", "{reply:#}");
    assert_eq!(reply["data"].get("notice"), None, "{reply:#}");
    let seen = value(&env, "ml", "import os; [os.getcwd(), *map(os.environ.get, 'ABU')]");
    let expected = format!("['{}/src', '1', 'x=y', 'mine']", env.workspace().display());
    assert_eq!(seen, expected);
    let status = env.json(["status", "ml"])["data"].clone();
    assert_eq!(status["idle_timeout_ms"], 3_600_000, "{status:#}");

    // Its name is no toolchain, and no other name is taken for it without a word.
    let error = refused(&env, &["launch", "tools"]);
    assert!(text(&error["hint"]).contains("`stead launch -n tools`"), "{error:#}");
    let launched = env.json(["launch", "-n", "tools", "--cwd", "src/deep"]);
    assert_eq!(launched["data"]["language"], "bash", "{launched:#}");
    assert!(text(&launched["data"]["cwd"]).ends_with("/src/deep"), "the command line wins");
    assert_eq!(launched["data"]["idle_timeout_ms"], 60000);
    let meta = fs::read_to_string(env.session_dir("tools").join("meta.json")).unwrap();
    assert!(meta.contains("\"quota_bytes\": 2097152"), "{meta}");
    let reply = env.json(["eval", "-n", "tools", "greet you"]);
    assert_eq!(reply["data"]["chunks"][0]["content"], "hello you\n", "{reply:#}");
    // A restart runs the init code again.
    env.json(["eval", "-n", "tools", "unset -f greet"]);
    assert_eq!(env.json(["restart", "tools"])["ok"], true);
    let reply = env.json(["eval", "-n", "tools", "greet again"]);
    assert_eq!(reply["data"]["chunks"][0]["content"], "hello again\n", "{reply:#}");
}

#[test]
fn cf2_init_code_that_fails_is_reported_and_the_session_lives() {
    let env = TestEnv::new(STEAD);
    write_users(
        &env,
        "[sessions.a]\ninit = \"x = 1\\n1/0\"\n[sessions.b]\ntoolchain = \"bash\"\ninit = \"nonsense-command\"\n",
    );
    let reply = env.json(["eval", "-n", "a", "x"]);
    assert_eq!(reply["data"]["value"], "1", "{reply:#}");
    let notice = text(&reply["data"]["notice"]);
    assert!(
        notice.contains("init code failed: ZeroDivisionError: division by zero (a:"),
        "{notice}"
    );
    // The init code ran first but has the later number; who names the session means the eval.
    let output = env.json(["output", "a"]);
    assert_eq!(output["data"]["eval_id"], reply["data"]["eval_id"], "{output:#}");
    let again = env.json(["eval", "-n", "a", "x"]);
    assert_eq!(again["data"].get("notice"), None, "it is said once: {again:#}");
    let launched = env.json(["launch", "-n", "b"]);
    assert!(text(&launched["data"]["notice"]).contains("init code failed"), "{launched:#}");
    assert_eq!(env.json(["eval", "-n", "b", "echo ok"])["status"], "complete");
    for name in ["a", "b"] {
        let restarted = env.json(["restart", name]);
        assert!(text(&restarted["data"]["notice"]).contains("init code failed"), "{restarted:#}");
    }
}

#[test]
fn cf4_what_came_with_a_project_takes_effect_only_after_allow_and_again_after_a_change() {
    let env = TestEnv::new(STEAD);
    let canary = env.root().join("canary");
    let config = format!(
        "idle_timeout = 60000\n[sessions.ml]\ninit = \"open('{0}', 'w')\"\n[sessions.plain]\ntoolchain = \"python\"\n[toolchains.own]\nengine = \"python\"\ncmd = \"sh -c 'touch {0}'\"\n[toolchains.bash]\nenv = {{ EVIL = \"1\" }}\n",
        canary.display()
    );
    write(&env, ".stead/config.toml", &config);
    write(
        &env,
        ".stead/stdlib/python.py",
        &format!("open({:?}, 'w')\ndef double(x): return 2 * x\n", canary.display().to_string()),
    );
    for session in ["ml", "plain", "own", "bash", "sh"] {
        let error = refused(&env, &["eval", "-n", session, "1"]);
        assert_eq!(error["code"], "launch_failed", "{error:#}");
        assert!(text(&error["message"]).contains("is not allowed"), "{error:#}");
        assert!(text(&error["hint"]).contains("`stead allow`"), "{error:#}");
    }
    refused(&env, &["launch", "own", "-n", "x"]);
    refused(&env, &["launch", "-n", "ml", "--init", "pass"]);
    // What it has nothing to say about starts as if it were not there, and says so.
    let reply = env.eval("1 + 1");
    assert_eq!(reply["data"]["value"], "2", "{reply:#}");
    let notice = text(&reply["data"]["notice"]);
    assert!(notice.contains("standard library is not loaded and its settings"), "{reply:#}");
    assert_eq!(env.status()["idle_timeout_ms"], 12 * 3600 * 1000);
    assert!(!canary.exists(), "nothing of it ran");
    env.run(["stop", "py"]);

    let shown = env.json(["allow", "--show"])["data"].clone();
    assert_eq!(shown["allowed"], false);
    assert!(shown["effects"].to_string().contains("stdlib/python.py"), "{shown:#}");
    allow(&env);
    assert_eq!(value(&env, "plain", "double(4)"), "8");
    assert!(canary.exists());
    assert_eq!(env.json(["eval", "-n", "ml", "1"])["status"], "complete");
    assert_eq!(env.value("double(5)"), "10");
    assert_eq!(env.status()["idle_timeout_ms"], 60000);

    // Any change asks again; what runs goes on, and restarts with what was allowed.
    write(&env, ".stead/stdlib/python.py", "def double(x): return 'changed'\n");
    assert_eq!(value(&env, "plain", "double(4)"), "8");
    assert_eq!(env.json(["restart", "plain"])["ok"], true);
    assert_eq!(value(&env, "plain", "double(4)"), "8", "the text that was allowed");
    env.run(["stop", "plain"]);
    let error = refused(&env, &["eval", "-n", "plain", "1"]);
    assert!(text(&error["message"]).contains("has changed since it was allowed"), "{error:#}");
    allow(&env);
    assert_eq!(value(&env, "plain", "double(4)"), "'changed'");
    env.run(["stop", "plain"]);
    assert_eq!(env.json(["allow", "--remove"])["ok"], true);
    refused(&env, &["eval", "-n", "plain", "1"]);
}

#[test]
fn cf4_a_session_that_starts_without_settings_of_the_project_says_so() {
    let env = TestEnv::new(STEAD);
    write(&env, ".stead/config.toml", "[sessions.ml]\n");
    assert_eq!(env.eval("1")["data"].get("notice"), None, "nothing of it is for this session");
    env.run(["stop", "py"]);
    write(&env, ".stead/config.toml", "idle_timeout = \"4h\"\n[sessions.ml]\n");
    let notice = |reply: Value| text(&reply["data"]["notice"]).to_owned();
    let said = "the project's settings for all sessions are left out, because `";
    let heard = notice(env.eval("1"));
    assert!(heard.contains(said) && heard.contains("is not allowed (`allow`)"), "{heard}");
    assert_eq!(notice(env.eval("1")), "", "it is said once");
    assert_eq!(notice(env.json(["run", "python", "1"])), "");
    allow(&env);
    assert_eq!(notice(env.json(["eval", "-n", "x", "-l", "python", "1"])), "");
    write(&env, ".stead/config.toml", "idle_timeout = \"5h\"\n");
    let heard = notice(env.json(["eval", "-n", "y", "-l", "python", "1"]));
    assert!(heard.contains(said) && heard.contains("has changed"), "{heard}");
}

#[test]
fn cf4_a_person_at_a_terminal_is_asked_in_place() {
    let env = TestEnv::new(STEAD);
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"z = 41\"\n");
    let mut terminal = Terminal::run(env.command(["eval", "-n", "ml", "z + 1"]));
    terminal.wait_for("Allow it? [y/N]");
    terminal.type_keys("\n");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(2), "{shown}");
    assert!(shown.contains("runs `z = 41`") && shown.contains("not allowed"), "{shown}");
    let mut terminal = Terminal::run(env.command(["eval", "-n", "ml", "z + 1"]));
    terminal.wait_for("Allow it? [y/N]");
    terminal.type_keys("\x03");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, None, "Ctrl-C ends it: {shown}");
    let mut terminal = Terminal::run(env.command(["eval", "-n", "ml", "z + 1"]));
    terminal.wait_for("Allow it? [y/N]");
    terminal.type_keys("y\n");
    let (exit, shown) = terminal.finish();
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("42"), "{shown}");
    assert_eq!(env.json(["allow", "--show"])["data"]["allowed"], true);
}

#[test]
fn st4_a_projects_library_comes_after_the_users_and_a_broken_one_is_reported() {
    let env = TestEnv::new(STEAD);
    let users = env.root().join("home/.config/stead/stdlib/python.py");
    fs::create_dir_all(users.parent().unwrap()).unwrap();
    fs::write(&users, "def mine(): return 'mine'\ndef both(): return 'user'\n").unwrap();
    write(
        &env,
        ".stead/stdlib/python.py",
        "def both(): return 'project'\ndef ours(): return mine()\n",
    );
    allow(&env);
    assert_eq!(env.value("[mine(), both(), ours()]"), "['mine', 'project', 'mine']");
    let status = env.status();
    assert_eq!(status["stdlib"]["names"], 3, "{status:#}");
    let source =
        |name: &str| env.json(["inspect", "-n", "py", "--what", "source", name]).to_string();
    assert!(
        source("mine").contains("'mine'") && source("ours").contains("mine()"),
        "{}",
        source("ours")
    );
    env.run(["clear", "py"]);
    assert_eq!(env.value("[mine(), both(), ours()]"), "['mine', 'project', 'mine']");
    env.run(["stop", "py"]);
    // One that is broken does not keep the other out, at the start and after a clear.
    fs::write(&users, "1/0\n").unwrap();
    let reply = env.eval("both()");
    assert_eq!(reply["data"]["value"], "'project'", "{reply:#}");
    let notice = text(&reply["data"]["notice"]);
    assert!(
        notice.contains("the standard library is not loaded: line 1: ZeroDivisionError"),
        "{notice}"
    );
    env.run(["clear", "py"]);
    assert_eq!(env.value("both()"), "'project'");
    env.run(["stop", "py"]);
    fs::write(&users, "def mine(): return 'mine'\n").unwrap();
    write(&env, ".stead/stdlib/python.py", "import os\nos._exit(3)\n");
    allow(&env);
    let reply = env.eval("mine()");
    assert_eq!(reply["data"]["value"], "'mine'", "{reply:#}");
    let notice = text(&reply["data"]["notice"]);
    assert!(notice.contains("the project's standard library is not loaded"), "{notice}");
    let plain = env.json(["launch", "python", "-n", "bare", "--no-stdlib"]);
    assert_eq!(plain["data"].get("stdlib"), None, "{plain:#}");
}

#[test]
fn cf1_config_shows_the_result_and_where_each_value_came_from() {
    let env = TestEnv::new(STEAD);
    let none = env.json(["config"])["data"].clone();
    assert_eq!(
        (none["files"][0]["exists"].as_bool(), none["sessions"].clone()),
        (Some(false), serde_json::json!({}))
    );
    let users =
        write_users(&env, "idle_timeout = \"1h\"\n[sessions.ml]\nenv = { TOKEN = \"hunter2\" }\n");
    let ours = write(
        &env,
        ".stead/config.toml",
        "\n[sessions.ml]\ntoolchain = \"python.venv\"\nfigures = false\n",
    );
    let data = env.json(["config"])["data"].clone();
    let ml = &data["sessions"]["ml"];
    let origin = |key: &str| text(&ml[key]["origin"]).to_owned();
    assert_eq!(
        (ml["toolchain"]["value"].as_str(), origin("toolchain")),
        (Some("python.venv"), format!("{}:3", ours.display()))
    );
    assert_eq!(
        (ml["idle_timeout"]["value"].as_u64(), origin("idle_timeout")),
        (Some(3_600_000), format!("{}:1", users.display()))
    );
    assert_eq!(
        (ml["stdlib"]["value"].as_bool(), origin("stdlib")),
        (Some(true), "default".to_owned())
    );
    assert_eq!(origin("env.TOKEN"), format!("{}:3", users.display()));
    assert!(!data.to_string().contains("hunter2"), "X-5: {data:#}");
    assert!(env.run(["config", "--show-env"]).stdout.contains("hunter2"));
    assert_eq!(data["files"][1]["allowed"], false);
    let shown = env.run(["--text", "config", "ml"]).stdout;
    assert!(shown.contains("[sessions.ml]") && shown.contains("figures = false"), "{shown}");
    let schema: Value = serde_json::from_str(&env.run(["config", "--schema"]).stdout).unwrap();
    assert!(
        schema["properties"]["sessions"]["additionalProperties"]["properties"]["init"].is_object()
    );
}

#[test]
fn cf1_check_names_file_line_key_and_fix_and_starts_are_refused_with_them() {
    let env = TestEnv::new(STEAD);
    assert_eq!(env.json(["config", "--check"])["ok"], true);
    let path =
        write(&env, ".stead/config.toml", "\n[sessions.ml]\nidle_timout = \"1h\"\nlgo = 1\n");
    let ran = env.run(["config", "--check"]);
    let reply = ran.json();
    assert_eq!((ran.code, reply["ok"].as_bool()), (Some(2), Some(false)));
    let problem = &reply["data"]["problems"][0];
    assert_eq!(
        (text(&problem["path"]), problem["line"].as_u64()),
        (path.to_str().unwrap(), Some(3))
    );
    assert_eq!(
        (text(&problem["key"]), text(&problem["fix"])),
        ("sessions.ml.idle_timout", "did you mean `idle_timeout`?")
    );
    let error = refused(&env, &["eval", "-n", "ml", "1"]);
    assert!(
        text(&error["message"]).contains("config.toml:3: `sessions.ml.idle_timout`"),
        "{error:#}"
    );
    assert!(
        text(&error["hint"]).contains("`idle_timeout`") && text(&error["hint"]).contains("--check"),
        "{error:#}"
    );
    // Commands that need no configuration work.
    assert_eq!(env.json(["ls"])["ok"], true);
    let shown = env.run(["--text", "config", "--check"]).stdout;
    assert!(
        shown.contains("config.toml:4: `sessions.ml.lgo`")
            && shown.contains("do: did you mean `log`?"),
        "{shown}"
    );
    // One's own file is not to blame for the project's.
    let users = write_users(&env, "log = \"info\"\n");
    let reply = env.json(["config", "--check", "--user"]);
    assert_eq!(reply["data"]["files"], serde_json::json!([users]), "{reply:#}");
    write_users(&env, "lgo = 1\n");
    let reply = env.run(["config", "--check", "--user"]).json();
    let found = reply["data"]["problems"].as_array().unwrap();
    assert!(found.len() == 1 && text(&found[0]["key"]) == "lgo", "{reply:#}");
    fs::remove_file(users).unwrap();
    let other = write(&env, "other.toml", "log = 5\n");
    let reply = env.run(["config", "--check", "other.toml"]).json();
    assert_eq!(text(&reply["data"]["problems"][0]["path"]), other.to_str().unwrap());
    // An unknown toolchain lists those that there are.
    write(&env, ".stead/config.toml", "[sessions.ml]\ntoolchain = \"python.peotry\"\n");
    let error = refused(&env, &["eval", "-n", "ml", "1"]);
    assert!(
        text(&error["message"]).contains(":2: `sessions.ml.toolchain`: there is no toolchain"),
        "{error:#}"
    );
    assert!(
        text(&error["hint"]).contains("did you mean `python.poetry`? there are: bash, clojure"),
        "{error:#}"
    );
    assert_eq!(env.value("1 + 1"), "2", "others start");
}

#[test]
fn h2_odd_files_in_the_place_of_a_configuration_are_named() {
    let env = TestEnv::new(STEAD);
    let users = write_users(&env, "");
    let said = || {
        let reply = env.run(["config", "--check"]).json();
        let problem = reply["data"]["problems"][0].clone();
        assert!(!text(&problem["fix"]).is_empty(), "{reply:#}");
        format!("{} {}", text(&problem["path"]), text(&problem["problem"]))
    };
    fs::remove_file(&users).unwrap();
    fs::create_dir(&users).unwrap();
    assert!(said().contains("a directory"), "{}", said());
    fs::remove_dir(&users).unwrap();
    fs::write(&users, b"a = \"\xff\"").unwrap();
    assert!(said().contains("UTF-8"), "{}", said());
    fs::write(&users, "# x\n".repeat(3 << 20)).unwrap();
    assert!(said().contains("bytes"), "{}", said());
    fs::remove_file(&users).unwrap();
    symlink("/dev/zero", &users).unwrap();
    assert!(said().contains("a device"), "{}", said());
    fs::remove_file(&users).unwrap();
    symlink("nowhere", &users).unwrap();
    assert!(said().contains("a link that leads to no file"), "{}", said());
    let shown = env.run(["--text", "config"]).stdout;
    assert!(shown.contains("config.toml (not in force: see"), "{shown}");
    // A broken file of the user's own keeps nothing from answering that needs no session.
    assert_eq!(env.json(["ls"])["ok"], true);
    refused(&env, &["eval", "-n", "py", "1"]);
    fs::remove_file(&users).unwrap();
    for (file, what) in
        [("config.toml", "UTF-8"), ("config.toml", "a directory"), ("link", "leads to no file")]
    {
        let path = env.workspace().join(".stead").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match what {
            "UTF-8" => fs::write(&path, b"\xff").unwrap(),
            "a directory" => fs::create_dir(&path).unwrap(),
            _ => symlink("/", &path).unwrap(),
        }
        assert!(said().contains(what), "{}", said());
        let error = refused(&env, &["eval", "-n", "ml", "1"]);
        assert!(text(&error["message"]).contains(file), "{error:#}");
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
    }
    assert_eq!(env.value("1 + 1"), "2");
}

#[test]
fn h2_what_is_no_file_is_not_edited_and_a_project_without_a_directory_is_named() {
    let env = TestEnv::new(STEAD);
    let edit = |arguments: &[&str]| {
        let mut command = env.command(["config", "--edit"]);
        let ran: stead_testkit::Ran =
            command.args(arguments).env("EDITOR", "touch ../edited").output().unwrap().into();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(!env.root().join("edited").exists(), "{ran:?}");
        ran.json()["error"].clone()
    };
    let users = write_users(&env, "");
    fs::remove_file(&users).unwrap();
    fs::create_dir(&users).unwrap();
    let error = edit(&["--user"]);
    assert!(text(&error["message"]).contains("is a directory"), "{error:#}");
    fs::remove_dir(&users).unwrap();
    write(&env, ".stead", "x");
    for error in [edit(&[]), refused(&env, &["allow"]), refused(&env, &["config", "--check"])] {
        assert!(text(&error["message"]).contains(".stead` is not a directory"), "{error:#}");
        assert!(text(&error["hint"]).contains("move it away"), "{error:#}");
    }
    // What is not said to be for a file is not taken for a wish to see one.
    let ran = env.run(["config", "--user"]);
    assert!(ran.code == Some(2) && ran.stdout.contains("--check"), "{ran:?}");
}

#[test]
fn c3_the_users_file_decides_how_commands_answer() {
    let env = TestEnv::new(STEAD);
    write_users(&env, "output = \"text\"\n");
    assert!(env.run(["ls"]).stdout.starts_with("no sessions"), "{:?}", env.run(["ls"]));
    assert!(env.run(["ls", "--json"]).stdout.starts_with('{'));
    let mut command = env.command(["ls"]);
    let ran = command.env("STEAD_OUTPUT", "json").output().unwrap();
    assert!(ran.stdout.starts_with(b"{"));
    // One that cannot be understood decides nothing.
    write_users(&env, "output = \"loud\"\n");
    assert_eq!(env.json(["ls"])["ok"], true);
}

#[test]
fn cf1_edit_opens_the_file_checks_it_and_allows_ones_own() {
    let env = TestEnv::new(STEAD);
    let editor = env.root().join("bin/edit it");
    fs::write(&editor, "#!/bin/sh\n[ \"$1\" = -w ] || exit 9\ncat \"$2\" > ../before\nprintf '%s' \"$TEXT\" > \"$2\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let edit = |text: &str, arguments: &[&str]| {
        let mut command = env.command(["config", "--edit"]);
        command
            .args(arguments)
            .env("EDITOR", format!("'{}' -w", editor.display()))
            .env("TEXT", text);
        let ran: stead_testkit::Ran = command.output().unwrap().into();
        ran
    };
    // The file that was made for an editor that failed is one's own.
    let mut command = env.command(["config", "--edit"]);
    assert!(!command.env("EDITOR", "false").output().unwrap().status.success());
    let ran = edit("[sessions.ml]\ninit = \"z = 41\"\n", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(fs::read_to_string(env.root().join("before")).unwrap().contains("# [sessions.ml]"));
    assert_eq!(value(&env, "ml", "z"), "41", "who writes it has allowed it");
    let ran = edit("[sessions.ml]\nini = \"z = 41\"\n", &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.contains("`init`"), "{ran:?}");
    // One's own mistake is not somebody else's content.
    env.run(["stop", "ml"]);
    let ran = edit("[sessions.ml]\ninit = \"z = 42\"\n", &[]);
    assert!(ran.code == Some(0) && ran.json()["data"].get("notice").is_none(), "{ran:?}");
    assert_eq!(value(&env, "ml", "z"), "42");
    // What somebody else wrote is not allowed by editing it.
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"evil()\"\n");
    env.run(["stop", "ml"]);
    let ran = edit("[sessions.ml]\ninit = \"evil()\"\nfigures = true\n", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(text(&ran.json()["data"]["notice"]).contains("`stead allow`"), "{ran:?}");
    refused(&env, &["eval", "-n", "ml", "1"]);
    let ran = edit("log = \"info\"\n", &["--user"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(env.root().join("home/.config/stead/config.toml").exists());
}

#[test]
fn cf2_the_log_has_as_much_as_was_asked_for_and_never_code() {
    let env = TestEnv::new(STEAD);
    write_users(&env, "[sessions.chatty]\nlog = \"info\"\ntoolchain = \"python\"\n");
    let logged = |name: &str| env.json(["logs", name])["data"]["lines"].to_string();
    value(&env, "chatty", "secret = 'hunter2'; print('output ' + secret)");
    let lines = logged("chatty");
    for part in [
        "info: session chatty is ready: python 3",
        "info: eval chatty:1 began by cli",
        "info: eval chatty:1 ended: complete, ",
    ] {
        assert!(lines.contains(part), "{lines}");
    }
    assert!(!lines.contains("hunter2"), "{lines}");
    env.run(["stop", "chatty"]);
    env.value("1");
    assert_eq!(logged("py"), "[]");
    let mut command = env.command(["eval", "-n", "sh", "echo x"]);
    assert!(command.env("STEAD_LOG", "info").output().unwrap().status.success());
    assert!(logged("sh").contains("eval sh:1 ended"), "{}", logged("sh"));
    let mut command = env.command(["eval", "-n", "quiet", "-l", "bash", "echo x"]);
    assert!(command.env("STEAD_LOG", "loud").output().unwrap().status.success());
    assert!(logged("quiet").contains("STEAD_LOG is `loud`"), "{}", logged("quiet"));
}

#[test]
fn s5_an_unknown_name_lists_the_sessions_of_the_configuration() {
    let env = TestEnv::new(STEAD);
    let users = write_users(&env, "[sessions.ml]\n[sessions.web]\ntoolchain = \"node\"\n");
    let error = refused(&env, &["eval", "-n", "mll", "1"]);
    assert_eq!(error["code"], "session_not_found", "{error:#}");
    assert!(text(&error["hint"]).contains("sessions of the configuration: ml, web"), "{error:#}");
    // No such session is there, so the line that says what it would be is named.
    for arguments in [&["launch", "bash", "-n", "web"], &["eval", "-nweb", "-lbash", "1"]] {
        let error = refused(&env, arguments);
        let said = format!("`web` is set up in node by {}:3, not in bash", users.display());
        assert!(text(&error["message"]).contains(&said), "{error:#}");
        assert!(text(&error["hint"]).contains("another name"), "{error:#}");
    }
}

#[test]
fn cf2_figures_can_be_switched_off() {
    let env = TestEnv::new(STEAD);
    write_users(&env, "[sessions.quiet]\nfigures = false\n");
    let code = "import os; ('STEAD_FIGURES' in os.environ, os.popen('echo $STEAD_FIGURES').read())";
    assert_eq!(value(&env, "quiet", code), "(False, '\\n')", "user code sees nothing of it");
}

#[test]
fn u5_doctor_says_what_is_wrong_with_the_configuration() {
    let env = TestEnv::new(STEAD);
    let doctor = |code: i32| {
        let ran = env.run(["doctor"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let data = ran.json()["data"].clone();
        let checks = data["checks"].as_array().unwrap();
        let config = checks.iter().find(|check| check["name"] == "config").expect("a check");
        (config.clone(), data["next"].clone())
    };
    let (config, next) = doctor(0);
    assert_eq!(config["message"], "no configuration files");
    assert!(next[0].as_str().unwrap().contains("stead eval"), "{next}");
    write(&env, ".stead/config.toml", "[sessions.ml]\ninit = \"x = 1\"\n");
    let said = doctor(0).0;
    assert!(text(&said["message"]).contains("is not allowed"), "{said:#}");
    allow(&env);
    let said = doctor(0).0;
    assert!(!text(&said["message"]).contains("not allowed"), "{said:#}");
    write(&env, ".stead/config.toml", "a = [");
    allow(&env);
    refused(&env, &["eval", "-n", "py", "1"]);
    let (config, next) = doctor(2);
    assert_eq!(config["ok"], false);
    assert!(text(&config["message"]).contains("config.toml:1"), "{config:#}");
    assert!(!text(&config["fix"]).is_empty(), "{config:#}");
    assert_eq!(next, Value::Null, "nothing is said to work that does not");
    fs::remove_file(env.workspace().join(".stead/config.toml")).unwrap();
    write_users(&env, "b = 1\n");
    let (config, next) = doctor(2);
    assert!(text(&config["message"]).contains("`b`"), "{config:#}");
    assert_eq!(next, Value::Null);
}
