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
    include_str!("python/bridge/values.py"),
    include_str!("python/bridge/names.py"),
    include_str!("python/bridge/evals.py"),
    include_str!("python/bridge/serve.py"),
);

/// Given to CPython with `-c`: reads the bridge from the control channel and runs it.
pub const PYTHON_BOOT: &str = include_str!("python/boot.py");

/// Runs inside Bash 4.4 or newer, one text as above.
pub const BASH: &str = concat!(
    include_str!("bash/bridge/base.bash"),
    include_str!("bash/bridge/ends.bash"),
    include_str!("bash/bridge/names.bash"),
    include_str!("bash/bridge/evals.bash"),
    include_str!("bash/bridge/queries.bash"),
    include_str!("bash/bridge/serve.bash"),
);

/// Given to Bash with `-c`: puts the descriptors in their places and starts the shell that reads the
/// bridge from the control channel.
pub const BASH_BOOT: &str = include_str!("bash/boot.bash");
