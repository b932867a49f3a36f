//! U-4: `stead install` for every client, and what it does with files that are not as one would wish.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stead_testkit::TestEnv;

use crate::STEAD;

/// The clients with the user's file of each.
const FILES: [(&str, &str); 11] = [
    ("claude-code", ".claude.json"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ("codex", ".codex/config.toml"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("copilot-cli", ".copilot/mcp-config.json"),
    ("gemini-cli", ".gemini/settings.json"),
    ("zed", ".config/zed/settings.json"),
    ("goose", ".config/goose/config.yaml"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("opencode", ".config/opencode/opencode.json"),
];

fn home(env: &TestEnv) -> PathBuf {
    env.root().join("home")
}

/// A file below the home directory, with its directories.
fn put(env: &TestEnv, path: &str, text: &str) -> PathBuf {
    let path = home(env).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn install(env: &TestEnv, arguments: &[&str]) -> Value {
    let ran = env.run([&["install"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["data"].clone()
}

/// The refusal for one client.
#[track_caller]
fn refused(env: &TestEnv, client: &str) -> Value {
    let ran = env.run(["install", "--client", client]);
    let reply = ran.json();
    assert_eq!((ran.code, &reply["ok"]), (Some(2), &json!(false)), "{ran:?}");
    let one = &reply["data"]["clients"][0];
    assert_eq!(one["action"], "refused", "{reply}");
    assert!(one["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{reply}");
    one["error"].clone()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// Files of the golden directory of a client, with their names in it.
fn golden(client: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/install/golden").join(client);
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.to_string_lossy().contains(".before.")).collect()
}

#[test]
fn u4_install_and_remove_leave_every_clients_file_as_it_was() {
    let env = TestEnv::new(STEAD);
    for (client, path) in FILES {
        for before in golden(client) {
            let text = read(&before);
            let file = put(&env, path, &text);
            let data = install(&env, &["--client", client]);
            let one = &data["clients"][0];
            assert_eq!((&one["action"], &one["by"]), (&json!("added"), &json!("edit")), "{one}");
            let wanted = read(before.to_str().unwrap().replace(".before.", ".after."));
            let program = env.program().canonicalize().unwrap().display().to_string();
            assert_eq!(read(&file), wanted.replace("/opt/stead/bin/stead", &program), "{client}");
            assert_eq!(read(one["backup"].as_str().unwrap()), text);
            let again = install(&env, &["--client", client]);
            assert_eq!(again["clients"][0]["action"], "unchanged");
            let data = install(&env, &["--client", client, "--remove"]);
            assert_eq!(data["clients"][0]["action"], "removed");
            assert_eq!(read(&file), text, "{}", before.display());
        }
    }
}

#[test]
fn u4_what_an_install_made_is_gone_after_a_remove() {
    let env = TestEnv::new(STEAD);
    for (client, path) in FILES {
        install(&env, &["--client", client]);
        let file = home(&env).join(path);
        assert!(read(&file).contains("stead"), "{client}");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        install(&env, &["--client", client, "--remove"]);
        assert!(!file.exists(), "{client}");
    }
    assert_eq!(fs::read_dir(home(&env)).unwrap().count(), 0, "no directory is left either");
    for text in ["", "\n", "{ }", "{}", "// nothing\n"] {
        let file = put(&env, ".cursor/mcp.json", text);
        install(&env, &["--client", "cursor"]);
        install(&env, &["--client", "cursor", "--remove"]);
        assert_eq!(read(&file), text);
    }
}

#[test]
fn u4_without_arguments_the_clients_of_this_machine_are_found() {
    let env = TestEnv::new(STEAD);
    let data = install(&env, &[]);
    assert_eq!(data["clients"], json!([]));
    assert!(data["notes"][0].as_str().unwrap().contains("--client NAME"), "{data}");
    fs::create_dir_all(home(&env).join(".config/zed")).unwrap();
    put(&env, ".cursor/mcp.json", "{}");
    let data = install(&env, &["--dry-run"]);
    let found: Vec<&str> = data["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["client"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["cursor", "zed"]);
    assert!(data["clients"][0]["diff"].as_str().unwrap().contains("+    \"stead\": {"), "{data}");
    assert_eq!(read(home(&env).join(".cursor/mcp.json")), "{}", "a dry run writes nothing");
    assert!(!home(&env).join(".config/zed/settings.json").exists());
    assert!(!env.state_dir().join("clients").exists());
    let ran = env.run(["install", "--text"]);
    let diff = ran.stdout.find("+    \"stead\": {").expect("a diff");
    assert!(diff < ran.stdout.find("Cursor: added").unwrap(), "the diff comes first: {ran:?}");
    let ran = env.run(["install", "--client", "codx"]);
    assert!(ran.code == Some(2) && ran.stdout.contains("'codex'"), "{ran:?}");
    let named = install(&env, &["--dry-run", "--client", "Claude Code,gemini", "--client", "ZED"]);
    assert_eq!(named["clients"].as_array().unwrap().len(), 3, "{named}");
    let ran = env.run(["install", "--client", "emacs"]);
    assert!(ran.code == Some(2) && ran.stdout.contains("claude-code, claude-desktop"), "{ran:?}");
}

/// A fake of a client's own command: notes its arguments and what `act` does to the file.
fn fake(env: &TestEnv, name: &str, act: &str) -> PathBuf {
    let said = env.root().join(format!("{name}.said"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\n{act}\n", said.display());
    let path = env.root().join("bin").join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    said
}

/// A client's own command: what it writes where, and how it must be called.
struct OwnCase<'a> {
    client: &'a str,
    program: &'a str,
    scope: &'a str,
    path: &'a str,
    text: &'a str,
    add: Vec<&'a str>,
    remove: Vec<&'a str>,
}

#[test]
fn u4_the_clients_own_command_is_called_with_the_right_words() {
    let env = TestEnv::new(STEAD);
    let program = env.program().canonicalize().unwrap().display().to_string();
    let p = program.as_str();
    let entry = format!(r#"{{"mcpServers":{{"stead":{{"command":"{p}","args":["mcp"]}}}}}}"#);
    let toml = format!("[mcp_servers.stead]\ncommand = '{p}'\nargs = ['mcp']\n");
    let code = format!(r#"{{"args":["mcp"],"command":"{p}","name":"stead","type":"stdio"}}"#);
    let ws = env.workspace();
    let mcp_json = ws.join(".mcp.json").display().to_string();
    let code_entry = entry.replace("mcpServers", "servers");
    let case = |client, program, scope, path, text, add, remove| OwnCase {
        client,
        program,
        scope,
        path,
        text,
        add,
        remove,
    };
    let all = [
        case(
            "claude-code",
            "claude",
            "user",
            "~/.claude.json",
            &entry,
            vec!["mcp", "add", "-s", "user", "stead", "--", p, "mcp"],
            vec!["mcp", "remove", "-s", "user", "stead"],
        ),
        case(
            "claude-code",
            "claude",
            "project",
            &mcp_json,
            &entry,
            vec!["mcp", "add", "-s", "project", "stead", "--", p, "mcp"],
            vec!["mcp", "remove", "-s", "project", "stead"],
        ),
        case(
            "codex",
            "codex",
            "user",
            "~/.codex/config.toml",
            &toml,
            vec!["mcp", "add", "stead", "--", p, "mcp"],
            vec!["mcp", "remove", "stead"],
        ),
        case(
            "copilot-cli",
            "copilot",
            "user",
            "~/.copilot/mcp-config.json",
            &entry,
            vec!["mcp", "add", "stead", "--", p, "mcp"],
            vec!["mcp", "remove", "stead"],
        ),
        case(
            "gemini-cli",
            "gemini",
            "user",
            "~/.gemini/settings.json",
            &entry,
            vec!["mcp", "add", "-s", "user", "stead", p, "mcp"],
            vec!["mcp", "remove", "-s", "user", "stead"],
        ),
        case(
            "vscode",
            "code",
            "user",
            "~/.config/Code/User/mcp.json",
            &code_entry,
            vec!["--add-mcp", &code],
            vec![],
        ),
    ];
    for OwnCase { client, program: name, scope, path, text, add, remove } in all {
        // It notes something else too, so that the file cannot be given back as it was.
        let more = if text.starts_with('{') {
            text.replacen('{', r#"{"more":1,"#, 1)
        } else {
            format!("more = 1\n{text}")
        };
        let act = format!(
            "case \"$*\" in *remove*) printf '%s' '' > {path};; *) mkdir -p \"$(dirname {path})\"; cat > {path} <<'E'\n{more}\nE\n;; esac"
        );
        let said = fake(&env, name, &act);
        let data = install(&env, &["--client", client, "--scope", scope, "--dry-run"]);
        assert!(!said.exists(), "a dry run calls nothing");
        let shown = data["clients"][0]["by"].as_str().unwrap().to_owned();
        assert!(shown.starts_with(&format!("{name} {}", add[0])), "{shown}");
        let data = install(&env, &["--client", client, "--scope", scope]);
        assert_eq!(
            (&data["clients"][0]["action"], &data["clients"][0]["by"]),
            (&json!("added"), &json!(shown))
        );
        assert_eq!(read(&said).lines().collect::<Vec<_>>(), add, "{client}");
        fs::remove_file(&said).unwrap();
        let data = install(&env, &["--client", client, "--scope", scope, "--remove"]);
        assert_eq!(data["clients"][0]["action"], "removed", "{data}");
        match remove.is_empty() {
            true => assert_eq!(data["clients"][0]["by"], "edit"),
            false => assert_eq!(read(&said).lines().collect::<Vec<_>>(), remove, "{client}"),
        }
        fs::remove_file(env.root().join("bin").join(name)).unwrap();
        let _ = fs::remove_file(said);
    }
}

#[test]
fn u4_where_the_clients_own_command_fails_or_lies_the_file_is_edited() {
    let env = TestEnv::new(STEAD);
    for (act, said) in [("echo no luck >&2; exit 3", "no luck"), ("exit 0", "did not change")] {
        fake(&env, "codex", act);
        let file = put(&env, ".codex/config.toml", "model = \"x\"\n");
        let data = install(&env, &["--client", "codex"]);
        let one = &data["clients"][0];
        assert_eq!((&one["action"], &one["by"]), (&json!("added"), &json!("edit")), "{one}");
        assert!(one["note"].as_str().unwrap().contains(said), "{one}");
        assert!(read(&file).contains("[mcp_servers.stead]"));
        install(&env, &["--client", "codex", "--remove"]);
        assert_eq!(read(&file), "model = \"x\"\n");
    }
}

#[test]
fn u4_a_projects_files_name_the_projects_directory_where_the_client_fills_it_in() {
    let env = TestEnv::new(STEAD);
    for (client, path) in [
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("zed", ".zed/settings.json"),
        ("codex", ".codex/config.toml"),
        ("copilot-cli", ".github/mcp.json"),
        ("opencode", "opencode.json"),
    ] {
        install(&env, &["--client", client, "--scope", "project", "--command", "stead"]);
        let text = read(env.workspace().join(path));
        let variable = text.contains("\"mcp\", \"--workspace\", \"${workspaceFolder}\"");
        assert_eq!(variable, matches!(client, "cursor" | "vscode"), "{text}");
        assert!(text.contains("\"stead\""), "{text}");
    }
    let ran = env.run(["install", "--client", "goose", "--scope", "project"]);
    assert!(ran.stdout.contains("Goose has no project file"), "{ran:?}");
    let ws = env.workspace().display().to_string();
    install(&env, &["--client", "claude-desktop", "--workspace", &ws]);
    let text = read(home(&env).join(".config/Claude/claude_desktop_config.json"));
    assert!(text.contains(&format!("[\"mcp\", \"--workspace\", \"{ws}\"]")), "{text}");
}

#[test]
fn u4_links_and_modes_stay() {
    let env = TestEnv::new(STEAD);
    let real = put(&env, "dotfiles/zed.json", "{\n  // mine\n}\n");
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    let link = home(&env).join(".config/zed/settings.json");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../../dotfiles/zed.json", &link).unwrap();
    install(&env, &["--client", "zed"]);
    assert!(link.is_symlink() && read(&real).contains("context_servers"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    install(&env, &["--client", "zed", "--remove"]);
    assert!(link.is_symlink());
    assert_eq!(read(&real), "{\n  // mine\n}\n");
    let left: Vec<_> = fs::read_dir(home(&env).join("dotfiles")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing is left beside it: {left:?}");
}

#[test]
fn u4_files_that_cannot_be_changed_are_refused_and_stay_as_they_are() {
    let env = TestEnv::new(STEAD);
    let broken = "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n";
    let file = put(&env, ".cursor/mcp.json", broken);
    let error = refused(&env, "cursor");
    assert!(error["message"].as_str().unwrap().contains("line 4, column 5"), "{error}");
    assert_eq!(read(&file), broken);
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    assert!(
        refused(&env, "cursor")["message"].as_str().unwrap().contains("not UTF-8: byte 7, line 1")
    );
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    let error = refused(&env, "cursor");
    assert!(error["message"].as_str().unwrap().contains("is read-only"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("\"command\": "), "{error}");
    assert_eq!(read(&file), "{}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let error = refused(&env, "cursor");
    assert!(error["message"].as_str().unwrap().contains("a directory"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("move it away"), "{error}");
    fs::remove_dir(&file).unwrap();
    symlink("nowhere", &file).unwrap();
    assert!(refused(&env, "cursor")["message"].as_str().unwrap().contains("a link to `nowhere`"));
    fs::remove_file(&file).unwrap();
    fs::write(&file, r#"{"mcpServers": {"stead": {"url": "http://x"}}}"#).unwrap();
    assert!(refused(&env, "cursor")["message"].as_str().unwrap().contains("by a URL"));
    for entry in ["null", "\"x\"", "[]", "{}"] {
        fs::write(&file, format!(r#"{{"mcpServers": {{"stead": {entry}}}}}"#)).unwrap();
        let message = refused(&env, "cursor")["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("it starts no program"), "{entry}: {message}");
    }
    for command in ["", " "] {
        let ran = env.run(["install", "--client", "cursor", "--command", command]);
        assert!(ran.code == Some(2) && ran.stdout.contains("name a program"), "{ran:?}");
    }
    fs::File::create(&file).unwrap().set_len(1 << 33).unwrap();
    assert!(refused(&env, "cursor")["message"].as_str().unwrap().contains("at most"));
    // One client that is refused keeps no other from being told.
    put(&env, ".config/zed/settings.json", "{}");
    let reply = env.run(["install"]).json();
    assert_eq!(reply["data"]["clients"][1]["action"], "added", "{reply}");
}

#[test]
fn u4_what_others_wrote_meanwhile_stays_at_a_remove() {
    let env = TestEnv::new(STEAD);
    let file = put(&env, ".cursor/mcp.json", "{\n  \"a\": 1\n}\n");
    install(&env, &["--client", "cursor"]);
    let text = read(&file).replace("\"a\": 1", "\"a\": 2");
    fs::write(&file, &text).unwrap();
    let data = install(&env, &["--client", "cursor", "--remove"]);
    assert_eq!(data["clients"][0]["by"], "edit");
    assert_eq!(read(&file), "{\n  \"a\": 2\n}\n", "the list that the install made is gone too");
    let absent = install(&env, &["--client", "cursor", "--remove"]);
    assert_eq!(absent["clients"][0]["action"], "absent");
    let other = r#"{"mcpServers": {"code": {"command": "/usr/bin/stead", "args": ["mcp"]}}}"#;
    fs::write(&file, other).unwrap();
    let data = install(&env, &["--client", "cursor"]);
    assert!(data["clients"][0]["note"].as_str().unwrap().contains("as `code`"), "{data}");
    assert_eq!(read(&file), other);
    // A link on the PATH stays when the program is replaced, so the link is what is written.
    let link = env.root().join("bin/stead");
    symlink(env.program(), &link).unwrap();
    fs::write(&file, "{}").unwrap();
    install(&env, &["--client", "cursor"]);
    assert!(read(&file).contains(&format!("\"{}\"", link.display())), "{}", read(&file));
}

#[test]
fn u4_installs_at_once_take_turns() {
    let env = TestEnv::new(STEAD);
    let before = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n";
    let file = put(&env, ".cursor/mcp.json", before);
    put(&env, ".cursor/.mcp.json.stead-1", "left by one that was killed");
    for _ in 0..3 {
        let all: Vec<_> = (0..6)
            .map(|_| {
                env.command(["install", "--client", "cursor"])
                    .stdout(std::process::Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut one in all {
            assert!(one.wait().unwrap().success());
        }
        assert_eq!(read(&file).matches("\"stead\"").count(), 1);
        install(&env, &["--client", "cursor", "--remove"]);
        assert_eq!(read(&file), before);
    }
    let left: Vec<_> = fs::read_dir(home(&env).join(".cursor")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn u5_doctor_starts_what_each_client_starts_and_names_what_does_not_work() {
    let env = TestEnv::new(STEAD);
    install(&env, &["--client", "zed", "--client", "codex", "--client", "opencode"]);
    fs::create_dir_all(home(&env).join(".codeium/windsurf")).unwrap();
    let checks = |code: i32| {
        let ran = env.run(["doctor"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        ran.json()["data"].clone()
    };
    let find = |data: &Value, name: &str| {
        let all = data["checks"].as_array().unwrap();
        all.iter().find(|check| check["name"] == name).expect(name).clone()
    };
    let data = checks(0);
    for client in ["zed", "codex", "opencode"] {
        let message = find(&data, client)["message"].as_str().unwrap().to_owned();
        assert!(message.contains("which lists 10 tools"), "{message}");
    }
    assert!(find(&data, "clients")["message"].as_str().unwrap().contains("Windsurf"), "{data}");
    assert!(data["next"][0].as_str().unwrap().contains("stead install"), "{data}");
    assert!(env.processes().is_empty(), "no server is left");
    let odd =
        |command: &str| format!(r#"{{"mcpServers": {{"stead": {{"command": "{command}"}}}}}}"#);
    let server = env.root().join("old-server");
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"stead","version":"0.0.1"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;
    fs::write(
        &server,
        format!("#!/bin/sh\nread a\necho '{answer}'\nread b\nread c\necho '{list}'\n"),
    )
    .unwrap();
    fs::set_permissions(&server, Permissions::from_mode(0o755)).unwrap();
    for (command, code, said) in [
        ("/nope/stead", 2, "`/nope/stead`, which is not there"),
        ("/bin/true", 2, "ended before it answered"),
        ("/usr/bin/yes", 2, "does not speak MCP: it wrote `y`"),
        (server.to_str().unwrap(), 0, "stead 0.0.1"),
    ] {
        put(&env, ".cursor/mcp.json", &odd(command));
        let cursor = find(&checks(code), "cursor");
        assert!(cursor["message"].as_str().unwrap().contains(said), "{cursor}");
        let fix = if code == 0 { &cursor["message"] } else { &cursor["fix"] };
        assert!(fix.as_str().unwrap().contains("stead install --client cursor"), "{cursor}");
    }
    // What a project's file starts is run only if it is this stead and nothing more: others wrote that file.
    let (theirs, ran) = (env.workspace().join("theirs"), env.workspace().join("ran"));
    fs::write(&theirs, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    fs::set_permissions(&theirs, Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(env.workspace().join(".zed")).unwrap();
    let own = env.program().display().to_string();
    for (entry, said) in [
        (json!({"command": "./theirs", "args": ["mcp"]}), "it was not tried"),
        (
            json!({"command": own, "args": ["eval", "-n", "py", "open('ran', 'w')", "mcp"]}),
            "it was not tried",
        ),
        (
            json!({"command": own, "args": ["mcp"], "env": {"LD_PRELOAD": "./theirs"}}),
            "it was not tried",
        ),
        (json!({"command": own, "args": ["mcp"]}), "lists 10 tools"),
    ] {
        let settings = json!({"context_servers": {"stead": entry}});
        fs::write(env.workspace().join(".zed/settings.json"), settings.to_string()).unwrap();
        put(&env, ".cursor/mcp.json", "{}");
        let data = checks(0);
        let zed = data["checks"]
            .as_array()
            .unwrap()
            .iter()
            .rfind(|check| check["name"] == "zed")
            .unwrap();
        assert!(zed["message"].as_str().unwrap().contains(said), "{zed}");
        assert!(!ran.exists(), "{entry}");
    }
    put(&env, ".cursor/mcp.json", "{");
    let cursor = find(&checks(2), "cursor");
    assert!(cursor["message"].as_str().unwrap().contains("line 1, column 2"), "{cursor}");
}

/// What clients have under our name that is not ours.
const THEIRS: [(&str, &str, &str); 5] = [
    (
        "cursor",
        ".cursor/mcp.json",
        r#"{"mcpServers":{"stead":{"command":"docker","args":["run","-i","me/img"]}}}"#,
    ),
    ("cursor", ".cursor/mcp.json", r#"{"mcpServers": {"stead": {"url": "http://x"}}}"#),
    (
        "codex",
        ".codex/config.toml",
        "[mcp_servers.stead]\ncommand = \"ssh\"\nargs = [\"box\", \"stead\", \"mcp\"]\n",
    ),
    ("codex", ".codex/config.toml", "[mcp_servers.stead]\nurl = \"http://x\"\n"),
    (
        "goose",
        ".config/goose/config.yaml",
        "extensions:\n  stead:\n    cmd: other\n    args: [mcp]\n",
    ),
];

#[test]
fn u4_an_entry_of_ones_own_is_neither_taken_over_nor_taken_out() {
    let env = TestEnv::new(STEAD);
    for (client, path, theirs) in THEIRS {
        let file = put(&env, path, theirs);
        let error = refused(&env, client);
        let has = |key: &str, part: &str| error[key].as_str().unwrap_or_default().contains(part);
        assert!(has("message", "is not of this program"), "{client}: {error}");
        assert!(has("hint", "another name"), "{client}: {error}");
        assert_eq!(read(&file), theirs);
        let reply = install(&env, &["--client", client, "--remove"]);
        let answer = &reply["clients"][0];
        assert_eq!(answer["action"], "absent", "{reply:#}");
        assert!(answer["note"].as_str().unwrap().contains("not of this program"), "{reply:#}");
        assert_eq!(read(&file), theirs);
    }
    assert!(!env.state_dir().join("clients").exists(), "nothing was written, so nothing is kept");
    let checks = env.run(["doctor"]).json()["data"]["checks"].clone();
    for client in ["cursor", "codex", "goose"] {
        let check = checks.as_array().unwrap().iter().find(|check| check["name"] == client);
        let check = check.unwrap_or_else(|| panic!("{client}: {checks:#}"));
        assert!(check["fix"].as_str().unwrap().contains("another name"), "{check:#}");
    }
}

#[test]
fn u4_the_answer_tells_what_each_client_starts() {
    let env = TestEnv::new(STEAD);
    let list =
        r#"{"mcp":{"stead":{"type":"local","command":["/old/stead","mcp","--workspace","/p"]}}}"#;
    let file = put(&env, ".config/opencode/opencode.json", list);
    let reply = install(&env, &["--client", "opencode"]);
    let answer = &reply["clients"][0];
    assert_eq!(answer["action"], "changed", "{reply:#}");
    assert_eq!(answer["entry"]["args"], json!(["mcp", "--workspace", "/p"]), "{reply:#}");
    let program = answer["entry"]["command"].as_str().unwrap();
    assert_eq!(read(&file), list.replace("/old/stead", program));
    let reply = install(&env, &["--client", "vscode", "--scope", "project"]);
    let entry = &reply["clients"][0]["entry"];
    assert_eq!(entry["args"], json!(["mcp", "--workspace", "${workspaceFolder}"]), "{reply:#}");
    // A program of one's own that an install has entered is taken out again by a remove.
    install(&env, &["--client", "zed", "--command", "/opt/wrapper"]);
    let reply = install(&env, &["--client", "zed", "--remove"]);
    assert_eq!(reply["clients"][0]["action"], "removed", "{reply:#}");
}
