//! Interpreters that are looked for on the `PATH`. Whether one is new enough is found out by its bridge.

use stead_config::OnPath;
use stead_protocol::FoundInterpreter;

use crate::find::{FindError, NAMED, Search, is_script};

/// The interpreter that was named, else the first of the wanted programs that is on the PATH.
pub(super) fn find(wanted: &OnPath, search: &Search<'_>) -> Result<FoundInterpreter, FindError> {
    let (path, why) = match search.named {
        Some(named) => (search.named_path(named)?, NAMED.to_owned()),
        None => wanted
            .programs
            .iter()
            .find_map(|name| Some((search.on_path(name)?, format!("`{name}` on `PATH`"))))
            .ok_or_else(|| FindError::None {
                program: wanted.programs.first().copied().unwrap_or_default(),
                looked: "`PATH`".to_owned(),
            })?,
    };
    let path = match wanted.follow_links && !is_script(&path) {
        true => path.canonicalize().unwrap_or(path),
        false => path,
    };
    match &wanted.shims {
        Some(managers) => search.resolved(path, why, managers),
        None => Ok(FoundInterpreter::new(path.to_string_lossy().into_owned(), why)),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::Patient;
    use crate::find::executable;

    /// A directory with programs in it, of which those in `bin` are on the PATH.
    struct Programs {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Programs {
        fn new() -> Programs {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            fs::create_dir(root.join("bin")).unwrap();
            Programs { _dir: dir, root }
        }

        fn at(&self, path: &str) -> String {
            self.root.join(path).display().to_string()
        }

        fn add(&self, path: &str, text: &str) {
            executable(&self.root.join(path), text);
        }

        fn find(&self, language: &str, named: Option<&str>) -> Result<FoundInterpreter, FindError> {
            let env = [("PATH".into(), OsString::from(self.root.join("bin")))];
            let (cwd, cache_dir) = (&*self.root, &*self.root);
            let search = Search {
                named,
                cwd,
                env: &env,
                cache_dir,
                proven: &|_: &Path| false,
                programs: &Patient,
            };
            crate::find(stead_config::language(language).unwrap(), &search)
        }
    }

    #[test]
    fn the_named_one_comes_before_the_path_and_a_shim_is_resolved() {
        for language in ["bash", "node"] {
            let programs = Programs::new();
            programs.add(&format!("bin/{language}"), "\x7fELF");
            programs.add("mine", "\x7fELF");
            programs.add("shim", &format!("#!/bin/sh\nprintf %s {}\n", programs.at("mine")));
            let find = |named| programs.find(language, named);
            assert_eq!(find(None).unwrap().path, programs.at(&format!("bin/{language}")));
            assert!(find(Some("./mine")).unwrap().path.ends_with("/mine"));
            let shim = find(Some("./shim")).unwrap();
            assert_eq!((&shim.path, shim.why.contains("shim")), (&programs.at("mine"), true));
            assert!(matches!(find(Some("./no")), Err(FindError::Named { .. })));
            assert!(matches!(find(Some("no")), Err(FindError::Named { .. })));
        }
    }

    #[test]
    fn js_a_link_stands_for_the_node_that_it_leads_to() {
        let programs = Programs::new();
        programs.add("real/node", "\x7fELF");
        symlink(programs.at("real/node"), programs.at("bin/node")).unwrap();
        assert_eq!(programs.find("node", None).unwrap().path, programs.at("real/node"));
    }

    #[test]
    fn js_a_shim_on_the_path_is_asked_for_the_real_node() {
        let programs = Programs::new();
        programs.add("real", "\x7fELF");
        programs.add("bin/node", &format!("#!/bin/sh\necho {}\n", programs.at("real")));
        let found = programs.find("node", None).unwrap();
        assert_eq!(found.path, programs.at("real"));
        assert!(found.why.contains("shim"), "{}", found.why);
    }

    #[test]
    fn j1_commands_run_in_bash_or_else_in_the_systems_shell() {
        let programs = Programs::new();
        assert!(matches!(
            programs.find("shell", None),
            Err(FindError::None { program: "bash", .. })
        ));
        programs.add("bin/sh", "\x7fELF");
        assert_eq!(programs.find("shell", None).unwrap().path, programs.at("bin/sh"));
        programs.add("bin/bash", "\x7fELF");
        let found = programs.find("shell", None).unwrap();
        assert_eq!((found.path, &*found.why), (programs.at("bin/bash"), "`bash` on `PATH`"));
    }
}
