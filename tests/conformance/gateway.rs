//! The column of kernels of a server: ipykernel behind a Jupyter Server.

use stead_testkit::{GatewayKind, GatewayServer, TEST_TOKEN, TestEnv};

use crate::column::Column;
use crate::jupyter::{
    CELLS, CLOSED, GATHERED, NO_CHILD, NO_CODE, NO_FILE, OWN_CODE, REPLACED, REPR,
};
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

pub(crate) static GATEWAY: Column = Column {
    session: "gw",
    language: "gateway",
    kernel: "gateway",
    cannot: &[
        OWN_CODE,
        CELLS,
        REPR,
        GATHERED,
        REPLACED,
        NO_FILE,
        NO_CHILD,
        NO_CODE,
        CLOSED,
        (
            "the kernel reads what children write in a thread of its own, which may come to it after the end",
            &["O-1 a child's output is the eval's"],
        ),
        (
            "the kernel runs elsewhere, and its server knows no pause",
            &[
                "E-6 a paused eval is interrupted",
                "E-10 a paused eval stands still and goes on",
                "E-10 a pause counts toward no timeout",
            ],
        ),
        (
            "the server sends the signal to all processes of the kernel",
            &["E-6 background processes of earlier evals are spared"],
        ),
        (
            "what the code has started runs at the server, which neither ends it nor tells what it uses",
            &[
                "S-10 memory and processes of the whole tree are told",
                "S-9 stop leaves no daemon",
                "S-9 the end of an interpreter leaves no daemon",
            ],
        ),
        (
            "the server says that a kernel has died, and not of what",
            &["S-6 the signal that killed an interpreter is told"],
        ),
        (
            "kernels start in the server's directory and with its environment",
            &["CF-2 directory and environment are as asked"],
        ),
    ],
    own: &[],
    ..python::COLUMN
};
