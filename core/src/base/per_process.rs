//! `PerProcess`: a value that a forked process creates anew and never inherits.

use std::mem;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::process_id::process_id;

/// A value per process id, created at first use and read without a lock.
///
/// After a fork the child creates its own value and leaks the inherited one: a thread that the child does not have may
/// hold a lock in it, and closing its sockets properly would end the parent's connections.
pub(crate) struct PerProcess<T> {
    current: ArcSwapOption<Owned<T>>,
}

struct Owned<T> {
    pid: u32,
    value: Arc<T>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self { current: ArcSwapOption::empty() }
    }
}

impl<T: Default> PerProcess<T> {
    pub(crate) fn get(&self) -> Arc<T> {
        let pid = process_id();
        let current = self.current.load();
        if let Some(owned) = current.as_ref().filter(|owned| owned.pid == pid) {
            return owned.value.clone();
        }
        let made = Arc::new(Owned { pid, value: Arc::new(T::default()) });
        let before = self.current.compare_and_swap(&current, Some(made.clone()));
        match before.as_ref() {
            // Another thread of this process created the value first.
            Some(other) if other.pid == pid => other.value.clone(),
            inherited => {
                mem::forget(inherited.cloned());
                made.value.clone()
            }
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let current = self.current.swap(None);
        if current.as_ref().is_some_and(|owned| owned.pid != process_id()) {
            mem::forget(current);
        }
    }
}
