//! `keys.jsonl`: which eval a client's key belongs to (SPEC E-12).
//!
//! A key is written before its eval is accepted, so no accepted eval is without its key. After a
//! crash between the two, a key names an eval that was never accepted, or whose number another
//! eval got; so an answer counts only if the eval's own record has the same key.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stead_protocol::EvalSeq;

use crate::SpoolError;
use crate::disk;
use crate::layout::write_atomically;
use crate::lines::{read_line, whole_len};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeyLine<'a> {
    #[serde(borrow)]
    pub(crate) key: std::borrow::Cow<'a, str>,
    pub(crate) eval: EvalSeq,
}

/// The keys file and what is known of it.
#[derive(Debug)]
pub(crate) struct Keys {
    path: PathBuf,
    loaded: Option<Loaded>,
    size: u64,
}

/// What is known of the eval that a key is noted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Its record stays.
    Kept,
    /// Its record is about to be dropped.
    Goes,
    /// Its record was dropped earlier.
    Gone,
    /// It does not have this key: the key was written for an eval that was never accepted.
    Other,
}

#[derive(Debug)]
struct Loaded {
    file: File,
    len: u64,
    /// By hash, to stay small; the eval's record has the key itself.
    evals: HashMap<u64, EvalSeq>,
}

impl Keys {
    pub(crate) fn new(path: PathBuf) -> Self {
        let size = path.symlink_metadata().map_or(0, |meta| meta.len());
        Keys { path, loaded: None, size }
    }

    /// How many bytes the keys take on disk.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Called before evals are dropped, because afterwards their records cannot confirm the keys noted for
    /// them. Keys outlive their evals. If all keys take more than `most` bytes, the oldest keys of dropped
    /// evals are dropped too.
    pub(crate) fn trim(
        &mut self,
        history: &File,
        most: u64,
        mut owner: impl FnMut(&KeyLine<'_>) -> io::Result<Owner>,
    ) -> Result<(), SpoolError> {
        if self.size == 0 {
            return Ok(());
        }
        let path = self.path.clone();
        let loaded = self.load(history)?;
        let (mut lines, mut failed, mut wrong) = (Vec::new(), None, false);
        each_key(&loaded.file, |line| match owner(&line) {
            Ok(Owner::Other) => wrong = true,
            Ok(owner) => {
                // Writing to memory does not fail.
                let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
                bytes.push(b'\n');
                lines.push((owner, bytes));
            }
            Err(error) => failed = Some(error),
        })
        .and_then(|()| failed.map_or(Ok(()), Err))
        .map_err(SpoolError::io("read", &path))?;
        let mut size: u64 = lines.iter().map(|(_, line)| line.len() as u64).sum();
        if !wrong && size <= most {
            return Ok(());
        }
        // More keys are dropped than have to be, so that this is not done for each further key.
        let enough = if size <= most { size } else { most / 4 * 3 };
        lines.retain(|(owner, line)| {
            let stays = *owner != Owner::Gone || size <= enough;
            if !stays {
                size -= line.len() as u64;
            }
            stays
        });
        let bytes: Vec<u8> = lines.into_iter().flat_map(|(_, line)| line).collect();
        write_atomically(&path, &bytes)?;
        (self.loaded, self.size) = (None, size);
        Ok(())
    }

    /// The eval that may have this key; its record decides.
    pub(crate) fn find(
        &mut self,
        key: &str,
        history: &File,
    ) -> Result<Option<EvalSeq>, SpoolError> {
        Ok(self.load(history)?.evals.get(&hash(key)).copied())
    }

    /// Puts a key on disk; called before its eval is accepted.
    pub(crate) fn add(
        &mut self,
        key: &str,
        eval: EvalSeq,
        history: &File,
    ) -> Result<(), SpoolError> {
        let path = self.path.clone();
        let loaded = self.load(history)?;
        let mut line = serde_json::to_vec(&KeyLine { key: key.into(), eval })
            .map_err(SpoolError::io("write", &path))?;
        line.push(b'\n');
        if let Err(error) = disk::write_all_at(&loaded.file, &line, loaded.len) {
            // A torn line that stays is overwritten by the next key or cut by the next host.
            let _ = disk::set_len(&loaded.file, loaded.len);
            return Err(SpoolError::io("write", &path)(error));
        }
        loaded.len += line.len() as u64;
        loaded.evals.insert(hash(key), eval);
        self.size = loaded.len;
        Ok(())
    }

    fn load(&mut self, history: &File) -> Result<&mut Loaded, SpoolError> {
        let loaded = match self.loaded.take() {
            Some(loaded) => loaded,
            None => load(&self.path, history).map_err(SpoolError::io("read", &self.path))?,
        };
        Ok(self.loaded.insert(loaded))
    }
}

/// Makes the file for a new session, so that a missing file always means a deleted one.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    stead_files::open_with(OpenOptions::new().append(true).create(true), path).map(drop)
}

fn load(path: &Path, history: &File) -> io::Result<Loaded> {
    let open = || stead_files::open_with(OpenOptions::new().read(true).write(true), path);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            rebuild(path, history)?;
            open()?
        }
        opened => opened?,
    };
    let len = whole_len(&file)?;
    if file.metadata()?.len() > len {
        disk::set_len(&file, len)?;
    }
    let mut evals = HashMap::new();
    each_key(&file, |line| {
        evals.insert(hash(&line.key), line.eval);
    })?;
    Ok(Loaded { file, len, evals })
}

/// Writes the keys file anew from the history, which has the keys of all accepted evals.
fn rebuild(path: &Path, history: &File) -> io::Result<()> {
    let mut lines = Vec::new();
    each_key(history, |line| {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut lines, &line);
        lines.push(b'\n');
    })?;
    write_atomically(path, &lines).map_err(io::Error::other)
}

/// Calls `with` for each whole line that has a key: a line of the keys file, or an accepted eval's record.
pub(crate) fn each_key(mut file: &File, mut with: impl FnMut(KeyLine<'_>)) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    while read_line(&mut lines, &mut line)? > 0 {
        if let Ok(key) = serde_json::from_slice(&line) {
            with(key);
        }
        line.clear();
    }
    Ok(())
}

fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}
