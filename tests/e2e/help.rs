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

#[test]
fn c10_alone_it_shows_three_commands_to_begin_with_and_they_work() {
    let env = TestEnv::new(STEAD);
    let alone = env.run::<_, &str>([]);
    assert_eq!(alone.code, Some(0));
    let shown: Vec<&str> =
        alone.stdout.lines().filter(|line| line.starts_with("  stead ")).collect();
    assert_eq!(shown.len(), 3, "{}", alone.stdout);
    for line in shown {
        let command = line.split("    ").next().unwrap().trim();
        let ran = env.in_shell(command);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    }
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
