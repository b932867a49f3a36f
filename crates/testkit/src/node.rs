//! The Nodes of this machine.

use std::path::PathBuf;
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
