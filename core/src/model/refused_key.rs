//! `RefusedKey`: a key of a keyed limiter, and how often it was refused.

use std::collections::HashMap;

use crate::base::error::{Error, Result};

/// The maximum of [`Limiter::most_refused`](crate::Limiter::most_refused).
pub const MAX_REFUSED_KEYS: u64 = 100;

/// A key of a keyed limiter that was refused in this hour or the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedKey {
    /// The key.
    pub key: String,
    /// How many of its calls were refused, and how many of its waits timed out. Never too high.
    pub refused: u64,
}

impl RefusedKey {
    pub(crate) fn check(count: u64) -> Result<()> {
        if (1..=MAX_REFUSED_KEYS).contains(&count) {
            return Ok(());
        }
        Err(Error::invalid("count", format!("must be from 1 to {MAX_REFUSED_KEYS}: count={count}")))
    }

    /// Returns at most `count` keys, the most refused first; equal ones by name.
    pub(crate) fn most(found: impl IntoIterator<Item = (String, u64)>, count: u64) -> Vec<Self> {
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (key, refused) in found {
            *sums.entry(key).or_default() += refused;
        }
        let mut keys: Vec<Self> = sums.into_iter().map(|(key, refused)| Self { key, refused }).collect();
        keys.sort_unstable_by(|a, b| b.refused.cmp(&a.refused).then_with(|| a.key.cmp(&b.key)));
        keys.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        keys
    }
}
