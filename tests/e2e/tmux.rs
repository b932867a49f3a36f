//! A terminal with a screen, by tmux: what a person sees.

use std::process::{Command, Stdio};

use stead_testkit::{TestEnv, wait_for_some};

/// A tmux server of its own with one window of 80 columns and 24 rows, in which a shell runs.
pub(crate) struct Tmux<'a> {
    env: &'a TestEnv,
    socket: String,
}

impl<'a> Tmux<'a> {
    #[track_caller]
    pub(crate) fn new(env: &'a TestEnv, name: &str) -> Tmux<'a> {
        let socket = env.root().join(format!("{name}.tmux")).to_string_lossy().into_owned();
        let tmux = Tmux { env, socket };
        let shell = "exec env PS1='$ ' sh";
        let size = ["-x", "80", "-y", "24"];
        let started = tmux.command().args(["new-session", "-d"]).args(size).arg(shell).status();
        assert!(started.expect("tmux runs").success(), "tmux starts");
        tmux.wait("the shell's prompt", |screen| screen.contains('$'));
        tmux
    }

    fn command(&self) -> Command {
        let mut command = self.env.other("tmux");
        command.args(["-f", "/dev/null", "-S", &self.socket]).stderr(Stdio::null());
        command
    }

    /// Types a command line; `stead` is the binary under test.
    #[track_caller]
    pub(crate) fn type_line(&self, line: &str) {
        let line = line.replacen("stead", &self.env.program().display().to_string(), 1);
        self.keys(&["-l", &format!("clear; {line}")]);
        self.keys(&["Enter"]);
    }

    /// Presses keys by tmux's names: `C-c`, `Enter`.
    #[track_caller]
    pub(crate) fn keys(&self, keys: &[&str]) {
        let pressed = self.command().arg("send-keys").args(keys).status();
        assert!(pressed.expect("tmux runs").success());
    }

    /// What is on the screen now, without the blank rows at its end.
    #[track_caller]
    pub(crate) fn screen(&self) -> String {
        let captured = self.command().args(["capture-pane", "-p"]).output().expect("tmux runs");
        String::from_utf8_lossy(&captured.stdout).trim_end().to_owned()
    }

    /// The same with the colours that are on it.
    #[track_caller]
    pub(crate) fn coloured(&self) -> String {
        let captured = self.command().args(["capture-pane", "-p", "-e"]).output();
        String::from_utf8_lossy(&captured.expect("tmux runs").stdout).trim_end().to_owned()
    }

    /// The screen, once it is as wanted.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        wait_for_some(what, || Some(self.screen()).filter(|screen| wanted(screen)))
    }

    /// Gives the window another size.
    #[track_caller]
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = ["-x", &columns.to_string(), "-y", &rows.to_string()].map(str::to_owned);
        let resized = self.command().arg("resize-window").args(size).status();
        assert!(resized.expect("tmux runs").success());
    }

    /// What tmux says of the window: `#{alternate_on}`, `#{cursor_flag}`.
    #[track_caller]
    pub(crate) fn says(&self, format: &str) -> String {
        let said = self.command().args(["display-message", "-p", format]).output();
        String::from_utf8_lossy(&said.expect("tmux runs").stdout).trim().to_owned()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").status();
    }
}
