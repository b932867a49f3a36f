//! How a kernel is asked for so that it can be found again, whatever becomes of the answer.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{CREATED_WITHIN, KernelApi, QUICK, is_id};
use crate::trouble::ServerTrouble;

/// Variables that a gateway hands to a new kernel begin so.
const KERNEL_VARIABLES: &str = "KERNEL_";
/// The first Jupyter Server that is known to take the id of a new kernel from its client.
const TAKES_IDS: (u64, u64) = (2, 21);

/// What a kernel of ours is found by as long as only the server knows that it has made the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KernelTrace {
    /// A session of the server with a path of ours. Jupyter Servers have those.
    Session,
    /// The kernel's id, which the server takes from us.
    Id,
    /// Nothing: the server chooses ids itself and has no sessions; or something that only a newer version looks for.
    #[serde(other)]
    Nothing,
}

impl KernelApi {
    /// How a new kernel can be found at this server.
    pub(crate) fn trace(&self) -> Result<KernelTrace, ServerTrouble> {
        // Gateways have sessions, too, but hand no variables to their kernels and mostly do not list their
        // sessions. Only a whole Jupyter Server has a status.
        let status = self.answer_of("api/status")?;
        let whole = status.is_some_and(|status| status.get("kernels").is_some());
        match whole && self.answer_of("api/sessions")?.is_some_and(|all| all.is_array()) {
            true => Ok(KernelTrace::Session),
            false => self.trace_without_sessions(),
        }
    }

    /// How a new kernel can be found at a server that makes no sessions for us.
    pub(crate) fn trace_without_sessions(&self) -> Result<KernelTrace, ServerTrouble> {
        let said = self.answer_of("api")?.unwrap_or_default();
        Ok(if takes_ids(&said) { KernelTrace::Id } else { KernelTrace::Nothing })
    }

    /// Starts a kernel and returns its id, which is `id` if the server takes ids from clients.
    pub(crate) fn create(
        &self,
        name: Option<&str>,
        id: &str,
        trace: KernelTrace,
    ) -> Result<String, ServerTrouble> {
        let (path, body) = match trace {
            KernelTrace::Session => ("api/sessions", session_wanted(name, id)),
            KernelTrace::Id | KernelTrace::Nothing => ("api/kernels", kernel_wanted(name, id)),
        };
        let by = Instant::now() + CREATED_WITHIN;
        let answer = self.ask("POST", path, Some(&body.to_string()), by)?;
        let made = match self.checked(&answer) {
            Ok(()) => self.object(&answer)?,
            Err(trouble @ (ServerTrouble::Refused { .. } | ServerTrouble::Elsewhere { .. })) => {
                return Err(trouble);
            }
            Err(trouble) => return Err(self.perhaps_unknown(name).unwrap_or(trouble)),
        };
        let made = match trace {
            KernelTrace::Session => &made["kernel"]["id"],
            KernelTrace::Id | KernelTrace::Nothing => &made["id"],
        };
        match made.as_str().filter(|id| is_id(id)) {
            Some(id) => Ok(id.to_owned()),
            None => Err(self.no_jupyter("a kernel that was created has no id")),
        }
    }

    /// The kernels of the sessions that were made for this id.
    pub(crate) fn kernels_of_sessions(&self, id: &str) -> Result<Vec<String>, ServerTrouble> {
        let answer = self.ask("GET", "api/sessions", None, Instant::now() + QUICK)?;
        self.checked(&answer)?;
        match serde_json::from_slice::<Value>(&answer.body) {
            Ok(Value::Array(all)) => Ok(kernels_at(&all, id)),
            _ => Err(self.no_jupyter("its list of sessions is none")),
        }
    }

    /// What is at a path, if the server has and shows it.
    fn answer_of(&self, path: &str) -> Result<Option<Value>, ServerTrouble> {
        let answer = self.ask("GET", path, None, Instant::now() + QUICK)?;
        let shown = self.checked(&answer).is_ok();
        Ok(if shown { serde_json::from_slice(&answer.body).ok() } else { None })
    }
}

/// Whether a server that says this of itself takes the id of a new kernel from us. Enterprise Gateway does, and it
/// alone tells a `gateway_version`; other servers do what the Jupyter Server does that they are built on.
fn takes_ids(said: &Value) -> bool {
    let version = said["version"].as_str().unwrap_or_default();
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    said["gateway_version"].is_string() || version >= TAKES_IDS
}

/// The path of the session that a kernel is made with. No file has this path.
fn session_path(id: &str) -> String {
    format!("stead-{id}")
}

fn kernels_at(sessions: &[Value], id: &str) -> Vec<String> {
    let path = session_path(id);
    let ours = sessions.iter().filter(|session| session["path"] == path.as_str());
    let kernels = ours.filter_map(|session| session["kernel"]["id"].as_str());
    kernels.filter(|kernel| is_id(kernel)).map(str::to_owned).collect()
}

fn session_wanted(name: Option<&str>, id: &str) -> Value {
    let path = session_path(id);
    // A server that takes no ids from clients only looks whether it has a kernel with this id.
    let mut kernel = json!({"id": id});
    if let Some(name) = name {
        kernel["name"] = name.into();
    }
    json!({"path": path, "name": path, "type": "console", "kernel": kernel})
}

fn kernel_wanted(name: Option<&str>, id: &str) -> Value {
    let mut wanted = json!({"kernel_id": id, "env": kernel_variables(std::env::vars(), id)});
    if let Some(name) = name {
        wanted["name"] = name.into();
    }
    wanted
}

/// What Enterprise Gateway is told of a new kernel: variables that begin with `KERNEL_`, whose kernel it is, its id, and how long it
/// may take.
fn kernel_variables(
    environment: impl Iterator<Item = (String, String)>,
    id: &str,
) -> BTreeMap<String, String> {
    let all: BTreeMap<String, String> = environment.collect();
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| all.get(name).cloned());
    let mut all: BTreeMap<String, String> =
        all.into_iter().filter(|(name, _)| name.starts_with(KERNEL_VARIABLES)).collect();
    // Gateways refuse kernels of root.
    if let Some(user) = user.filter(|user| !user.is_empty() && user != "root") {
        all.entry("KERNEL_USERNAME".to_owned()).or_insert(user);
    }
    // By itself a gateway gives up after half a minute, before a cluster has found a machine or fetched an image.
    let patience = CREATED_WITHIN.as_secs() - 10;
    all.entry("KERNEL_LAUNCH_TIMEOUT".to_owned()).or_insert_with(|| patience.to_string());
    // `KERNEL_ID` is never taken from the environment: inside a kernel of such a gateway it is the id of that
    // kernel, which would be taken for ours.
    all.insert("KERNEL_ID".to_owned(), id.to_owned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_only_servers_that_are_known_to_take_ids_are_trusted_to() {
        for (said, takes) in [
            (json!({"version": "2.21.1"}), true),
            (json!({"version": "3.0"}), true),
            (json!({"version": "2.20.9"}), false),
            (json!({"version": "1.24.0"}), false),
            (json!({"version": "1.24.0", "gateway_version": "3.3.0"}), true),
            (json!({"version": "new"}), false),
            (json!({}), false),
            (Value::Null, false),
        ] {
            assert_eq!(takes_ids(&said), takes, "{said}");
        }
    }

    #[test]
    fn k2_kernels_of_our_own_sessions_are_found_and_no_others() {
        let session =
            |path: &str, kernel: &str| json!({"path": path, "kernel": {"id": kernel}, "id": "s"});
        let listed = [
            session("stead-a", "1"),
            session("stead-ab", "2"),
            session("a", "3"),
            session("stead-a", "../4"),
            json!({"notebook": {"path": "stead-a"}}),
        ];
        assert_eq!(kernels_at(&listed, "a"), ["1"]);
        assert!(kernels_at(&listed, "b").is_empty());
    }

    #[test]
    fn k2_the_id_of_a_new_kernel_is_never_that_of_the_environment() {
        let given = [("KERNEL_ID", "theirs"), ("KERNEL_CPUS", "2"), ("USER", "me"), ("PATH", "/")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let all = kernel_variables(given.into_iter(), "ours");
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["KERNEL_CPUS", "KERNEL_ID", "KERNEL_LAUNCH_TIMEOUT", "KERNEL_USERNAME"]);
        assert_eq!((all["KERNEL_ID"].as_str(), all["KERNEL_USERNAME"].as_str()), ("ours", "me"));
    }
}
