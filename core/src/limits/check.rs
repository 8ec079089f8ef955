//! `LimitCheck`: the result that every kind of limit returns.

/// The result of one limit for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitCheck {
    /// The count, the meter level or the number of live entries. Includes an applied change, except in a window.
    pub(crate) level: u64,
    /// Microseconds until the cost fits; 0 when it fits now.
    pub(crate) wait: u64,
    /// The remaining units of the limit.
    pub(crate) remaining: u64,
    /// Microseconds until all units of the limit are available again.
    pub(crate) reset: u64,
}
