//! The bridge scripts, embedded so that one binary carries them all.

/// Runs inside CPython 3.8 or newer.
pub const PYTHON: &str = include_str!("python/bridge.py");

/// Given to CPython with `-c`: reads the bridge from the control channel and runs it.
pub const PYTHON_BOOT: &str = include_str!("python/boot.py");
