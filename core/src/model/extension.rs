//! `Extension`: the result of reserving more units for an open permit.

use crate::model::decision::Decision;
use crate::model::permit::Settlement;

/// The result of [`Limiter::extend`](crate::Limiter::extend).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "the decision is the usual result")]
pub enum Extension {
    /// The permit is open. A grant has the id of the permit with the greater charge; a refusal leaves the permit as it was.
    Decided(Decision),
    /// The permit is not open: `Already` settled, `Late` or `Unknown`, as for a correction. Nothing has changed.
    Closed(Settlement),
}

impl Extension {
    /// Returns whether the units are reserved.
    pub fn allowed(&self) -> bool {
        matches!(self, Self::Decided(decision) if decision.allowed())
    }

    /// Returns the decision; `None` for a permit that is not open.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Decided(decision) => Some(decision),
            Self::Closed(_) => None,
        }
    }
}
