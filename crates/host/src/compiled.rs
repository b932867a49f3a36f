//! The bridge's compiled form, which the next start of the same bridge is given.

use stead_protocol::bridge::Command;

use crate::host::{Compiled, Host};
use crate::state::Phase;

/// The number of the host's own question to the bridge; clients' begin at 1.
pub(crate) const OWN_QUESTION: u64 = 0;

impl Host {
    /// Asks the bridge for its compiled form, once, after the first eval of this interpreter.
    pub(crate) fn ask_for_compiled(&mut self) {
        let quiet = matches!(self.state.phase, Phase::Idle { .. }) && self.ledger.evals() > 0;
        if !quiet || !matches!(self.compiled, Compiled::Wanted(_)) {
            return;
        }
        let wanted = std::mem::replace(&mut self.compiled, Compiled::None);
        if let (Compiled::Wanted(file), Some(bridge)) = (wanted, &mut self.bridge)
            && self.facts.can.words().any(|can| can == "code")
        {
            bridge.send(&Command::Query { seq: OWN_QUESTION, what: "code", arg: "" }.encode());
            self.compiled = Compiled::Asked(file);
        }
    }

    pub(crate) fn keep_compiled(&mut self, data: Option<serde_json::Value>) {
        let asked = std::mem::replace(&mut self.compiled, Compiled::None);
        let (Compiled::Asked(file), Some(data)) = (asked, data) else { return };
        let Some(code) = data["code"].as_str().and_then(decode_hex) else { return };
        // Without the cache the next start is slower and nothing else.
        if let Some(dir) = file.parent() {
            let _ = std::fs::create_dir_all(dir);
        }
        let _ = stead_spool::write_atomically(&file, &code);
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| (b as char).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
