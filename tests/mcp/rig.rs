//! A client that sends whatever it is told to and takes answers by id.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stead_testkit::{TestEnv, wait_for_some};

use crate::STEAD;
use crate::reply::Reply;

/// Far beyond what any answer takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Python that defines `settle`, which returns once the host has taken all that was written: on a machine
/// so busy that the bridge does not wait for it, only that puts both streams in order.
pub(crate) const SETTLE: &str = "import fcntl, struct, sys, termios, time
def settle():
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    while any(struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, b'1234'))[0] for fd in (1, 2)):
        time.sleep(0.001)";

/// A server and the pipes to it.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Held until this client begins to read.
    begin: Option<SyncSender<()>>,
    answers: HashMap<String, Vec<Value>>,
    notifications: Vec<Value>,
    /// What the server asks its client.
    requests: Vec<Value>,
    next_id: i64,
}

/// A fresh environment and a server in it that has shaken hands.
pub(crate) fn served() -> (TestEnv, Server) {
    let env = TestEnv::new(STEAD);
    let server = Server::start(&env);
    (env, server)
}

impl Server {
    /// A server that has shaken hands.
    pub(crate) fn start(env: &TestEnv) -> Server {
        let mut server = Server::raw(env);
        server.shake_hands();
        server
    }

    /// A server that has been told nothing yet.
    pub(crate) fn raw(env: &TestEnv) -> Server {
        let mut server = Server::unread(env);
        server.read();
        server
    }

    /// A server of which nothing is read until `read` is called.
    pub(crate) fn unread(env: &TestEnv) -> Server {
        Server::of(env.command(["mcp"]))
    }

    /// A server for another workspace.
    pub(crate) fn in_workspace(env: &TestEnv, path: &Path) -> Server {
        let mut command = env.command(["mcp"]);
        command.current_dir(path);
        Server::greeted(command)
    }

    /// The server that a command starts, after the handshake.
    pub(crate) fn greeted(command: std::process::Command) -> Server {
        let mut server = Server::of(command);
        server.read();
        server.shake_hands();
        server
    }

    /// A server that has shaken hands, over sockets in place of pipes.
    pub(crate) fn over_sockets(env: &TestEnv) -> Server {
        let mut server = Server::unread_over_sockets(env);
        server.read();
        server.shake_hands();
        server
    }

    /// The same, of which nothing is read until `read` is called.
    pub(crate) fn unread_over_sockets(env: &TestEnv) -> Server {
        let [(our_in, their_in), (our_out, their_out)] =
            [(); 2].map(|()| UnixStream::pair().expect("a pair of sockets"));
        let mut command = env.command(["mcp"]);
        command.stdin(OwnedFd::from(their_in)).stdout(OwnedFd::from(their_out));
        let child = command.spawn().expect("the server starts");
        drop(command);
        Server::new(child, OwnedFd::from(our_in).into(), our_out)
    }

    pub(crate) fn of(mut command: Command) -> Server {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the server starts");
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        Server::new(child, stdin, stdout)
    }

    fn new(child: Child, stdin: ChildStdin, stdout: impl Read + Send + 'static) -> Server {
        let (begin, begun) = sync_channel(1);
        let (send, lines) = channel();
        std::thread::spawn(move || {
            if begun.recv().is_err() {
                return;
            }
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Server {
            stdin: Some(stdin),
            child,
            lines,
            begin: Some(begin),
            answers: HashMap::new(),
            notifications: Vec::new(),
            requests: Vec::new(),
            next_id: 1000,
        }
    }

    /// Begins to read what the server says.
    pub(crate) fn read(&mut self) {
        if let Some(begin) = self.begin.take() {
            begin.send(()).expect("the reader waits");
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub(crate) fn shake_hands(&mut self) {
        self.shake_hands_as("rough", json!({}));
    }

    #[track_caller]
    pub(crate) fn shake_hands_as(&mut self, name: &str, capabilities: Value) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "0"},
        });
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "stead", "{answer:#}");
        self.notify("notifications/initialized", json!({}));
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).expect("the server takes bytes");
    }

    /// Sends a line.
    #[track_caller]
    pub(crate) fn line(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(b"\n");
    }

    #[track_caller]
    pub(crate) fn message(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.message(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, id: impl Into<Value>) {
        self.notify("notifications/cancelled", json!({"requestId": id.into()}));
    }

    /// An id that was not used before.
    pub(crate) fn new_id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// Sends a request and goes on; its id.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.new_id();
        self.message(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool and goes on; the id of the request.
    #[track_caller]
    pub(crate) fn send(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Waits for the server's next request of its client.
    #[track_caller]
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.requests.iter().position(|asked| asked["method"] == method) {
                return self.requests.remove(at);
            }
            self.take(deadline, method);
        }
    }

    /// Calls a tool and waits for its reply.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        let id = self.send(tool, arguments);
        self.reply(id)
    }

    /// Runs code in session `py`.
    #[track_caller]
    pub(crate) fn eval(&mut self, code: &str) -> Reply {
        self.call("eval", json!({"code": code}))
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let key = id.into().to_string();
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(known) = self.answers.get_mut(&key).filter(|known| !known.is_empty()) {
                return known.remove(0);
            }
            self.take(deadline, &key);
        }
    }

    /// Waits for a tool's reply.
    #[track_caller]
    pub(crate) fn reply(&mut self, id: impl Into<Value>) -> Reply {
        let answer = self.answer(id);
        Reply::of(&answer)
    }

    /// Takes the next line.
    #[track_caller]
    fn take(&mut self, deadline: Instant, wanted: &str) {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => self.sort(&line),
            Err(RecvTimeoutError::Timeout) => {
                panic!("no answer to {wanted}; there are {:?}", self.answers)
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the server left before {wanted}"),
        }
    }

    /// Every line must be one message of the protocol.
    #[track_caller]
    fn sort(&mut self, line: &str) {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        if message.get("id").is_some() && message.get("method").is_some() {
            self.requests.push(message);
        } else if let Some(id) = message.get("id") {
            assert!(
                message.get("result").is_some() != message.get("error").is_some(),
                "neither a result nor an error: {line}"
            );
            self.answers.entry(id.to_string()).or_default().push(message);
        } else {
            assert!(message["method"].is_string(), "{line}");
            self.notifications.push(message);
        }
    }

    /// All answers that came for an id and were not taken; a ping goes round first.
    #[track_caller]
    pub(crate) fn unasked(&mut self, id: impl Into<Value>) -> usize {
        self.ask("ping", json!({}));
        self.answers.get(&id.into().to_string()).map_or(0, Vec::len)
    }

    /// The server answers.
    #[track_caller]
    pub(crate) fn ping(&mut self) {
        let answer = self.ask("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }

    /// What came of progress so far.
    #[track_caller]
    pub(crate) fn progress(&mut self) -> Vec<Value> {
        while let Ok(line) = self.lines.try_recv() {
            self.sort(&line);
        }
        let is_progress = |note: &&Value| note["method"] == "notifications/progress";
        self.notifications.iter().filter(is_progress).cloned().collect()
    }

    /// All answers that came for an id and were not taken.
    pub(crate) fn waiting(&self, id: impl Into<Value>) -> usize {
        self.answers.get(&id.into().to_string()).map_or(0, Vec::len)
    }

    /// Sends a block again and again, beside the test.
    pub(crate) fn flood(&mut self, block: Vec<u8>, times: usize) -> Flood {
        let mut stdin = self.stdin.take().expect("stdin is open");
        let done = Arc::new(AtomicUsize::new(0));
        let count = done.clone();
        let thread = std::thread::spawn(move || {
            for part in std::iter::repeat_n(&block, times).flat_map(|block| block.chunks(4096)) {
                stdin.write_all(part).expect("the server takes bytes");
                count.fetch_add(part.len(), Ordering::AcqRel);
            }
            stdin
        });
        Flood { done, last: Cell::new((0, Instant::now())), thread }
    }

    /// Waits for the end of a flood, reading meanwhile.
    #[track_caller]
    pub(crate) fn stand(&mut self, flood: Flood) {
        let deadline = Instant::now() + DEADLINE;
        while !flood.thread.is_finished() {
            self.take(deadline, "a flood");
            self.answers.clear();
        }
        self.stdin = Some(flood.thread.join().expect("the writer ends"));
    }

    /// Sends nothing more.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the server's end; its exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.stdin = None;
        wait_for_some("the server to leave", || self.child.try_wait().expect("a child")).code()
    }

    /// Kills it where it is.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server can be waited for");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).expect("a pid");
        rustix::process::kill_process(pid, signal).expect("the server lives");
    }

    /// The most memory it ever had, in kilobytes.
    #[track_caller]
    pub(crate) fn most_memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin = None;
        // The pipe's other end goes with the reader, which ends when the server does.
        self.begin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes beside the test, for as long as the server takes it.
pub(crate) struct Flood {
    done: Arc<AtomicUsize>,
    last: Cell<(usize, Instant)>,
    thread: std::thread::JoinHandle<ChildStdin>,
}

impl Flood {
    /// Whether nothing more was taken for a while.
    pub(crate) fn stands_still(&self) -> bool {
        let done = self.done.load(Ordering::Acquire);
        let (before, since) = self.last.get();
        if done != before {
            self.last.set((done, Instant::now()));
        }
        done == before && since.elapsed() > Duration::from_millis(500)
    }
}
