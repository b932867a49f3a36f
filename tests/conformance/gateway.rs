//! The column of kernels of a server: ipykernel behind a Jupyter Server.

use stead_testkit::{GatewayKind, GatewayServer, TEST_TOKEN, TestEnv};

use crate::column::Column;
use crate::python;

/// A server, and a session of the configuration that has a kernel there.
pub(crate) fn server(env: &TestEnv) -> GatewayServer {
    // The server itself would throw away what is printed too fast.
    let unlimited = ["--ZMQChannelsWebsocketConnection.limit_rate=False"];
    let server = GatewayServer::start_in(env, GatewayKind::Server, &unlimited, &env.workspace());
    let config = env.root().join("home/.config/stead");
    std::fs::create_dir_all(&config).expect("the home is ours");
    let text = format!(
        "[gateways.here]\nurl = \"{}\"\ntoken = \"{TEST_TOKEN}\"\n\n[sessions.gw]\ngateway = \"here\"\n",
        server.url()
    );
    std::fs::write(config.join("config.toml"), text).expect("the home is ours");
    server
}

const OWN_CODE: &str =
    "the kernel is Python code in the same interpreter, and sends nothing any more without `json`";
const CELLS: &str =
    "tracebacks are IPython's, which numbers the cells of a kernel and not the evals of a session";
const NO_STDIN: &str = "only `input` and `getpass` ask by the protocol: standard input of the kernel and its children is empty";
const READ_LATER: &str = "the kernel reads what children write in a thread of its own, which may come to it after the end";
const ELSEWHERE: &str =
    "what the code has started runs at the server, which neither ends it nor tells what it uses";
const NO_PAUSE: &str = "the kernel runs elsewhere, and its server knows no pause";

pub(crate) static GATEWAY: Column = Column {
    session: "gw",
    language: "gateway",
    kernel: "gateway",
    cannot: &[
        ("O-1 a child's output is the eval's", READ_LATER),
        ("PY-6 what user code breaks, it breaks for itself", OWN_CODE),
        ("PY-7 an error in a function of an earlier eval says so", CELLS),
        (
            "PY-16 a value that cannot be shown ends no eval",
            "IPython counts an error in a `repr` as one of the code",
        ),
        (
            "O-2 the order of both streams is exact",
            "the kernel gathers each stream by itself and publishes it a few times a second",
        ),
        (
            "O-7 what is shown is clean, and the bytes are kept",
            "messages are text: the kernel replaces bytes that are no UTF-8",
        ),
        ("E-8 the end of input is an end of file", NO_STDIN),
        ("E-8 a child that reads is found", NO_STDIN),
        ("E-8 input of any text arrives as it is", NO_STDIN),
        ("E-6 a child that reads is interrupted", NO_STDIN),
        ("E-6 a paused eval is interrupted", NO_PAUSE),
        ("E-10 a paused eval stands still and goes on", NO_PAUSE),
        ("E-10 a pause counts toward no timeout", NO_PAUSE),
        (
            "S-6 the end of the session is told, then a fresh start",
            "IPython's `exit` takes no exit code",
        ),
        (
            "E-6 background processes of earlier evals are spared",
            "the server sends the signal to all processes of the kernel",
        ),
        ("S-10 memory and processes of the whole tree are told", ELSEWHERE),
        ("S-9 stop leaves no daemon", ELSEWHERE),
        ("S-9 the end of an interpreter leaves no daemon", ELSEWHERE),
        (
            "S-6 the signal that killed an interpreter is told",
            "the server says that a kernel has died, and not of what",
        ),
        (
            "CF-2 directory and environment are as asked",
            "kernels start in the server's directory and with its environment",
        ),
        (
            "S-6 what is said at the end belongs to the eval that ended it",
            "the kernel has closed its sockets when exit handlers run",
        ),
    ],
    own: &[],
    ..python::COLUMN
};
