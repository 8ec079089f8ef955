//! `AdminCommand`: an override or a pause of a running limiter, for all processes at once.

use std::borrow::Cow;

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::base::sort_few::sort_few;
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::policy::Policy;

/// A point in time by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// A span from the call on, above zero and at most ten years.
    After(Micros),
    /// Microseconds since the Unix epoch, below 2^52.
    At(Micros),
    /// At a time, but at most a span from the call on.
    Within {
        /// Microseconds since the Unix epoch, below 2^52.
        at: Micros,
        /// At most ten years.
        most: Micros,
    },
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
            Self::At(at) | Self::Within { at, .. } if at >= MAX_TIME => {
                Err(Error::invalid(time_name, "must be below 2^52 microseconds"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the time, for a call at `now`.
    pub(crate) fn on(self, now: u64) -> u64 {
        match self {
            Self::After(span) => (now + span.0).min(MAX_TIME.0),
            Self::At(at) => at.0,
            // What is over is no pause.
            Self::Within { at, .. } if at.0 <= now => 0,
            Self::Within { at, most } => at.0.min(now + most.0),
        }
    }
}

/// Returns the error for an end that has passed by the clock of the store.
pub(crate) fn has_passed(argument: &'static str, end: u64, now: u64) -> Error {
    let message = format!("has passed by the clock of the store; give a later time: end_us={end} now_us={now}");
    Error::invalid(argument, message)
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
/// assert_eq!((state.overrides.len(), state.expires_after), (1, Some(Micros(3_600_000_000))));
/// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(50));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum AdminCommand<'a> {
    /// Returns the runtime state and changes nothing.
    Get,
    /// Refuses every call until this time. A pause that ends later stays in force. `Invalid` when the time has passed.
    Pause(Deadline),
    /// Refuses every call until this time, with the reason [`Blocked`](crate::Reason::Blocked): a pause of a key that was abused. A
    /// block that ends later stays in force. `Invalid` when the time has passed.
    Block(Deadline),
    /// Ends the pause and the block, and counts refusals anew.
    Resume,
    /// Overrides limits of the policy in every process.
    Override {
        /// The changes, by the labels and kinds of limits.
        changes: &'a [LimitOverride],
        /// The end of all overrides, including earlier ones; `Invalid` when it has passed. Ignored unless `changes` sets a limit
        /// or the mode.
        ///
        /// `None` keeps the overrides until they are removed, or until no call was granted for 90 days.
        expires: Option<Deadline>,
    },
}

/// A change of the overrides of a limiter. Overrides that it does not name stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitOverride {
    /// Overrides the limits of this name with this label and kind, in every policy that has one, now or later. It replaces
    /// an override of the label with another kind. A lower limit ends no lease; levels are clamped to it.
    Set(Limit),
    /// Removes the overrides of a label; the limit learned from the upstream applies again, otherwise the policy.
    Remove(Label),
    /// Removes all overrides.
    RemoveAll,
    /// Overrides the mode of every limiter of the name, whatever its own.
    Mode(Mode),
    /// Removes the override of the mode.
    RemoveMode,
}

/// The pause, the overrides and the learned limits of a limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeState {
    /// A number that rises with every change; zero when nothing is in force.
    pub version: u64,
    /// Whether the store knew the limiter before this call: it had a state or statistics.
    ///
    /// False for a name that was never used. An earlier command counts as a use.
    pub in_use: bool,
    /// How long the pause lasts from now; `None` without a pause.
    pub paused_for: Option<Micros>,
    /// How long the block lasts from now, by a command or by refusals; `None` without a block.
    pub blocked_for: Option<Micros>,
    /// The override of the mode, which lasts as long as the overrides of limits; `None` without one.
    pub mode: Option<Mode>,
    /// The active overrides, sorted by label; also of limits that the policy does not have.
    pub overrides: Vec<Limit>,
    /// How long the overrides last from now; `None` when they last until they are removed.
    pub expires_after: Option<Micros>,
    /// The limits learned from the upstream, sorted by label. They apply where no override is active.
    pub learned: Vec<Limit>,
}

impl AdminCommand<'_> {
    /// Returns the verb of the packages.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Get => "runtime_state",
            Self::Pause(_) => "pause",
            Self::Block(_) => "block",
            Self::Resume => "resume",
            Self::Override { changes, .. } if !changes.iter().any(LimitOverride::sets) => "restore",
            Self::Override { .. } => "override",
        }
    }

    /// Returns an error when the end that the command sets has passed at `now`. Twin of `admin.lua`.
    pub(crate) fn check_end(&self, now: u64) -> Result<()> {
        match self {
            Self::Pause(Deadline::At(end)) | Self::Block(Deadline::At(end)) if end.0 <= now => {
                Err(has_passed("until", end.0, now))
            }
            Self::Override { changes, expires: Some(end) }
                if end.on(now) <= now && changes.iter().any(LimitOverride::sets) =>
            {
                Err(has_passed("expires_at", end.on(now), now))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        match self {
            Self::Get | Self::Resume => Ok(()),
            Self::Pause(moment) | Self::Block(moment) => moment.check(("for", "until")),
            Self::Override { changes, expires } => {
                expires.map_or(Ok(()), |moment| moment.check(("expires_in", "expires_at")))?;
                if changes.is_empty() {
                    return Err(Error::invalid("limits", "changes nothing; give at least one limit"));
                }
                for (i, set) in changes.iter().enumerate().filter_map(|(i, change)| Some((i, change.limit()?))) {
                    let (label, kind) = (set.label(), set.kind());
                    let mut before = changes[..i].iter().filter_map(LimitOverride::limit);
                    if before.clone().any(|other| other.label() == label) {
                        return Err(Error::invalid("limits", format!("names a label twice: label={label}")));
                    }
                    if kind == Kind::Concurrency && before.any(|other| other.kind() == kind) {
                        return Err(Error::invalid("limits", "has two concurrency limits; override one at a time"));
                    }
                    if !kind.has_state() {
                        let message = format!("must be a limit that counts: label={label} kind={}", kind.name());
                        return Err(Error::invalid("limits", message));
                    }
                    let known = policy.limits().iter().find(|limit| limit.label() == label);
                    let calendars = known.and_then(Limit::calendar).zip(set.calendar());
                    if calendars.is_some_and(|(known, set)| known != set) {
                        let message = format!("changes the number of a quota, not its calendar: label={label}");
                        return Err(Error::invalid("limits", message));
                    }
                    if let Some(known) = known.filter(|known| known.kind() != kind) {
                        let (kind, known) = (kind.name(), known.kind().name());
                        let message =
                            format!("must be of the kind of the limit: label={label} kind={kind} limit={known}");
                        return Err(Error::invalid("limits", message));
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns the caller's policy with the limits that the command overrides and the policy does not have.
    pub(crate) fn policy<'a>(&self, own: &'a Policy) -> Result<Cow<'a, Policy>> {
        match self {
            Self::Override { changes, .. } => own.extended(changes.iter().filter_map(LimitOverride::limit)),
            _ => Ok(Cow::Borrowed(own)),
        }
    }
}

impl LimitOverride {
    /// Returns whether this sets an override, so that the end of all overrides is that of its command.
    pub(crate) const fn sets(&self) -> bool {
        matches!(self, Self::Set(_) | Self::Mode(_))
    }

    fn limit(&self) -> Option<&Limit> {
        match self {
            Self::Set(limit) => Some(limit),
            _ => None,
        }
    }
}

impl RuntimeState {
    pub(crate) fn sorted(mut self) -> Self {
        let is_before = |a: &Limit, b: &Limit| (&**a.label(), a.kind() as u8) < (&**b.label(), b.kind() as u8);
        sort_few(&mut self.overrides, is_before);
        sort_few(&mut self.learned, is_before);
        self
    }

    /// Returns the active override of a label.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{AdminCommand, Paddlegate};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// assert!(api.admin(AdminCommand::Get)?.override_of("window").is_none());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn override_of(&self, label: &str) -> Option<&Limit> {
        self.overrides.iter().find(|limit| **limit.label() == *label)
    }

    /// Returns the limit of a label that was learned from the upstream.
    pub fn learned_of(&self, label: &str) -> Option<&Limit> {
        self.learned.iter().find(|limit| **limit.label() == *label)
    }
}
