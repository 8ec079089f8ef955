//! `AdminCommand`: an override or a pause of a running limiter, for all processes at once.

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::limit::Limit;
use crate::model::policy::Policy;

/// A point in time by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// A span from the call on, above zero and at most ten years.
    After(Micros),
    /// Microseconds since the Unix epoch, below 2^52.
    At(Micros),
}

impl Deadline {
    /// Returns the deadline that a caller gives as a span or as a time, each with the name of its argument; `None`
    /// without either.
    ///
    /// `Invalid` when both are given.
    pub fn either(span: (&'static str, Option<Micros>), time: (&'static str, Option<Micros>)) -> Result<Option<Self>> {
        match (span.1, time.1) {
            (Some(_), Some(_)) => Err(Error::invalid(time.0, "give a duration or an end time, not both")),
            (span, time) => Ok(span.map(Self::After).or(time.map(Self::At))),
        }
    }

    /// As [`either`](Self::either), but `Invalid` when neither is given.
    pub fn one_of(span: (&'static str, Option<Micros>), time: (&'static str, Option<Micros>)) -> Result<Self> {
        let missing = || Error::invalid(span.0, "is missing; give a duration or an end time");
        Self::either(span, time)?.ok_or_else(missing)
    }

    /// Checks the bounds; errors use the argument names for a span and for a time.
    pub(crate) fn check(self, (span_name, time_name): (&'static str, &'static str)) -> Result<()> {
        match self {
            Self::After(Micros(0)) => Err(Error::invalid(span_name, "must be above zero")),
            Self::After(span) if span > MAX_SPAN => Err(Error::invalid(span_name, "must be at most ten years")),
            Self::At(at) if at >= MAX_TIME => Err(Error::invalid(time_name, "must be below 2^52 microseconds")),
            _ => Ok(()),
        }
    }

    /// Returns the time, for a call at `now`.
    pub(crate) fn on(self, now: u64) -> u64 {
        match self {
            Self::After(span) => (now + span.0).min(MAX_TIME.0),
            Self::At(at) => at.0,
        }
    }
}

/// A command for [`Limiter::admin`](crate::Limiter::admin).
///
/// It applies from the next decision on, in every process. Waiters that can be granted earlier get a wake-up.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{AdminCommand, Deadline, Limit, LimitOverride, Micros, Paddlegate, Request};
/// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
/// let changes = [LimitOverride::Set(Limit::window(50, Duration::from_secs(60))?)];
/// let expires = Some(Deadline::After(Micros(3_600_000_000)));
/// let state = api.admin(AdminCommand::Override { changes: &changes, expires })?;
/// assert_eq!(state.expires_after, Some(Micros(3_600_000_000)));
/// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(50));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum AdminCommand<'a> {
    /// Returns the runtime state and changes nothing.
    Get,
    /// Refuses every call until this time. A pause that ends later stays in force.
    Pause(Deadline),
    /// Ends the pause.
    Resume,
    /// Overrides limits of the policy in every process.
    Override {
        /// One change for each limit of the policy.
        changes: &'a [LimitOverride],
        /// The end of all overrides, including earlier ones. Ignored unless `changes` sets a limit.
        ///
        /// `None` keeps the overrides until they are removed, or until no call was granted for 90 days.
        expires: Option<Deadline>,
    },
}

/// The change of the override of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LimitOverride {
    /// Leaves the current override unchanged.
    #[default]
    Keep,
    /// Removes the override; the limit learned from the upstream applies again, otherwise the policy.
    Remove,
    /// Overrides the limit. A lower limit ends no lease; levels are clamped to it.
    Set(Limit),
}

/// The pause, the overrides and the learned limits of a limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeState {
    /// A number that rises with every change; zero when nothing is in force.
    pub version: u64,
    /// Whether the store knew the limiter before this call: it had a state or statistics.
    ///
    /// False for a name that was never used, and for limits of other kinds than those in use under the name. An earlier
    /// command counts as a use.
    pub in_use: bool,
    /// How long the pause lasts from now; `None` without a pause.
    pub paused_for: Option<Micros>,
    /// The active override of each limit.
    pub overrides: Vec<Option<Limit>>,
    /// How long the overrides last from now; `None` when they last until they are removed.
    pub expires_after: Option<Micros>,
    /// The limit learned from the upstream, for each limit of the policy. It applies where no override is active.
    pub learned: Vec<Option<Limit>>,
}

impl AdminCommand<'_> {
    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        match self {
            Self::Get | Self::Resume => Ok(()),
            Self::Pause(moment) => moment.check(("for", "until")),
            Self::Override { changes, expires } => {
                expires.map_or(Ok(()), |moment| moment.check(("expires_in", "expires_at")))?;
                if changes.len() != policy.limits().len() {
                    let (given, limits) = (changes.len(), policy.limits().len());
                    let message = format!("must have one change for each limit: changes={given} limits={limits}");
                    return Err(Error::invalid("override", message));
                }
                for (change, limit) in changes.iter().zip(policy.limits()) {
                    match change {
                        LimitOverride::Set(other) if other.kind() != limit.kind() => {
                            let (other, kind) = (other.kind().name(), limit.kind().name());
                            let message = format!("must be of the kind of the limit: kind={other} limit={kind}");
                            return Err(Error::invalid("override", message));
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
        }
    }
}
