//! An interpreter of its own that tells what a source text defines.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use stead_config::Language;
use stead_protocol::client::{Query, Reply, Request};
use stead_protocol::{Definition, Refusal, SessionName};

use crate::control::END_TIME;
use crate::eval::wait;
use crate::reach::connection::Connection;
use crate::reach::start::{IfFound, unhurried};
use crate::session::wait_until_ready;
use crate::{Client, ClientError, LaunchOptions, StdlibError};

/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// The interpreter ends after this time if the command that started it was killed.
const UNUSED_MS: u64 = 60_000;

pub(super) struct Asking<'a> {
    client: &'a Client,
    name: SessionName,
    connection: Connection,
}

#[derive(Deserialize)]
struct Definitions {
    definitions: Vec<Definition>,
}

impl Asking<'_> {
    pub(super) fn start<'a>(
        client: &'a Client,
        language: &Language,
    ) -> Result<Asking<'a>, ClientError> {
        let name = client.unused_name()?;
        let launch = LaunchOptions {
            language: Some(language.name.to_owned()),
            idle_timeout_ms: Some(UNUSED_MS),
            once: true,
            unconfigured: true,
            ..LaunchOptions::default()
        };
        let door = client.door(&name);
        let meta = || client.new_meta(&name, &launch);
        let mut connection = door.connect_or_start(IfFound::Refuse, unhurried(), meta)?;
        wait_until_ready(&mut connection, door, None)?;
        Ok(Asking { client, name, connection })
    }

    /// What a text defines, or what is wrong with it.
    pub(super) fn definitions(&mut self, text: &str) -> Result<Vec<Definition>, String> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let query = Request::Query(Query::Definitions { text: text.to_owned() });
        let answer = self.connection.request(query, Some(Instant::now() + ANSWER_TIME));
        match answer {
            Ok(Reply::Query { data }) => serde_json::from_value::<Definitions>(data)
                .map(|found| found.definitions)
                .map_err(|error| error.to_string()),
            Ok(other) => Err(self.connection.odd(&other).message()),
            Err(ClientError::Refused { error, .. }) => Err(match error.refusal.as_deref() {
                Some(Refusal::NoAnswer { problem }) => problem.clone(),
                _ => error.message,
            }),
            Err(other) => Err(other.message()),
        }
    }

    /// What the library itself defines.
    pub(super) fn definitions_in(
        &mut self,
        path: &Path,
        text: &str,
    ) -> Result<Vec<Definition>, ClientError> {
        self.definitions(text)
            .map_err(|problem| StdlibError::Broken { path: path.to_owned(), problem }.into())
    }

    /// Ends the interpreter; nothing of its session is kept.
    pub(super) fn end(mut self) {
        let _ = self.connection.request(Request::Stop, Some(Instant::now() + END_TIME));
        wait::see_host_gone(&self.client.dir(&self.name));
        let _ = self.client.remove(&self.name);
    }
}
