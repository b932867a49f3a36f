//! What to do next after a client's file could not be changed.

use std::io::ErrorKind;

use stead_install::{EditTrouble, FileTrouble, InstallTrouble, McpClient, ServerEntry};
use stead_protocol::{ErrorCode, with_causes};

use crate::print::Failure;

/// The failure with its next step. Where a person has to edit the file, it shows what belongs into it.
pub(crate) fn install_failure(
    client: &McpClient,
    trouble: &InstallTrouble,
    entry: Option<&ServerEntry>,
) -> Failure {
    let message = with_causes(trouble);
    let by_hand = match entry {
        Some(entry) => format!("add it by hand:\n{}", client.format.example(entry).trim_end()),
        None => "take the entry `stead` out by hand".to_owned(),
    };
    let hint = match trouble {
        InstallTrouble::NoFile { .. } => "use `--scope user`".to_owned(),
        InstallTrouble::Foreign { .. } => format!(
            "nothing was written; give that entry another name or take it out, then run `stead install --client {}`",
            client.id
        ),
        InstallTrouble::Edit { trouble, .. } => match trouble {
            EditTrouble::Broken { .. } => {
                format!(
                    "nothing was written; repair the file, then run `stead install --client {}`",
                    client.id
                )
            }
            EditTrouble::NotATable { .. } => {
                format!("nothing was written; repair the file, or {by_hand}")
            }
            EditTrouble::TooClever { .. } if entry.is_some() => format!(
                "nothing was written; take the entry out: `stead install --client {} --remove`, or {by_hand}",
                client.id
            ),
            EditTrouble::NotOurs { .. } | EditTrouble::TooClever { .. } => {
                format!("nothing was written; {by_hand}")
            }
            EditTrouble::Unsafe => format!("nothing was written; {by_hand}"),
        },
        InstallTrouble::File(trouble) => match trouble {
            FileTrouble::ReadOnly { path } => {
                format!(
                    "make it writable: `chmod u+w '{}'`; if another program writes it, {by_hand}",
                    path.display()
                )
            }
            FileTrouble::Changed { .. } => "nothing was written; run it again".to_owned(),
            FileTrouble::NotUtf8 { .. } => "nothing was written; save the file as UTF-8".to_owned(),
            FileTrouble::Dangling { .. } => {
                "make the file that it leads to, or remove the link".to_owned()
            }
            FileTrouble::Foreign { .. } => format!("run this as that user, or {by_hand}"),
            FileTrouble::Io { source, .. } => match source.kind() {
                // Something is there that is no file: a directory, a pipe, a device.
                ErrorKind::InvalidData => "nothing was written; move it away".to_owned(),
                ErrorKind::NotADirectory => {
                    "nothing was written; a file is in place of a directory: move it away"
                        .to_owned()
                }
                ErrorKind::FileTooLarge => {
                    "nothing was written; no settings are so large: put data elsewhere".to_owned()
                }
                _ => format!("see to it that you may write there, or {by_hand}"),
            },
        },
    };
    let code = match trouble {
        InstallTrouble::NoFile { .. } => ErrorCode::BadRequest,
        InstallTrouble::Edit { .. } | InstallTrouble::Foreign { .. } => ErrorCode::Unsupported,
        InstallTrouble::File(_) => ErrorCode::ConnectionFailed,
    };
    Failure::new(code, message).with_hint(hint)
}
