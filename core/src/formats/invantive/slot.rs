//! `Slot`: limits per second, minute and hour, and the effect of exceeding them.

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::formats::field::Field;
use crate::formats::{Definition, room};
use crate::model::limit::{Kind, Limit, MAX_UNITS};
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// A fixed window of a slot, aligned to the clock (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `ActionsPerSecond`.
    Second,
    /// `ActionsPerMinute`.
    Minute,
    /// `ActionsPerHour`.
    Hour,
}

/// The limits of a slot.
///
/// # Examples
///
/// ```
/// # use paddlegate::Micros;
/// # use paddlegate::formats::invantive::{Level, RateLimitControl};
/// let control = RateLimitControl::parse(r#"{ "RateLimitControlSlotList": [{
///     "Name": "web", "ActionsPerSecond": 2, "FailOnOverflowSecond": false, "DelayMsOnOverflowSecond": 300,
///     "ActionsPerHour": 1000
/// }] }"#)?;
/// let slot = &control.slots()[0];
/// assert_eq!((slot.soft()[0].level, slot.soft()[0].delay), (Level::Second, Micros(300_000)));
/// assert_eq!((slot.hard().unwrap().limits()[0].amount(), slot.hard_level("hour")), (1_000, Some(Level::Hour)));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    name: Option<String>,
    delays: Vec<(Level, Micros)>,
    hard: Option<Policy>,
    soft: Vec<Soft>,
}

/// A level that only delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Soft {
    /// The level.
    pub level: Level,
    /// The level's policy, charged separately: a refusal means that the action exceeds the level.
    ///
    /// Actions over a full window need not be counted, since the window ends with its interval. Paused when the level
    /// allows no actions: then every action exceeds it.
    pub policy: Policy,
    /// The delay of each action that exceeds the level.
    pub delay: Micros,
}

impl Level {
    /// All levels, shortest first.
    pub const ALL: [Self; 3] = [Self::Second, Self::Minute, Self::Hour];

    /// Returns the level's word in limiter names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
        }
    }

    /// Returns the length of the window.
    pub const fn interval(self) -> Micros {
        match self {
            Self::Second => Micros(1_000_000),
            Self::Minute => Micros(60_000_000),
            Self::Hour => Micros(3_600_000_000),
        }
    }

    /// The level's member names: actions, delay and fail flag.
    const fn members(self) -> [&'static str; 3] {
        match self {
            Self::Second => ["ActionsPerSecond", "DelayMsOnOverflowSecond", "FailOnOverflowSecond"],
            Self::Minute => ["ActionsPerMinute", "DelayMsOnOverflowMinute", "FailOnOverflowMinute"],
            Self::Hour => ["ActionsPerHour", "DelayMsOnOverflowHour", "FailOnOverflowHour"],
        }
    }
}

impl Slot {
    pub(super) fn read(field: &Field<'_>) -> Result<Self> {
        let members = Level::ALL.iter().flat_map(|level| level.members());
        field.object(&members.chain(["Description", "Name"]).collect::<Vec<_>>())?;
        if let Some(description) = field.get("Description") {
            description.text()?;
        }
        let mut slot = Self { name: name(field)?, delays: Vec::new(), hard: None, soft: Vec::new() };
        let mut hard = Vec::new();
        for level in Level::ALL {
            let [actions, delay, fail] = level.members();
            let delay = number(field, delay, MAX_SPAN.0 / 1_000)?.map_or(Micros(0), |ms| Micros(ms * 1_000));
            let fail = if field.has(fail) { field.need(fail)?.boolean()? } else { true };
            slot.delays.push((level, delay));
            let Some(actions) = number(field, actions, MAX_UNITS)? else { continue };
            let limit = if actions == 0 {
                Limit::paused()
            } else {
                Limit::bucket(actions, level.interval().duration()).map_err(|error| in_document(field, &error))?
            };
            if fail {
                hard.push(limit.labelled(level.name())?);
            } else {
                let policy = Policy::new([limit]).map_err(|error| in_document(field, &error))?;
                slot.soft.push(Soft { level, policy, delay });
            }
        }
        if !hard.is_empty() {
            slot.hard = Some(Policy::new(hard).map_err(|error| in_document(field, &error))?);
        }
        Ok(slot)
    }

    /// Returns `Name`; elements cannot refer to a slot without one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the levels that fail on overflow, as one policy: an action that one of them refuses counts in none.
    /// `None` when no level fails. A level that allows no actions pauses the whole policy.
    pub fn hard(&self) -> Option<Policy> {
        self.hard.clone()
    }

    /// Returns the level of a limit of [`hard`](Self::hard) by its label: `second`, `minute` or `hour`.
    pub fn hard_level(&self, label: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == label)
    }

    /// Returns the levels that fail, and of each whether it allows no actions, so that every action exceeds it.
    pub(super) fn hard_levels(&self) -> impl Iterator<Item = (Level, bool)> {
        let limits = self.hard.as_ref().map_or(&[][..], Policy::limits);
        limits.iter().filter_map(|limit| Some((self.hard_level(limit.label())?, limit.kind() == Kind::Paused)))
    }

    /// Returns the levels that only delay, shortest first.
    pub fn soft(&self) -> Vec<Soft> {
        self.soft.clone()
    }

    /// Returns the delay of a response when the level overflows, also of a failure. Default zero.
    pub fn delay_of(&self, level: Level) -> Micros {
        self.delays.iter().find(|(known, _)| *known == level).map_or(Micros(0), |(_, delay)| *delay)
    }

    pub(super) fn definitions(&self) -> Vec<Definition> {
        let Some(name) = &self.name else { return Vec::new() };
        let define = |name: String, policy: &Policy, on_limit| Definition {
            name,
            policy: policy.clone(),
            wait_timeout: None,
            ttl: None,
            group: None,
            keyed: false,
            statistics: true,
            on_limit,
        };
        let hard = self.hard.iter().map(|policy| define(hard_name(name), policy, OnLimit::Raise));
        let soft = self.soft.iter().map(|soft| define(soft_name(name, soft.level), &soft.policy, OnLimit::Wait));
        hard.chain(soft).collect()
    }
}

pub(super) fn hard_name(slot: &str) -> String {
    format!("invantive/fail/{slot}")
}

pub(super) fn soft_name(slot: &str, level: Level) -> String {
    format!("invantive/{}/{slot}", level.name())
}

fn name(field: &Field<'_>) -> Result<Option<String>> {
    const MOST: usize = room("invantive/second/");
    let Some(field) = field.get("Name") else { return Ok(None) };
    let name = field.text()?;
    if name.is_empty() || name.len() > MOST {
        return Err(field.fault(format!("must have 1 to {MOST} bytes: bytes={}", name.len())));
    }
    Ok(Some(name.to_owned()))
}

fn number(field: &Field<'_>, name: &str, most: u64) -> Result<Option<u64>> {
    let Some(field) = field.get(name) else { return Ok(None) };
    let number = field.integer()?;
    if number > most {
        return Err(field.fault(format!("must be from 0 to {most}, or null: {name}={number}")));
    }
    Ok(Some(number))
}

fn in_document(field: &Field<'_>, error: &Error) -> Error {
    field.fault(error.message())
}
