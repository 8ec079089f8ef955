//! `Control`: what is ordered while a limiter runs, other numbers or a pause, for all processes at once. Twin of
//! `control.lua`.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::limit::{Kind, Limit};
use crate::micros::{MAX_SPAN, MAX_TIME, Micros};
use crate::permit::PERMIT_TIMEOUT;
use crate::policy::Policy;
use crate::statistics::TTL;

/// A moment by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// So long from the call on; at most ten years.
    After(Micros),
    /// Microseconds since 1970.
    At(Micros),
}

impl Moment {
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

/// What [`Limiter::control`](crate::Limiter::control) does. The first decision after it obeys, in every process; those
/// who wait are told.
#[derive(Clone, Copy, Debug)]
pub enum Control<'a> {
    /// Changes nothing and answers what is in force.
    Look,
    /// Nothing is granted until then. A pause that ends later stays as it is.
    Pause(Moment),
    /// Ends a pause.
    Resume,
    /// Puts other numbers before those of every policy.
    Override {
        /// One for each limit of the policy.
        changes: &'a [Change],
        /// Until when; it holds for everything that is overridden, also before. Without it they hold until they are removed,
        /// or for 90 days in which nobody is granted anything. Nothing where nothing is set.
        expires: Option<Moment>,
    },
}

/// What becomes of the numbers of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Change {
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
pub struct Controls {
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

impl Control<'_> {
    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        match self {
            Self::Look | Self::Resume => Ok(()),
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
                        Change::Set(other) if other.kind() != limit.kind() => {
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

/// What is stored of all this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    pub(crate) version: u64,
    /// Until when nothing passes.
    pub(crate) pause: u64,
    /// Until when `told` holds.
    pub(crate) until: u64,
    /// The time of the call whose answer was learned from last.
    pub(crate) synced: u64,
    pub(crate) told: Vec<Option<Limit>>,
    pub(crate) learned: Vec<Option<Limit>>,
}

impl Orders {
    pub(crate) fn new(policy: &Policy) -> Self {
        let none = vec![None; policy.limits().len()];
        Self { told: none.clone(), learned: none, ..Self::default() }
    }

    /// The numbers that rule for who comes with this policy.
    pub(crate) fn policy<'a>(&self, own: &'a Policy, now: u64) -> Cow<'a, Policy> {
        let told = |i: usize| self.told.get(i).and_then(Option::as_ref).filter(|_| self.until > now);
        let learned = |i: usize| self.learned.get(i).and_then(Option::as_ref);
        if (0..own.limits().len()).all(|i| told(i).is_none() && learned(i).is_none()) {
            return Cow::Borrowed(own);
        }
        Cow::Owned(own.with(|i, limit| {
            match (told(i), learned(i)) {
                // A bucket ends where upstream's does.
                (Some(told), Some(learned)) if told.kind() == Kind::Bucket && told.interval() == learned.interval() => {
                    Limit::of_kind(Kind::Bucket, told.amount(), told.interval(), learned.offset())
                        .unwrap_or_else(|_| told.clone())
                }
                (told, learned) => told.or(learned).unwrap_or(limit).clone(),
            }
        }))
    }

    /// When the override of one limit ends, if it is in force and has an end.
    #[inline]
    pub(crate) fn end(&self, i: usize, now: u64) -> Option<u64> {
        let is_told = self.until > now && self.until < MAX_TIME.0 && self.told.get(i).is_some_and(Option::is_some);
        is_told.then_some(self.until)
    }

    /// For how long forgetting these would change a decision, after a call at `last`.
    pub(crate) fn matter(&self, last: u64, now: u64) -> bool {
        let told = self.told.iter().any(Option::is_some) && self.until > now;
        let kept = last + TTL.0 > now && self.learned.iter().any(Option::is_some);
        self.pause > now || kept || told && (self.until < MAX_TIME.0 || last + TTL.0 > now)
    }

    /// Whether there is anything to say.
    pub(crate) fn hold(&self, now: u64) -> bool {
        let told = self.until > now && self.told.iter().any(Option::is_some);
        told || self.pause > now || self.learned.iter().any(Option::is_some) || self.synced + PERMIT_TIMEOUT.0 > now
    }

    pub(crate) fn obey(&mut self, control: &Control<'_>, now: u64) {
        match control {
            Control::Look => return,
            Control::Pause(moment) => self.pause = self.pause.max(moment.on(now)),
            Control::Resume => self.pause = 0,
            Control::Override { changes, expires } => {
                if self.until <= now {
                    self.told.fill(None);
                }
                if changes.iter().any(|change| matches!(change, Change::Set(_))) {
                    self.until = expires.map_or(MAX_TIME.0, |moment| moment.on(now));
                }
                for (told, change) in self.told.iter_mut().zip(*changes) {
                    match change {
                        Change::Keep => {}
                        Change::Remove => *told = None,
                        Change::Set(limit) => *told = Some(limit.clone()),
                    }
                }
            }
        }
        self.changed(now);
    }

    pub(crate) fn changed(&mut self, now: u64) {
        self.version = now.max(self.version + 1);
    }

    pub(crate) fn controls(&self, now: u64) -> Controls {
        let span = |until: u64| (until > now).then(|| Micros(until - now));
        let overrides = if self.until > now { self.told.clone() } else { vec![None; self.told.len()] };
        let lasts = overrides.iter().any(Option::is_some) && self.until < MAX_TIME.0;
        Controls {
            version: if self.hold(now) { self.version } else { 0 },
            in_use: false,
            paused_for: span(self.pause),
            expires_after: span(self.until).filter(|_| lasts),
            overrides,
            learned: self.learned.clone(),
        }
    }
}
