//! The bridge scripts, embedded so that one binary carries them all.

mod boot;
mod text_id;

pub use text_id::TextId;

use boot::{Form, boot};

/// Runs inside CPython 3.8 or newer. Its files are one text with one namespace, in this order,
/// because nothing may be imported from disk into the user's interpreter: the bridge comes over the
/// control channel as a whole and leaves no module behind. `python/driver.py` reads the order here.
pub const PYTHON: &str = concat!(
    include_str!("python/bridge/base.py"),
    include_str!("python/bridge/plain.py"),
    include_str!("python/bridge/state.py"),
    include_str!("python/bridge/tracing.py"),
    include_str!("python/bridge/interrupts.py"),
    include_str!("python/bridge/streams.py"),
    include_str!("python/bridge/threads.py"),
    include_str!("python/bridge/children.py"),
    include_str!("python/bridge/ends.py"),
    include_str!("python/bridge/incomplete.py"),
    include_str!("python/bridge/errors.py"),
    include_str!("python/bridge/packages.py"),
    include_str!("python/bridge/containers.py"),
    include_str!("python/bridge/dataframes.py"),
    include_str!("python/bridge/values.py"),
    include_str!("python/bridge/htmltext.py"),
    include_str!("python/bridge/displays.py"),
    include_str!("python/bridge/rich.py"),
    include_str!("python/bridge/libraries.py"),
    include_str!("python/bridge/marks.py"),
    include_str!("python/bridge/stores.py"),
    include_str!("python/bridge/samples.py"),
    include_str!("python/bridge/names.py"),
    include_str!("python/bridge/figures.py"),
    include_str!("python/bridge/rendering.py"),
    include_str!("python/bridge/pyplot.py"),
    include_str!("python/bridge/hooks.py"),
    include_str!("python/bridge/ipython.py"),
    include_str!("python/bridge/stale_modules.py"),
    include_str!("python/bridge/evals.py"),
    include_str!("python/bridge/describing.py"),
    include_str!("python/bridge/queries.py"),
    include_str!("python/bridge/copies.py"),
    include_str!("python/bridge/work.py"),
    include_str!("python/bridge/stdlib.py"),
    // As a text, which runs when it is first needed: what is compiled costs every start something.
    "PARTS['saving'] = r'''\n",
    include_str!("python/saving/kinds.py"),
    include_str!("python/saving/sources.py"),
    include_str!("python/saving/functions.py"),
    include_str!("python/saving/reach.py"),
    include_str!("python/saving/classes.py"),
    include_str!("python/saving/plans.py"),
    include_str!("python/saving/files.py"),
    include_str!("python/saving/saving.py"),
    include_str!("python/saving/loading.py"),
    "'''\n",
    "PARTS['copies'] = r'''\n",
    include_str!("python/copies/refusals.py"),
    include_str!("python/copies/descriptors.py"),
    include_str!("python/copies/taking.py"),
    include_str!("python/copies/brakes.py"),
    include_str!("python/copies/waking.py"),
    "'''\n",
    "PARTS['definitions'] = r'''\n",
    include_str!("python/bridge/definitions.py"),
    "'''\n",
    include_str!("python/bridge/serve.py"),
);

/// Runs inside Node 18 or newer. Its files are the body of one function, in this order, for the same
/// reason. `node/host.py` reads the order here.
pub const NODE: &str = concat!(
    include_str!("node/bridge/base.js"),
    include_str!("node/bridge/thread.js"),
    include_str!("node/bridge/scan.js"),
    include_str!("node/bridge/operands.js"),
    include_str!("node/bridge/rewrite.js"),
    include_str!("node/bridge/places.js"),
    include_str!("node/bridge/incomplete.js"),
    include_str!("node/bridge/context.js"),
    include_str!("node/bridge/waits.js"),
    include_str!("node/bridge/streams.js"),
    include_str!("node/bridge/input.js"),
    include_str!("node/bridge/values.js"),
    include_str!("node/bridge/errors.js"),
    include_str!("node/bridge/immediates.js"),
    include_str!("node/bridge/names.js"),
    include_str!("node/bridge/modules.js"),
    include_str!("node/bridge/evals.js"),
    include_str!("node/bridge/ends.js"),
    include_str!("node/bridge/work.js"),
    // In a function, so that it runs when it is first needed.
    "function makeSaving() {\n",
    include_str!("node/saving/file.js"),
    include_str!("node/saving/walk.js"),
    include_str!("node/saving/sources.js"),
    include_str!("node/saving/parts.js"),
    include_str!("node/saving/saving.js"),
    include_str!("node/saving/loading.js"),
    "return { save, load };\n}\n",
    include_str!("node/bridge/stdlib.js"),
    include_str!("node/bridge/definitions.js"),
    include_str!("node/bridge/queries.js"),
    include_str!("node/bridge/serve.js"),
);

/// Given to Node with `-e`: reads the bridge from the control channel and runs it in a context of its own.
pub const NODE_BOOT: &str = boot!("node/boot.js", Form::Lines("//"));

/// Given to CPython with `-c`: reads the bridge from the control channel and runs it.
pub const PYTHON_BOOT: &str = boot!("python/boot.py", Form::Exec);

/// Runs inside Bash 4.4 or newer, one text as above.
pub const BASH: &str = concat!(
    include_str!("bash/bridge/base.bash"),
    include_str!("bash/bridge/repair.bash"),
    include_str!("bash/bridge/ends.bash"),
    include_str!("bash/read.bash"),
    include_str!("bash/bridge/names.bash"),
    include_str!("bash/bridge/look.bash"),
    include_str!("bash/bridge/reach.bash"),
    include_str!("bash/bridge/incomplete.bash"),
    include_str!("bash/bridge/evals.bash"),
    include_str!("bash/bridge/stdlib.bash"),
    include_str!("bash/bridge/queries.bash"),
    include_str!("bash/bridge/work.bash"),
    // As a text, which is parsed when it is first needed: what is parsed costs every start something.
    "__stead_read_later() {\n__stead_take_later <<'STEAD_LATER'\n",
    include_str!("bash/saving/saving.bash"),
    include_str!("bash/saving/saved.bash"),
    include_str!("bash/saving/loading.bash"),
    include_str!("bash/bridge/definitions.bash"),
    "STEAD_LATER\n}\n",
    include_str!("bash/bridge/quick.bash"),
    include_str!("bash/bridge/serve.bash"),
);

/// Given to Bash with `-c`: puts the descriptors in their places and starts the shell that reads the
/// bridge from the control channel.
pub const BASH_BOOT: &str = boot!("bash/boot.bash", Form::Lines("#"));

/// For a fresh Bash that runs one command: `read -p` shows its question. Needs a variable `__stead_stdin`, the path of
/// the descriptor that stands for a terminal. It has no channel to announce a secret on.
pub const BASH_READ: &str = concat!(
    include_str!("bash/read.bash"),
    "__stead_find_stdin() { :; }\n__stead_announce() { :; }\n__stead_define_read\n"
);

/// Tells of names in the Python of a Jupyter kernel; the jupyter adapter puts it there.
pub const JUPYTER_NAMES: &str = concat!(
    // As one text with one namespace.
    include_str!("jupyter/names.py"),
    include_str!("python/bridge/incomplete.py"),
);

/// Saves and loads in the Python of a Jupyter kernel: the same part as in `PYTHON`, with what it asks of the bridge. The helper
/// is sent it when it is first needed.
pub const JUPYTER_SAVING: &str = concat!(
    include_str!("jupyter/saving.py"),
    include_str!("python/bridge/plain.py"),
    include_str!("python/saving/kinds.py"),
    include_str!("python/saving/sources.py"),
    include_str!("python/saving/functions.py"),
    include_str!("python/saving/reach.py"),
    include_str!("python/saving/classes.py"),
    include_str!("python/saving/plans.py"),
    include_str!("python/saving/files.py"),
    include_str!("python/saving/saving.py"),
    include_str!("python/saving/loading.py"),
);
