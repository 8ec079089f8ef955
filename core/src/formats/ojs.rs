//! Open Job Spec: the rate limit policy of a job or a queue.
//!
//! A `rate` is a sliding window: at most `limit` starts in any half-open interval of one period. A window stores every
//! start, so above 100,000 a `rate` is a bucket: at most `limit` starts in each aligned period, and up to twice that
//! across a boundary. `ojs-rate-limiting.md` 1.0.0-rc.1 allows both and asks for the choice to be documented.

mod amend;
mod key;
mod override_procedure;
mod pause_procedure;
mod signal;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::amend::{Change, Expiry, Override};
pub use self::override_procedure::OverrideProcedure;
pub use self::pause_procedure::{PauseProcedure, SIGNAL_PAUSE};
pub use self::signal::Signal;

use super::Definition;
use super::field::Field;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::base::period;
use crate::model::limit::{Kind, LOCK_TIMEOUT, Limit, MAX_WINDOW};
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// A rate limit policy. A job starts only if all of its strategies permit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The key that jobs with shared limits have in common; `None` for the policy of a queue.
    pub key: Option<String>,
    /// The queue of the job that carried a policy without a key; `default` when the job names none.
    pub queue: Option<String>,
    /// The maximum number of active jobs, 0 to 100,000; 0 pauses.
    pub concurrency: Option<u64>,
    /// The maximum number of starts per period.
    pub rate: Option<Rate>,
    /// The starts per period, evenly spaced.
    pub throttle: Option<Rate>,
    /// The handling of refused jobs: `wait` (default), `reschedule` or `drop`.
    pub on_limit: OnLimit,
    /// The lifetime of a lease: `visibility_timeout_ms`, or `visibility_timeout` in seconds, of the job or the queue.
    pub lease: Option<Micros>,
}

/// At most `limit` starts per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// From one.
    pub limit: u64,
    /// From one microsecond to ten years.
    pub period: Micros,
}

impl RateLimit {
    /// Parses a policy, a job that has one as `rate_limit` or `options.rate_limit`, or a queue configuration with
    /// `rate_limit` and `concurrency`.
    ///
    /// Accepted shapes: `key` with `concurrency`, `rate` and `throttle`; `key` with an integer `rate` and a `period` in
    /// words; `max_per_second` alone; `limit` with `period`, for a queue. A job with two different policies is an
    /// error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Micros;
    /// # use paddlegate::formats::ojs::{Rate, RateLimit};
    /// let rate = Some(Rate { limit: 100, period: Micros(60_000_000) });
    /// let policy = r#"{ "key": "stripe", "concurrency": 5, "rate": { "limit": 100, "period": "PT1M" } }"#;
    /// let policy = RateLimit::parse(policy)?;
    /// assert_eq!((policy.concurrency, policy.rate), (Some(5), rate));
    /// let job = r#"{ "options": { "rate_limit": { "key": "stripe", "rate": 100, "period": "minute" } } }"#;
    /// let job = RateLimit::parse(job)?;
    /// assert_eq!((job.key.as_deref(), job.rate), (Some("stripe"), rate));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let root = Field::root(value);
        let options = root.get("options").filter(Field::is_object);
        let inner = options.as_ref().filter(|options| options.has("rate_limit"));
        if !root.has("rate_limit") && inner.is_none() {
            return Self::policy_at(&root);
        }
        let read = |place: Option<Field<'_>>| place.map(|place| Self::policy_at(&place)).transpose();
        let top = read(root.get("rate_limit"))?;
        let mut policy = match (top, read(inner.and_then(|options| options.get("rate_limit")))?) {
            (Some(one), Some(other)) if one != other => {
                return Err(root.fault("rate_limit and options.rate_limit differ; give one of them"));
            }
            (Some(policy), _) | (None, Some(policy)) => policy,
            (None, None) => return Err(root.fault("the rate_limit is null; leave it out or give a policy")),
        };
        read_beside(&root, &mut policy)?;
        policy.lease = lease(&root, options.as_ref())?;
        if policy.key.is_none() {
            let queue = options.and_then(|options| options.get("queue")).or_else(|| root.get("queue"));
            policy.queue = Some(queue.map_or_else(|| Ok("default".to_owned()), |queue| key::read(&queue))?);
        }
        Ok(policy)
    }

    /// Returns the limits as a policy, unlimited without any strategy. `lock_timeout` is the lifetime of an active
    /// job's lease that is not renewed.
    ///
    /// All policies of one key share its active jobs, its starts and its overrides, whatever strategies they have. Moving
    /// a `rate` across 100,000 starts a new counter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Kind, Limit, Micros};
    /// # use paddlegate::formats::ojs::RateLimit;
    /// let text = r#"{ "key": "stripe", "concurrency": 5, "throttle": { "interval": "PT0.1S" } }"#;
    /// let policy = RateLimit::parse(text)?.policy(Micros(30_000_000))?;
    /// let kinds: Vec<Kind> = policy.limits().iter().map(Limit::kind).collect();
    /// assert_eq!(kinds, [Kind::Concurrency, Kind::Throttle]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn policy(&self, lock_timeout: Micros) -> Result<Policy> {
        let mut limits = Vec::new();
        if let Some(limit) = self.concurrency {
            limits.push(Limit::of_kind(Kind::Concurrency, limit, lock_timeout, Micros(0))?);
        }
        if let Some(rate) = self.rate {
            limits.push(rate.limit()?);
        }
        if let Some(rate) = self.throttle {
            limits.push(throttle(rate)?);
        }
        if limits.is_empty() {
            limits.push(Limit::unlimited());
        }
        Policy::new(limits)
    }

    /// Returns the name of the limiter: `ojs/key/KEY`, or `ojs/queue/QUEUE` for the policy of a queue; for a tenant
    /// `ojs/tenant/TENANT/key/KEY` or `ojs/tenant/TENANT/queue/QUEUE`. A policy with neither key nor queue is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::formats::ojs::RateLimit;
    /// let stripe = RateLimit::parse(r#"{ "key": "stripe", "concurrency": 5 }"#)?;
    /// assert_eq!(stripe.limiter_name(None)?, "ojs/key/stripe");
    /// assert_eq!(stripe.limiter_name(Some("acme"))?, "ojs/tenant/acme/key/stripe");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiter_name(&self, tenant: Option<&str>) -> Result<String> {
        match (&self.key, &self.queue) {
            (Some(key), _) => key::limiter_name(tenant, "key", key),
            (None, Some(queue)) => key::limiter_name(tenant, "queue", queue),
            (None, None) => {
                Err(Error::invalid("document", "at $.key: is missing, and there is no queue to take its place"))
            }
        }
    }

    /// Returns its one limiter, without a tenant.
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        Ok(vec![self.definition(None, None)?])
    }

    /// Returns the limiter of a tenant. A lease lasts `lock_timeout`, otherwise the document's value, otherwise 30
    /// seconds. See [`RateLimit::limiter_name`] and [`RateLimit::policy`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Micros, OnLimit};
    /// # use paddlegate::formats::ojs::RateLimit;
    /// let job = r#"{ "rate_limit": { "key": "stripe", "concurrency": 5 }, "visibility_timeout": 60 }"#;
    /// let definition = RateLimit::parse(job)?.definition(None, None)?;
    /// assert_eq!(definition.policy.limits()[0].interval(), Micros(60_000_000), "the lifetime of a lease");
    /// assert_eq!(definition.on_limit, OnLimit::Wait);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn definition(&self, tenant: Option<&str>, lock_timeout: Option<Micros>) -> Result<Definition> {
        Ok(Definition {
            name: self.limiter_name(tenant)?,
            policy: self.policy(lock_timeout.or(self.lease).unwrap_or(LOCK_TIMEOUT))?,
            wait_timeout: None,
            ttl: None,
            group: None,
            keyed: false,
            statistics: true,
            on_limit: self.on_limit,
        })
    }

    fn policy_at(place: &Field<'_>) -> Result<Self> {
        place.object(&["key", "concurrency", "rate", "period", "throttle", "on_limit", "max_per_second", "limit"])?;
        let of_queue = place.get("max_per_second").or_else(|| place.get("limit")).is_some();
        let key = if of_queue { place.get("key") } else { Some(place.need("key")?) };
        Ok(Self {
            key: key.as_ref().map(key::read).transpose()?,
            queue: None,
            concurrency: place.get("concurrency").as_ref().map(concurrency_at).transpose()?,
            rate: rate_of(place)?,
            throttle: place.get("throttle").as_ref().map(throttle_at).transpose()?,
            on_limit: place.get("on_limit").as_ref().map(on_limit_at).transpose()?.unwrap_or(OnLimit::Wait),
            lease: None,
        })
    }
}

impl Rate {
    /// Returns a window up to 100,000, otherwise a bucket, with the label `rate`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Kind, Micros};
    /// # use paddlegate::formats::ojs::Rate;
    /// let rate = |limit| Rate { limit, period: Micros(60_000_000) };
    /// assert_eq!(rate(100_000).limit()?.kind(), Kind::Window);
    /// assert_eq!(rate(100_001).limit()?.kind(), Kind::Bucket);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limit(self) -> Result<Limit> {
        let kind = if self.limit > MAX_WINDOW { Kind::Bucket } else { Kind::Window };
        Limit::of_kind(kind, self.limit, self.period, Micros(0))?.labelled("rate")
    }

    fn checked(self, place: &Field<'_>) -> Result<Self> {
        place.checked(self.limit()).map(|_| self)
    }
}

/// Reads the `concurrency` of a queue beside its `rate_limit`. Other policy members there are errors, since they would
/// be ignored.
fn read_beside(root: &Field<'_>, policy: &mut RateLimit) -> Result<()> {
    const LOST: [&str; 7] = ["key", "rate", "period", "throttle", "max_per_second", "limit", "on_limit"];
    if let Some(lost) = LOST.into_iter().find_map(|name| root.get(name)) {
        return Err(lost.fault("stands beside rate_limit; put it into the rate_limit"));
    }
    if let Some(place) = root.get("concurrency") {
        let concurrency = concurrency_at(&place)?;
        if policy.concurrency.is_some_and(|known| known != concurrency) {
            return Err(place.fault("differs from the value in rate_limit; give one of them"));
        }
        policy.concurrency = Some(concurrency);
    }
    Ok(())
}

/// Reads the lifetime of a lease from the job or its options.
fn lease(root: &Field<'_>, options: Option<&Field<'_>>) -> Result<Option<Micros>> {
    let mut lease = None;
    for (name, unit) in [("visibility_timeout_ms", 1_000), ("visibility_timeout", 1_000_000)] {
        for place in [Some(root), options].into_iter().flatten().filter_map(|place| place.get(name)) {
            let span = place.integer()?.checked_mul(unit).filter(|span| (1..=MAX_SPAN.0).contains(span));
            let span = span.ok_or_else(|| place.fault("must be above zero and at most ten years"))?;
            if lease.is_some_and(|known| known != Micros(span)) {
                return Err(place.fault("differs from another visibility timeout here; give one of them"));
            }
            lease = Some(Micros(span));
        }
    }
    Ok(lease)
}

/// Reads the rate of a policy in any of its four shapes.
fn rate_of(policy: &Field<'_>) -> Result<Option<Rate>> {
    let (rate, limit, most) = (policy.get("rate"), policy.get("limit"), policy.get("max_per_second"));
    if [&rate, &limit, &most].into_iter().flatten().count() > 1 {
        return Err(policy.fault("give one of rate, limit and max_per_second"));
    }
    let counted = match rate {
        Some(rate) if rate.is_object() => {
            if let Some(period) = policy.get("period") {
                return Err(period.fault("must not be given here; the rate has its own period"));
            }
            return rate_at(&rate).map(Some);
        }
        rate => rate.or(limit),
    };
    if let Some(most) = most {
        if let Some(period) = policy.get("period") {
            return Err(period.fault("must not be given with max_per_second, whose period is one second"));
        }
        return Rate { limit: most.integer()?, period: Micros(1_000_000) }.checked(&most).map(Some);
    }
    match (counted, policy.get("period")) {
        (Some(limit), Some(period)) => {
            Rate { limit: limit.integer()?, period: period.period(period::period)? }.checked(&limit).map(Some)
        }
        (Some(limit), None) => Err(limit.fault("needs a period beside it")),
        (None, Some(period)) => Err(period.fault("has no limit beside it")),
        (None, None) => Ok(None),
    }
}

fn concurrency_at(place: &Field<'_>) -> Result<u64> {
    let most = place.integer()?;
    place.checked(Limit::of_kind(Kind::Concurrency, most, LOCK_TIMEOUT, Micros(0)))?;
    Ok(most)
}

/// Reads `{"limit": 100, "period": "PT1M"}`.
fn rate_at(place: &Field<'_>) -> Result<Rate> {
    place.object(&["limit", "period"])?;
    let limit = place.need("limit")?;
    let period = place.need("period")?.period(period::iso8601)?;
    Rate { limit: limit.integer()?, period }.checked(&limit)
}

/// Reads `{"interval": "PT0.1S"}`, or a `limit` of starts per `period`.
fn throttle_at(place: &Field<'_>) -> Result<Rate> {
    place.object(&["interval", "limit", "period"])?;
    let rate = match (place.get("interval"), place.get("limit"), place.get("period")) {
        (Some(interval), None, None) => Rate { limit: 1, period: interval.period(period::iso8601)? },
        (None, Some(limit), Some(period)) => {
            let (starts, period) = (limit.integer()?, period.period(period::iso8601)?);
            if starts == 0 || starts > period.0 {
                return Err(limit.fault(format!("must be from 1 to one start per microsecond: limit={starts}")));
            }
            Rate { limit: starts, period }
        }
        (Some(_), ..) => return Err(place.fault("give either interval or limit and period")),
        _ => return Err(place.fault("needs interval, or limit and period")),
    };
    place.checked(throttle(rate))?;
    Ok(rate)
}

fn throttle(rate: Rate) -> Result<Limit> {
    Limit::of_kind(Kind::Throttle, rate.limit, rate.period, Micros(0))
}

fn on_limit_at(place: &Field<'_>) -> Result<OnLimit> {
    match OnLimit::from_name(place.text()?) {
        Ok(action @ (OnLimit::Wait | OnLimit::Reschedule | OnLimit::Drop)) => Ok(action),
        _ => Err(place.fault("must be wait, reschedule or drop")),
    }
}
