//! Durations as users write and read them (SPEC C-8).

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;

/// A duration on the command line: a bare number is milliseconds; `500ms`, `30s`, `5m`, `2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// Why a text is not a duration.
#[derive(Debug, Error)]
#[error("`{}` is not a duration; write `500ms`, `30s`, `5m`, `2h` or a number of milliseconds", given.escape_debug())]
pub(crate) struct TimeError {
    given: String,
}

impl Time {
    /// In milliseconds, or as many as can be counted.
    pub(crate) fn millis(self) -> u64 {
        stead_client::millis(self.0)
    }
}

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(given: &str) -> Result<Self, TimeError> {
        let bad = || TimeError { given: given.chars().take(80).collect() };
        let at = given.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(given.len());
        let (number, unit) = given.split_at(at);
        let scale = match unit {
            "" | "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(bad()),
        };
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(bad());
        }
        let number: f64 = number.parse().map_err(|_| bad())?;
        Duration::try_from_secs_f64(number * scale).map(Time).map_err(|_| bad())
    }
}

/// A duration in few characters: `0.2s`, `12s`, `3m05s`, `2h10m`.
pub(crate) fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A duration in a sentence: `240 ms`, `3.2 s`, `10 s`, `3 min 5 s`, `2 h 10 min`.
pub(crate) fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    let and = |rest: u64, unit| if rest > 0 { format!(" {rest} {unit}") } else { String::new() };
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => {
            let tenths = time.as_millis() / 100;
            match tenths % 10 {
                0 => format!("{seconds} s"),
                tenth => format!("{seconds}.{tenth} s"),
            }
        }
        60..3600 => format!("{} min{}", seconds / 60, and(seconds % 60, "s")),
        _ => format!("{} h{}", seconds / 3600, and(seconds % 3600 / 60, "min")),
    }
}

/// How long ago a moment was, in milliseconds since 1970.
pub(crate) fn ago(moment_ms: u64) -> String {
    format!("{} ago", short(since(moment_ms)))
}

/// The time since a moment in milliseconds since 1970; none since one that is still to come.
pub(crate) fn since(moment_ms: u64) -> Duration {
    Duration::from_millis(now_ms().saturating_sub(moment_ms))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_durations_are_milliseconds_unless_they_say_so() {
        for (given, ms) in [
            ("0", 0),
            ("250", 250),
            ("500ms", 500),
            ("30s", 30_000),
            ("1.5s", 1500),
            ("5m", 300_000),
            ("2h", 7_200_000),
        ] {
            assert_eq!(given.parse::<Time>().unwrap().0.as_millis(), ms, "{given}");
        }
        for bad in ["", "s", "-1", "+1", "1d", "1 s", "1e3", ".5s", "1.2.3s", "inf", "1e99h"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
        assert!("99999999999999999999999h".parse::<Time>().is_err());
        assert_eq!("9999999999999999999s".parse::<Time>().unwrap().millis(), u64::MAX);
    }

    #[test]
    fn times_are_shown_short() {
        assert_eq!(short(Duration::from_millis(240)), "0.2s");
        assert_eq!(short(Duration::from_secs(125)), "2m05s");
        for (ms, said) in
            [(0, "0 ms"), (240, "240 ms"), (3249, "3.2 s"), (10_004, "10 s"), (59_999, "59.9 s")]
        {
            assert_eq!(spoken(Duration::from_millis(ms)), said);
        }
        assert_eq!(spoken(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(spoken(Duration::from_secs(7200)), "2 h");
    }
}
