//! What a host writes to its log, and how much of it (SPEC CF-2): never code, output or values of variables.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use stead_protocol::{LogLevel, utc};

/// The variable that says how much is logged.
pub const VARIABLE: &str = "STEAD_LOG";

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Warn as u8);

/// Logs as much as the variable says, else as much as the session's settings say.
pub fn choose(configured: Option<LogLevel>) {
    let word = std::env::var(VARIABLE).ok().filter(|word| !word.is_empty());
    let named = word.as_deref().map(|word| (word, LogLevel::named(word)));
    let level = match named {
        Some((_, Some(level))) => level,
        _ => configured.unwrap_or_default(),
    };
    LEVEL.store(level as u8, Ordering::Relaxed);
    if let Some((word, None)) = named {
        crate::log_warn!(
            "{VARIABLE} is `{}`, which is none of off, error, warn and info",
            word.escape_debug()
        );
    }
}

/// Whether lines of this level are written.
pub fn is_on(level: LogLevel) -> bool {
    level != LogLevel::Off && level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Writes a line, if lines of this level are written.
pub fn write(level: LogLevel, text: fmt::Arguments<'_>) {
    if !is_on(level) {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = utc(now.map_or(0, |time| time.as_millis() as u64));
    let word = match level {
        LogLevel::Off | LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
    };
    // One write, so that lines of several processes do not mix; a line that cannot be written is lost.
    let _ = std::io::stderr().write_all(format!("{now} {word}: {text}\n").as_bytes());
}

/// Logs what failed.
#[macro_export]
macro_rules! log_error {
    ($($text:tt)*) => {
        $crate::log::write(stead_protocol::LogLevel::Error, format_args!($($text)*))
    };
}

/// Logs what is unusual.
#[macro_export]
macro_rules! log_warn {
    ($($text:tt)*) => {
        $crate::log::write(stead_protocol::LogLevel::Warn, format_args!($($text)*))
    };
}

/// Logs when something begins or ends.
#[macro_export]
macro_rules! log_info {
    ($($text:tt)*) => {
        $crate::log::write(stead_protocol::LogLevel::Info, format_args!($($text)*))
    };
}
