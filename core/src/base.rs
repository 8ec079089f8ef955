//! Numbers, times, errors, and the constants that two layers need.

pub(crate) mod bounds;
pub(crate) mod charge;
pub(crate) mod civil;
pub(crate) mod clock;
#[cfg(any(feature = "documents", feature = "simulate"))]
pub(crate) mod decimal;
pub(crate) mod error;
pub(crate) mod fraction;
#[cfg(feature = "documents")]
pub(crate) mod json;
pub(crate) mod message;
pub(crate) mod micros;
#[cfg(feature = "redis")]
pub(crate) mod per_process;
#[cfg(feature = "documents")]
pub mod period;
pub(crate) mod process_id;
pub(crate) mod ranked;
pub(crate) mod short_list;
pub(crate) mod sort_few;
pub(crate) mod test_clock;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that a panic cannot leave half changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a number for a text, the same in each process of a version.
pub(crate) fn hash(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}
