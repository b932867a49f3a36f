//! `stead`: one binary. The hidden mode `host` is the process that owns a session, `adapter` a bridge for what
//! speaks another protocol or none, as shells do, `editor` the editor of programs in a session; everything else begins with the command line.

use std::process::ExitCode;

use stead_mcp::{Server, serve_stdio};

fn main() -> ExitCode {
    stead_launch::cores::forbid();
    stead_launch::sys::give_memory_back();
    match std::env::args_os().nth(1) {
        Some(mode) if mode == "host" => stead_host::run_host(),
        Some(mode) if mode == "adapter" => run_adapter(std::env::args().skip(2)),
        // As hosts of an earlier version call it.
        Some(mode) if mode == "runner" => run_adapter(std::env::args().skip(1)),
        Some(mode) if mode == "editor" => stead_editor::run_editor(std::env::args_os().skip(2)),
        _ => stead_cli::main(stead_cli::Modes {
            mcp: |client, cwd, given| {
                serve_stdio(match given {
                    true => Server::new(client, cwd),
                    false => Server::found(client, cwd),
                })
            },
        }),
    }
}

/// Runs one of the programs that are bridges for what speaks another protocol.
fn run_adapter(mut words: impl Iterator<Item = String>) -> ExitCode {
    match (words.next().as_deref(), words.next()) {
        (Some("runner"), Some(shell)) => {
            stead_runner::run_runner(&shell, words.next().map(Into::into))
        }
        (Some("jupyter"), Some(target)) => match words.next() {
            Some(path) => stead_jupyter::run_jupyter(&target, path.as_ref()),
            None => not_for_people(),
        },
        (Some("nrepl"), Some(target)) => stead_nrepl::run_nrepl(&target, words.collect()),
        (Some("gateway"), Some(kernel)) => stead_gateway::run_gateway(&kernel),
        (Some("gateway-left"), Some(dir)) => stead_gateway::remove_left_kernels(dir.as_ref()),
        _ => not_for_people(),
    }
}

fn not_for_people() -> ExitCode {
    eprintln!("`stead adapter` is started by stead itself");
    ExitCode::FAILURE
}
