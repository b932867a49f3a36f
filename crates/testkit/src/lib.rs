//! For tests only: an environment with the real binary, cleared variables and its own
//! directories, which fails the test if it leaves a process behind.

mod env;
pub mod errors;
mod gateway;
mod git;
mod kernel;
mod lines;
mod mcp;
mod node;
mod nrepl;
mod peers;
mod process;
mod program;
mod python;
mod reply;
mod terminal;
mod wait;

pub use env::{Ran, TestEnv};
pub use gateway::{CuttingProxy, GatewayKind, GatewayServer, TEST_TOKEN};
pub use git::git_repository;
pub use kernel::{deno, ipykernel, kernel_of, kernel_python, tslab};
pub use lines::ReadLines;
pub use mcp::mcp_call;
pub use node::{node, node_of, nodes};
pub use nrepl::{NreplElsewhere, clojure, nbb};
pub use process::{guard_of, is_alive, is_reading, state_of, tagged};
pub use program::Hook;
pub use python::{python, python_of, pythons};
pub use reply::chunks;
pub use terminal::Terminal;
pub use wait::{pause, wait_for, wait_for_some};
