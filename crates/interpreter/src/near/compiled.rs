//! The bridge's compiled form, which is kept for the next start of the same bridge.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stead_protocol::Capability;
use stead_protocol::bridge::Command;

use super::interpreter::{BridgeFacts, Interpreter};
use super::run::OWN_QUESTION;
use crate::prepare::{Feed, kept_code};

#[derive(Debug)]
pub(super) enum Compiled {
    None,
    /// The bridge was compiled from source and no eval has run: the form is asked for after the first.
    Source(PathBuf),
    /// An eval has run: the form is asked for when the bridge is idle.
    Wanted(PathBuf),
    /// The form was asked for.
    Asked(PathBuf),
    /// The interpreter was started with the kept form.
    Used(PathBuf),
}

impl Compiled {
    pub(super) fn of(feed: &Feed) -> Compiled {
        match feed {
            Feed::Nothing | Feed::Script(_) => Compiled::None,
            Feed::Source(_, file) => Compiled::Source(file.clone()),
            Feed::Code(_, file) => Compiled::Used(file.clone()),
        }
    }

    /// An eval has run.
    pub(super) fn want(&mut self) {
        if let Compiled::Source(file) = self {
            *self = Compiled::Wanted(std::mem::take(file));
        }
    }
}

impl Interpreter {
    /// Asks the bridge for its compiled form, once, after the first eval of this interpreter.
    pub(super) fn ask_for_compiled(&mut self) {
        if !matches!(self.compiled, Compiled::Wanted(_)) {
            return;
        }
        let wanted = std::mem::replace(&mut self.compiled, Compiled::None);
        // Another session may have kept the compiled form since this session was started.
        if let (Compiled::Wanted(file), true) = (wanted, self.can(Capability::Code))
            && kept_code(&file).is_none()
        {
            self.send(&Command::Query { seq: OWN_QUESTION, what: "code", arg: "" }.encode());
            self.compiled = Compiled::Asked(file);
        }
    }

    pub(super) fn keep_compiled(&mut self, data: Option<Value>) {
        let asked = std::mem::replace(&mut self.compiled, Compiled::None);
        let (Compiled::Asked(file), Some(data)) = (asked, data) else { return };
        let Some(code) = data["code"].as_str().and_then(decode_hex) else { return };
        // If this fails, only the next start is slower.
        let _ = keep(&file, &code);
    }

    /// Removes the kept form of an interpreter that never got ready with it, so that it does no harm twice.
    pub(super) fn forget_compiled(&self) {
        if let (Compiled::Used(file), BridgeFacts::Unknown | BridgeFacts::Complained(_)) =
            (&self.compiled, &self.bridge)
        {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Puts the file in its place whole, even if other processes do the same at the same time.
fn keep(file: &Path, code: &[u8]) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let temporary = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    stead_files::open_with(options.write(true).create(true).truncate(true), &temporary)?
        .write_all(code)?;
    std::fs::rename(&temporary, file)
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
