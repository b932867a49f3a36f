//! C-1, C-10: what the command line says of itself: help texts, first commands, completions.

use stead_testkit::TestEnv;

use crate::STEAD;
use crate::cli::refused;

/// Every command of this version.
const COMMANDS: [&str; 22] = [
    "launch",
    "eval",
    "input",
    "interrupt",
    "pause",
    "resume",
    "output",
    "evals",
    "ls",
    "status",
    "restart",
    "clear",
    "stop",
    "logs",
    "vars",
    "inspect",
    "doctor",
    "install",
    "skill",
    "completions",
    "kill",
    "man",
];

#[test]
fn c10_every_command_has_a_help_text_with_an_example() {
    let env = TestEnv::new(STEAD);
    let all = env.run(["--help"]);
    assert_eq!((all.code, all.stderr.as_str()), (Some(0), ""));
    for command in COMMANDS {
        assert!(all.stdout.contains(&format!("\n  {command} ")), "{command}: {}", all.stdout);
        let long = env.run([command, "--help"]);
        assert_eq!(long.code, Some(0));
        assert!(long.stdout.contains("Example"), "{}", long.stdout);
        assert!(long.stdout.contains(&format!("\n  stead {command}")) || command == "eval");
        let short = env.run([command, "-h"]);
        assert!(short.stdout.contains("Usage:"), "{}", short.stdout);
    }
    assert!(env.run(["--version"]).stdout.starts_with("stead "));
    assert!(!env.state_dir().exists() && !env.runtime_dir().exists(), "help touches nothing");
}

/// The commands below `Begin with:`, without what is said about each.
fn first_commands(alone: &str) -> Vec<&str> {
    let begin = alone.split_once("Begin with:\n").expect("a heading").1;
    let lines = begin.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default()).collect()
}

#[test]
fn c10_alone_it_shows_three_commands_to_begin_with_and_they_work() {
    let env = TestEnv::new(STEAD);
    let alone = env.run::<_, &str>([]);
    assert_eq!((alone.code, alone.stderr.as_str()), (Some(0), ""));
    assert!(!env.state_dir().exists() && !env.runtime_dir().exists(), "looking touches nothing");
    let commands = first_commands(&alone.stdout);
    assert_eq!(commands.len(), 3, "{}", alone.stdout);
    for command in &commands {
        let ran = env.in_shell(command);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    }
    // The second uses what the first left.
    let used = env.in_shell(commands[1]);
    assert!(used.stdout.contains("\"value\":\"42\""), "{used:?}");
}

#[test]
fn c10_alone_it_says_what_is_here() {
    let env = TestEnv::new(STEAD);
    let before = env.run::<_, &str>([]).stdout;
    assert!(before.contains(&format!("  workspace  {}\n", env.workspace().display())), "{before}");
    assert!(before.contains("  sessions   none yet"), "{before}");
    for title in ["Python ", "Bash ", "Node "] {
        assert!(before.contains(&format!("\n  {title}")), "{before}");
    }
    assert!(before.contains("For your agent:\n  stead install "), "{before}");
    env.run(["eval", "-n", "data", "-l", "py", "1"]);
    let after = env.run::<_, &str>([]).stdout;
    assert!(after.contains("  sessions   data idle\n"), "{after}");
    let reply = env.json(["--json"]);
    assert_eq!((&reply["command"], &reply["ok"]), (&"stead".into(), &true.into()), "{reply:#}");
    assert_eq!(reply["data"]["sessions"][0], "data", "{reply:#}");
    assert_eq!(reply["data"]["languages"][0]["language"], "python", "{reply:#}");
}

#[test]
fn c10_without_python_it_begins_with_what_there_is() {
    let env = TestEnv::new(STEAD);
    let bin = env.root().join("only-bash");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/bash", bin.join("bash")).unwrap();
    let mut alone = env.command::<_, &str>([]);
    alone.env("PATH", &bin);
    let alone = String::from_utf8(alone.output().unwrap().stdout).unwrap();
    assert!(alone.contains("install Python 3.8 or newer"), "{alone}");
    let commands = first_commands(&alone);
    assert_eq!(commands[0], "stead eval -n sh 'x=41'", "{alone}");
    env.in_shell(commands[0]);
    let used = env.in_shell(commands[1]);
    assert!(used.stdout.contains("42"), "{used:?}");
}

#[test]
fn c1_completions_are_for_every_shell() {
    let env = TestEnv::new(STEAD);
    for shell in ["bash", "zsh", "fish"] {
        let ran = env.run(["completions", shell]);
        assert_eq!(ran.code, Some(0));
        for command in COMMANDS {
            assert!(ran.stdout.contains(command), "{shell}: {command}");
        }
    }
    let script = env.run(["completions", "bash"]).stdout;
    let checked = std::process::Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    refused(&env.run(["completions", "tcsh"]), "completions", "bad_request");
}
