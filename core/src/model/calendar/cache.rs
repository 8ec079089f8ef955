//! The instants of a calendar, until the period that they are of has passed.

use std::sync::RwLock;

use super::INSTANTS;

/// The instants that were computed last.
#[derive(Debug, Default)]
pub(super) struct Cache(RwLock<[u64; INSTANTS]>);

impl Cache {
    /// Returns the instants of the period that contains `now`: the second is its start, the third its end.
    ///
    /// Never waits: a lock that another thread holds in the process that was forked is never released in the child.
    #[inline]
    pub(super) fn get(&self, now: u64, compute: impl FnOnce() -> [u64; INSTANTS]) -> [u64; INSTANTS] {
        if let Ok(instants) = self.0.try_read()
            && instants[1] <= now
            && now < instants[2]
        {
            return *instants;
        }
        let instants = compute();
        if let Ok(mut kept) = self.0.try_write() {
            *kept = instants;
        }
        instants
    }
}

impl Clone for Cache {
    fn clone(&self) -> Self {
        Self::default()
    }
}
