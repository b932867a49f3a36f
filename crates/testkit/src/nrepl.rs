//! nREPL servers for tests.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::peers::made;
use crate::{TestEnv, node};

/// The command that starts nbb, which is Clojure on Node: the real server that `tests/peers/install` brings for every run.
pub fn nbb() -> String {
    let nbb = made("nrepl/node_modules/nbb/cli.js");
    format!("'{}' '{}' nrepl-server :port {{port}}", node().display(), nbb.display())
}

/// The command that starts Clojure's own server, which `tests/peers/install --all` brings and compiles.
pub fn clojure() -> String {
    let jars = ["clojure", "spec.alpha", "core.specs.alpha", "nrepl"];
    let jars: Vec<String> = jars.iter().map(|name| format!("/usr/share/java/{name}.jar")).collect();
    let compiled = made("clojure");
    format!(
        "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '{}:{}' clojure.main -m nrepl.cmdline --port {{port}}",
        compiled.display(),
        jars.join(":")
    )
}

/// An nREPL server that somebody else has started.
pub struct NreplElsewhere {
    /// Its process.
    pub child: Child,
    /// Where it listens, on this machine.
    pub port: u16,
}

impl NreplElsewhere {
    /// Starts it with a command in which `{port}` stands for a port of its own choice, and waits until it says where it
    /// listens.
    pub fn start(env: &TestEnv, command: &str) -> NreplElsewhere {
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {}", command.replace("{port}", "0"))])
            .current_dir(env.root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            line.split("port ").nth(1)?.split(' ').next()?.parse().ok()
        });
        // What it writes later is read, so that it never waits.
        std::thread::spawn(move || lines.for_each(drop));
        NreplElsewhere { child, port: port.expect("it says where it listens") }
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("localhost:{}", self.port)
    }
}

impl Drop for NreplElsewhere {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
