//! The bridge scripts, embedded so that one binary carries them all.

/// Runs inside CPython 3.8 or newer. Its files are one text with one namespace, in this order,
/// because nothing may be imported from disk into the user's interpreter: the bridge comes over the
/// control channel as a whole and leaves no module behind. `python/driver.py` reads the order here.
pub const PYTHON: &str = concat!(
    include_str!("python/bridge/base.py"),
    include_str!("python/bridge/interrupts.py"),
    include_str!("python/bridge/streams.py"),
    include_str!("python/bridge/threads.py"),
    include_str!("python/bridge/errors.py"),
    include_str!("python/bridge/shapes.py"),
    include_str!("python/bridge/libraries.py"),
    include_str!("python/bridge/values.py"),
    include_str!("python/bridge/displays.py"),
    include_str!("python/bridge/names.py"),
    include_str!("python/bridge/figures.py"),
    include_str!("python/bridge/modules.py"),
    include_str!("python/bridge/evals.py"),
    include_str!("python/bridge/serve.py"),
);

/// Given to CPython with `-c`: reads the bridge from the control channel and runs it.
pub const PYTHON_BOOT: &str = include_str!("python/boot.py");
