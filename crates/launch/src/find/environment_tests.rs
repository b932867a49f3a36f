use std::fs;

use super::*;
use crate::Patient;
use crate::find::executable;

fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn text(env: &[(OsString, OsString)], name: &str) -> Option<String> {
    variable(env, name).map(|value| value.to_str().unwrap().to_owned())
}

fn venv(at: &Path) -> PathBuf {
    executable(&at.join("bin/python"), "\x7fELF");
    fs::write(at.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    at.join("bin/python")
}

#[test]
fn s11_an_environment_is_in_force_as_if_activated() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join(".venv");
    let python = venv(&prefix);
    let mut vars = env(&[("PATH", "/usr/bin:/bin"), ("PYTHONHOME", "/x"), ("VIRTUAL_ENV", "/old")]);
    let found = Environment::of(&python, &vars).unwrap();
    found.activate(&mut vars);
    let path = format!("{}/bin:/usr/bin:/bin", prefix.display());
    assert_eq!(text(&vars, "PATH"), Some(path.clone()));
    assert_eq!(text(&vars, "VIRTUAL_ENV").as_deref(), prefix.to_str());
    assert_eq!(text(&vars, "PYTHONHOME"), None);
    found.activate(&mut vars);
    assert_eq!(text(&vars, "PATH"), Some(path));
    let mut none = env(&[]);
    found.activate(&mut none);
    assert_eq!(text(&none, "PATH").unwrap(), format!("{}/bin:{USUAL_PATH}", prefix.display()));
}

#[test]
fn s11_one_that_the_user_activated_keeps_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let active = dir.path().join("active");
    let python = venv(&active);
    let own = active.display().to_string();
    let path = format!("/mine:{own}/bin:/usr/bin");
    let mut vars = env(&[("PATH", &path), ("VIRTUAL_ENV", &own)]);
    let found = Environment::of(&python, &vars).unwrap();
    found.activate(&mut vars);
    assert_eq!(text(&vars, "PATH"), Some(path));
    let mut vars = env(&[("PATH", "/usr/bin"), ("VIRTUAL_ENV", &own)]);
    found.activate(&mut vars);
    assert_eq!(text(&vars, "PATH"), Some(format!("{own}/bin:/usr/bin")));
}

#[test]
fn s11_conda_has_a_variable_of_its_own_and_a_plain_python_none() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("envs/data");
    executable(&prefix.join("bin/python"), "\x7fELF");
    let python = prefix.join("bin/python");
    assert_eq!(Environment::of(&python, &[]), None);
    fs::create_dir(prefix.join("conda-meta")).unwrap();
    let mut vars = env(&[("PATH", "/bin"), ("VIRTUAL_ENV", "/old")]);
    let roundabout = dir.path().join("envs/../envs/data/bin/python");
    let found = Environment::of(&roundabout, &vars).unwrap();
    found.activate(&mut vars);
    let real = prefix.canonicalize().unwrap();
    assert_eq!(text(&vars, "CONDA_PREFIX").as_deref(), real.to_str());
    assert_eq!(text(&vars, "CONDA_DEFAULT_ENV").as_deref(), Some("data"));
    assert_eq!(text(&vars, "VIRTUAL_ENV"), None);
}

#[test]
fn s11_the_environment_of_a_project_is_found_without_starting_its_python() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    let cwd = at("ws/deep");
    fs::create_dir_all(&cwd).unwrap();
    let home = at("home").display().to_string();
    let of = |vars: &[(OsString, OsString)]| {
        let search = Search {
            named: None,
            cwd: &cwd,
            env: vars,
            cache_dir: dir.path(),
            proven: &|_| false,
            programs: &Patient,
        };
        Environment::of_project(&search).map(|found| found.prefix)
    };
    let vars = env(&[("HOME", &home)]);
    assert_eq!(of(&vars), None);
    fs::create_dir_all(at("ws/deep/.venv/bin")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", at("ws/deep/.venv/bin/python")).unwrap();
    assert_eq!(of(&vars), None);
    venv(&at("ws/.venv"));
    assert_eq!(of(&vars), Some(at("ws/.venv")));
    venv(&at("active"));
    let active = at("active").display().to_string();
    assert_eq!(of(&env(&[("HOME", &home), ("VIRTUAL_ENV", &active)])), Some(at("active")));
}

#[test]
fn s11_poetry_is_asked_once_until_something_changes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    venv(&at("elsewhere"));
    let poetry = format!(
        "#!/bin/sh\necho x >> {0}/asked\necho {0}/elsewhere/bin/python\n",
        dir.path().display()
    );
    executable(&at("bin/poetry"), &poetry);
    fs::create_dir(at("ws")).unwrap();
    fs::create_dir(at("cache")).unwrap();
    fs::write(at("ws/pyproject.toml"), "[tool.poetry]\nname = \"x\"\n").unwrap();
    let vars =
        env(&[("PATH", at("bin").to_str().unwrap()), ("HOME", at("home").to_str().unwrap())]);
    let (cwd, cache) = (at("ws"), at("cache"));
    let of = || {
        let search = Search {
            named: None,
            cwd: &cwd,
            env: &vars,
            cache_dir: &cache,
            proven: &|_| false,
            programs: &Patient,
        };
        Environment::of_project(&search).map(|found| found.prefix)
    };
    let asked = || fs::read_to_string(at("asked")).unwrap().lines().count();
    assert_eq!(of(), Some(at("elsewhere")));
    assert_eq!((of(), asked()), (Some(at("elsewhere")), 1));
    fs::write(at("ws/poetry.lock"), "").unwrap();
    assert_eq!((of(), asked()), (Some(at("elsewhere")), 2));
    fs::remove_file(at("elsewhere/bin/python")).unwrap();
    assert_eq!((of(), asked()), (None, 3));
    // That there is no environment is an answer, and is kept; that poetry failed is not.
    venv(&at("elsewhere"));
    for (way, asked_again) in [
        ("echo 'no connection' >&2; exit 1", true),
        ("kill -9 $$", true),
        ("exit 127", true),
        ("exit 1", false),
    ] {
        executable(
            &at("bin/poetry"),
            &format!("#!/bin/sh\necho x >> {}/asked\n{way}\n", dir.path().display()),
        );
        fs::remove_dir_all(at("cache")).unwrap();
        fs::create_dir(at("cache")).unwrap();
        let before = asked();
        assert_eq!((of(), of()), (None, None), "{way}");
        assert_eq!(asked() - before, if asked_again { 2 } else { 1 }, "{way}");
    }
}
