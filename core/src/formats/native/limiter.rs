//! `Limiter`: the limits of one name, and the handling of refused calls.

use std::collections::BTreeMap;

use serde::Serialize;

use super::block_after::BlockAfter;
use super::kinds::{Bucket, Concurrency, Counted, Labelled, Leaky, Points, Quota, Throttle, Window};
use super::span::Span;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::client::limiter::check_group;
use crate::formats::Definition;
use crate::formats::field::Field;
use crate::model::label::Label;
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::on_limit::OnLimit;
use crate::model::policy::Policy;

/// One limiter: one to eight limits, all charged or none. A kind is a member, its label the name of the kind; `limits` has
/// further ones by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// The maximum number of leases at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// A number of units in each aligned interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Bucket>,
    /// A number of units in any interval, wherever it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// A burst, then the rate at which it drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaky: Option<Leaky>,
    /// A budget of points; calls estimate their cost and correct it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// A minimum time between two starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
    /// A number of units in each period of the calendar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// Limits by their labels: a lower-case letter, then up to 31 lower-case letters, digits, `_` and `-`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(default, extend("maxProperties" = crate::model::policy::MAX_LIMITS, "propertyNames" = {"pattern": "^[a-z][a-z0-9_-]{0,31}$"}))
    )]
    pub limits: BTreeMap<String, Labelled>,
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
    /// The group, 1 to 512 bytes: the same for limiters that decide together in a cluster, and for a name in all programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = crate::client::limiter::MAX_NAME)))]
    pub group: Option<String>,
    /// Whether the limiter has a state for each key, which every call then gives. Default false.
    #[serde(skip_serializing_if = "is_false")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub keyed: bool,
    /// Whether the limiter keeps statistics and is in the list of limiters. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<bool>,
    /// `shadow` refuses nobody: calls above a limit are granted and say so. Default `enforce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub mode: Option<Mode>,
    /// How many refusals block a key, or a name without keys. Default: none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_after: Option<BlockAfter>,
    /// After each such time a call that waits gets the next higher priority, from 1 s to 7 days. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aging: Option<Span>,
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
            "quota",
            "limits",
            "unlimited",
            "paused",
            "wait_timeout",
            "ttl",
            "group",
            "keyed",
            "statistics",
            "mode",
            "block_after",
            "aging",
            "on_limit",
        ])?;
        let flag = |name| place.get(name).map_or(Ok(false), |flag| flag.boolean());
        let mode = |mode: Field<'_>| mode.text().and_then(|name| mode.checked(Mode::from_name(name)));
        let on_limit = |action: Field<'_>| action.text().and_then(|name| action.checked(OnLimit::from_name(name)));
        let limiter = Self {
            concurrency: place.get("concurrency").as_ref().map(Concurrency::checked).transpose()?,
            bucket: place.get("bucket").as_ref().map(Bucket::checked).transpose()?,
            window: place.get("window").as_ref().map(Window::checked).transpose()?,
            leaky: place.get("leaky").as_ref().map(Leaky::checked).transpose()?,
            points: place.get("points").as_ref().map(Points::checked).transpose()?,
            throttle: place.get("throttle").as_ref().map(Throttle::checked).transpose()?,
            quota: place.get("quota").as_ref().map(Quota::checked).transpose()?,
            limits: place.get("limits").map_or(Ok(BTreeMap::new()), |limits| labelled(&limits))?,
            unlimited: flag("unlimited")?,
            paused: flag("paused")?,
            wait_timeout: place.get("wait_timeout").as_ref().map(Span::read).transpose()?,
            ttl: place.get("ttl").as_ref().map(Span::read).transpose()?,
            group: place.get("group").as_ref().map(group).transpose()?,
            keyed: flag("keyed")?,
            statistics: place.get("statistics").map(|flag| flag.boolean()).transpose()?,
            mode: place.get("mode").map(mode).transpose()?,
            block_after: place.get("block_after").as_ref().map(BlockAfter::read).transpose()?,
            aging: place.get("aging").as_ref().map(aging).transpose()?,
            on_limit: place.get("on_limit").map(on_limit).transpose()?.unwrap_or_default(),
        };
        place.checked(limiter.policy())?;
        if let (Some(ttl), Some(place)) = (limiter.ttl, place.get("ttl")) {
            place.checked(check_ttl(ttl))?;
        }
        Ok(limiter)
    }

    /// Returns the limits as a policy, in the order of the fields, those of `limits` by label.
    pub fn policy(&self) -> Result<Policy> {
        let mut limits = Vec::new();
        limits.extend(self.concurrency.as_ref().map(Counted::limit));
        limits.extend(self.bucket.as_ref().map(Counted::limit));
        limits.extend(self.window.as_ref().map(Counted::limit));
        limits.extend(self.leaky.as_ref().map(Counted::limit));
        limits.extend(self.points.as_ref().map(Counted::limit));
        limits.extend(self.throttle.as_ref().map(Counted::limit));
        limits.extend(self.quota.as_ref().map(Counted::limit));
        limits.extend(self.limits.iter().map(|(label, limit)| limit.limit()?.labelled(label)));
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
                "has no limit; give concurrency, bucket, window, leaky, points, throttle, quota or limits, or unlimited or paused as true",
            ));
        }
        let policy = Policy::new(limits.into_iter().collect::<Result<Vec<Limit>>>()?)?;
        let block_after = self.block_after.as_ref().map(BlockAfter::rule).transpose()?;
        let policy = policy.with_mode(self.mode.unwrap_or_default()).with_block_after(block_after);
        policy.with_aging(self.aging.map(|Span(micros)| micros))
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
            group: self.group.clone(),
            keyed: self.keyed,
            statistics: self.statistics.unwrap_or(true),
            on_limit: self.on_limit,
        })
    }
}

fn labelled(place: &Field<'_>) -> Result<BTreeMap<String, Labelled>> {
    let limit = |(label, place): (&str, Field<'_>)| {
        place.checked(Label::new(label))?;
        Ok((label.to_owned(), Labelled::checked(&place)?))
    };
    place.members()?.map(limit).collect()
}

fn group(place: &Field<'_>) -> Result<String> {
    let group = place.text()?;
    place.checked(check_group(group))?;
    Ok(group.to_owned())
}

fn aging(place: &Field<'_>) -> Result<Span> {
    let aging = Span::read(place)?;
    place.checked(Policy::without_limits().with_aging(Some(aging.0)))?;
    Ok(aging)
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
