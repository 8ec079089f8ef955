//! `BlockAfter`: how many refusals lead to a block, in the native format.

use serde::Serialize;

use super::span::Span;
use crate::base::error::Result;
use crate::formats::field::Field;
use crate::model::block_after;

/// After a number of refusals within a time, a key or a name without keys is blocked for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlockAfter {
    /// From 1 to 1,000,000.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000)))]
    pub refusals: u64,
    /// The time within which they are counted, from 1 s to 7 days.
    pub within: Span,
    /// How long the block lasts, from 1 s to 7 days.
    pub r#for: Span,
}

impl BlockAfter {
    pub(super) fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["refusals", "within", "for"])?;
        let rule = Self {
            refusals: place.need("refusals")?.integer()?,
            within: Span::read(&place.need("within")?)?,
            r#for: Span::read(&place.need("for")?)?,
        };
        place.checked(rule.rule()).map(|_| rule)
    }

    pub(super) fn rule(&self) -> Result<block_after::BlockAfter> {
        block_after::BlockAfter::of_micros(self.refusals, self.within.0, self.r#for.0)
    }
}
