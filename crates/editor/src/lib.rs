//! The editor that programs in a session find (SPEC E-19): the hidden mode `stead editor FILE`.
//!
//! It shows the file and reads one frame from its standard input: the new text, or that the file stays as
//! it is. The session's host sees that this editor reads and makes frames of what `input` gives it. A frame
//! has a length, so no end of file is needed and the next editor of a rebase finds the input open.

mod frame;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

pub use frame::EditorAnswer;
use frame::{Skipped, read_frame};
use rustix::process::Signal;
use stead_launch::sys::{OnSignal, on_signal, unblock};
use thiserror::Error;

/// What the process calls itself, so that a host knows it whichever binary it came from.
const NAME: &std::ffi::CStr = c"stead-editor";

/// Why a file was not edited.
#[derive(Debug, Error)]
enum EditError {
    #[error("no file was named")]
    NoFile,
    #[error(
        "this is the editor of programs in a stead session, whose text comes as the session's input; \
         set `EDITOR` to one for terminals"
    )]
    Terminal,
    #[error(
        "standard input is not that of a stead session, so no text can come for `{}`; \
         give the text to the program itself (`git commit -m`), or let it inherit standard input",
        .file.display()
    )]
    NotASession { file: PathBuf },
    #[error("the input has ended, so no text can come for `{}`", .file.display())]
    Ended { file: PathBuf },
    #[error("could not {what} `{}`: {source}", .file.display())]
    File { what: &'static str, file: PathBuf, source: io::Error },
    #[error("could not read the input: {0}")]
    Input(io::Error),
}

/// The mode `stead editor FILE…`: one frame for each file. It fails if no text can come, so that the program that
/// asked gives up.
pub fn run_editor(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let _ = rustix::thread::set_name(NAME);
    take_interrupts();
    let files: Vec<PathBuf> = files(arguments).collect();
    let edited = match files.is_empty() {
        true => Err(EditError::NoFile),
        false => files.iter().try_for_each(|file| edit(file)),
    };
    match edited {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stead editor: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The program that started this editor may ignore or block interrupts; to the editor they say to give up.
fn take_interrupts() {
    on_signal(Signal::INT, OnSignal::Default);
    let _ = unblock(&[Signal::INT]);
}

/// The files among the arguments of an editor; some programs also name a line, as `+12`.
fn files(arguments: impl Iterator<Item = OsString>) -> impl Iterator<Item = PathBuf> {
    arguments
        .filter(|word| !word.as_encoded_bytes().starts_with(b"+") && word != "--")
        .map(PathBuf::from)
}

fn edit(file: &Path) -> Result<(), EditError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(EditError::Terminal);
    }
    let pipe = fs::metadata("/proc/self/fd/0").is_ok_and(|meta| meta.file_type().is_fifo());
    if !pipe {
        return Err(EditError::NotASession { file });
    }
    let failed = |what, source| EditError::File { what, file: file.clone(), source };
    let before = match File::open(&file) {
        Ok(mut opened) => {
            let mut text = Vec::new();
            opened.read_to_end(&mut text).map_err(|source| failed("read", source))?;
            let modified = opened.metadata().and_then(|meta| meta.modified());
            Some((text, modified.unwrap_or(SystemTime::UNIX_EPOCH)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("open", error)),
    };
    show(&file, before.as_ref().map(|(text, _)| text.as_slice()));
    // The input is read without a buffer, because bytes behind the frame are for the next editor.
    let mut input = File::open("/proc/self/fd/0").map_err(EditError::Input)?;
    let left = |input: &File| rustix::io::ioctl_fionread(input).unwrap_or(0);
    let skips = |skipped| match skipped {
        Skipped::Bytes(count) => eprintln!(
            "editor: {count} bytes of input that came before this are not its text, and were dropped"
        ),
        Skipped::Answer(kind) => eprintln!(
            "editor: an answer of the kind {kind:?}, which this version of stead does not know, was dropped"
        ),
    };
    match read_frame(&mut input, left, skips).map_err(EditError::Input)? {
        None => Err(EditError::Ended { file }),
        Some(EditorAnswer::Keep) => Ok(()),
        Some(EditorAnswer::Text(text)) => {
            let modified = before.map(|(_, modified)| modified);
            write(&file, &text, modified).map_err(|source| failed("write", source))
        }
    }
}

/// Shows the file to the reader of the session's output; on stderr, which scripts redirect less often.
fn show(file: &Path, text: Option<&[u8]>) {
    let mut shown = format!("editor: {}", file.display()).into_bytes();
    match text {
        None => shown.extend(b" (new file)\n"),
        Some([]) => shown.extend(b" (empty)\n"),
        Some(text) => {
            shown.push(b'\n');
            shown.extend(text);
            if !text.ends_with(b"\n") {
                shown.push(b'\n');
            }
        }
    }
    let _ = io::stderr().write_all(&shown);
}

/// Writes the file in its place. Programs like `crontab` look only at the second in which a file was changed, so that
/// is made to differ.
fn write(file: &Path, text: &[u8], before: Option<SystemTime>) -> io::Result<()> {
    let mut written = OpenOptions::new().write(true).create(true).truncate(true).open(file)?;
    written.write_all(text)?;
    let second =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs());
    if let Some(before) = before
        && second(before).ok() == second(written.metadata()?.modified()?).ok()
    {
        written.set_modified(before + Duration::from_secs(1))?;
    }
    Ok(())
}

/// The variables that make programs find this editor. The user's own choice stands: if one of them is set, none is
/// changed. `GIT_EDITOR` is not among them, since Git would take it over `core.editor`, which is the user's choice too;
/// without that, Git takes these, also where `TERM` is `dumb`.
pub fn environment(is_set: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    const NAMES: [&str; 2] = ["EDITOR", "VISUAL"];
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    if NAMES.into_iter().any(is_set) {
        return Vec::new();
    }
    let program = program.to_string_lossy();
    // The program's file may have been replaced since this process began; the new program has the mode too.
    let program = program.strip_suffix(" (deleted)").unwrap_or(&program);
    let editor = format!("{} editor", quoted(program));
    NAMES.into_iter().map(|name| (name, editor.clone())).collect()
}

/// As a word of a shell, which is how programs run their editor.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The file that a process has open in this editor, if it is one.
pub fn file_of(pid: u32) -> Option<PathBuf> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    if name.strip_suffix(b"\n") != Some(NAME.to_bytes()) {
        return None;
    }
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = words.split(|&byte| byte == 0).filter(|word| !word.is_empty()).skip(2);
    let words = words.map(|word| std::os::unix::ffi::OsStringExt::from_vec(word.to_vec()));
    let file = files(words).next()?;
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    Some(cwd.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e19_a_users_own_editor_stands() {
        let ours = environment(|_| false);
        assert_eq!(ours.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["EDITOR", "VISUAL"]);
        assert!(ours.iter().all(|(_, value)| value.ends_with(" editor")), "{ours:?}");
        assert_eq!(environment(|name| name == "VISUAL"), []);
        assert_eq!(environment(|name| name == "EDITOR"), []);
    }

    #[test]
    fn e19_paths_are_words_of_a_shell() {
        assert_eq!(quoted("/usr/bin/stead"), "/usr/bin/stead");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }

    #[test]
    fn e19_a_changed_file_has_another_second() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("crontab");
        fs::write(&file, "old\n").unwrap();
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        write(&file, b"new\n", Some(before)).unwrap();
        let second =
            |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_ne!(second(before), second(fs::metadata(&file).unwrap().modified().unwrap()));
        assert_eq!(fs::read(&file).unwrap(), b"new\n");
    }

    #[test]
    fn e19_lines_are_no_files() {
        let words = ["+12", "--", "a", "b"].into_iter().map(OsString::from);
        assert_eq!(files(words).collect::<Vec<_>>(), [Path::new("a"), Path::new("b")]);
    }
}
