//! Runs situations and compares what stead says with what is right.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use stead_testkit::{TestEnv, node, wait_for};

use crate::STEAD;

/// How many situations of one table run side by side: most of the time they wait.
const SIDE_BY_SIDE: usize = 4;
/// Only serves to fail: every wait below ends on an event.
const FOR_EVER: &str = "120s";

/// Where code runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum In {
    Python,
    Bash,
    Node,
    /// `stead shell`.
    Shell,
}

/// What is right to say of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// Only input lets it go on.
    Waits,
    /// It may wait, and nothing but its own time wakes it: the call comes back.
    Alone,
    /// It only waits, but its runtime sets time limits as it likes: either of the two above.
    WaitsOrAlone,
    /// It may wait beside something else: the call goes on.
    Listens,
    /// It does not wait, and ends by itself.
    No,
}

/// Something that a program does.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    pub(crate) place: In,
    pub(crate) code: &'static str,
    pub(crate) right: Right,
    /// What it gets although it is not right: nobody can tell from outside.
    pub(crate) undecidable: Option<Right>,
}

pub(crate) const fn case(
    name: &'static str,
    place: In,
    code: &'static str,
    right: Right,
) -> Situation {
    Situation { name, place, code, right, undecidable: None }
}

pub(crate) const fn undecidable(
    name: &'static str,
    place: In,
    code: &'static str,
    right: Right,
    gets: Right,
) -> Situation {
    Situation { name, place, code, right, undecidable: Some(gets) }
}

/// An environment in which all situations find what they need.
pub(crate) fn place() -> TestEnv {
    TestEnv::with_node(STEAD, &node())
}

/// The Python with the peers' packages.
pub(crate) fn peers() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join(".test/venv/bin/python");
    let python = std::env::var_os("STEAD_TEST_VENV").map_or(default, PathBuf::from);
    assert!(python.exists(), "{} is missing: tests/peers/install makes it", python.display());
    python
}

/// Runs all situations; `fill` may complete their code.
#[track_caller]
pub(crate) fn judge(env: &TestEnv, situations: &[Situation], fill: impl Fn(&str) -> String + Sync) {
    let next = Mutex::new(situations.iter().enumerate());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let Some((nth, situation)) = next.lock().unwrap().next() else { return };
                    let told = Told { env, session: session(situation.place, nth) };
                    let code = fill(situation.code);
                    let wanted = situation.undecidable.unwrap_or(situation.right);
                    if let Err(why) = told.expect(situation.place, &code, wanted) {
                        let name = situation.name;
                        wrong.lock().unwrap().push(format!("{name}: not {wanted:?}: {why}"));
                    }
                    told.stop(situation.place);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), situations.len(), wrong.join("\n"));
}

fn session(place: In, nth: usize) -> String {
    match place {
        In::Python => format!("py{nth}"),
        In::Bash => format!("sh{nth}"),
        In::Node => format!("js{nth}"),
        In::Shell => format!("shell{nth}"),
    }
}

/// One session and what is said about its first eval.
struct Told<'a> {
    env: &'a TestEnv,
    session: String,
}

impl Told<'_> {
    fn expect(&self, place: In, code: &str, right: Right) -> Result<(), String> {
        let reply = self.submit(place, code);
        let Some(id) = reply["data"]["eval_id"].as_str() else {
            return Err(format!("not accepted: {reply:#}"));
        };
        match right {
            Right::Waits => {
                let reply = self.outcome(id);
                has(&reply, "waiting_input", false)?;
                let refused = self.next(id);
                (refused["error"]["code"] == "waiting_input")
                    .then_some(())
                    .ok_or_else(|| format!("the next code was not refused: {refused:#}"))
            }
            Right::WaitsOrAlone => {
                let reply = self.outcome(id);
                has(&reply, "waiting_input", false).or_else(|_| has(&reply, "partial", true))
            }
            Right::Alone => {
                has(&self.outcome(id), "partial", true)?;
                self.is_queued(id)?;
                self.takes_input(id)
            }
            Right::Listens => {
                let mut status = self.status(id);
                wait_for("a program that listens", || {
                    status = self.status(id);
                    status["state"] != "starting" && status["state"] != "running"
                        || status["running"]["listens"] == true
                });
                if status["running"]["listens"] != true {
                    return Err(format!("{status:#}"));
                }
                has(&self.env.json(["output", id]), "running", true)?;
                self.is_queued(id)?;
                self.takes_input(id)
            }
            Right::No => {
                wait_for("the program to be up", || {
                    let reply = self.env.json(["output", id]);
                    reply["status"] != "running" || reply.to_string().contains("up")
                });
                let next = self.next(id);
                if next["ok"] != true {
                    return Err(format!("the next code was refused: {next:#}"));
                }
                // This comes back early if it is said to wait, and ends with the program if not.
                has(&self.outcome(id), "complete", false)
            }
        }
    }

    fn submit(&self, place: In, code: &str) -> Value {
        let language = match place {
            In::Python => "python",
            In::Bash => "bash",
            In::Node => "node",
            In::Shell => return self.env.json(["shell", "--bg", "--", code]),
        };
        self.env.json(["eval", "-n", &self.session, "-l", language, "--bg", "--", code])
    }

    /// Code behind the eval: whether it is taken tells whether that waits.
    fn next(&self, id: &str) -> Value {
        let session = id.split_once(':').map_or(id, |(session, _)| session);
        self.env.json(["eval", "-n", session, "--bg", "--", "true"])
    }

    fn is_queued(&self, id: &str) -> Result<(), String> {
        let next = self.next(id);
        let queued = next["ok"] == true && next["status"] == "queued";
        queued.then_some(()).ok_or_else(|| format!("the next code is not queued: {next:#}"))
    }

    fn takes_input(&self, id: &str) -> Result<(), String> {
        let reply = self.env.json(["input", id, "--timeout", "1ms", "x"]);
        (reply["ok"] == true).then_some(()).ok_or_else(|| format!("no input taken: {reply:#}"))
    }

    fn outcome(&self, id: &str) -> Value {
        self.env.json(["output", id, "--wait", FOR_EVER])
    }

    fn status(&self, id: &str) -> Value {
        let session = id.split_once(':').map_or(id, |(session, _)| session);
        self.env.json(["status", "-n", session])["data"].clone()
    }

    fn stop(&self, place: In) {
        if !matches!(place, In::Shell) {
            self.env.run(["stop", "-n", &self.session]);
        }
    }
}

fn has(reply: &Value, status: &str, listens: bool) -> Result<(), String> {
    let listening = reply["data"]["listens"] == true;
    let right = reply["status"] == status && listening == listens;
    right.then_some(()).ok_or_else(|| format!("{reply:#}"))
}
