//! Takes the steps of a behaviour through the real binary.

use serde_json::Value;
use stead_testkit::{TestEnv, wait_for_some};

use crate::check::{Expect, check};
use crate::list::Language;

/// One thing to do and what must come of it.
pub(crate) enum Step {
    /// Run code until it ends or waits for input.
    Eval(&'static str, Vec<Expect>),
    /// Start code and wait until it has written this.
    Submit(&'static str, &'static str),
    /// Make the file `go` and wait until what the last eval left behind has made `gone`.
    LetGo,
    /// Interrupt what was started, or what waits, and look at its end.
    Interrupt(Vec<Expect>),
    /// Answer the eval that waits.
    Input(&'static str, Vec<Expect>),
    /// End the input of the eval that waits.
    Eof(Vec<Expect>),
    /// Names and types that `vars` lists, in any order.
    Vars(&'static [(&'static str, &'static str)]),
    /// A name and what its description must contain.
    Inspect(&'static str, &'static [&'static str]),
    Clear,
    Restart,
}

pub(crate) struct Runner<'a> {
    env: &'a TestEnv,
    name: &'static str,
    last: String,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(env: &'a TestEnv, language: Language) -> Runner<'a> {
        let name = match language {
            Language::Python => "py",
            Language::Bash => "sh",
            Language::Node => "js",
        };
        Runner { env, name, last: String::new() }
    }

    /// Each behaviour begins with an empty namespace.
    pub(crate) fn run(&mut self, steps: Vec<Step>) -> Result<(), String> {
        self.env.run(["eval", "-n", self.name, "--", ""]);
        let cleared = self.env.json(["clear", "-n", self.name]);
        if cleared["ok"] != true {
            return Err(format!("before it: {cleared:#}"));
        }
        for (n, step) in steps.into_iter().enumerate() {
            self.step(step).map_err(|why| format!("step {}: {why}", n + 1))?;
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let name = self.name;
        match step {
            Step::Eval(code, expected) => {
                let reply = self.env.json(["eval", "-n", name, "--timeout", "60s", "--", code]);
                self.last = reply["data"]["eval_id"].as_str().unwrap_or_default().to_owned();
                check(&reply, &expected)
            }
            Step::Submit(code, text) => {
                let reply = self.env.json(["eval", "-n", name, "--bg", "--", code]);
                self.last = reply["data"]["eval_id"].as_str().unwrap_or_default().to_owned();
                wait_for_some(text, || {
                    let output = self.env.run(["output", &self.last]);
                    output.stdout.contains(text).then_some(())
                });
                Ok(())
            }
            Step::LetGo => {
                let dir = self.env.workspace();
                std::fs::write(dir.join("go"), "").expect("the workspace is there");
                wait_for_some("`gone`", || dir.join("gone").exists().then_some(()));
                Ok(())
            }
            Step::Interrupt(expected) => {
                let reply = self.env.json(["interrupt", &self.last]);
                if reply["ok"] != true {
                    return Err(format!("{reply:#}"));
                }
                check(&self.env.json(["output", &self.last, "--wait", "60s"]), &expected)
            }
            Step::Input(text, expected) => {
                check(&self.env.json(["input", "-n", name, "--timeout", "60s", text]), &expected)
            }
            Step::Eof(expected) => check(&self.env.json(["input", "-n", name, "--eof"]), &expected),
            Step::Vars(expected) => self.vars(expected),
            Step::Inspect(what, parts) => {
                let reply = self.env.json(["inspect", "-n", name, what]);
                let text = reply["data"].to_string();
                match parts.iter().find(|part| !text.contains(**part)) {
                    Some(part) => Err(format!("{part:?} is not in {reply:#}")),
                    None => Ok(()),
                }
            }
            Step::Clear => ok(&self.env.json(["clear", "-n", name])),
            Step::Restart => ok(&self.env.json(["restart", "-n", name])),
        }
    }

    fn vars(&self, expected: &[(&str, &str)]) -> Result<(), String> {
        let reply = self.env.json(["vars", "-n", self.name]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let listed = reply["data"]["vars"].as_array().cloned().unwrap_or_default();
        let mut listed: Vec<(String, String)> =
            listed.iter().map(|var| (text(&var["name"]), text(&var["type"]))).collect();
        listed.sort();
        let same =
            listed.iter().map(|(n, t)| (n.as_str(), t.as_str())).eq(expected.iter().copied());
        if same { Ok(()) } else { Err(format!("{expected:?} are not {reply:#}")) }
    }
}

fn ok(reply: &Value) -> Result<(), String> {
    if reply["ok"] == true { Ok(()) } else { Err(format!("{reply:#}")) }
}
