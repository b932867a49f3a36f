//! C-10: every example of README.md and docs/ runs, and prints what stands there.
//!
//! A block of `console` is a session at a terminal: lines that begin with `$ ` are typed, the others are what is
//! shown then. A block of `sh` has commands alone. What differs from run to run is made equal on both sides: times,
//! durations and the directory of the workspace (see `settled`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use regex::Regex;
use stead_screen::plain;
use stead_testkit::{Terminal, TestEnv};

use crate::STEAD;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// One block of a page, with the word behind its fence.
struct Block {
    word: String,
    text: String,
}

/// All pages that show how stead is used.
fn pages() -> Vec<(String, String)> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).expect("docs/ is there");
    let mut paths: Vec<_> = docs.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "md"));
    let beside = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    paths.extend(beside.map(|name| Path::new(ROOT).join(name)));
    paths.sort();
    let read = |path: &Path| fs::read_to_string(path).expect("a page is text");
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(word), None) => {
                open = Some(Block { word: word.to_owned(), text: String::new() });
            }
            (None, Some(block)) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The same text with all that differs from run to run made equal, and without blanks at the ends of lines.
fn settled(text: &str) -> String {
    let rules = [
        (r"\b\d+(\.\d+)?s ago\b", "TIME ago"),
        (r#""(duration_ms|elapsed_ms|created_ms|started_ms|last_used_ms|cpu_ms)":\d+"#, "\"$1\":0"),
        (r"\b\d+(\.\d+)?s of CPU, ", ""),
    ];
    let mut text = text.to_owned();
    for (rule, by) in rules {
        text = Regex::new(rule).expect("a rule").replace_all(&text, by).into_owned();
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    // Columns are as wide as what stands in them.
    let blanks = Regex::new(" {2,}").expect("a rule");
    let lines = lines.into_iter().map(|line| {
        match line.contains("TIME ago") || line.starts_with("NAME ") {
            true => blanks.replace_all(line, "  ").into_owned(),
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// What a person sees who types the command at a terminal.
fn typed(env: &TestEnv, command: &str) -> String {
    let mut shell = env.other("/bin/sh");
    shell.args(["-c", command]).env("NO_COLOR", "1");
    let (_, shown) = Terminal::run(shell).finish();
    plain(shown)
}

/// An environment in which `stead` is a command, as after an installation.
fn installed() -> TestEnv {
    let env = TestEnv::new(STEAD);
    symlink(env.program(), env.root().join("bin/stead")).expect("a link");
    env
}

#[test]
fn c10_what_the_pages_show_is_what_is_shown() {
    let mut shown = 0;
    for (path, page) in pages() {
        // The examples of a page follow each other.
        let env = installed();
        for block in blocks(&page).into_iter().filter(|block| block.word == "console") {
            let mut steps: Vec<(String, String)> = Vec::new();
            for line in block.text.lines() {
                match (line.strip_prefix("$ "), steps.last_mut()) {
                    (Some(command), _) => steps.push((command.to_owned(), String::new())),
                    (None, Some((_, output))) => *output += &format!("{line}\n"),
                    (None, None) => panic!("{path}: output before the first command: {line}"),
                }
            }
            for (command, wanted) in steps {
                let found = typed(&env, &command);
                assert_eq!(settled(&found), settled(&wanted), "{path}: $ {command}");
                shown += 1;
            }
        }
    }
    assert!(shown > 10, "{shown}");
}

#[test]
fn c10_commands_of_the_pages_can_be_run() {
    let mut ran = Vec::new();
    for (path, page) in pages() {
        for block in blocks(&page).into_iter().filter(|block| block.word == "sh") {
            for line in block.text.lines().filter(|line| !line.trim().is_empty()) {
                run(&path, line);
                ran.push(line.to_owned());
            }
        }
    }
    assert!(ran.len() >= 6, "{ran:?}");
}

/// Runs a command of a page. What would build the project or change another program's settings is tried with the
/// binary that is built already, and with a stand-in for the other program.
#[track_caller]
fn run(path: &str, line: &str) {
    let env = installed();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["cargo", "run", "--release", "--", ..] => {
            let command = line.replacen("cargo run --release --", "stead", 1);
            assert_eq!(typed(&env, &command).trim_end(), "42", "{path}: {line}");
        }
        // tests/packages takes these lines from the page and runs them.
        ["pip" | "uvx" | "npm" | "sudo" | "tar", ..] => {}
        // `what_the_page_says_removes_everything` runs these.
        ["stead", "ls", ..] | ["stead", "install", "--remove"] | ["rm", "-rf", ..] => {}
        ["stead", "install"] => {
            let ran = env.run(["install"]);
            assert_eq!(ran.code, Some(0), "{path}: {line}: {ran:?}");
        }
        ["cargo", "install", ..] => {}
        [program @ ("claude" | "codex"), ..] => {
            // It prints what would serve, one word a line.
            let script =
                "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; printf '%s\\n' \"$@\"\n";
            let stand_in = env.root().join("bin").join(program);
            fs::write(&stand_in, script).expect("a file");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&stand_in, mode).expect("a mode");
            assert_eq!(typed(&env, line), "stead\nmcp\n", "{path}: {line}");
        }
        [script, ..] if script.starts_with("./") => {
            let file = Path::new(ROOT).join(script);
            let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{line}: {error}"));
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let known = text.contains(option)
                    || ["benches/main.py", "tests/harness/main.py"].iter().any(|main| {
                        fs::read_to_string(Path::new(ROOT).join(main))
                            .is_ok_and(|it| it.contains(option))
                    });
                assert!(known, "{path}: {line}: {option} is not known");
            }
        }
        _ => panic!("{path}: nobody knows how to try `{line}`"),
    }
}

#[test]
fn links_of_the_pages_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#\s]+)[^)]*\)").expect("a rule");
    let mut followed = 0;
    for (path, page) in pages() {
        let beside = Path::new(&path).parent().expect("a page lies in a directory");
        for found in link.captures_iter(&page).map(|found| found[1].to_owned()) {
            if !found.starts_with("https://") {
                assert!(beside.join(&found).exists(), "{path}: {found}");
                followed += 1;
            }
        }
    }
    assert!(followed > 20, "{followed}");
}

#[test]
fn what_the_page_says_removes_everything() {
    let env = installed();
    let page = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the page");
    let blocks = blocks(&page).into_iter().filter(|block| block.word == "sh");
    let removal: Vec<Block> = blocks.filter(|block| block.text.contains("rm -rf")).collect();
    assert_eq!(removal.len(), 1);
    let home = env.root().join("home");
    // As a person has it: state and configuration lie in the home directory.
    let run = |script: &str| {
        let mut shell = env.other("/bin/sh");
        shell.args(["-ec", script]).env_remove("STEAD_STATE_DIR");
        let ran = shell.output().expect("a shell runs");
        assert!(ran.status.success(), "{script}: {ran:?}");
    };
    run("stead eval 1; stead shell true; stead stdlib add --language python 'def ours(): pass'
         mkdir '../with a blank'; cd '../with a blank'; stead eval -n sh 'x=1'
         mkdir ../jobs; cd ../jobs; stead shell --timeout 0 'exec sleep 1000'");
    assert!(home.join(".local/state/stead").exists() && home.join(".config/stead").exists());
    assert!(!env.processes().is_empty());
    run(&removal[0].text);
    let left = Command::new("find").arg(&home).args(["-name", "*stead*"]).output().expect("find");
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
    assert!(env.processes().is_empty(), "all sessions have ended");
}
