//! The Python environment of the project that a command runs in (SPEC S-11): `python`, `pip` and `pytest` are the
//! project's, as if it had been activated.

use std::ffi::OsString;
use std::path::Path;

use stead_launch::{Environment, Patient, Search};
use stead_protocol::ShellPlace;

/// Puts the environment of the project in force. Each command has a directory of its own, so each time the
/// project is looked for.
pub(crate) fn activate(place: &mut ShellPlace, cache: Option<&Path>) {
    let Some(cache_dir) = cache else { return };
    let mut env: Vec<(OsString, OsString)> =
        place.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let cwd = Path::new(&place.cwd);
    let search =
        Search { named: None, cwd, env: &env, cache_dir, proven: &|_| false, programs: &Patient };
    let Some(environment) = Environment::of_project(&search) else { return };
    environment.activate(&mut env);
    let text = |text: OsString| text.into_string().ok();
    let pairs = env.into_iter().map(|(name, value)| Some((text(name)?, text(value)?)));
    // A path that is not UTF-8 cannot be passed on: the command then runs without the environment.
    if let Some(env) = pairs.collect() {
        place.env = env;
    }
}
