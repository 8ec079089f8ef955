//! The files that this process may open, each connection being one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The files for all but the bounded connections: the store, the metrics, checks of health, and the program itself.
const OTHERS: usize = 300;

/// Raises the limit to the highest that the system allows, and returns it; `None` when there is none.
pub(crate) fn raise() -> Option<usize> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // What the system refuses leaves the limit as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current.map(|files| usize::try_from(files).unwrap_or(usize::MAX))
}

/// Returns how many connections these files are enough for.
pub(crate) const fn connections(files: usize) -> usize {
    if files > 2 * OTHERS { files - OTHERS } else { files / 2 }
}
