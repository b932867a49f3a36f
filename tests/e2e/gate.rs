//! A gate that user code waits at until the test opens it.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;

use stead_testkit::TestEnv;

/// A named pipe in the workspace.
pub(crate) struct Gate(PathBuf);

impl Gate {
    #[track_caller]
    pub(crate) fn new(env: &TestEnv, name: &str) -> Gate {
        let path = env.workspace().join(name);
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
        assert!(made.success());
        Gate(path)
    }

    /// Python that waits until the gate is opened.
    pub(crate) fn code(&self) -> String {
        format!("open({:?}).read()", self.0.to_str().expect("a temp path is text"))
    }

    /// Lets the code go on; waits until it has come to the gate.
    pub(crate) fn open(&self) {
        drop(OpenOptions::new().write(true).open(&self.0).expect("the gate opens"));
    }
}
