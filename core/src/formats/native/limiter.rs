//! `Limiter`: the limits of one name, and the handling of refused calls.

use serde::Serialize;

use super::kinds::{Bucket, Concurrency, Counted, Leaky, Points, Throttle, Window};
use super::span::Span;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::formats::Definition;
use crate::formats::field::Field;
use crate::model::limit::Limit;
use crate::model::on_limit::OnLimit;
use crate::model::policy::{MAX_LIMITS, Policy};

/// One limiter: one to eight limits, all charged or none. A kind is given once, or as a list of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// The maximum number of leases at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// A number of units in each aligned interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<OneOrMany<Bucket>>"))]
    pub bucket: Vec<Bucket>,
    /// A number of units in any interval, wherever it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<OneOrMany<Window>>"))]
    pub window: Vec<Window>,
    /// A burst, then the rate at which it drains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<OneOrMany<Leaky>>"))]
    pub leaky: Vec<Leaky>,
    /// A budget of points; calls estimate their cost and correct it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<OneOrMany<Points>>"))]
    pub points: Vec<Points>,
    /// A minimum time between two starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<OneOrMany<Throttle>>"))]
    pub throttle: Vec<Throttle>,
    /// No limit; true excludes all other limits. Default false.
    #[serde(skip_serializing_if = "is_false")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub unlimited: bool,
    /// Every call is refused; the other limits keep their state. Default false.
    #[serde(skip_serializing_if = "is_false")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub paused: bool,
    /// The maximum wait of a call, from 0 to ten years. Default: the caller's, 5 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Span>,
    /// How long statistics are kept after the last use, from 1 s to ten years. Default 90 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// The action for work that a limit refuses. Default `raise`.
    #[cfg_attr(feature = "schema", schemars(default))]
    pub on_limit: OnLimit,
}

impl Limiter {
    pub(super) fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&[
            "concurrency",
            "bucket",
            "window",
            "leaky",
            "points",
            "throttle",
            "unlimited",
            "paused",
            "wait_timeout",
            "ttl",
            "on_limit",
        ])?;
        let flag = |name| place.get(name).map_or(Ok(false), |flag| flag.boolean());
        let on_limit = |action: Field<'_>| action.text().and_then(|name| action.checked(OnLimit::from_name(name)));
        let limiter = Self {
            concurrency: place.get("concurrency").as_ref().map(Concurrency::checked).transpose()?,
            bucket: several(place, "bucket")?,
            window: several(place, "window")?,
            leaky: several(place, "leaky")?,
            points: several(place, "points")?,
            throttle: several(place, "throttle")?,
            unlimited: flag("unlimited")?,
            paused: flag("paused")?,
            wait_timeout: place.get("wait_timeout").as_ref().map(Span::read).transpose()?,
            ttl: place.get("ttl").as_ref().map(Span::read).transpose()?,
            on_limit: place.get("on_limit").map(on_limit).transpose()?.unwrap_or_default(),
        };
        place.checked(limiter.policy())?;
        if let (Some(ttl), Some(place)) = (limiter.ttl, place.get("ttl")) {
            place.checked(check_ttl(ttl))?;
        }
        Ok(limiter)
    }

    /// Returns the limits as a policy, in the order of the fields.
    pub fn policy(&self) -> Result<Policy> {
        let mut limits = Vec::new();
        limits.extend(self.concurrency.as_ref().map(Counted::limit));
        limits.extend(self.bucket.iter().map(Counted::limit));
        limits.extend(self.window.iter().map(Counted::limit));
        limits.extend(self.leaky.iter().map(Counted::limit));
        limits.extend(self.points.iter().map(Counted::limit));
        limits.extend(self.throttle.iter().map(Counted::limit));
        if self.paused {
            limits.push(Ok(Limit::paused()));
        }
        if self.unlimited {
            if !limits.is_empty() {
                return Err(Error::invalid("unlimited", "unlimited excludes other limits; remove it or them"));
            }
            limits.push(Ok(Limit::unlimited()));
        }
        if limits.is_empty() {
            return Err(Error::invalid(
                "limits",
                "has no limit; give concurrency, bucket, window, leaky, points or throttle, or unlimited or paused as true",
            ));
        }
        Policy::new(limits.into_iter().collect::<Result<Vec<Limit>>>()?)
    }

    pub(super) fn definition(&self, name: &str) -> Result<Definition> {
        if let Some(ttl) = self.ttl {
            check_ttl(ttl)?;
        }
        Ok(Definition {
            name: name.to_owned(),
            policy: self.policy()?,
            wait_timeout: self.wait_timeout.map(|Span(micros)| micros),
            ttl: self.ttl.map(|Span(micros)| micros),
            on_limit: self.on_limit,
        })
    }
}

/// One limit of this kind, or a list.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum OneOrMany<T> {
    One(T),
    #[schemars(extend("minItems" = 1, "maxItems" = MAX_LIMITS))]
    Many(Vec<T>),
}

fn several<T: Counted>(limiter: &Field<'_>, kind: &str) -> Result<Vec<T>> {
    let Some(place) = limiter.get(kind) else { return Ok(Vec::new()) };
    if place.is_object() {
        return Ok(vec![T::checked(&place)?]);
    }
    let places = place.list()?;
    if places.is_empty() || places.len() > MAX_LIMITS {
        return Err(place.fault(format!("must be an object or a list of 1 to {MAX_LIMITS}: limits={}", places.len())));
    }
    places.iter().map(T::checked).collect()
}

fn check_ttl(ttl: Span) -> Result<()> {
    if ttl.0 < Micros(1_000_000) {
        return Err(Error::invalid("ttl", format!("must be from one second to ten years: ttl_us={}", ttl.0.0)));
    }
    Ok(())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
