//! What a saved file says of itself, read without a session and without running anything (docs/SAVED.md).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::RequestError;

/// How every saved file begins: a word, the number of its format, and a line end.
const HEAD: &[u8] = b"STEADSAVE";
/// The first line of this format.
const FIRST_LINE: &[u8] = b"STEADSAVE1\n";
/// How the last line begins.
const END: &[u8] = b"STEADEND ";
/// The length of the last line: its word, two numbers of 20 digits, a blank between them and a line end.
const TRAILER: usize = 51;
/// The newest format that is read.
const FORMAT: u64 = 1;
/// More than the manifest of a million names has.
const MOST_MANIFEST: u64 = 1 << 30;
/// The first line of a newer format is not longer than this.
const MOST_HEAD: usize = 32;

/// Why a file cannot be loaded, found before anything is started.
#[derive(Debug, Error)]
pub enum SavedTrouble {
    /// It cannot be opened or read.
    #[error("could not be read: {0}")]
    Unreadable(io::Error),
    /// It is something else.
    #[error("is not a file that a save has written")]
    NotSaved,
    /// It ends too early, or something was added to it.
    #[error("is cut off or damaged: it does not end as a saved file does")]
    CutOff,
    /// Its manifest cannot be understood.
    #[error("is damaged: {problem}")]
    Damaged {
        /// What is wrong with it.
        problem: String,
    },
    /// A newer version wrote it.
    #[error("has format {format} of saved files, and this version of stead reads up to {FORMAT}")]
    Newer {
        /// The number of its format.
        format: u64,
    },
}

/// What a saved file says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    format: u64,
    /// The language of the session that wrote it.
    pub language: String,
    /// The version of that language.
    #[serde(default)]
    pub version: String,
    /// When, as `2026-11-16T22:00:00Z`.
    #[serde(default)]
    pub saved: String,
    /// The name of that session.
    #[serde(default)]
    pub session: String,
    /// The directory it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What it holds.
    #[serde(default)]
    pub names: Vec<SavedName>,
    /// What could not be saved.
    #[serde(default)]
    pub failed: Vec<Value>,
    /// The packages that its values need, with their versions.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub packages: Map<String, Value>,
    /// How many bytes the file has.
    #[serde(skip)]
    pub bytes: u64,
}

/// A name in a saved file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedName {
    /// The name.
    pub name: String,
    /// The type of its value.
    #[serde(rename = "type", default)]
    pub type_name: String,
    /// Its size, as `vars` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Value>,
    /// Its value in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How many bytes of the file it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Manifest {
    /// Reads the manifest of a saved file, wherever the session is that wrote it.
    pub fn read(path: &Path) -> Result<Manifest, RequestError> {
        let read = stead_files::open_users(path).map_err(SavedTrouble::Unreadable).and_then(of);
        read.map_err(|trouble| RequestError::SavedFile { path: path.to_owned(), trouble })
    }
}

fn of(mut file: File) -> Result<Manifest, SavedTrouble> {
    let size = file.metadata().map_err(SavedTrouble::Unreadable)?.len();
    let mut head = Vec::new();
    let first = Read::by_ref(&mut file).take(MOST_HEAD as u64).read_to_end(&mut head);
    first.map_err(SavedTrouble::Unreadable)?;
    check_head(&head)?;
    let least = (FIRST_LINE.len() + TRAILER) as u64;
    let end = size.checked_sub(TRAILER as u64).filter(|_| size >= least);
    let end = end.ok_or(SavedTrouble::CutOff)?;
    let trailer = bytes_at(&file, end, TRAILER as u64)?;
    let (offset, length) = trailer_numbers(&trailer).ok_or(SavedTrouble::CutOff)?;
    let fits = offset >= FIRST_LINE.len() as u64 && offset.checked_add(length) == Some(end);
    if !fits {
        return Err(SavedTrouble::CutOff);
    }
    if length > MOST_MANIFEST {
        let problem = format!("its list of names has {length} bytes");
        return Err(SavedTrouble::Damaged { problem });
    }
    let text = bytes_at(&file, offset, length)?;
    Ok(Manifest { bytes: size, ..parse(&text)? })
}

/// Whether the file begins as one of this format.
fn check_head(head: &[u8]) -> Result<(), SavedTrouble> {
    if head.starts_with(FIRST_LINE) {
        return Ok(());
    }
    // A file that ends within its first line may be the beginning of any saved file.
    if FIRST_LINE.starts_with(head) {
        return Err(SavedTrouble::CutOff);
    }
    let number = head.strip_prefix(HEAD).and_then(|rest| rest.split(|b| *b == b'\n').next());
    let number = number.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
    match number {
        Some(format) if format > FORMAT => Err(SavedTrouble::Newer { format }),
        _ => Err(SavedTrouble::NotSaved),
    }
}

fn bytes_at(file: &File, offset: u64, length: u64) -> Result<Vec<u8>, SavedTrouble> {
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(bytes),
        // The file became shorter while it was read.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SavedTrouble::CutOff),
        Err(error) => Err(SavedTrouble::Unreadable(error)),
    }
}

/// Offset and length of the manifest, from the last line.
fn trailer_numbers(line: &[u8]) -> Option<(u64, u64)> {
    let numbers = line.strip_prefix(END)?.strip_suffix(b"\n")?;
    let number = |digits: &[u8]| {
        let all = digits.len() == 20 && digits.iter().all(u8::is_ascii_digit);
        str::from_utf8(digits).ok().filter(|_| all)?.parse().ok()
    };
    let (offset, rest) = numbers.split_at_checked(20)?;
    Some((number(offset)?, number(rest.strip_prefix(b" ")?)?))
}

fn parse(text: &[u8]) -> Result<Manifest, SavedTrouble> {
    /// The one field that every format has.
    #[derive(Deserialize)]
    struct Format {
        format: u64,
    }
    let damaged = |error: serde_json::Error| SavedTrouble::Damaged { problem: error.to_string() };
    let Format { format } = serde_json::from_slice(text).map_err(damaged)?;
    if format > FORMAT {
        return Err(SavedTrouble::Newer { format });
    }
    serde_json::from_slice(text).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn file(body: &[u8], manifest: &str) -> Vec<u8> {
        let offset = FIRST_LINE.len() + body.len();
        let trailer = format!("STEADEND {offset:020} {:020}\n", manifest.len());
        assert_eq!(trailer.len(), TRAILER);
        [FIRST_LINE, body, manifest.as_bytes(), trailer.as_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Result<Manifest, SavedTrouble> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.stead");
        std::fs::write(&path, bytes).unwrap();
        Manifest::read(&path).map_err(|error| match error {
            RequestError::SavedFile { trouble, .. } => trouble,
            other => panic!("{other}"),
        })
    }

    const SMALL: &str = r#"{"format":1,"language":"python","version":"3.11.7","names":[{"name":"x","type":"int","value":"41"}],"python":{"y":1}}"#;

    #[test]
    fn st2_a_manifest_is_read_from_the_end_of_the_file() {
        let manifest = read(&file(b"\0\xffbody", SMALL)).unwrap();
        assert_eq!((manifest.language.as_str(), manifest.names[0].name.as_str()), ("python", "x"));
        assert_eq!(manifest.names[0].value.as_deref(), Some("41"));
    }

    #[test]
    fn st2_a_file_that_is_cut_off_at_any_byte_is_refused() {
        let whole = file(b"some body with STEADEND in it", SMALL);
        for cut in 0..whole.len() {
            let trouble = read(&whole[..cut]).unwrap_err();
            assert!(matches!(trouble, SavedTrouble::CutOff), "{cut}: {trouble}");
        }
        let longer = [whole.as_slice(), b"x"].concat();
        assert!(matches!(read(&longer).unwrap_err(), SavedTrouble::CutOff));
    }

    #[test]
    fn st2_other_files_and_newer_formats_are_named() {
        for other in [&b"hello"[..], b"STEADSAVE", b"STEADSAVEX\n", b"STEADSAVE0\n", &[0; 4096]] {
            let trouble = read(other).unwrap_err();
            let prefix = FIRST_LINE.starts_with(other);
            assert!(matches!(trouble, SavedTrouble::CutOff) == prefix, "{other:?}: {trouble}");
            assert!(matches!(trouble, SavedTrouble::NotSaved) != prefix, "{other:?}: {trouble}");
        }
        let newer = read(b"STEADSAVE12\nwhatever").unwrap_err();
        assert!(matches!(newer, SavedTrouble::Newer { format: 12 }), "{newer}");
        let newer = read(&file(b"", r#"{"format":2,"language":7}"#)).unwrap_err();
        assert!(matches!(newer, SavedTrouble::Newer { format: 2 }), "{newer}");
        for wrong in ["", "{", "[]", "{}", r#"{"format":1}"#, r#"{"format":"1","language":"x"}"#] {
            let trouble = read(&file(b"body", wrong)).unwrap_err();
            assert!(matches!(trouble, SavedTrouble::Damaged { .. }), "{wrong}: {trouble}");
        }
        let far = format!("STEADSAVE1\nSTEADEND {:020} {:020}\n", u64::MAX, u64::MAX);
        assert!(matches!(read(far.as_bytes()).unwrap_err(), SavedTrouble::CutOff));
    }

    #[test]
    fn h2_what_is_no_file_is_named_and_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        std::fs::write(at("file"), file(b"", SMALL)).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        assert!(Manifest::read(&at("link")).is_ok());
        for name in ["pipe", "zero", ".", "none"] {
            let error = Manifest::read(&at(name)).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
