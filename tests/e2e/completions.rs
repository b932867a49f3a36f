//! C-1: sessions, ids, variables and languages complete in bash, zsh and fish; manual pages.
//!
//! A shell that this machine does not have is not tried.

use std::os::unix::fs::symlink;
use std::path::Path;

use stead_testkit::{Ran, TestEnv};

use crate::STEAD;
use crate::cli::refused;
use crate::tmux::Tmux;

/// Two sessions with evals and variables, `stead` on the PATH, and the script of a shell in a file.
fn prepared(shell: &str) -> (TestEnv, String) {
    let env = TestEnv::new(STEAD);
    symlink(env.program(), env.root().join("bin/stead")).expect("a link");
    env.json(["eval", "-n", "data", "-l", "python", "frame = 1; fraction = 2"]);
    env.json(["eval", "-n", "data", "other = 3"]);
    env.json(["eval", "-n", "build", "-l", "python", "1"]);
    let script = env.root().join(format!("script.{shell}"));
    std::fs::write(&script, env.run(["completions", shell]).stdout).expect("a file");
    (env, script.to_str().expect("a temp path is text").to_owned())
}

fn has(shell: &str) -> bool {
    ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(shell).exists())
}

/// What is typed, and what is offered then.
const LINES: [(&str, &[&str]); 6] = [
    ("stead stop d", &["data"]),
    ("stead eval -n ", &["build", "data"]),
    ("stead status bu", &["build"]),
    ("stead inspect -n data fra", &["fraction", "frame"]),
    ("stead launch no", &["node"]),
    ("stead outp", &["output"]),
];

#[test]
fn c1_names_complete_in_bash() {
    let (env, script) = prepared("bash");
    let complete = |line: &str| -> Vec<String> {
        let run = format!(
            "source {script}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; \
             read -ra COMP_WORDS <<< \"$COMP_LINE\"; [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=(''); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _stead stead \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let ran: Ran = env.other("bash").args(["-c", &run]).output().unwrap().into();
        assert_eq!(ran.stderr, "", "{line}");
        ran.stdout.lines().map(str::to_owned).collect()
    };
    for (line, wanted) in LINES {
        assert_eq!(complete(line), wanted, "{line}");
    }
    // Bash takes a colon for the end of a word, so only what stands behind it is put in.
    assert_eq!(complete("stead output data:"), ["2", "1"]);
    assert!(complete("stead output --ta").contains(&"--tail".to_owned()));
}

#[test]
fn c1_names_complete_in_fish() {
    if !has("fish") {
        return;
    }
    let (env, script) = prepared("fish");
    for (line, wanted) in
        LINES.into_iter().chain([("stead output data:", &["data:1", "data:2"][..])])
    {
        let run = format!("source {script}; complete -C '{line}'");
        let ran: Ran = env.other("fish").args(["--no-config", "-c", &run]).output().unwrap().into();
        let offered: Vec<&str> =
            ran.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
        for word in wanted {
            assert!(offered.contains(word), "{line}: {ran:?}");
        }
    }
}

#[test]
fn c1_names_complete_in_zsh() {
    if !has("zsh") {
        return;
    }
    let (env, script) = prepared("zsh");
    let tmux = Tmux::new(&env, "zsh");
    tmux.keys(&["-l", "PS1='> ' exec zsh -f"]);
    tmux.keys(&["Enter"]);
    tmux.wait("zsh", |screen| screen.ends_with('>'));
    tmux.keys(&[
        "-l",
        &format!("autoload -U compinit; compinit -u -D; source {script}; clear; echo ready"),
    ]);
    tmux.keys(&["Enter"]);
    tmux.wait("zsh", |screen| screen.starts_with("ready"));
    for (line, whole) in [
        ("stead stop d", "stead stop data"),
        ("stead inspect -n data oth", "stead inspect -n data other"),
        ("stead outp", "stead output"),
    ] {
        tmux.keys(&["-l", line]);
        tmux.keys(&["Tab"]);
        tmux.wait(whole, |screen| screen.ends_with(whole));
        tmux.keys(&["C-u"]);
        tmux.wait("an empty line", |screen| screen.ends_with('>'));
    }
}

#[test]
fn c1_manual_pages_are_printed_and_installed() {
    let env = TestEnv::new(STEAD);
    let page = env.run(["man"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains(".TH stead 1"), "{page:?}");
    let eval = env.run(["man", "eval"]).stdout;
    assert!(eval.contains(".TH stead-eval 1") && eval.contains("hard\\-timeout"), "{eval}");
    refused(&env.run(["man", "nonsense"]), "man", "bad_request");
    let told = env.json(["man", "--install"]);
    let dir = env.root().join("home/.local/share/man/man1");
    assert_eq!(told["data"]["directory"], dir.to_str().unwrap(), "{told:#}");
    for name in ["stead.1", "stead-eval.1", "stead-output.1", "stead-man.1"] {
        assert!(dir.join(name).is_file(), "{name}");
    }
    let there = env.json(["man", "--install", "pages"]);
    assert_eq!(there["data"]["pages"], told["data"]["pages"], "{there:#}");
    assert!(env.workspace().join("pages/stead.1").is_file());
}
