//! Jupyter servers and gateways for tests, and a connection to them that can be cut.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::peers::made;
use crate::{TestEnv, wait_for};

/// The token of every server here.
pub const TEST_TOKEN: &str = "hunter2-token";

/// How often a server is started that ends at once, because somebody else has taken its port.
const STARTS: usize = 5;

/// Which program serves kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayKind {
    /// Jupyter Server.
    Server,
    /// Jupyter Server 1, which gives kernels ids of its own.
    OldServer,
    /// Jupyter Kernel Gateway.
    KernelGateway,
    /// Jupyter Enterprise Gateway.
    EnterpriseGateway,
}

impl GatewayKind {
    /// The program that `tests/peers/install` has brought.
    fn program(self) -> PathBuf {
        let (place, name) = match self {
            GatewayKind::Server => ("server", "jupyter-server"),
            // The gateway is built on it.
            GatewayKind::OldServer => ("enterprise-gateway", "jupyter-server"),
            GatewayKind::KernelGateway => ("kernel-gateway", "jupyter-kernelgateway"),
            GatewayKind::EnterpriseGateway => ("enterprise-gateway", "jupyter-enterprisegateway"),
        };
        made(&format!("{place}/bin/{name}"))
    }

    fn arguments(self, port: u16) -> Vec<String> {
        let words: &[&str] = match self {
            GatewayKind::Server => &[
                "--no-browser",
                "--allow-root",
                "--ServerApp.ip=127.0.0.1",
                "--ServerApp.port=PORT",
                "--ServerApp.port_retries=0",
                "--IdentityProvider.token=TOKEN",
            ],
            GatewayKind::OldServer => &[
                "--no-browser",
                "--allow-root",
                "--ServerApp.ip=127.0.0.1",
                "--ServerApp.port=PORT",
                "--ServerApp.port_retries=0",
                "--ServerApp.token=TOKEN",
            ],
            GatewayKind::KernelGateway => &[
                "--KernelGatewayApp.ip=127.0.0.1",
                "--KernelGatewayApp.port=PORT",
                "--KernelGatewayApp.port_retries=0",
                "--KernelGatewayApp.auth_token=TOKEN",
                "--JupyterWebsocketPersonality.list_kernels=True",
            ],
            GatewayKind::EnterpriseGateway => &[
                "--EnterpriseGatewayApp.ip=127.0.0.1",
                "--EnterpriseGatewayApp.port=PORT",
                "--EnterpriseGatewayApp.port_retries=0",
                "--EnterpriseGatewayApp.auth_token=TOKEN",
                "--EnterpriseGatewayApp.list_kernels=True",
            ],
        };
        let fill =
            |word: &&str| word.replace("PORT", &port.to_string()).replace("TOKEN", TEST_TOKEN);
        words.iter().map(fill).collect()
    }
}

/// A server that ends with this value.
pub struct GatewayServer {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl GatewayServer {
    /// Starts one and waits until it answers.
    pub fn start(env: &TestEnv, kind: GatewayKind, more: &[&str]) -> GatewayServer {
        GatewayServer::start_in(env, kind, more, env.root())
    }

    /// Starts one in this directory, where its kernels start, too.
    pub fn start_in(env: &TestEnv, kind: GatewayKind, more: &[&str], cwd: &Path) -> GatewayServer {
        let mut starts = (0..STARTS).filter_map(|_| GatewayServer::try_start(env, kind, more, cwd));
        starts.next().expect("one of the servers answers; its log tells why it did not")
    }

    /// Starts one and waits until it answers; none if it ends first.
    fn try_start(
        env: &TestEnv,
        kind: GatewayKind,
        more: &[&str],
        cwd: &Path,
    ) -> Option<GatewayServer> {
        // The port is free until the server takes it, unless somebody else does in between.
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|held| held.local_addr())
            .expect("a free port")
            .port();
        let dir = env.root().join(format!("server-{port}"));
        std::fs::create_dir_all(&dir).expect("the root is ours");
        let log = std::fs::File::create(dir.join("log")).expect("the directory is ours");
        let mut command = env.other(kind.program().to_str().expect("a path in UTF-8"));
        let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let mut usual = kind.arguments(port);
        usual.retain(|word| !more.iter().any(|other| key(other) == key(word)));
        command.args(usual).args(more).current_dir(cwd);
        for name in ["RUNTIME", "CONFIG", "DATA"] {
            command.env(format!("JUPYTER_{name}_DIR"), dir.join(name.to_ascii_lowercase()));
        }
        let child = command
            .env("JUPYTER_ALLOW_INSECURE_WRITES", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let mut server = GatewayServer { child, port };
        let mut ended = None;
        // Jupyter Server listens for a moment to see whether the port is free, and drops who connects then.
        wait_for("the server answers", || {
            ended = server.child.try_wait().expect("the child is ours");
            ended.is_some() || server.try_ask("GET", "api", "").is_ok_and(|(status, _)| status != 0)
        });
        match ended {
            None => Some(server),
            Some(status) => {
                let said = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
                eprintln!("the server at port {port} has ended with {status}:\n{said}");
                None
            }
        }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Asks it for something: the status and what it answered.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        self.try_ask(method, path, body).expect("the server answers")
    }

    fn try_ask(&self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let head = format!(
            "{method} /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: token {TEST_TOKEN}\r\n\
             Cookie: _xsrf=61\r\nX-XSRFToken: 61\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// The ids of its kernels.
    pub fn kernels(&self) -> Vec<String> {
        let (_, listed) = self.ask("GET", "api/kernels", "");
        kernel_ids(&listed)
    }

    /// Starts a kernel as somebody else would.
    pub fn start_kernel(&self) -> String {
        let env = r#"{"name": "python3", "env": {"KERNEL_USERNAME": "tester"}}"#;
        let (status, made) = self.ask("POST", "api/kernels", env);
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    }
}

impl Drop for GatewayServer {
    fn drop(&mut self) {
        // The port of a server that has ended may be another's by now.
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        // A test that failed because the server is gone must not fail once more here: that would hide the reason.
        let (_, listed) = self.try_ask("GET", "api/kernels", "").unwrap_or_default();
        for id in kernel_ids(&listed) {
            let _ = self.try_ask("DELETE", &format!("api/kernels/{id}"), "");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kernel_ids(listed: &Value) -> Vec<String> {
    let id = |kernel: &Value| kernel["id"].as_str().map(str::to_owned);
    listed.as_array().into_iter().flatten().filter_map(id).collect()
}

/// A way to a server that can be cut.
pub struct CuttingProxy {
    /// Where it listens.
    pub port: u16,
    state: Arc<ProxyState>,
}

#[derive(Default)]
struct ProxyState {
    connections: Mutex<Vec<(TcpStream, TcpStream)>>,
    /// After so many bytes from the server the connection that brought them is cut; 0 means never.
    budget: AtomicU64,
    /// Nothing is passed on any more, and nothing is closed.
    holds: AtomicBool,
    /// What was not passed on.
    swallowed: Mutex<Vec<u8>>,
    /// New connections are closed at once.
    refuses: AtomicBool,
    /// How often something was cut.
    cuts: AtomicU64,
    /// Answers to requests that begin with this are not passed on.
    muted: Mutex<Option<&'static str>>,
}

impl CuttingProxy {
    /// A way to a port of this machine.
    pub fn to(port: u16) -> CuttingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let own = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(ProxyState::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let both = |one: &TcpStream, other: &TcpStream| {
                    Some((one.try_clone().ok()?, other.try_clone().ok()?))
                };
                let copies = (both(&client, &server), both(&client, &server));
                let (Some(kept), Some((back, there))) = copies else { continue };
                shared.connections.lock().expect("no panic").push(kept);
                let down = shared.clone();
                let up = shared.clone();
                let muted = Arc::new(AtomicBool::new(false));
                let mutes = muted.clone();
                std::thread::spawn(move || pass(server, client, Way::Down(&down, &muted)));
                std::thread::spawn(move || pass(back, there, Way::Up(&up, &mutes)));
            }
        });
        CuttingProxy { port: own, state }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Cuts all connections when so many bytes more have come from the server; what came with them is lost.
    pub fn cut_after(&self, bytes: u64) {
        self.state.budget.store(bytes.max(1), Ordering::SeqCst);
    }

    /// How often something was cut.
    pub fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Passes nothing on and closes nothing, as a machine does that has lost its network.
    pub fn hold(&self, holds: bool) {
        self.state.holds.store(holds, Ordering::SeqCst);
    }

    /// Answers to requests that begin with this are not passed on.
    pub fn mute(&self, method: Option<&'static str>) {
        *self.state.muted.lock().expect("no panic") = method;
    }

    /// Whether these words of the server were not passed on.
    pub fn has_swallowed(&self, words: &str) -> bool {
        let swallowed = self.state.swallowed.lock().expect("no panic");
        String::from_utf8_lossy(&swallowed).contains(words)
    }

    /// Takes no new connections.
    pub fn refuse(&self, refuses: bool) {
        self.state.refuses.store(refuses, Ordering::SeqCst);
    }
}

impl ProxyState {
    fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::SeqCst);
        for (client, server) in self.connections.lock().expect("no panic").drain(..) {
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        }
    }

    /// Whether the connection ends with these bytes.
    fn spends(&self, bytes: usize) -> bool {
        let left = self.budget.load(Ordering::SeqCst);
        if left == 0 {
            return false;
        }
        let rest = left.saturating_sub(bytes as u64);
        self.budget.store(rest, Ordering::SeqCst);
        rest == 0
    }
}

/// Which way bytes go, and whether this connection's answers are passed on.
enum Way<'a> {
    Up(&'a ProxyState, &'a AtomicBool),
    Down(&'a ProxyState, &'a AtomicBool),
}

/// Brings bytes from one side to the other.
fn pass(mut from: TcpStream, mut to: TcpStream, way: Way<'_>) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 {
            break;
        }
        match way {
            Way::Up(state, muted) => {
                let begin = *state.muted.lock().expect("no panic");
                if begin.is_some_and(|begin| bytes[..count].starts_with(begin.as_bytes())) {
                    muted.store(true, Ordering::SeqCst);
                }
            }
            Way::Down(state, muted) => {
                if state.spends(count) {
                    // A part of what came gets through.
                    let _ = to.write_all(&bytes[..count / 2]);
                    return state.cut();
                }
                if state.holds.load(Ordering::SeqCst) || muted.load(Ordering::SeqCst) {
                    state.swallowed.lock().expect("no panic").extend(&bytes[..count]);
                    continue;
                }
            }
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Who waits for an answer that is not passed on goes on waiting.
    if let Way::Down(_, muted) = way
        && muted.load(Ordering::SeqCst)
    {
        return;
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
