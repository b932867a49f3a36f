//! Whether a plan has what its engine needs to be reached, and nothing that is for another.

use crate::keys::ConfigKey;
use crate::language::Language;
use crate::languages::{GATEWAY, NREPL};
use crate::plan::{PlanError, PlannedEngine, SessionPlan};

impl SessionPlan {
    /// A server is started or reached in one way, and only where the language has servers.
    pub(crate) fn check_server(&self) -> Result<(), PlanError> {
        let is_known = |language: &Language| language.name == NREPL.name;
        let has_servers =
            matches!(self.engine, PlannedEngine::Known(language) if is_known(language));
        let server = self.text(ConfigKey::Server);
        let is_told = server.is_some() || self.command().is_some() || self.environment.is_some();
        match (has_servers, server) {
            (false, Some(_)) => {
                Err(PlanError::NoServers { language: self.engine.name().to_owned() })
            }
            (true, _) if !is_told => Err(PlanError::NoServer),
            _ => Ok(()),
        }
    }

    /// A gateway is for sessions that have one, and those need it.
    pub(crate) fn check_gateway(&self) -> Result<(), PlanError> {
        let has_gateway = self.text(ConfigKey::Gateway).is_some();
        match self.engine.name() == GATEWAY.name {
            true if !has_gateway && self.kernel.is_none() => Err(PlanError::GatewayMissing),
            false if has_gateway => {
                Err(PlanError::NoKernels { language: self.engine.name().to_owned() })
            }
            _ => Ok(()),
        }
    }
}
