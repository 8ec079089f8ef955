//! The kinds of limits in the native format.

use serde::Serialize;

use super::span::Span;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::formats::field::Field;
use crate::model::calendar::Calendar;
use crate::model::limit::{Kind, LOCK_TIMEOUT, Limit};
use crate::model::refund::Refund;

/// A kind of limit: parsed from a field and validated by the core's rules.
pub(super) trait Counted: Sized {
    fn read(place: &Field<'_>) -> Result<Self>;

    fn limit(&self) -> Result<Limit>;

    fn checked(place: &Field<'_>) -> Result<Self> {
        let kind = Self::read(place)?;
        place.checked(kind.limit()).map(|_| kind)
    }
}

/// At most `limit` leases at once; 0 is a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Concurrency {
    /// From 0 to 100,000.
    #[cfg_attr(feature = "schema", schemars(extend("maximum" = crate::model::limit::MAX_CONCURRENCY)))]
    pub limit: u64,
    /// How long a lease lasts unless it is released or renewed. Default 30 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_timeout: Option<Span>,
}

/// At most `limit` units in each interval that begins at a multiple of `per` in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// From 1 to 10^12.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub limit: u64,
    /// The interval, up to ten years.
    pub per: Span,
    /// How much earlier the intervals begin, below `per`: two hours give days of UTC+2. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Span>,
}

/// At most `limit` units in any interval of the length `per`, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// From 1 to 100,000; a bucket has no such bound.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub limit: u64,
    /// The interval, up to ten years.
    pub per: Span,
}

/// A burst of `limit` units, then the rate at which they drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Leaky {
    /// From 1 to 10^12.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub limit: u64,
    /// The time in which all of it drains, up to ten years.
    pub drain: Span,
    /// What a correction gives back: `full` or `undrained`. Default `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund: Option<Refund>,
}

/// A budget of `limit` points. Calls give an estimate and may correct it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// From 1 to 10^12.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub limit: u64,
    /// The time in which an empty budget is full again, up to ten years: 1000 points at 50 a second are 20 s.
    pub refill: Span,
    /// What a correction gives back: `full` or `undrained`. Default `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund: Option<Refund>,
}

/// `limit` starts, evenly spaced over each time `every`, whatever they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// From 1, at most one per microsecond. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub limit: Option<u64>,
    /// The time of `limit` starts, up to ten years. Without a limit the minimum time from one start to the next.
    pub every: Span,
}

/// `limit` units in each period of the calendar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// From 1 to 10^12.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000_000_000_u64)))]
    pub limit: u64,
    /// The period: `day`, `week`, `month`, `quarter` or `year`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["day", "week", "month", "quarter", "year"])))]
    pub per: String,
    /// `UTC`, an offset such as `+05:30`, or a name of the time zone database such as `Europe/Berlin`. Default `UTC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Where the periods start, in local time: of days a time (`06:00`), of weeks a day (`monday`), of months a day from 1 to
    /// 31, the last one in shorter months, of quarters and years month and day (`04-06`); of all a date (`2025-01-31`) or a
    /// date with a time (`2025-01-31T09:30`). Default midnight of the first day, of weeks of Monday.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Starts>"))]
    pub starts: Option<String>,
}

/// A day of the month, or a text.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged, inline)]
#[allow(dead_code, reason = "only the schema has it")]
enum Starts {
    Day(#[schemars(range(min = 1, max = 31))] u64),
    Text(String),
}

/// A limit with a label: an object with one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Labelled {
    /// The maximum number of leases at once.
    Concurrency(Concurrency),
    /// A number of units in each aligned interval.
    Bucket(Bucket),
    /// A number of units in any interval, wherever it starts.
    Window(Window),
    /// A burst, then the rate at which it drains.
    Leaky(Leaky),
    /// A budget of points; calls estimate their cost and correct it.
    Points(Points),
    /// A minimum time between two starts.
    Throttle(Throttle),
    /// A number of units in each period of the calendar.
    Quota(Quota),
}

impl Counted for Labelled {
    fn read(place: &Field<'_>) -> Result<Self> {
        const KINDS: [&str; 7] = ["concurrency", "bucket", "window", "leaky", "points", "throttle", "quota"];
        place.object(&KINDS)?;
        let mut kinds = KINDS.into_iter().filter_map(|kind| Some((kind, place.get(kind)?)));
        let (Some((kind, limit)), None) = (kinds.next(), kinds.next()) else {
            return Err(place.fault(format!("must have one kind, as in {{\"window\": {{...}}}}: {}", KINDS.join(", "))));
        };
        Ok(match kind {
            "concurrency" => Self::Concurrency(Concurrency::checked(&limit)?),
            "bucket" => Self::Bucket(Bucket::checked(&limit)?),
            "window" => Self::Window(Window::checked(&limit)?),
            "leaky" => Self::Leaky(Leaky::checked(&limit)?),
            "points" => Self::Points(Points::checked(&limit)?),
            "throttle" => Self::Throttle(Throttle::checked(&limit)?),
            _ => Self::Quota(Quota::checked(&limit)?),
        })
    }

    fn limit(&self) -> Result<Limit> {
        match self {
            Self::Concurrency(limit) => limit.limit(),
            Self::Bucket(limit) => limit.limit(),
            Self::Window(limit) => limit.limit(),
            Self::Leaky(limit) => limit.limit(),
            Self::Points(limit) => limit.limit(),
            Self::Throttle(limit) => limit.limit(),
            Self::Quota(limit) => limit.limit(),
        }
    }
}

impl Counted for Concurrency {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "lock_timeout"])?;
        let lock_timeout = place.get("lock_timeout").as_ref().map(Span::above_zero).transpose()?;
        Ok(Self { limit: place.need("limit")?.integer()?, lock_timeout })
    }

    fn limit(&self) -> Result<Limit> {
        let timeout = self.lock_timeout.map_or(LOCK_TIMEOUT, |Span(timeout)| timeout);
        Limit::of_kind(Kind::Concurrency, self.limit, timeout, Micros(0))
    }
}

impl Counted for Bucket {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "per", "offset"])?;
        let (limit, per) = counted(place, "per")?;
        Ok(Self { limit, per, offset: place.get("offset").as_ref().map(Span::read).transpose()? })
    }

    fn limit(&self) -> Result<Limit> {
        Limit::of_kind(Kind::Bucket, self.limit, self.per.0, self.offset.map_or(Micros(0), |Span(offset)| offset))
    }
}

impl Counted for Window {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "per"])?;
        counted(place, "per").map(|(limit, per)| Self { limit, per })
    }

    fn limit(&self) -> Result<Limit> {
        Limit::of_kind(Kind::Window, self.limit, self.per.0, Micros(0))
    }
}

impl Counted for Leaky {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "drain", "refund"])?;
        let refund = refund(place)?;
        counted(place, "drain").map(|(limit, drain)| Self { limit, drain, refund })
    }

    fn limit(&self) -> Result<Limit> {
        let limit = Limit::of_kind(Kind::Leaky, self.limit, self.drain.0, Micros(0))?;
        limit.with_refund(self.refund.unwrap_or_default())
    }
}

impl Counted for Points {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "refill", "refund"])?;
        let refund = refund(place)?;
        counted(place, "refill").map(|(limit, refill)| Self { limit, refill, refund })
    }

    fn limit(&self) -> Result<Limit> {
        let limit = Limit::of_kind(Kind::Points, self.limit, self.refill.0, Micros(0))?;
        limit.with_refund(self.refund.unwrap_or_default())
    }
}

impl Counted for Throttle {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "every"])?;
        let limit = place.get("limit").as_ref().map(Field::integer).transpose()?;
        Ok(Self { limit, every: Span::above_zero(&place.need("every")?)? })
    }

    fn limit(&self) -> Result<Limit> {
        Limit::of_kind(Kind::Throttle, self.limit.unwrap_or(1), self.every.0, Micros(0))
    }
}

impl Counted for Quota {
    fn read(place: &Field<'_>) -> Result<Self> {
        place.object(&["limit", "per", "timezone", "starts"])?;
        let text = |name: &str| place.get(name).map(|text| text.text().map(str::to_owned)).transpose();
        let starts = place.get("starts").map(|starts| {
            if starts.is_text() {
                starts.text().map(str::to_owned)
            } else {
                starts.integer().map(|day| day.to_string())
            }
        });
        let (limit, per) = (place.need("limit")?.integer()?, place.need("per")?.text()?.to_owned());
        Ok(Self { limit, per, timezone: text("timezone")?, starts: starts.transpose()? })
    }

    fn limit(&self) -> Result<Limit> {
        let calendar = Calendar::parse(&self.per, self.timezone.as_deref(), self.starts.as_deref())?;
        Limit::quota(self.limit, calendar)
    }
}

fn refund(place: &Field<'_>) -> Result<Option<Refund>> {
    place.get("refund").map(|refund| refund.checked(Refund::from_name(refund.text()?))).transpose()
}

fn counted(place: &Field<'_>, interval: &str) -> Result<(u64, Span)> {
    Ok((place.need("limit")?.integer()?, Span::above_zero(&place.need(interval)?)?))
}
