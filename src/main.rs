//! `stead`: one binary. The hidden mode `host` is the process that owns a session; everything
//! else is the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(mode) if mode == "host" => stead_host::run_host(),
        _ => stead_cli::main(),
    }
}
