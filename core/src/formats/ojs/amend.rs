//! `Override`: new limits at run time.

use serde_json::Value;

use super::{Rate, concurrency_at, rate_at, throttle, throttle_at};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::base::{json, period};
use crate::formats::field::Field;
use crate::model::limit::{Kind, Limit};

/// The body of `PUT /ojs/v1/rate-limits/{key}`: overrides the strategies it names and leaves the others unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The maximum number of active jobs; 0 pauses.
    pub concurrency: Change,
    /// The maximum number of starts per period.
    pub rate: Change,
    /// The minimum time between two starts.
    pub throttle: Change,
    /// The end of all overrides. Parsing accepts a past time.
    pub expires_at: Expiry,
}

/// The change of one strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Not given: leaves the override unchanged.
    Keep,
    /// Null: removes the override.
    Remove,
    /// Overrides the strategy.
    Set(Limit),
}

/// The end of the overrides in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Not given: leaves the current end unchanged.
    Keep,
    /// The overrides last until they are removed.
    Never,
    /// The overrides end at this time since the Unix epoch.
    At(Micros),
}

impl Override {
    /// Parses `concurrency`, `rate`, `throttle` and `expires_at`, each optional; null removes that strategy's override.
    ///
    /// `limit` with `period` is another notation of `rate`. `lock_timeout` is the lifetime of an active job's lease.
    /// Unknown members and a body without members are errors.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros};
    /// # use paddlegate::formats::ojs::{Change, Expiry, Override};
    /// let change = Override::parse(r#"{ "concurrency": 2, "throttle": null }"#, Micros(30_000_000))?;
    /// assert_eq!(change.concurrency, Change::Set(Limit::concurrency(2, Duration::from_secs(30))?));
    /// assert_eq!((change.rate, change.throttle), (Change::Keep, Change::Remove));
    /// assert_eq!(change.expires_at, Expiry::Keep);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(text: &str, lock_timeout: Micros) -> Result<Self> {
        Self::read(&json::parse(text)?, lock_timeout)
    }

    pub(crate) fn read(value: &Value, lock_timeout: Micros) -> Result<Self> {
        const MEMBERS: [&str; 6] = ["concurrency", "rate", "throttle", "limit", "period", "expires_at"];
        let root = Field::root(value);
        root.object(&MEMBERS)?;
        if !MEMBERS.into_iter().any(|name| root.has(name)) {
            return Err(root.fault("changes nothing; give concurrency, rate, throttle or expires_at"));
        }
        Ok(Self {
            concurrency: change(&root, "concurrency", |place| {
                let most = concurrency_at(place)?;
                place.checked(Limit::of_kind(Kind::Concurrency, most, lock_timeout, Micros(0)))
            })?,
            rate: rate_of(&root)?,
            throttle: change(&root, "throttle", |place| place.checked(throttle(throttle_at(place)?)))?,
            expires_at: match root.get("expires_at") {
                Some(time) => Expiry::At(time.time()?),
                None if root.has("expires_at") => Expiry::Never,
                None => Expiry::Keep,
            },
        })
    }
}

fn change(root: &Field<'_>, name: &str, read: impl FnOnce(&Field<'_>) -> Result<Limit>) -> Result<Change> {
    match root.get(name) {
        Some(place) => read(&place).map(Change::Set),
        None if root.has(name) => Ok(Change::Remove),
        None => Ok(Change::Keep),
    }
}

fn rate_of(root: &Field<'_>) -> Result<Change> {
    if !root.has("limit") && !root.has("period") {
        return change(root, "rate", |place| place.checked(rate_at(place)?.limit()));
    }
    if root.has("rate") {
        return Err(root.fault("give either rate or limit and period"));
    }
    match (root.get("limit"), root.get("period")) {
        (None, None) => Ok(Change::Remove),
        (Some(limit), Some(period)) => {
            let rate = Rate { limit: limit.integer()?, period: period.period(period::period)? };
            limit.checked(rate.limit()).map(Change::Set)
        }
        (Some(limit), None) => Err(limit.fault("needs a period beside it")),
        (None, Some(period)) => Err(period.fault("needs a limit beside it")),
    }
}
