//! The table of languages.

use stead_bridges::TextId;
use stead_protocol::{Keeps, KernelChoice};

use crate::language::{
    Control, CopyMethod, Fed, Finder, FirstSteps, Language, OnPath, Start, VersionManagers,
};

/// All languages. The first is the one that is meant when nothing is said.
pub const LANGUAGES: &[Language] = &[PYTHON, BASH, NODE, SHELL, JUPYTER, NREPL, GATEWAY];

const PYTHON: Language = Language {
    name: "python",
    alias: "py",
    title: "Python",
    also_called: &[],
    offered: true,
    keeps: Keeps::State,
    copies: CopyMethod::Fork,
    oldest: Some("3.8"),
    option: Some("Python to use: an executable, a name on the PATH, or a virtual environment"),
    stdlib: Some("python.py"),
    first_steps: Some(FirstSteps { leave: "x = 41", use_it: "x + 1" }),
    finder: Finder::Python(VersionManagers {
        tell: &["-c", "import sys; print(sys.executable)"],
        variables: &["PYENV_VERSION", "ASDF_PYTHON_VERSION", "MISE_PYTHON_VERSION"],
        files: &[".python-version", ".tool-versions", "mise.toml"],
        roots: &[("PYENV_ROOT", ".pyenv")],
    }),
    start: Start::Fed(Fed {
        arguments: &["-c"],
        boot: stead_bridges::PYTHON_BOOT,
        bridge: stead_bridges::PYTHON,
        compiled: Some(TextId::of(stead_bridges::PYTHON)),
        control: Control::Pipes,
    }),
};

const BASH: Language = Language {
    name: "bash",
    alias: "sh",
    title: "Bash",
    also_called: &[],
    offered: true,
    keeps: Keeps::State,
    copies: CopyMethod::Not,
    oldest: Some("4.4"),
    option: Some("Bash to use, 4.4 or newer: an executable or a name on the PATH"),
    stdlib: Some("bash.sh"),
    first_steps: Some(FirstSteps { leave: "x=41", use_it: "echo $((x+1))" }),
    finder: Finder::OnPath(OnPath {
        programs: &["bash"],
        shims: Some(VersionManagers {
            tell: &["-c", r#"printf %s "$BASH""#],
            variables: &[],
            files: &[".tool-versions", "mise.toml"],
            roots: &[],
        }),
        follow_links: false,
    }),
    start: Start::Fed(Fed {
        // In POSIX mode Bash reads no start-up file.
        arguments: &["--posix", "-c"],
        boot: stead_bridges::BASH_BOOT,
        bridge: stead_bridges::BASH,
        compiled: None,
        control: Control::Socket,
    }),
};

const NODE: Language = Language {
    name: "node",
    alias: "js",
    title: "Node",
    also_called: &["javascript", "nodejs"],
    offered: true,
    keeps: Keeps::State,
    copies: CopyMethod::Not,
    oldest: Some("18"),
    option: Some("Node to use: an executable or a name on the PATH"),
    stdlib: Some("node.js"),
    first_steps: Some(FirstSteps { leave: "x = 41", use_it: "x + 1" }),
    finder: Finder::OnPath(OnPath {
        programs: &["node"],
        shims: Some(VersionManagers {
            tell: &["-p", "process.execPath"],
            variables: &["NODENV_VERSION", "ASDF_NODEJS_VERSION", "MISE_NODE_VERSION"],
            files: &[".node-version", ".nvmrc", ".tool-versions", "mise.toml"],
            roots: &[("NODENV_ROOT", ".nodenv")],
        }),
        follow_links: true,
    }),
    start: Start::Fed(Fed {
        // Without the flag an interrupt inside a timer's callback would abort the process.
        arguments: &["--no-force-async-hooks-checks", "-e"],
        boot: stead_bridges::NODE_BOOT,
        bridge: stead_bridges::NODE,
        compiled: Some(TextId::of(stead_bridges::NODE)),
        control: Control::Socket,
    }),
};

/// Shell commands, each in a fresh shell (SPEC J-1).
pub const SHELL: Language = Language {
    name: "shell",
    alias: "shell",
    title: "a shell",
    also_called: &[],
    offered: false,
    keeps: Keeps::Nothing,
    copies: CopyMethod::Not,
    oldest: None,
    option: None,
    stdlib: None,
    first_steps: None,
    finder: Finder::OnPath(OnPath { programs: &["bash", "sh"], shims: None, follow_links: false }),
    start: Start::Mode("runner"),
};

/// Jupyter kernels, of any language (SPEC K-1); which one, the session's settings say.
pub const JUPYTER: Language = Language {
    name: "jupyter",
    alias: "jupyter",
    title: "Jupyter",
    also_called: &[],
    offered: false,
    keeps: Keeps::State,
    copies: CopyMethod::Not,
    oldest: None,
    option: None,
    stdlib: None,
    first_steps: None,
    finder: Finder::Kernel,
    start: Start::Adapter("jupyter"),
};

/// nREPL servers, most of them for Clojure (SPEC K-3); which one, the session's settings say.
pub const NREPL: Language = Language {
    name: "nrepl",
    alias: "nrepl",
    title: "nREPL",
    also_called: &[],
    offered: false,
    keeps: Keeps::State,
    copies: CopyMethod::Not,
    oldest: None,
    option: None,
    stdlib: None,
    first_steps: None,
    finder: Finder::Server,
    start: Start::Server("nrepl"),
};

/// Kernels of a Jupyter Server or gateway, of any language (SPEC K-2); which one and where, the session's settings say.
pub const GATEWAY: Language = Language {
    name: "gateway",
    alias: "gateway",
    title: "a Jupyter gateway",
    also_called: &[],
    offered: false,
    keeps: Keeps::State,
    copies: CopyMethod::Not,
    oldest: None,
    option: None,
    stdlib: None,
    first_steps: None,
    finder: Finder::Settings,
    start: Start::Adapter("gateway"),
};

/// The language of sessions that have this kernel.
pub(crate) fn engine_of(kernel: &KernelChoice) -> &'static str {
    match kernel {
        KernelChoice::Gateway(_) => GATEWAY.name,
        KernelChoice::Name { .. } | KernelChoice::ConnectionFile { .. } | KernelChoice::Unknown => {
            JUPYTER.name
        }
    }
}
