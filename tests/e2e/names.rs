//! What a call names: sessions by language or alias, interpreters that do not start, wrong flags.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use stead_testkit::TestEnv;

use crate::STEAD;

#[test]
fn s5_a_language_and_its_alias_name_one_session() {
    let env = TestEnv::new(STEAD);
    for (language, alias, set, get) in
        [("python", "py", "x = 41", "print(x + 1)"), ("bash", "sh", "x=42", "echo $x")]
    {
        let first = env.json(["eval", "-n", language, set]);
        assert_eq!(first["data"]["session"], alias, "{first:#}");
        for arguments in [
            ["eval", "-n", alias, get],
            ["eval", "-n", language, get],
            ["eval", "-l", language, get],
            ["eval", "-l", alias, get],
        ] {
            let reply = env.json(arguments);
            assert_eq!(reply["data"]["session"], alias, "{reply:#}");
            assert_eq!(reply["data"]["chunks"][0]["content"], "42\n", "{reply:#}");
        }
        let id = format!("{language}:1");
        assert_eq!(env.json(["output", &id])["data"]["session"], alias);
        assert_eq!(env.json(["status", "-n", language])["data"]["name"], alias);
    }
    let listed = env.json(["ls"]);
    assert_eq!(listed["data"]["sessions"].as_array().unwrap().len(), 2, "{listed:#}");
    for name in ["python", "sh"] {
        assert_eq!(env.run(["stop", "-n", name]).code, Some(0));
    }
}

#[test]
fn s5_a_session_of_an_older_version_is_found_by_either_name() {
    let env = TestEnv::new(STEAD);
    env.value("1");
    env.run(["stop", "-n", "py"]);
    let workspace = fs::read_dir(env.state_dir().join("sessions")).unwrap().next().unwrap();
    let workspace = workspace.unwrap().path();
    fs::rename(workspace.join("py"), workspace.join("python")).unwrap();
    let meta = workspace.join("python/meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    fs::write(&meta, text.replace("\"py\"", "\"python\"")).unwrap();
    for name in ["py", "python"] {
        let reply = env.json(["eval", "-n", name, "2"]);
        assert_eq!(reply["data"]["session"], "python", "{reply:#}");
    }
    env.run(["stop", "-n", "py"]);
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn s11_a_broken_environment_is_named_and_passed_over() {
    type Break = (&'static str, fn(&Path));
    let breaks: [Break; 5] = [
        ("broken #!", |path| executable(path, "#!/nonexistent/python\n")),
        ("dangling", |path| symlink("/nonexistent/python", path).unwrap()),
        ("plain", |path| fs::write(path, "no program").unwrap()),
        ("wrong machine", |path| {
            let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
            elf.resize(16, 0);
            elf.extend([2, 0, 0xf3, 0]);
            elf.resize(64, 0);
            fs::write(path, elf).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("dies", |path| symlink("/bin/false", path).unwrap()),
    ];
    for (what, break_it) in breaks {
        let env = TestEnv::new(STEAD);
        let python = env.workspace().join(".venv/bin/python");
        fs::create_dir_all(python.parent().unwrap()).unwrap();
        break_it(&python);
        let reply = env.json(["eval", "-n", "py", "40 + 2"]);
        assert_eq!(reply["data"]["value"], "42", "{what}: {reply:#}");
        let notice = reply["data"]["notice"].as_str().unwrap_or_default();
        assert!(notice.contains(".venv/bin/python"), "{what}: {reply:#}");
        let status = env.json(["status", "-n", "py"]);
        let why = status["data"]["why"].as_str().unwrap_or_default();
        assert!(why.contains("passed over"), "{what}: {status:#}");
        // Said with the first eval only.
        assert!(env.json(["eval", "-n", "py", "1"])["data"]["notice"].is_null());
        env.run(["stop", "-n", "py"]);
    }
}

#[test]
fn c10_what_is_wrong_with_a_flag_is_named() {
    let env = TestEnv::new(STEAD);
    let refused = env.json(["launch", "py", "--env", "BAD"]);
    assert!(refused["error"]["message"].as_str().unwrap().contains("BAD"), "{refused:#}");
    for command in [["eval", "1"], ["output", "py:1"]] {
        let ran = env.run(command.into_iter().chain(["--max-chars", "0"]));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stdout.contains("--max-chars") && ran.stdout.contains("above 0"), "{ran:?}");
    }
}

#[test]
fn s5_the_name_of_a_language_is_given_to_no_other() {
    let env = TestEnv::new(STEAD);
    env.json(["eval", "-l", "node", "const x = 41"]);
    env.json(["save", "-n", "js", "a.stead"]);
    env.json(["stop", "js"]);
    let refused = |arguments: &[&str]| {
        let reply = env.json(arguments);
        assert_eq!(reply["error"]["code"], "bad_request", "{reply:#}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(" is the name of the session in "), "{arguments:?}: {message}");
        let hint = reply["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("without `-n` it gets one"), "{arguments:?}: {hint}");
        (message.to_owned(), hint.to_owned())
    };
    let (message, hint) = refused(&["load", "a.stead", "-n", "py"]);
    assert_eq!(message, "`py` is the name of the session in python, and this one would be in node");
    assert_eq!(hint, "give another name, such as `-n js`; without `-n` it gets one");
    refused(&["load", "a.stead", "-n", "python"]);
    refused(&["load", "a.stead", "-n", "sh"]);
    refused(&["launch", "node", "-n", "py"]);
    refused(&["launch", "python", "-n", "bash"]);
    refused(&["eval", "-n", "py", "-l", "node", "1"]);
    refused(&["start", "nrepl", "localhost:1", "-n", "py"]);
    assert_eq!(env.json(["ls"])["data"]["sessions"], serde_json::json!([]));
    // Any other name is free to choose, and names that fit are too.
    assert_eq!(env.json(["load", "a.stead", "-n", "new"])["data"]["session"], "new");
    assert_eq!(env.json(["load", "a.stead"])["data"]["session"], "js");
    assert_eq!(env.json(["load", "a.stead", "-n", "node-3"])["data"]["session"], "node-3");
    assert_eq!(env.json(["eval", "-l", "python", "-n", "py", "1 + 1"])["data"]["value"], "2");
    // A session that is there says its language.
    let reply = env.json(["eval", "-n", "py", "-l", "node", "1"]);
    assert_eq!(reply["error"]["message"], "session `py` is in python, not node");
    // Who sets up a session in a file has chosen its name.
    std::fs::create_dir_all(env.workspace().join(".stead")).unwrap();
    let config = "[sessions.sh]\ntoolchain = \"python\"\n";
    std::fs::write(env.workspace().join(".stead/config.toml"), config).unwrap();
    env.json(["allow"]);
    assert_eq!(env.json(["eval", "-n", "sh", "2 ** 3"])["data"]["value"], "8");
}
