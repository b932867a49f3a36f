//! Which Node a session gets.

use std::path::Path;

use stead_protocol::FoundInterpreter;

use crate::find::{Env, FindError, is_script, named_path, on_path, resolved};

/// Finds the Node for a session that starts in `cwd`: the one named, else `node` on the PATH. Links
/// and shims are resolved. That it is new enough, the bridge says at its start.
pub fn find(
    named: Option<&str>,
    cwd: &Path,
    env: Env<'_>,
    cache_dir: &Path,
) -> Result<FoundInterpreter, FindError> {
    let (path, why) = match named {
        Some(named) => (named_path(named, cwd, env)?, "named by `--node`".to_owned()),
        None => {
            let missing = || FindError::None { program: "node", looked: "`PATH`".to_owned() };
            (on_path("node", env).ok_or_else(missing)?, "`node` on `PATH`".to_owned())
        }
    };
    let path = if is_script(&path) { path } else { path.canonicalize().unwrap_or(path) };
    resolved(path, why, &["-p", "process.execPath"], cwd, env, cache_dir)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn executable(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn js_the_named_node_comes_before_the_one_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        executable(&root.join("real/node"), "\x7fELF");
        executable(&root.join("mine"), "\x7fELF");
        fs::create_dir(root.join("bin")).unwrap();
        symlink(root.join("real/node"), root.join("bin/node")).unwrap();
        let path = root.join("bin").into_os_string();
        let env = |name: &str| -> Option<OsString> { (name == "PATH").then(|| path.clone()) };
        let found = |named: Option<&str>| find(named, &root, &env, &root);
        assert_eq!(found(None).unwrap().path, root.join("real/node").display().to_string());
        assert_eq!(found(Some("./mine")).unwrap().path, root.join("mine").display().to_string());
        assert!(matches!(found(Some("./none")), Err(FindError::Named { .. })));
        assert!(matches!(find(None, &root, &|_| None, &root), Err(FindError::None { .. })));
    }

    #[test]
    fn js_a_shim_is_asked_for_the_real_node() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        executable(&root.join("real"), "\x7fELF");
        executable(
            &root.join("bin/node"),
            &format!("#!/bin/sh\necho {}\n", root.join("real").display()),
        );
        let path = root.join("bin").into_os_string();
        let env = |name: &str| -> Option<OsString> { (name == "PATH").then(|| path.clone()) };
        let found = find(None, &root, &env, &root).unwrap();
        assert_eq!(found.path, root.join("real").display().to_string());
        assert!(found.why.contains("shim"), "{}", found.why);
    }
}
