//! Modules that are missing, and commands that install packages.

use std::path::Path;

use super::Hint;
use super::line::{Failed, matches_pattern, quoted};
use super::packages::{self, LeftStdlib};

/// The hint for a module that is not there.
pub(super) fn missing(failed: &Failed<'_>) -> Option<Hint> {
    match failed.language {
        "python" => python(failed),
        "node" => node(failed),
        _ => None,
    }
}

fn python(failed: &Failed<'_>) -> Option<Hint> {
    // The bridge says which module it is, if it is one that can be installed.
    let facts = failed.error?.missing.as_deref()?;
    let module = facts.module.as_deref()?;
    if let Some(LeftStdlib { instead, .. }) = packages::left(module) {
        return Some(Hint::Gone { module: module.to_owned(), instead });
    }
    if facts.of_language {
        return None;
    }
    let install = facts.install.as_deref()?;
    Some(match packages::package(module) {
        Some(package) => Hint::Install {
            module: Some(module.to_owned()),
            command: format!("{install} {package}"),
            restart: facts.makes_environment,
        },
        None => Hint::NotInstalled { command: format!("{install} NAME") },
    })
}

/// `Cannot find module 'zod'`, `Cannot find package 'zod' imported from …`.
fn node(failed: &Failed<'_>) -> Option<Hint> {
    let message = &failed.error?.message;
    let named = ["Cannot find module '", "Cannot find package '"]
        .into_iter()
        .find_map(|before| quoted(message, before, "'"))?;
    let package = node_package(named).filter(|_| !is_own_file(failed.cwd, named))?;
    let command = format!("{} {package}", node_installer(failed.cwd));
    Some(Hint::Install { module: Some(named.to_owned()), command, restart: false })
}

/// The package that a module is in; none for a file, a module of Node's own, or a name that no package can have.
fn node_package(module: &str) -> Option<String> {
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let package = module.splitn(parts + 1, '/').take(parts).collect::<Vec<_>>().join("/");
    let is_called_so = package.len() <= 214
        && matches_pattern!(&package, r"^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$");
    let is_file = module == package
        && matches_pattern!(module, r"\.([cm]?js|[cm]?ts|jsx|tsx|json|node)$")
        && !NAMED_LIKE_FILES.contains(&module);
    let is_own = NODES_OWN.contains(&package.as_str()) || package == "node_modules";
    (is_called_so && !is_file && !is_own).then_some(package)
}

/// Whether the module is meant to be a file or folder of the project, which Node wants to be written `./name`.
fn is_own_file(cwd: &Path, module: &str) -> bool {
    let first = module.split('/').next().unwrap_or(module);
    let ends = ["", ".js", ".mjs", ".cjs", ".ts", ".json"];
    cwd.join(first).exists() || ends.iter().any(|end| cwd.join(format!("{module}{end}")).exists())
}

/// Packages whose names look like those of files.
const NAMED_LIKE_FILES: &[&str] = &[
    "big.js",
    "bignumber.js",
    "bn.js",
    "chart.js",
    "decimal.js",
    "highlight.js",
    "opentype.js",
    "plotly.js",
    "reveal.js",
    "sql.js",
    "typed.js",
    "video.js",
    "wavesurfer.js",
];

/// Modules that Node brings along; a part of one that is missing, or one that wants `node:` before it, is in no package.
const NODES_OWN: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "sea",
    "stream",
    "string_decoder",
    "sys",
    "test",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// How the project installs packages, by its lock file.
fn node_installer(cwd: &Path) -> &'static str {
    let files = [
        ("pnpm-lock.yaml", "pnpm add"),
        ("yarn.lock", "yarn add"),
        ("bun.lock", "bun add"),
        ("bun.lockb", "bun add"),
        ("package-lock.json", "npm install"),
    ];
    let of = |dir: &Path| files.iter().find(|(file, _)| dir.join(file).is_file());
    cwd.ancestors().find_map(of).map_or("npm install", |(_, command)| command)
}

/// The hint for a command that installs packages: the command of this environment.
pub(super) fn install(failed: &Failed<'_>, command: &str) -> Option<Hint> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let rest = match words.as_slice() {
        ["pip" | "pip3" | "conda" | "mamba", "install", rest @ ..]
        | ["uv", "pip", "install", rest @ ..]
        | ["uv" | "poetry" | "pdm", "add", rest @ ..]
        | ["pipenv", "install", rest @ ..]
        | ["python" | "python3", "-m", "pip", "install", rest @ ..] => rest,
        _ => return None,
    };
    let facts = failed.error.and_then(|error| error.missing.as_deref());
    let Some(install) = facts.and_then(|facts| facts.install.as_deref()) else {
        return Some(Hint::Install { module: None, command: command.to_owned(), restart: false });
    };
    // Flags of one tool mean nothing to another; what names packages is the same for all.
    let unknown = |word: &&&str| {
        ["-U", "-q", "-y", "--upgrade", "--quiet", "--yes", "--user"].contains(*word)
    };
    let packages: Vec<&str> = rest.iter().filter(|word| !unknown(word)).copied().collect();
    let command = format!("{install} {}", packages.join(" "));
    let restart = facts.is_some_and(|facts| facts.makes_environment);
    Some(Hint::Install { module: None, command, restart })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e18_only_what_a_package_can_be_called_is_installed() {
        for (module, wanted) in [
            ("zod", Some("zod")),
            ("lodash/fp.js", Some("lodash")),
            ("@scope/pkg/sub", Some("@scope/pkg")),
            ("socket.io", Some("socket.io")),
            ("chart.js", Some("chart.js")),
            ("./zod", None),
            ("../zod", None),
            ("/abs/zod", None),
            ("~/zod", None),
            ("@/components", None),
            ("@scope", None),
            ("#internal", None),
            ("-g", None),
            ("zod; rm -rf x", None),
            ("Zod", None),
            ("utils.js", None),
            ("data.json", None),
            ("fs/promise", None),
            ("node:sqlite", None),
            ("test", None),
            ("node_modules/zod", None),
            ("", None),
        ] {
            assert_eq!(node_package(module).as_deref(), wanted, "{module}");
        }
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("helper.js"), "").unwrap();
        std::fs::create_dir(project.path().join("src")).unwrap();
        for (module, own) in
            [("helper", true), ("helper.js", true), ("src/a", true), ("zod", false)]
        {
            assert_eq!(is_own_file(project.path(), module), own, "{module}");
        }
    }
}
