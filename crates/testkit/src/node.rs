//! The Nodes of this machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The Nodes to test with: those of `STEAD_TEST_NODES` (paths separated by colons), else `node` on
/// the PATH.
///
/// # Panics
/// When there is none.
pub fn nodes() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        if let Some(given) = std::env::var_os("STEAD_TEST_NODES") {
            return std::env::split_paths(&given).collect();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let node = std::env::split_paths(&path).map(|dir| dir.join("node")).find(|at| at.is_file());
        vec![node.expect("`node` on the PATH")]
    })
}

/// The Node that tests use when one is enough.
pub fn node() -> PathBuf {
    nodes().last().expect("`nodes` finds at least one").clone()
}

/// The Node of this major version.
///
/// # Panics
/// When there is none.
pub fn node_of(major: u32) -> PathBuf {
    let version = |node: &&PathBuf| {
        let output = Command::new(node).arg("--version").output().ok()?;
        String::from_utf8(output.stdout).ok()?.strip_prefix('v')?.split('.').next()?.parse().ok()
    };
    let found = nodes().iter().find(|node| version(node) == Some(major));
    found.unwrap_or_else(|| panic!("no Node {major} among {:?}", nodes())).clone()
}
