//! `LimitCheck`: what every kind of limit answers.

/// The answer of one limit to one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitCheck {
    /// The count, the level or the number of live entries, with the change if it was made.
    pub(crate) level: u64,
    /// Microseconds until the cost fits; 0 when it fits now.
    pub(crate) wait: u64,
    /// What is left of the limit.
    pub(crate) remaining: u64,
    /// Microseconds until all of the limit is there again.
    pub(crate) reset: u64,
}
