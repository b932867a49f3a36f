//! Jupyter kernels: the kernelspecs in every place where Jupyter looks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stead_protocol::{EnvironmentSource, FoundInterpreter};

use super::{Environment, FindError, Search, project};

/// The file that describes a kernel.
const SPEC_FILE: &str = "kernel.json";
/// More bytes than any such file has.
const MOST_SPEC: u64 = 1 << 20;
/// The module that is Python's own kernel.
const IPYKERNEL: &str = "ipykernel_launcher";
/// The kernel that is meant when none is named.
const USUAL_KERNEL: &str = "python3";

/// A kernel that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSpec {
    /// Its name: `python3`, `ir`.
    pub name: String,
    /// The directory that describes it.
    pub dir: PathBuf,
    /// The command that starts it. `{connection_file}` and other words in braces stand for values.
    pub argv: Vec<String>,
    /// Variables for it, in which `${NAME}` stands for a variable of the environment.
    pub env: BTreeMap<String, String>,
    /// Its language.
    pub language: String,
    /// What people call it.
    pub display_name: String,
    /// It is interrupted by a message, and not by a signal.
    pub by_message: bool,
}

/// `kernel.json`, as far as it matters here.
#[derive(Deserialize)]
struct WrittenSpec {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    language: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    interrupt_mode: String,
}

impl KernelSpec {
    /// Reads the description of a kernel in this directory.
    pub fn read(dir: &Path) -> Result<KernelSpec, FindError> {
        let path = dir.join(SPEC_FILE);
        let bad = |why: String| FindError::BadKernel { path: path.clone(), why };
        let text =
            stead_files::read_users_text(&path, MOST_SPEC).map_err(|e| bad(e.to_string()))?;
        let written: WrittenSpec = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if written.argv.is_empty() {
            return Err(bad("its `argv` is empty".to_owned()));
        }
        let name = dir.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        Ok(KernelSpec {
            name,
            dir: dir.to_owned(),
            argv: written.argv,
            env: written.env,
            language: written.language,
            display_name: written.display_name,
            by_message: written.interrupt_mode == "message",
        })
    }

    /// The ipykernel of this Python, which needs no description.
    pub fn of_python(python: &Path) -> KernelSpec {
        let prefix = python.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let program = python.to_string_lossy().into_owned();
        let words = ["-m", IPYKERNEL, "-f", "{connection_file}"].map(str::to_owned);
        KernelSpec {
            name: format!("ipykernel of {program}"),
            dir: prefix.join("share/jupyter/kernels").join(USUAL_KERNEL),
            argv: std::iter::once(program).chain(words).collect(),
            env: BTreeMap::new(),
            language: "python".to_owned(),
            display_name: String::new(),
            by_message: false,
        }
    }

    /// The directory whose `bin` the kernel was installed with: `P` of `P/share/jupyter/kernels/NAME`.
    pub fn prefix(&self) -> Option<&Path> {
        let share = self.dir.parent()?.parent()?.parent()?;
        share.ends_with("share").then(|| share.parent())?
    }
}

/// All kernels that are installed, by name; the first of a name counts. What cannot be read is left out.
pub fn kernels(search: &Search<'_>) -> Vec<KernelSpec> {
    let mut known = BTreeMap::new();
    for place in places(search) {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            if !is_kernel_name(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if let Ok(spec) = KernelSpec::read(&entry.path()) {
                known.entry(spec.name.clone()).or_insert(spec);
            }
        }
    }
    known.into_values().collect()
}

/// The kernel of this name.
pub fn kernel(name: &str, search: &Search<'_>) -> Result<KernelSpec, FindError> {
    let lower = name.to_lowercase();
    if is_kernel_name(name) {
        for place in places(search) {
            let dir = [name, &lower].into_iter().map(|name| place.join(name));
            if let Some(dir) = dir.into_iter().find(|dir| dir.join(SPEC_FILE).exists()) {
                return KernelSpec::read(&dir);
            }
        }
    }
    let known = kernels(search);
    // Directories may be written in capitals; kernels are known by small letters.
    match known.iter().find(|spec| spec.name == lower) {
        Some(spec) => Ok(spec.clone()),
        None => Err(FindError::NoKernel {
            name: name.to_owned(),
            known: known.into_iter().map(|spec| spec.name).collect(),
        }),
    }
}

/// The kernel for a session: the one that was named, else the usual one, else the only one.
pub(super) fn find(search: &Search<'_>) -> Result<FoundInterpreter, FindError> {
    let (spec, why) = match search.named {
        Some(name) => (kernel(name, search)?, ""),
        None => {
            let known: Vec<String> = kernels(search).into_iter().map(|spec| spec.name).collect();
            (kernel(meant(&known), search)?, ", since none was named")
        }
    };
    let why = format!("the Jupyter kernel `{}`{why}", spec.name);
    Ok(FoundInterpreter::new(spec.dir.to_string_lossy().into_owned(), why))
}

/// The Python of one kind of environment, for its own kernel.
pub(super) fn find_in(
    source: &EnvironmentSource,
    search: &Search<'_>,
) -> Result<FoundInterpreter, FindError> {
    let python = stead_config::language("python").and_then(|it| it.finder.version_managers());
    // Python is always in the table of languages, so `find` is never called here.
    let Some(managers) = python else { return find(search) };
    let found = project::find(source, managers, search)?;
    let python = Path::new(&found.path);
    if let Some(environment) = Environment::of(python, search.env)
        && !has_ipykernel(environment.prefix())
    {
        let install = match source {
            EnvironmentSource::Poetry => "poetry add -G dev ipykernel".to_owned(),
            EnvironmentSource::Uv => "uv add ipykernel".to_owned(),
            _ => format!("{} -m pip install ipykernel", found.path),
        };
        return Err(FindError::NoEnvironment {
            missing: format!("`{}` has no ipykernel", environment.prefix().display()),
            make: format!("install it: `{install}`"),
        });
    }
    Ok(FoundInterpreter { why: format!("the ipykernel of the {}", found.why), ..found })
}

/// Whether ipykernel is installed in an environment. An environment that sees the packages of its base Python
/// may have ipykernel from there.
fn has_ipykernel(prefix: &Path) -> bool {
    let config = super::users_text(&prefix.join("pyvenv.cfg")).unwrap_or_default();
    let sees_base = config.lines().any(|line| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        key.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
    });
    let file = format!("site-packages/{IPYKERNEL}.py");
    let mut versions =
        ["lib", "lib64"].into_iter().flat_map(|lib| fs::read_dir(prefix.join(lib))).flatten();
    sees_base || versions.any(|dir| dir.is_ok_and(|dir| dir.path().join(&file).is_file()))
}

/// The kernel that is meant when none is named.
fn meant(known: &[String]) -> &str {
    match known {
        [only] => only,
        _ => USUAL_KERNEL,
    }
}

/// Whether Jupyter allows this name; no name that it allows leads out of the directory of kernels.
fn is_kernel_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && name.chars().all(fits) && !name.starts_with('.')
}

/// Where kernels are looked for, in this order: what the user set, the environment that is active or the project's, the user's
/// own, those beside programs on the PATH, the system's, and where IPython had them long ago.
fn places(search: &Search<'_>) -> Vec<PathBuf> {
    let var = |name: &str| search.var(name).filter(|value| !value.is_empty());
    let home = var("HOME").map(PathBuf::from);
    let in_prefix = |prefix: PathBuf| prefix.join("share/jupyter");
    let mut data: Vec<PathBuf> = Vec::new();
    data.extend(var("JUPYTER_PATH").iter().flat_map(std::env::split_paths));
    data.extend(
        ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .iter()
            .filter_map(|name| var(name))
            .map(PathBuf::from)
            .map(in_prefix),
    );
    if let Some(environment) = Environment::of_project(search) {
        data.push(in_prefix(environment.prefix().to_owned()));
    }
    let own =
        || var("XDG_DATA_HOME").map(PathBuf::from).or(Some(home.as_ref()?.join(".local/share")));
    data.extend(
        var("JUPYTER_DATA_DIR").map(PathBuf::from).or_else(|| Some(own()?.join("jupyter"))),
    );
    let path = var("PATH").unwrap_or_default();
    let bins = std::env::split_paths(&path).filter(|dir| dir.is_absolute() && dir.ends_with("bin"));
    data.extend(bins.filter_map(|bin| Some(in_prefix(bin.parent()?.to_owned()))));
    data.extend(["/usr/local", "/usr"].map(PathBuf::from).map(in_prefix));
    let ipython = var("IPYTHONDIR").map(PathBuf::from).or_else(|| Some(home?.join(".ipython")));
    data.extend(ipython);
    let mut seen = BTreeSet::new();
    data.retain(|dir| dir.is_absolute() && seen.insert(dir.clone()));
    data.into_iter().map(|dir| dir.join("kernels")).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::Patient;

    fn install(kernels: &Path, name: &str, text: &str) {
        let dir = kernels.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(SPEC_FILE), text).unwrap();
    }

    /// Finds kernels in a home of its own, with these variables.
    fn with<T>(root: &Path, variables: &[(&str, &str)], look: impl Fn(&Search<'_>) -> T) -> T {
        let home = [("HOME", root.to_str().unwrap()), ("PATH", "/nowhere")];
        let env: Vec<(OsString, OsString)> = home
            .iter()
            .chain(variables)
            .map(|(name, value)| {
                (name.into(), value.replace("ROOT", root.to_str().unwrap()).into())
            })
            .collect();
        let cwd = root.join("project");
        fs::create_dir_all(&cwd).unwrap();
        look(&Search {
            named: None,
            cwd: &cwd,
            env: &env,
            cache_dir: root,
            proven: &|_| true,
            programs: &Patient,
        })
    }

    const PLAIN: &str = r#"{"argv":["k","{connection_file}"],"language":"toy"}"#;

    #[test]
    fn k1_kernels_are_found_in_every_place_where_jupyter_looks() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let places = [
            ("data/kernels", "JUPYTER_PATH", "ROOT/none:ROOT/data"),
            ("venv/share/jupyter/kernels", "VIRTUAL_ENV", "ROOT/venv"),
            ("conda/share/jupyter/kernels", "CONDA_PREFIX", "ROOT/conda"),
            ("own/kernels", "JUPYTER_DATA_DIR", "ROOT/own"),
            ("xdg/jupyter/kernels", "XDG_DATA_HOME", "ROOT/xdg"),
            ("tools/share/jupyter/kernels", "PATH", "ROOT/tools/bin"),
            ("ipython/kernels", "IPYTHONDIR", "ROOT/ipython"),
            (".local/share/jupyter/kernels", "HOME", "ROOT"),
            (".ipython/kernels", "HOME", "ROOT"),
        ];
        for (number, (place, variable, value)) in places.into_iter().enumerate() {
            let name = format!("toy{number}");
            install(&root.join(place), &name, PLAIN);
            with(root, &[(variable, value)], |search| {
                assert_eq!(
                    kernel(&name, search).unwrap().dir,
                    root.join(place).join(&name),
                    "{place}"
                );
                assert!(kernels(search).iter().any(|spec| spec.name == name), "{place}");
            });
        }
    }

    #[test]
    fn k1_the_first_kernel_of_a_name_counts_and_broken_ones_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        install(&root.join("a/kernels"), "Toy", PLAIN);
        install(&root.join("b/kernels"), "toy", PLAIN);
        install(&root.join("b/kernels"), "broken", "{");
        install(&root.join("b/kernels"), "empty", r#"{"argv":[]}"#);
        with(root, &[("JUPYTER_PATH", "ROOT/a:ROOT/b")], |search| {
            assert_eq!(kernel("TOY", search).unwrap().name, "toy");
            // The machine may have kernels of its own.
            let names = kernels(search).into_iter().map(|spec| spec.name);
            let ours = ["toy", "broken", "empty"];
            assert_eq!(
                names.filter(|name| ours.contains(&name.as_str())).collect::<Vec<_>>(),
                ["toy"]
            );
            for broken in ["broken", "empty"] {
                let error = kernel(broken, search).unwrap_err();
                assert!(matches!(error, FindError::BadKernel { .. }), "{error}");
            }
            for none in ["no-such", "../b/kernels/toy", ""] {
                let error = kernel(none, search).unwrap_err();
                let FindError::NoKernel { known, .. } = error else { panic!("{error}") };
                assert!(known.contains(&"toy".to_owned()), "{known:?}");
            }
        });
    }

    #[test]
    fn k1_without_a_name_it_is_the_usual_kernel_or_the_only_one() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(meant(&names(&["ir"])), "ir");
        assert_eq!(meant(&names(&["ir", "python3"])), "python3");
        assert_eq!(meant(&[]), "python3");
    }

    #[test]
    fn k1_the_prefix_of_a_kernel_is_known_by_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let kernels = dir.path().join("p/share/jupyter/kernels");
        install(&kernels, "toy", PLAIN);
        let spec = KernelSpec::read(&kernels.join("toy")).unwrap();
        assert_eq!(spec.prefix(), Some(dir.path().join("p").as_path()));
        assert_eq!((spec.argv.len(), spec.by_message), (2, false));
    }
}
