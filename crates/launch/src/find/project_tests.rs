use std::ffi::OsString;
use std::fs;

use super::*;
use crate::Patient;
use crate::find::executable;

struct Project {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home", "bin", "ws/deep"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        Project { _dir: dir, root }
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.root.join(path).parent().unwrap()).unwrap();
        fs::write(self.root.join(path), text).unwrap();
    }

    fn find(&self, source: EnvironmentSource) -> Result<FoundInterpreter, FindError> {
        let var = |name: &str, path: &str| (OsString::from(name), self.root.join(path).into());
        let env = [var("HOME", "home"), var("PATH", "bin")];
        let cwd = self.root.join("ws/deep");
        let search = Search {
            named: None,
            cwd: &cwd,
            env: &env,
            cache_dir: &self.root,
            proven: &|_| true,
            programs: &Patient,
        };
        crate::find_in(&source, stead_config::language("python").unwrap(), &search)
    }

    #[track_caller]
    fn missing(&self, source: EnvironmentSource) -> (String, String) {
        match self.find(source).unwrap_err() {
            FindError::NoEnvironment { missing, make } => (missing, make),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn cf3_each_kind_says_what_is_missing_and_how_to_make_it() {
    let project = Project::new();
    for (source, what, how) in [
        (EnvironmentSource::Venv, "no `.venv`", "python3 -m venv"),
        (EnvironmentSource::Uv, "no `uv.lock`", "uv init"),
        (EnvironmentSource::Poetry, "no poetry project", "poetry init"),
        (EnvironmentSource::Conda, "no `environment.yml`", "activate"),
        (EnvironmentSource::Unknown("nix".into()), "`nix`", "stead"),
    ] {
        let (missing, make) = project.missing(source);
        assert!(missing.contains(what) && make.contains(how), "{missing}: {make}");
    }
    project.write("ws/uv.lock", "");
    assert!(project.missing(EnvironmentSource::Uv).1.contains("install uv"));
    executable(&project.root.join("bin/uv"), "\x7fELF");
    assert!(project.missing(EnvironmentSource::Uv).1.contains("`uv sync`"));
    project.write("ws/poetry.lock", "");
    assert!(project.missing(EnvironmentSource::Poetry).1.contains("install poetry"));
    executable(&project.root.join("bin/poetry"), "#!/bin/sh\nexit 1\n");
    assert!(project.missing(EnvironmentSource::Poetry).1.contains("`poetry install`"));
    project.write("ws/environment.yml", "name: data\n");
    assert!(project.missing(EnvironmentSource::Conda).1.contains("conda env create"));
}

#[test]
fn cf3_each_kind_finds_its_own_environment_and_no_other() {
    let project = Project::new();
    let python = |at: &str| executable(&project.root.join(at).join("bin/python"), "\x7fELF");
    let found = |source| project.find(source).map(|found| (found.path, found.why)).unwrap();
    python("ws/venv");
    project.write("ws/venv/pyvenv.cfg", "");
    assert!(found(EnvironmentSource::Venv).0.ends_with("ws/venv/bin/python"));
    python("ws/.venv");
    assert!(found(EnvironmentSource::Venv).0.ends_with("ws/.venv/bin/python"));
    project.write("ws/pyproject.toml", "[project]\nname = 'x'\n");
    let (path, why) = found(EnvironmentSource::Uv);
    assert!(path.ends_with("ws/.venv/bin/python") && why.contains("uv environment"), "{why}");
    python("cache/poetry");
    let place = project.root.join("cache/poetry/bin/python");
    let answer = format!("#!/bin/sh\necho {}\n", place.display());
    executable(&project.root.join("bin/poetry"), &answer);
    project.write("ws/poetry.lock", "");
    let (path, why) = found(EnvironmentSource::Poetry);
    assert!(path.ends_with("cache/poetry/bin/python") && why.contains("poetry"), "{path}");
    project.write("ws/environment.yml", "name: data\n");
    python("home/miniconda3/envs/data");
    let (path, why) = found(EnvironmentSource::Conda);
    assert!(path.ends_with("envs/data/bin/python") && why.contains("conda"), "{path}");
    // One that is listed elsewhere.
    fs::remove_dir_all(project.root.join("home/miniconda3")).unwrap();
    python("elsewhere/data");
    let line = format!("/gone/data\n{}\n", project.root.join("elsewhere/data").display());
    project.write("home/.conda/environments.txt", &line);
    assert!(found(EnvironmentSource::Conda).0.ends_with("elsewhere/data/bin/python"));
}
