//! Which Bash a session gets. Whether it is new enough its bridge finds out.

use std::path::Path;

use stead_protocol::FoundInterpreter;

use crate::find::{Env, FindError, named_path, on_path, resolved};

/// Finds the Bash for a session that starts in `cwd`: the one named, else `bash` on the PATH.
pub fn find(
    named: Option<&str>,
    cwd: &Path,
    env: Env<'_>,
    cache_dir: &Path,
) -> Result<FoundInterpreter, FindError> {
    let (path, why) = match named {
        Some(named) => (named_path(named, cwd, env)?, "named by `--bash`".to_owned()),
        None => {
            let missing = || FindError::None { program: "bash", looked: "`PATH`".to_owned() };
            (on_path("bash", env).ok_or_else(missing)?, "`bash` on `PATH`".to_owned())
        }
    };
    resolved(path, why, &["-c", r#"printf %s "$BASH""#], cwd, env, cache_dir)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_named_one_comes_before_the_path_and_a_shim_is_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let executable = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
            fs::set_permissions(at(path), fs::Permissions::from_mode(0o755)).unwrap();
        };
        executable("bin/bash", "\x7fELF");
        executable("mine", "\x7fELF");
        executable("shim", &format!("#!/bin/sh\nprintf %s {}\n", at("mine").display()));
        let bin = at("bin").into_os_string();
        let env = |name: &str| (name == "PATH").then(|| bin.clone());
        let find = |named| find(named, dir.path(), &env, dir.path());
        let path = |file: &str| at(file).display().to_string();
        assert_eq!(find(None).unwrap().path, path("bin/bash"));
        assert_eq!(find(Some("./mine")).unwrap().path, path("./mine"));
        let shim = find(Some("./shim")).unwrap();
        assert_eq!((shim.path.clone(), shim.why.contains("shim")), (path("mine"), true));
        assert!(matches!(find(Some("./no")), Err(FindError::Named { .. })));
        assert!(matches!(find(Some("no")), Err(FindError::Named { .. })));
    }
}
