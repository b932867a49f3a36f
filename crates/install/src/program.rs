//! Which path is written for the program itself.

use std::io;
use std::path::{Path, PathBuf};

use crate::clients::UserPlaces;
use crate::entry::SERVER_NAME;

/// Directories that package managers empty as they like.
const CACHES: [&str; 4] = ["/.cache/uv/", "/archive-v0/", "/_npx/", "/.cache/pnpm/"];

/// The absolute path of this program. Where PATH has a link to this very file it is the link: the link stays when
/// the program is replaced by a newer one in another place.
pub fn own_path(places: &UserPlaces) -> io::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let real = exe.canonicalize()?;
    let linked =
        places.program(SERVER_NAME).filter(|path| path.canonicalize().is_ok_and(|it| it == real));
    Ok(linked.unwrap_or(real))
}

/// Whether a program at this path may be gone tomorrow.
pub fn is_in_a_cache(path: &Path) -> bool {
    let path = path.to_string_lossy();
    CACHES.iter().any(|cache| path.contains(cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_caches_of_package_managers_are_known() {
        for path in
            ["/home/a/.cache/uv/archive-v0/x/bin/stead", "/home/a/.npm/_npx/1/node_modules/s/stead"]
        {
            assert!(is_in_a_cache(Path::new(path)), "{path}");
        }
        for path in ["/usr/bin/stead", "/home/a/.local/share/uv/tools/stead/bin/stead"] {
            assert!(!is_in_a_cache(Path::new(path)), "{path}");
        }
    }
}
