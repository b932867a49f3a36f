//! A repository for tests of programs that ask for an editor.

use std::path::PathBuf;
use std::process::Command;

use crate::TestEnv;

/// Makes the workspace a repository with commits `c1`, `c2`, … of one file each, and Git a program that sessions
/// find. Gives back a way to ask it.
///
/// # Panics
/// When there is no Git, or it fails.
pub fn git_repository(env: &TestEnv, commits: usize) -> impl Fn(&[&str]) -> String + use<> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file());
    let program: PathBuf = program.expect("`git` is on `PATH`");
    let link = env.root().join("bin/git");
    if !link.exists() {
        std::os::unix::fs::symlink(&program, link).expect("a link");
    }
    let (home, workspace) = (env.root().join("home"), env.workspace());
    let git = move |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).env_clear().env("HOME", &home).current_dir(&workspace);
        let output = command.output().expect("Git runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    };
    git(&["config", "--global", "user.name", "Test"]);
    git(&["config", "--global", "user.email", "test@example.org"]);
    git(&["init", "-q"]);
    for number in 1..=commits {
        let file = format!("f{number}");
        std::fs::write(env.workspace().join(&file), "text\n").expect("a file");
        git(&["add", &file]);
        git(&["commit", "-qm", &format!("c{number}")]);
    }
    git
}
