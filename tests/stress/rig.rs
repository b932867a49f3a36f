//! A session driven from this process, and a generator whose seed a failure prints.

use std::path::Path;
use std::time::{Duration, Instant};

use stead_client::{
    Client, Connection, EvalOptions, EvalStatus, EvalView, LaunchOptions, OutputOptions, PATIENCE,
    Part, Quiet, Waited,
};
use stead_protocol::client::{Event, Reply, Request, Submit, WatchFor};
use stead_protocol::{EvalId, EvalSeq, Finished, SessionName, Work};
use stead_testkit::TestEnv;

use crate::STEAD;

/// Far beyond what anything here takes on a loaded machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
/// More than any eval here writes that is looked at as a whole.
const MAX_CHARS: usize = 64 << 20;

/// One environment with the session `py`, or another.
pub(crate) struct Rig {
    pub(crate) env: TestEnv,
    pub(crate) client: Client,
    pub(crate) name: SessionName,
}

impl Rig {
    pub(crate) fn new() -> Rig {
        Rig::with_env(TestEnv::new(STEAD))
    }

    pub(crate) fn with_python(python: &Path) -> Rig {
        Rig::with_env(TestEnv::with_python(STEAD, python))
    }

    /// The session `js` instead of `py`.
    pub(crate) fn with_node(node: &Path) -> Rig {
        let env = TestEnv::with_node(STEAD, node);
        let reply = env.json(["eval", "-n", "js", "--", "0"]);
        assert_eq!(reply["status"], "complete", "{reply:#}");
        let client = env.client();
        Rig { env, client, name: "js".parse().unwrap() }
    }

    /// The same with the session `sh`, in Bash.
    pub(crate) fn bash() -> Rig {
        let env = TestEnv::new(STEAD);
        env.run(["eval", "-n", "sh", "--", ":"]);
        let client = env.client();
        Rig { env, client, name: "sh".parse().unwrap() }
    }

    /// The process id of the session's interpreter.
    pub(crate) fn pid(&self) -> u64 {
        let status = self.env.json(["status", "-n", self.name.as_str()]);
        status["data"]["pid"].as_u64().unwrap_or_else(|| panic!("no interpreter: {status:#}"))
    }

    fn with_env(env: TestEnv) -> Rig {
        env.value("0");
        let client = env.client();
        Rig { env, client, name: "py".parse().unwrap() }
    }

    pub(crate) fn connect(&self) -> Connection {
        connect(&self.client, &self.name)
    }

    /// Runs code to its end.
    #[track_caller]
    pub(crate) fn eval(&self, code: &str) -> EvalView {
        eval(&self.client, &self.name, code)
    }

    /// Runs code that must complete, and takes its value.
    #[track_caller]
    pub(crate) fn value(&self, code: &str) -> String {
        value_of(&self.eval(code))
    }

    /// The whole output and value of an eval that is over.
    pub(crate) fn view(&self, seq: EvalSeq) -> EvalView {
        let id = EvalId { session: self.name.clone(), seq };
        let options = OutputOptions { part: Part::All, wait: None, max_chars: MAX_CHARS };
        self.client.output(&id, &options, &mut Quiet).unwrap()
    }
}

pub(crate) fn connect(client: &Client, name: &SessionName) -> Connection {
    let runtime = client.dirs.open_runtime().unwrap().expect("a runtime directory");
    let socket = client.dirs.socket(&client.workspace, name);
    let opened = Connection::open(&runtime, &socket, name, "stress", false, PATIENCE * 6);
    opened.unwrap().expect("a host that listens")
}

#[track_caller]
pub(crate) fn eval(client: &Client, name: &SessionName, code: &str) -> EvalView {
    let options = EvalOptions {
        code: code.to_owned(),
        key: None,
        soft_timeout: DEADLINE,
        hard_timeout: None,
        no_queue: false,
        background: false,
        max_chars: MAX_CHARS,
    };
    client.eval(name, &LaunchOptions::default(), &options, &mut Quiet).unwrap()
}

#[track_caller]
pub(crate) fn value_of(view: &EvalView) -> String {
    assert_eq!(view.status, EvalStatus::Complete, "{:?}", view.error());
    view.value().map(|value| value.text.clone()).unwrap_or_default()
}

/// Submits code and watches it; its events come on the same connection.
#[track_caller]
pub(crate) fn submit(connection: &mut Connection, code: &str, watch: WatchFor) -> EvalSeq {
    let work = Work::Code { code: code.to_owned() };
    let submit = Submit { watch: Some(watch), ..Submit::new(work) };
    match connection.request(Request::Submit(submit), deadline()).unwrap() {
        Reply::Accepted(accepted) => accepted.eval,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
pub(crate) fn wait_finished(connection: &mut Connection, seq: EvalSeq) -> Finished {
    loop {
        match connection.next_event(deadline(), None).unwrap() {
            Waited::Event(Event::Finished { eval, finished }) if eval == seq => return finished,
            Waited::Event(_) => {}
            other => panic!("eval {} did not finish: {other:?}", seq.0),
        }
    }
}

pub(crate) fn deadline() -> Option<Instant> {
    Some(Instant::now() + DEADLINE)
}

/// A number from the environment, or this one.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// A figure in kilobytes from `/proc/PID/status`.
pub(crate) fn memory_kb(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).expect("the field");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// SplitMix64; says its seed when a test fails.
pub(crate) struct Random {
    state: u64,
    seed: u64,
}

impl Random {
    pub(crate) fn new() -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = number("STEAD_SEED", u64::from(now.subsec_nanos()));
        Random { state: seed, seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with STEAD_SEED={}", self.seed);
        }
    }
}
