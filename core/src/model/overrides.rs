//! `AdminCommand`: what is ordered while a limiter runs, other numbers or a pause, for all processes at once. Twin of
//! `control.lua`.

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::model::limit::Limit;
use crate::model::policy::Policy;

/// A moment by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// So long from the call on; at most ten years.
    After(Micros),
    /// Microseconds since 1970.
    At(Micros),
}

impl Deadline {
    /// The names are those of the arguments for a span and for a time.
    pub(crate) fn check(self, (span_name, time_name): (&'static str, &'static str)) -> Result<()> {
        match self {
            Self::After(Micros(0)) => Err(Error::invalid(span_name, "must be above zero")),
            Self::After(span) if span > MAX_SPAN => Err(Error::invalid(span_name, "must be at most ten years")),
            Self::At(at) if at >= MAX_TIME => Err(Error::invalid(time_name, "must be below 2^52 microseconds")),
            _ => Ok(()),
        }
    }

    /// The time that it is.
    pub(crate) fn on(self, now: u64) -> u64 {
        match self {
            Self::After(span) => (now + span.0).min(MAX_TIME.0),
            Self::At(at) => at.0,
        }
    }
}

/// What [`Limiter::admin`](crate::Limiter::admin) does. The first decision after it obeys, in every process; those
/// who wait are told.
#[derive(Clone, Copy, Debug)]
pub enum AdminCommand<'a> {
    /// Changes nothing and answers what is in force.
    Get,
    /// Nothing is granted until then. A pause that ends later stays as it is.
    Pause(Deadline),
    /// Ends a pause.
    Resume,
    /// Puts other numbers before those of every policy.
    Override {
        /// One for each limit of the policy.
        changes: &'a [LimitOverride],
        /// Until when; it holds for everything that is overridden, also before. Without it they hold until they are removed,
        /// or for 90 days in which nobody is granted anything. Nothing where nothing is set.
        expires: Option<Deadline>,
    },
}

/// What becomes of the numbers of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LimitOverride {
    /// What was told before holds.
    #[default]
    Keep,
    /// The policy, or what was learned from upstream, rules again.
    Remove,
    /// These rule. A lower limit evicts nobody; levels are clamped.
    Set(Limit),
}

/// What is in force beside the policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeState {
    /// Rises with every change; zero when nothing is in force.
    pub version: u64,
    /// Whether the store knew the limiter before this call: it had a state or statistics. False for a name that nobody has used,
    /// and for limits of other kinds than those in use under it; an earlier order counts as a use.
    pub in_use: bool,
    /// How long the pause lasts.
    pub paused_for: Option<Micros>,
    /// Per limit what was told, and rules.
    pub overrides: Vec<Option<Limit>>,
    /// How long that holds; nothing when it holds until it is removed.
    pub expires_after: Option<Micros>,
    /// Per limit what was learned from upstream, and rules where nothing was told.
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
                    let message = format!("must say something of every limit: changes={given} limits={limits}");
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
