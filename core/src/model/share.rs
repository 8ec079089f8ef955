//! `Share`: whose call a call is, and `Order`: where it joins the queue.

use crate::base::error::{Error, Result};

/// The highest priority of a call in the queue.
pub(crate) const MAX_PRIORITY: u8 = 9;

/// The maximum weight of a share.
pub(crate) const MAX_WEIGHT: u32 = 1_000;

/// The maximum length of the name of a share in bytes.
const MAX_SHARE: usize = 128;

/// Whose call a call is: a tenant, a user, a kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share<'a> {
    /// The name, of 1 to 128 bytes without control characters.
    pub name: &'a str,
    /// How much this share gets beside others, from 1 to 1000.
    pub weight: u32,
}

impl Share<'_> {
    pub(crate) fn check(&self) -> Result<()> {
        let Self { name, weight } = self;
        if name.is_empty() || name.len() > MAX_SHARE || name.bytes().any(|b| b.is_ascii_control()) {
            let message = format!("must have 1 to {MAX_SHARE} bytes and no control characters: bytes={}", name.len());
            return Err(Error::invalid("share", message));
        }
        if !(1..=MAX_WEIGHT).contains(weight) {
            return Err(Error::invalid("weight", format!("must be from 1 to {MAX_WEIGHT}: weight={weight}")));
        }
        Ok(())
    }
}

/// Where a call joins the queue: before all of a lower priority, and in its priority by what its share has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order<'a> {
    pub(crate) priority: u8,
    pub(crate) weight: u32,
    /// Empty for calls of nobody, which have one share together.
    pub(crate) share: &'a str,
}

impl Default for Order<'_> {
    fn default() -> Self {
        Self { priority: 0, weight: 1, share: "" }
    }
}
