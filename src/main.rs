//! `stead`: one binary. The hidden mode `host` is the process that owns a session, `runner` the one that
//! starts shell commands, `editor` the editor of programs in a session; everything else begins with the command line.

use std::process::ExitCode;

use stead_mcp::{Server, serve_stdio};

fn main() -> ExitCode {
    stead_launch::cores::forbid();
    match std::env::args_os().nth(1) {
        Some(mode) if mode == "host" => stead_host::run_host(),
        Some(mode) if mode == "runner" => {
            stead_runner::run_runner(&std::env::args().nth(2).unwrap_or_default())
        }
        Some(mode) if mode == "editor" => stead_editor::run_editor(std::env::args_os().skip(2)),
        _ => stead_cli::main(stead_cli::Modes {
            mcp: |client, cwd| serve_stdio(Server::new(client, cwd)),
        }),
    }
}
