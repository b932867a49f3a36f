//! No process of stead leaves a core file: it would hold code, input and values (SPEC X-5).

use std::sync::OnceLock;

use crate::sys::{Resource, ResourceLimits, limits, set_limits};

/// The limit that this process had, which is given to programs it starts.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Makes this process leave no core file.
pub fn forbid() {
    if let Ok(limits) = limits(0, Resource::Core) {
        let _ = BEFORE.set(limits.soft);
        let _ = set_limits(Resource::Core, ResourceLimits { soft: 0, ..limits });
    }
}

/// Restores the user's limit in a process that is about to run another program. Makes only system calls, so
/// it may be called between fork and exec.
pub fn restore() {
    if let (Some(&soft), Ok(limits)) = (BEFORE.get(), limits(0, Resource::Core)) {
        let _ = set_limits(Resource::Core, ResourceLimits { soft, ..limits });
    }
}
