//! Jupyter kernels, whose names stand for languages (SPEC K-1). They are looked for only when no language has the name.

use std::path::Path;

use stead_launch::{KernelSpec, Patient, Search};
use stead_protocol::SessionName;

/// The kernel of this name that a session in this directory would have.
pub fn named(text: &str, cwd: &Path) -> Option<KernelSpec> {
    search(cwd, |search| stead_launch::kernel(text, search).ok())
}

/// All kernels that a session in this directory could have.
pub fn installed(cwd: &Path) -> Vec<KernelSpec> {
    search(cwd, stead_launch::kernels)
}

fn search<T>(cwd: &Path, look: impl FnOnce(&Search<'_>) -> T) -> T {
    let env: Vec<_> = std::env::vars_os().collect();
    // Nothing is cached: no interpreter is asked.
    look(&Search {
        named: None,
        cwd,
        env: &env,
        cache_dir: cwd,
        proven: &|_| true,
        programs: &Patient,
    })
}

/// The name of a session that is called after its kernel.
pub fn session_name(kernel: &str) -> Option<SessionName> {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    kernel.chars().map(fits).collect::<String>().parse().ok()
}
