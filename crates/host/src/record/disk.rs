//! What a host does for the disk: at its end it removes ended sessions of its workspace that are too
//! old or too many (SPEC S-12), and its log stays short.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use stead_spool::retention::{self, Retention};

/// How long an exiting host may spend on removing other sessions; the next host removes the rest.
const COLLECT_TIME: Duration = Duration::from_millis(500);
/// How long a log may get.
const MOST_LOG: u64 = 1 << 20;
/// How many bytes at the end of a log stay when it is cut.
const KEPT_LOG: u64 = 256 << 10;

/// Removes ended sessions beside `dir` that are too old or too many.
pub(crate) fn give_back(dir: &Path) {
    let retention = Retention::from_env().unwrap_or_else(|error| {
        stead_interpreter::log_warn!("{error}");
        Retention::default()
    });
    let Some(workspace) = dir.parent() else { return };
    match retention::collect(workspace, &retention, Some(dir), COLLECT_TIME) {
        Ok(collected) => {
            for (name, error) in collected.failed {
                stead_interpreter::log_warn!(
                    "could not remove the ended session `{name}`: {error}"
                );
            }
        }
        Err(error) => stead_interpreter::log_warn!("could not look for ended sessions: {error}"),
    }
}

/// How many bytes the history of a session may take with its index and keys.
pub(crate) fn history_quota() -> u64 {
    retention::history_quota().unwrap_or_else(|error| {
        stead_interpreter::log_warn!("{error}");
        retention::HISTORY
    })
}

/// Cuts the log to its last lines if it has become long. Called before text of others is logged: a bridge may
/// log without end.
pub(crate) fn bound_log(log: &Path) {
    if let Err(error) = try_bound_log(log) {
        stead_interpreter::log_warn!("could not shorten the log: {error}");
    }
}

fn try_bound_log(log: &Path) -> std::io::Result<()> {
    if !log.symlink_metadata().is_ok_and(|meta| meta.len() > MOST_LOG) {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = stead_files::open_with(options.read(true).write(true), log)?;
    file.seek(SeekFrom::End(-(KEPT_LOG as i64)))?;
    let mut tail = Vec::new();
    (&file).take(KEPT_LOG).read_to_end(&mut tail)?;
    let line = tail.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    // Standard error is opened for appending, so it goes on behind the lines that are written here.
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(b"(older lines were dropped)\n")?;
    file.write_all(&tail[line..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s12_a_long_log_keeps_its_last_lines() {
        let temp = tempfile::tempdir().unwrap();
        let log = temp.path().join("host.log");
        let line = |n: u64| format!("line {n}\n");
        std::fs::write(&log, "short\n").unwrap();
        bound_log(&log);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "short\n");
        let mut other = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
        (0..200_000).for_each(|n| other.write_all(line(n).as_bytes()).unwrap());
        bound_log(&log);
        other.write_all(b"next\n").unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.len() as u64 <= KEPT_LOG + 100, "{}", text.len());
        assert!(text.starts_with("(older lines were dropped)\nline "), "{}", &text[..50]);
        assert!(text.ends_with("line 199999\nnext\n"));
    }
}
