//! `stead`: one binary. The hidden mode `host` is the process that owns a session; everything
//! else begins with the command line.

use std::process::ExitCode;

use stead_mcp::{Server, serve_stdio};

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(mode) if mode == "host" => stead_host::run_host(),
        _ => stead_cli::main(stead_cli::Modes {
            mcp: |client, cwd| serve_stdio(Server::new(client, cwd)),
        }),
    }
}
