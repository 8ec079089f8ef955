//! `KeyPage`: some keys of a keyed limiter, and `ChangedKeys`: what a change of them did.

use crate::base::error::Error;

/// The number of keys with which a page is complete: 100. A page may have fewer, also none, or some more.
pub(crate) const KEYS_PER_PAGE: usize = 100;

/// A page of the keys of a keyed limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys, sorted. A key may be on two pages.
    pub keys: Vec<String>,
    /// The cursor of the next page; `None` on the last page.
    pub cursor: Option<String>,
}

/// The result of a change of the keys of a page.
#[derive(Clone, Debug, Default)]
pub struct ChangedKeys {
    /// The keys that were changed.
    pub changed: Vec<String>,
    /// The keys that were not, each with its error: the state of such a key is damaged.
    pub unchanged: Vec<(String, Error)>,
    /// The cursor of the next page; `None` on the last page.
    pub cursor: Option<String>,
}

impl KeyPage {
    /// Creates a page of keys in any order, of which some may be there twice.
    pub(crate) fn new(mut keys: Vec<String>, cursor: Option<String>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self { keys, cursor }
    }
}
