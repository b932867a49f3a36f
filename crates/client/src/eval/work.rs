//! Work that is not code: it has an id, waits for its turn and is waited for like an eval.

use stead_protocol::{Refusal, SessionName, Speaker, Versions, WireError, Work};

use crate::eval::loss;
use crate::reach::connection::Connection;
use crate::reach::patience::Patience;
use crate::{Client, ClientError, EvalOptions, EvalView, Watcher};

/// The version of the wire from which on work of all kinds is submitted.
pub(crate) const WORK_VERSION: u32 = 2;

impl Client {
    /// Has a live session do work other than code; `options.code` is not used. Nothing is started for it.
    pub fn work(
        &self,
        name: &SessionName,
        work: Work,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        let by = Patience::new(options).answer_by;
        let connection = self.connect_by(name, by).map_err(ClientError::before_sending)?;
        if connection.protocol() < WORK_VERSION {
            return Err(too_old(name, &connection));
        }
        self.work_over(connection, name, work, options, watcher)
    }

    /// The same over a connection that is there.
    pub(crate) fn work_over(
        &self,
        mut connection: Connection,
        name: &SessionName,
        work: Work,
        options: &EvalOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<EvalView, ClientError> {
        if let (Some(reason), true) = (connection.loss.take(), work.kind().builds_on_state()) {
            let known = loss::acknowledge(&mut connection, &self.dir(name));
            if !known.map_err(ClientError::before_sending)? {
                return Err(ClientError::Lost { name: name.clone(), reason });
            }
        }
        let patience = Patience::new(options);
        let (connection, output) = (Box::new(connection), watcher.wants_output());
        let begun = self.send_work(name, connection, work, options, &patience, None, output);
        let finished = match begun {
            Ok(begun) => self.finish(begun, watcher)?,
            Err(ClientError::HungUp { unread: true, .. }) => None,
            Err(other) => return Err(other.before_sending()),
        };
        match finished {
            Some(view) => Ok(view),
            // The host left before it took the work.
            None => Err(self.ended(name)?),
        }
    }
}

/// The refusal of a host that knows no work but code.
fn too_old(name: &SessionName, connection: &Connection) -> ClientError {
    let spoken = connection.protocol();
    let versions = Versions { oldest: spoken, newest: spoken };
    let host = Speaker { program: None, versions };
    let refusal = Refusal::UnknownRequest { what: "work".to_owned(), host };
    ClientError::Refused { name: name.clone(), error: Box::new(WireError::refused(refusal, name)) }
}
