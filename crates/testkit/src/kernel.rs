//! Jupyter kernels for tests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::peers::{made, there};
use crate::{TestEnv, node};

/// The Python that `tests/peers/install` made, which has ipykernel; `STEAD_TEST_VENV` names another one.
pub fn kernel_python() -> PathBuf {
    match std::env::var_os("STEAD_TEST_VENV") {
        Some(python) => there(python.as_ref()),
        None => made("venv/bin/python"),
    }
}

/// How ipykernel is started.
pub fn ipykernel() -> Value {
    kernel_of(&kernel_python(), "ipykernel_launcher")
}

/// How the kernel of a Python module is started.
pub fn kernel_of(python: &Path, module: &str) -> Value {
    let argv = [text(python), "-m", module, "-f", "{connection_file}"];
    json!({"argv": argv, "language": "python", "display_name": module})
}

/// How Deno's kernel is started: by its program itself, as its own installation does, and not by npm's script before that.
pub fn deno() -> Value {
    let platforms = fs::read_dir(made("kernels-node/node_modules/deno/node_modules/@deno"))
        .expect("a directory");
    let programs = platforms.flatten().map(|platform| platform.path().join("deno"));
    let program =
        programs.into_iter().find(|program| program.exists()).expect("Deno for this machine");
    let argv = [text(&program), "jupyter", "--kernel", "--conn", "{connection_file}"];
    json!({"argv": argv, "language": "typescript"})
}

/// How tslab is started, which is a script for the `node` of its PATH.
pub fn tslab() -> Value {
    let program = made("kernels-node/node_modules/.bin/tslab");
    let argv = [text(&program), "kernel", "--config-path={connection_file}"];
    let path = format!("{}:${{PATH}}", text(node().parent().expect("a directory")));
    json!({"argv": argv, "language": "typescript", "env": {"PATH": path}})
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

impl TestEnv {
    /// Installs a kernel for the user of this environment.
    pub fn install_kernel(&self, name: &str, spec: &Value) {
        let dir = self.root().join("home/.local/share/jupyter/kernels").join(name);
        fs::create_dir_all(&dir).expect("the home is ours");
        fs::write(dir.join("kernel.json"), spec.to_string()).expect("the home is ours");
    }
}
