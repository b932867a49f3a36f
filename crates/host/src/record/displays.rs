//! Displays of evals: text to read stays in its record, anything else becomes a file beside the spool (SPEC O-9).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use stead_protocol::{DisplayInfo, EvalSeq, is_markup};
use stead_spool::layout::FIGURES;

/// Most bytes of one file.
const MAX_FILE: usize = 16 << 20;
/// Most bytes of text in a record.
const MAX_TEXT: usize = 16 << 20;
/// Most bytes of all files of a session; the oldest are removed.
const QUOTA: u64 = 256 << 20;

/// The files of one session.
#[derive(Debug)]
pub(crate) struct Displays {
    dir: PathBuf,
    quota: u64,
    /// How many bytes all files take; `None` before the first one is written.
    used: Option<u64>,
    /// The last file's eval, and its number in that eval.
    last: (EvalSeq, u32),
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
enum NoFile {
    #[error("not kept: it is no base64")]
    Encoding,
    #[error("not kept: it is larger than {} MiB", MAX_FILE >> 20)]
    TooLarge,
    #[error("not kept: it could not be written: {0}")]
    Io(#[from] io::Error),
}

impl Displays {
    /// The files in a session's directory; touches nothing.
    pub(crate) fn new(session: &Path) -> Displays {
        let (dir, last) = (session.join(FIGURES), (EvalSeq(0), 0));
        Displays { dir, quota: QUOTA, used: None, last }
    }

    /// Keeps a display of an eval. If it cannot be kept, its note says why.
    pub(crate) fn keep(
        &mut self,
        eval: EvalSeq,
        mime: String,
        data: String,
        note: Option<String>,
    ) -> DisplayInfo {
        let mut info = DisplayInfo { mime, note, ..DisplayInfo::default() };
        if is_text(&info.mime) {
            if data.len() <= MAX_TEXT {
                info.data = Some(data);
            } else {
                let mib = MAX_TEXT >> 20;
                info.note =
                    Some(format!("not kept: its {} bytes are more than {mib} MiB", data.len()));
            }
            return info;
        }
        let bytes = if is_markup(&info.mime) { markup(data) } else { decode(data) };
        let kept = bytes.and_then(|bytes| {
            info.pixels = pixels(&bytes);
            info.bytes = bytes.len() as u64;
            Ok(self.write(eval, extension(&info.mime), &bytes)?)
        });
        match kept {
            Ok(name) => info.file = Some(format!("{FIGURES}/{name}")),
            Err(error) => {
                info.bytes = 0;
                info.note = Some(error.to_string());
            }
        }
        info
    }

    /// Writes a file, whole or not at all; not synced, since the page cache outlives this process.
    fn write(&mut self, eval: EvalSeq, extension: &str, bytes: &[u8]) -> io::Result<String> {
        match DirBuilder::new().mode(0o700).create(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let name = self.next_name(eval, extension);
        let temporary = self.dir.join(format!(".{name}"));
        let mut options = OpenOptions::new();
        let written =
            stead_files::open_with(options.write(true).create(true).truncate(true), &temporary)
                .and_then(|mut file| file.write_all(bytes))
                .and_then(|()| fs::rename(&temporary, self.dir.join(&name)));
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        let used = self.used.map(|used| used + bytes.len() as u64);
        self.used = Some(match used {
            Some(used) if used <= self.quota => used,
            _ => self.make_room(&name),
        });
        Ok(name)
    }

    /// The name of the eval's next file. The number alone does not make it new: an earlier host may have kept
    /// a file of the same eval.
    fn next_name(&mut self, eval: EvalSeq, extension: &str) -> String {
        if self.last.0 != eval {
            self.last = (eval, 0);
        }
        loop {
            self.last.1 += 1;
            let name = format!("{}-{}.{extension}", eval.0, self.last.1);
            if !self.dir.join(&name).exists() {
                return name;
            }
        }
    }

    /// Removes the oldest files until the rest is within the quota; returns how many bytes the rest takes.
    fn make_room(&self, newest: &str) -> u64 {
        let Ok(entries) = fs::read_dir(&self.dir) else { return 0 };
        let mut files: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.file_name() != newest)
            .filter_map(|entry| {
                let age = entry.file_name().to_str().and_then(age);
                let size = entry.metadata().ok().filter(fs::Metadata::is_file)?.len();
                Some((age, entry.path(), size))
            })
            .collect();
        // A file without a number is half a file of a killed host, or a stranger's: it is removed first.
        files.sort();
        let newest = fs::metadata(self.dir.join(newest)).map_or(0, |file| file.len());
        let mut used = newest + files.iter().map(|(.., size)| size).sum::<u64>();
        for (age, path, size) in files {
            if age.is_some() && used <= self.quota {
                break;
            }
            if fs::remove_file(path).is_ok() {
                used -= size;
            }
        }
        used
    }
}

/// The eval and the number in a file's name.
fn age(name: &str) -> Option<(u64, u32)> {
    let (eval, number) = name.split_once('.')?.0.split_once('-')?;
    Some((eval.parse().ok()?, number.parse().ok()?))
}

/// Whether `data` of this type is text that a reader can be shown.
fn is_text(mime: &str) -> bool {
    let kind = mime.split(';').next().unwrap_or_default().trim();
    let text = kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(kind, "application/json" | "application/xml");
    text && !is_markup(mime)
}

fn extension(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/svg+xml" => "svg",
        "text/html" | "application/xhtml+xml" => "html",
        "text/javascript" | "application/javascript" => "js",
        "application/pdf" => "pdf",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}

/// A page or a drawing, which comes as the text that it is.
fn markup(data: String) -> Result<Vec<u8>, NoFile> {
    if data.len() > MAX_FILE { Err(NoFile::TooLarge) } else { Ok(data.into_bytes()) }
}

fn decode(mut data: String) -> Result<Vec<u8>, NoFile> {
    // Some encoders break lines.
    if data.contains(|c: char| c.is_ascii_whitespace()) {
        data.retain(|c| !c.is_ascii_whitespace());
    }
    if data.len() / 4 * 3 > MAX_FILE + 3 {
        return Err(NoFile::TooLarge);
    }
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = GeneralPurpose::new(&STANDARD, lenient).decode(data);
    let bytes = bytes.map_err(|_| NoFile::Encoding)?;
    if bytes.len() > MAX_FILE { Err(NoFile::TooLarge) } else { Ok(bytes) }
}

/// Width and height, from the header of the formats that bridges send.
fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let side = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        return Some((side(16)?, side(20)?));
    }
    if bytes.starts_with(b"GIF8") {
        let side = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into());
        return Some((side(6)?, side(8)?));
    }
    if bytes.starts_with(b"\xff\xd8") { jpeg_pixels(bytes) } else { None }
}

/// A JPEG tells its size in its start-of-frame segment, somewhere behind others.
fn jpeg_pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut at = 2;
    loop {
        let marker = word(at)?;
        match marker {
            0xffff => at += 1,
            0xff01 | 0xffd0..=0xffd7 => at += 2,
            0xffc4 | 0xffc8 | 0xffcc => at += 2 + usize::from(word(at + 2)?),
            0xffc0..=0xffcf => return Some((word(at + 7)?.into(), word(at + 5)?.into())),
            0xffd9 | 0xffda => return None,
            0xff00.. => at += 2 + usize::from(word(at + 2)?),
            _ => return None,
        }
    }
}

#[cfg(test)]
#[path = "displays_tests.rs"]
mod tests;
