//! `Refund`: what a correction of a meter gives back.

use crate::base::error::{Error, Result};

/// What a correction to a lower cost gives back to a meter (`leaky`, `points`).
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Refund, Request, TestClock};
/// let granted = |refund| {
///     let clock = TestClock::new(Micros(0))?;
///     let limit = Limit::points(1_000, Duration::from_secs(20))?.with_refund(refund)?;
///     let shop = Paddlegate::memory_with_clock(&clock).limiter("shopify-42", Policy::new([limit])?)?;
///     let first = shop.try_acquire(Request::estimate(1_000))?.permit.unwrap();
///     clock.advance(Duration::from_secs(20))?;
///     shop.try_acquire(Request::estimate(1_000))?;
///     shop.correct(&first, 0)?;
///     Ok::<_, paddlegate::Error>(shop.peek(Request::cost(0))?.remaining)
/// };
/// assert_eq!(granted(Refund::Full)?, Some(1_000), "time and the correction gave back the same units");
/// assert_eq!(granted(Refund::Undrained)?, Some(0));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "documents", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Refund {
    /// The whole difference, as Shopify does: also units that have drained since the grant.
    #[default]
    Full,
    /// At most what cannot have drained since the grant: the estimate less all that the meter drains from the grant to the
    /// correction, in whole units.
    Undrained,
}

impl Refund {
    /// Returns the name: `full` or `undrained`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Undrained => "undrained",
        }
    }

    /// Returns the refund with this name; `Invalid` with the argument `refund` for another one.
    pub fn from_name(name: &str) -> Result<Self> {
        [Self::Full, Self::Undrained].into_iter().find(|refund| refund.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid("refund", format!("must be full or undrained: refund={shown:?}"))
        })
    }
}
