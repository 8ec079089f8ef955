//! A mutex that stays usable after a fork.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use once_cell::race::OnceBox;

use crate::base::clock;
use crate::base::process_id::process_id;

/// Time a child process waits for an inherited lock. The process's own threads hold the lock for less than a
/// microsecond.
const PATIENCE: Duration = Duration::from_millis(50);

/// A value behind a mutex, with a replacement for child processes.
///
/// A thread that does not exist in the child may have held the lock at the fork, halfway through a change. The child
/// then abandons lock and value and creates a new value: a memory store belongs to one process.
#[derive(Debug)]
pub(crate) struct ForkSafe<T> {
    mutex: Mutex<T>,
    made_by: u32,
    heir: OnceBox<ForkSafe<T>>,
}

impl<T> ForkSafe<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { mutex: Mutex::new(value), made_by: process_id(), heir: OnceBox::new() }
    }

    /// Locks the value. A child process that cannot lock the inherited value locks one created by `fresh`.
    #[inline]
    pub(crate) fn lock(&self, fresh: impl Fn() -> T) -> MutexGuard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.wait(fresh),
        }
    }

    /// Locks the value if no other thread holds it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.mutex.try_lock() {
            Ok(guard) => Some(guard),
            // Changes happen only after the last step that can fail, so a poisoned lock still holds a valid value.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    fn wait(&self, fresh: impl Fn() -> T) -> MutexGuard<'_, T> {
        if self.made_by == process_id() {
            return self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let started = clock::monotonic();
        while self.heir.get().is_none() && started.elapsed() < PATIENCE {
            if let Ok(guard) = self.mutex.try_lock() {
                return guard;
            }
            thread::yield_now();
        }
        let heir = self.heir.get_or_init(|| Box::new(Self::new(fresh())));
        heir.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_the_parent_left_held_is_replaced_once() {
        let mut inherited = ForkSafe::new(7);
        assert_eq!(*inherited.lock(|| 0), 7);
        inherited.made_by = u32::MAX;
        assert_eq!(*inherited.lock(|| 0), 7, "a child takes what it can have");
        let held = inherited.mutex.lock().unwrap();
        *inherited.lock(|| 1) += 1;
        assert_eq!(*inherited.lock(|| 9), 2);
        assert_eq!(*held, 7);
    }
}
