use std::ffi::OsString;

use super::*;
use crate::Patient;
use crate::find::executable;

fn found(root: &Path, source: &EnvironmentSource) -> Result<(String, Vec<String>), String> {
    let env: Vec<(OsString, OsString)> =
        vec![("PATH".into(), root.join("bin").into()), ("HOME".into(), root.into())];
    let (cwd, proven) = (root.join("ws"), |_: &Path| false);
    let search = Search {
        named: None,
        cwd: &cwd,
        env: &env,
        cache_dir: root,
        proven: &proven,
        programs: &Patient,
    };
    match find(source, &search) {
        Ok((found, words)) => Ok((found.why, words[1..].to_vec())),
        Err(FindError::NoEnvironment { missing, make }) => Err(format!("{missing}: {make}")),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn cf3_clojures_tools_start_a_server_each_in_its_own_way() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::create_dir(root.join("ws")).unwrap();
    for (source, part) in [
        (EnvironmentSource::Deps, "no `clojure` on the PATH: install the Clojure CLI"),
        (EnvironmentSource::Lein, "no `lein` on the PATH: install Leiningen"),
        (EnvironmentSource::Babashka, "no `bb` on the PATH: install Babashka"),
        (EnvironmentSource::Venv, "no environment of Clojure"),
    ] {
        let said = found(root, &source).unwrap_err();
        assert!(said.contains(part), "{said}");
    }
    executable(&root.join("bin/bb"), "#!/bin/sh\n");
    let (_, words) = found(root, &EnvironmentSource::Babashka).unwrap();
    assert_eq!(words, ["--nrepl-server", "{port}"]);
    executable(&root.join("bin/lein"), "#!/bin/sh\n");
    let (_, words) = found(root, &EnvironmentSource::Lein).unwrap();
    assert_eq!(words, ["repl", ":headless", ":host", "127.0.0.1", ":port", "{port}"]);
    executable(&root.join("bin/clojure"), "#!/bin/sh\nexec java clojure.main\n");
    let said = found(root, &EnvironmentSource::Deps).unwrap_err();
    assert!(said.contains("is not the Clojure CLI"), "{said}");
    executable(&root.join("bin/clojure"), "#!/bin/bash\n# deps.edn\n");
    let (why, words) = found(root, &EnvironmentSource::Deps).unwrap();
    assert!(why.contains("nREPL added") && words[0] == "-Sdeps", "{why} {words:?}");
    assert!(words[1].starts_with("{{:deps {{nrepl/nrepl"), "{words:?}");
    let deps = root.join("ws/deps.edn");
    std::fs::write(&deps, "{:aliases {:nrepl-x {} :nrepl\n {:extra-deps {a {}}}}}").unwrap();
    let (_, words) = found(root, &EnvironmentSource::Deps).unwrap();
    assert_eq!(words, ["-M:nrepl", "-m", "nrepl.cmdline", "--port", "{port}"]);
    std::fs::write(&deps, "{:aliases {:nrepl {:main-opts [\"-m\" \"nrepl.cmdline\"]}}}").unwrap();
    let (_, words) = found(root, &EnvironmentSource::Deps).unwrap();
    assert_eq!(words, ["-M:nrepl", "--port", "{port}"]);
}
