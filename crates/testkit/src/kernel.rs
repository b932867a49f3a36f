//! Jupyter kernels for tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::TestEnv;

/// The Python that `tests/peers/install` made, which has ipykernel; `STEAD_TEST_VENV` names another one.
pub fn kernel_python() -> PathBuf {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test/venv/bin/python");
    let python = std::env::var_os("STEAD_TEST_VENV").map_or(made, PathBuf::from);
    assert!(python.exists(), "{} is missing: tests/peers/install makes it", python.display());
    python
}

/// How ipykernel is started.
pub fn ipykernel() -> Value {
    kernel_of(&kernel_python(), "ipykernel_launcher")
}

/// How the kernel of a Python module is started.
pub fn kernel_of(python: &Path, module: &str) -> Value {
    let argv = [python.to_str().expect("a path in UTF-8"), "-m", module, "-f", "{connection_file}"];
    json!({"argv": argv, "language": "python", "display_name": module})
}

impl TestEnv {
    /// Installs a kernel for the user of this environment.
    pub fn install_kernel(&self, name: &str, spec: &Value) {
        let dir = self.root().join("home/.local/share/jupyter/kernels").join(name);
        fs::create_dir_all(&dir).expect("the home is ours");
        fs::write(dir.join("kernel.json"), spec.to_string()).expect("the home is ours");
    }
}
