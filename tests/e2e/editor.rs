//! E-19: programs that ask for an editor get their text by `input`.

use std::time::Duration;

use serde_json::Value;
use stead_client::{EvalStatus, InputOptions, Quiet};
use stead_testkit::{TestEnv, git_repository, is_alive, node, wait_for_some};

use crate::STEAD;
use crate::talk::{expect, expect_wait, id, outcome, wrote};

/// Runs code that must wait in an editor of this file, which it shows.
#[track_caller]
fn edits(env: &TestEnv, session: &str, code: &str, file: &str) -> Value {
    let reply = match session {
        "shell" => env.json(["shell", "--", code]),
        _ => env.json(["eval", "-n", session, "--", code]),
    };
    expect_editor(&reply, file);
    reply
}

#[track_caller]
fn expect_editor(reply: &Value, file: &str) {
    expect(reply, "waiting_input");
    let open = reply["data"]["editor"].as_str().unwrap_or_default();
    assert!(open.starts_with('/') && open.ends_with(file), "{reply:#}");
    assert_eq!(reply["data"]["prompt"], format!("edit {open}"), "{reply:#}");
    assert!(wrote(reply, "err").contains(&format!("editor: {open}")), "{reply:#}");
}

/// Gives the new text, or leaves the file as it is.
#[track_caller]
fn give(env: &TestEnv, session: &str, text: Option<&str>) -> Value {
    match text {
        Some(text) => env.json(["input", "-n", session, "--", text]),
        None => env.json(["input", "-n", session, "--eof"]),
    }
}

/// A Bash session with something to lose.
fn kept(env: &TestEnv) {
    std::fs::create_dir_all(env.workspace().join("sub")).unwrap();
    expect(&env.json(["eval", "-n", "sh", "--", "kept=41; cd sub"]), "complete");
}

#[track_caller]
fn expect_kept(env: &TestEnv) {
    let reply = env.json(["eval", "-n", "sh", "--", "echo $kept ${PWD##*/}"]);
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "41 sub\n", "{reply:#}");
    assert!(reply["data"]["notice"].is_null(), "{reply:#}");
}

/// The same program from a Bash session, a shell command, Python and Node.
fn everywhere(command: &str) -> [(&'static str, String); 4] {
    let words: Vec<&str> = command.split(' ').collect();
    [
        ("sh", command.to_owned()),
        ("shell", command.to_owned()),
        ("py", format!("import subprocess\nran = subprocess.run({words:?})")),
        ("js", format!("require('child_process').execSync({command:?}, {{stdio: 'inherit'}})")),
    ]
}

#[test]
fn e19_a_commit_gets_its_message_by_input_in_every_language() {
    let env = TestEnv::with_node(STEAD, &node());
    let git = git_repository(&env, 1);
    kept(&env);
    for (session, code) in everywhere("git commit --allow-empty") {
        edits(&env, session, &code, "/.git/COMMIT_EDITMSG");
        let message = format!("from {session}\n\nwith\na body");
        expect(&give(&env, session, Some(&message)), "complete");
        assert_eq!(git(&["log", "-1", "--format=%B"]), message, "{session}");
    }
    assert_eq!(env.value("ran.returncode"), "0");
    expect_kept(&env);
}

#[test]
fn e19_a_rebase_asks_one_editor_after_another() {
    let env = TestEnv::with_node(STEAD, &node());
    let git = git_repository(&env, 4);
    kept(&env);
    for (session, code) in everywhere("git rebase -i HEAD~3") {
        edits(&env, session, &code, "/git-rebase-todo");
        let todo = git(&["log", "--reverse", "-3", "--format=reword %h %s"]);
        let reply = give(&env, session, Some(&todo));
        expect_editor(&reply, "/COMMIT_EDITMSG");
        // The text that an earlier editor got is not left over for the next.
        let first = format!("one {session}");
        let reply = give(&env, session, Some(&first));
        expect_editor(&reply, "/COMMIT_EDITMSG");
        let before = git(&["log", "-1", "--format=%s", "ORIG_HEAD~1"]);
        assert!(wrote(&reply, "err").contains(&before), "{reply:#}");
        let reply = give(&env, session, None);
        expect_editor(&reply, "/COMMIT_EDITMSG");
        let third = format!("three {session}");
        expect(&give(&env, session, Some(&third)), "complete");
        let now = git(&["log", "-4", "--format=%s"]);
        assert_eq!(now, format!("{third}\n{before}\n{first}\nc1"), "{session}");
    }
    expect_kept(&env);
}

#[test]
fn e19_an_interrupt_makes_the_program_give_up() {
    let env = TestEnv::with_node(STEAD, &node());
    let git = git_repository(&env, 2);
    kept(&env);
    for program in ["git commit --allow-empty", "git commit --amend", "git rebase -i HEAD~1"] {
        for (session, code) in everywhere(program) {
            let waits = edits(&env, session, &code, "");
            let reply = env.json(["interrupt", &id(&waits)]);
            assert_eq!(reply["data"]["effect"], "interrupted", "{session}: {reply:#}");
            expect(&outcome(&env, &id(&waits)), "interrupted");
            assert_eq!(git(&["log", "--format=%s"]), "c2\nc1", "{session}: {program}");
            // Git does not clean up after itself when it is interrupted.
            let _ = std::fs::remove_dir_all(env.workspace().join(".git/rebase-merge"));
        }
        expect_kept(&env);
    }
}

#[test]
fn e19_an_end_of_file_leaves_the_file_and_the_input_open() {
    let env = TestEnv::new(STEAD);
    let git = git_repository(&env, 1);
    kept(&env);
    let code = "git commit -q --amend; read -p 'next? ' x; git commit -q --amend; echo $x";
    edits(&env, "sh", code, "/COMMIT_EDITMSG");
    expect(&give(&env, "sh", None), "waiting_input");
    expect_editor(&give(&env, "sh", Some("yes")), "/COMMIT_EDITMSG");
    let reply = give(&env, "sh", None);
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "yes\n", "{reply:#}");
    assert_eq!(git(&["log", "--format=%s"]), "c1");
    // A message that is left as it is, and empty, aborts the commit.
    edits(&env, "sh", "git commit --allow-empty", "/COMMIT_EDITMSG");
    let reply = give(&env, "sh", None);
    expect(&reply, "error");
    assert!(wrote(&reply, "err").contains("empty commit message"), "{reply:#}");
    expect_kept(&env);
}

#[test]
fn e19_files_of_any_size_and_new_ones_are_edited() {
    let env = TestEnv::new(STEAD);
    let code = "sh -c \"$EDITOR 'a file'\"; sh -c \"$EDITOR 'a file'\"; wc -c < 'a file'";
    let reply = edits(&env, "sh", code, "/a file");
    assert!(wrote(&reply, "err").contains("(new file)"), "{reply:#}");
    let text = "0123456789abcde\n".repeat(1 << 16);
    let mut options = InputOptions {
        eval: None,
        text: text.clone(),
        eof: false,
        soft_timeout: Duration::from_secs(60),
        max_chars: 1000,
    };
    let client = env.client();
    let sh = "sh".parse().unwrap();
    let view = client.input(&sh, &options, &mut Quiet).unwrap();
    assert_eq!(view.status, EvalStatus::WaitingInput);
    assert_eq!(std::fs::read_to_string(env.workspace().join("a file")).unwrap(), text);
    // A text that ends without a line end, and an end of file behind it.
    options.text.push('x');
    options.eof = true;
    let view = client.input(&sh, &options, &mut Quiet).unwrap();
    assert_eq!(view.status, EvalStatus::Complete);
    assert_eq!(std::fs::read_to_string(env.workspace().join("a file")).unwrap(), text + "x");
}

#[test]
fn e19_an_editor_whose_output_is_kept_by_a_program_is_shown_all_the_same() {
    let env = TestEnv::new(STEAD);
    let _git = git_repository(&env, 1);
    let code = "import subprocess
ran = subprocess.run(['git', 'commit', '--amend'], capture_output=True, text=True)";
    let reply = edits(&env, "py", code, "/COMMIT_EDITMSG");
    assert!(wrote(&reply, "err").contains("\nc1\n"), "{reply:#}");
    expect(&give(&env, "py", Some("amended")), "complete");
    assert_eq!(env.value("'amended' in ran.stdout"), "True");
}

#[test]
fn e19_an_editor_without_the_sessions_input_says_so_and_fails() {
    let env = TestEnv::new(STEAD);
    for code in ["sh -c \"$EDITOR x\" < /dev/null", "echo text | sh -c \"$EDITOR x\""] {
        let reply = env.json(["eval", "-n", "sh", "--", code]);
        expect(&reply, "error");
        let said = wrote(&reply, "err");
        assert!(said.contains("no text can come"), "{reply:#}");
        assert!(!env.workspace().join("x").exists());
    }
    let ran = env.run(["editor", "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("not that of a stead session"), "{ran:?}");
}

#[test]
fn e19_an_editor_of_the_users_own_is_used() {
    let env = TestEnv::new(STEAD);
    let git = git_repository(&env, 1);
    let run = |variable: &str, value: &str, arguments: &[&str]| {
        let mut command = env.command(arguments);
        let output = command.env(variable, value).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let commit = "git commit --allow-empty";
    for (at, variable) in ["EDITOR", "VISUAL", "GIT_EDITOR"].into_iter().enumerate() {
        let (session, editor) = (format!("sh{at}"), format!("echo {variable} >"));
        let eval = ["eval", "-n", &session, "--language", "bash", "--", commit];
        // Git takes no visual editor where the terminal is dumb.
        let commit = format!("TERM=xterm {commit}");
        let eval = [&eval[..6], &[commit.as_str()]].concat();
        expect(&run(variable, &editor, &eval), "complete");
        assert_eq!(git(&["log", "-1", "--format=%s"]), variable);
        git(&["reset", "-q", "--soft", "HEAD~1"]);
        expect(&run(variable, &editor, &["shell", "--", &commit]), "complete");
        assert_eq!(git(&["log", "-1", "--format=%s"]), variable);
    }
    git(&["config", "core.editor", "echo configured >"]);
    expect(&env.json(["shell", "--", commit]), "complete");
    assert_eq!(git(&["log", "-1", "--format=%s"]), "configured");
}

#[test]
fn e6_two_interrupts_get_the_shell_back_from_an_editor_that_ignores_them() {
    let env = TestEnv::new(STEAD);
    let git = git_repository(&env, 1);
    kept(&env);
    let mut editors = vec!["sh -c 'trap \"\" INT; echo $$ > $0.pid; sleep 600'"];
    if std::path::Path::new("/usr/bin/vim").exists() {
        editors.push("sh -c 'echo $$ > $0.pid; exec vim $0'");
    }
    for editor in editors {
        let file = env.workspace().join(".git/COMMIT_EDITMSG.pid");
        let _ = std::fs::remove_file(&file);
        let code = format!("export GIT_EDITOR={}; git commit --allow-empty", shell_word(editor));
        let reply = env.json(["eval", "-n", "sh", "--bg", "--", &code]);
        let child: u32 = wait_for_some("the editor", || {
            std::fs::read_to_string(&file).ok()?.trim().parse().ok()
        });
        let effect = |reply: Value| reply["data"]["effect"].as_str().unwrap().to_owned();
        // Vim may take the first one for its end.
        if effect(env.json(["interrupt", &id(&reply)])) == "still_running" {
            assert_eq!(effect(env.json(["interrupt", &id(&reply)])), "interrupted", "{editor}");
        }
        expect(&outcome(&env, &id(&reply)), "interrupted");
        assert!(!is_alive(child), "{editor}");
        expect_kept(&env);
        assert_eq!(git(&["log", "--format=%s"]), "c1");
    }
}

fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[test]
fn e19_input_for_others_is_no_frame() {
    let env = TestEnv::new(STEAD);
    let reply = env.json(["eval", "-n", "sh", "--", "printf 'a? '; read a; read b; echo $a-$b"]);
    expect_wait(&reply, "a? ");
    expect(&give(&env, "sh", Some("1")), "waiting_input");
    let reply = give(&env, "sh", Some("2"));
    assert_eq!(wrote(&reply, "out"), "1-2\n", "{reply:#}");
}

#[test]
fn e19_input_that_came_too_early_for_an_editor_is_dropped_and_told() {
    let env = TestEnv::new(STEAD);
    let code = "read a; sh -c \"$EDITOR file\"; cat file; echo $a";
    expect(&env.json(["eval", "-n", "sh", "--", code]), "waiting_input");
    let reply = give(&env, "sh", Some("first\nsecond"));
    expect_editor(&reply, "/file");
    assert!(wrote(&reply, "err").contains("7 bytes of input"), "{reply:#}");
    let reply = give(&env, "sh", Some("text"));
    expect(&reply, "complete");
    assert_eq!(wrote(&reply, "out"), "text\nfirst\n", "{reply:#}");
}

#[test]
fn e19_a_text_may_come_from_a_file_or_standard_input() {
    let env = TestEnv::new(STEAD);
    let big = "0123456789abcde\n".repeat(1 << 16);
    std::fs::write(env.workspace().join("big"), &big).unwrap();
    let code = "sh -c \"$EDITOR one\"; sh -c \"$EDITOR two\"; read x; echo $x";
    let reply = edits(&env, "sh", code, "/one");
    expect_editor(&env.json(["input", &id(&reply), "--file", "big"]), "/two");
    let input = ["input", "-n", "sh", "--file", "-"];
    expect(&env.run_with(input, b"without end").json(), "waiting_input");
    let read = |name: &str| std::fs::read_to_string(env.workspace().join(name)).unwrap();
    assert!(read("one") == big);
    assert_eq!(read("two"), "without end\n");
    let refused = env.json(["input", "-n", "sh", "--file", "big", "text"]);
    assert_eq!(refused["error"]["code"], "bad_request", "{refused:#}");
    let reply = env.run_with(input, b"line\n").json();
    assert_eq!(wrote(&reply, "out"), "line\n", "{reply:#}");
}

#[test]
fn e19_pagers_print() {
    let env = TestEnv::new(STEAD);
    let _git = git_repository(&env, 3);
    for code in [
        "git -p log --format=%s",
        "git log --format=%s",
        "git --paginate show -s --format=%s HEAD~2",
    ] {
        let reply = env.json(["eval", "-n", "sh", "--", code]);
        expect(&reply, "complete");
        assert!(wrote(&reply, "out").contains("c1\n"), "{reply:#}");
    }
}
