//! The remaining units of every limit, for the simulator.

use super::{Limiter, StateLocation};
use crate::engine::state::State;

impl Limiter {
    /// Writes the remaining units of every limit to `left` and returns the queue length. Only for a limiter
    /// in memory.
    pub(crate) fn standing(&self, left: &mut Vec<u64>) -> u64 {
        left.clear();
        let policy = &self.inner.policy;
        let StateLocation::Memory { store, name, cell } = &self.inner.location else { return 0 };
        match cell.get().cloned().or_else(|| store.find(name)) {
            Some(cell) => cell.lock(State::default).standing(policy, self.now(), left),
            None => State::default().standing(policy, self.now(), left),
        }
    }
}
