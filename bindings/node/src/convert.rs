//! Converts numbers, durations and errors between JavaScript and the core.

use napi::Either;
use napi_derive::napi;
use paddlegate::{
    BlockAfter, Calendar, CalendarPeriod, Cost, Error, Kind, LOCK_TIMEOUT, Limit, LimiterInfo, LimiterUnits, Micros,
    OnUnavailable, Refund,
};

/// The first integer that a float cannot distinguish from its neighbour.
const TOO_LARGE: f64 = 9_007_199_254_740_992.0;

/// The `code` of a thrown error: kind, argument and whether the call may have been charged, for `lib/errors.js`.
pub struct Code(String);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<napi::Status> for Code {
    fn from(_: napi::Status) -> Self {
        Self(format!("{} - false", paddlegate::ErrorKind::Internal.name()))
    }
}

/// Converts an error of the core to a JavaScript error.
pub(crate) fn thrown(error: &Error) -> napi::Error<Code> {
    let code = format!("{} {} {}", error.kind().name(), error.argument().unwrap_or("-"), error.may_have_counted());
    napi::Error::new(Code(code), error.message())
}

/// One limit of a policy. Values that its kind lacks are `None`.
#[napi(object, object_to_js = false)]
pub struct LimitSpec {
    /// `None` for the name of the kind.
    pub label: Option<String>,
    pub kind: String,
    pub amount: Option<f64>,
    /// Seconds, or text for [`Micros::parse`].
    pub interval: Option<Either<f64, String>>,
    pub offset: Option<Either<f64, String>>,
    /// What a correction of a meter gives back.
    pub refund: Option<String>,
    /// The calendar of a quota.
    pub per: Option<String>,
    pub timezone: Option<String>,
    pub starts: Option<String>,
}

/// A rule for blocks; JavaScript passes NaN for values that are not numbers.
#[napi(object, object_to_js = false)]
pub struct BlockAfterSpec {
    pub refusals: f64,
    pub within_ms: f64,
    pub for_ms: f64,
}

impl BlockAfterSpec {
    pub(crate) fn read(&self) -> paddlegate::Result<BlockAfter> {
        // Core refuses times that are out of range, and so what saturates here.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let micros = |ms: f64| Micros((ms * 1e3).round() as u64);
        BlockAfter::of_micros(whole("block_after", self.refusals)?, micros(self.within_ms), micros(self.for_ms))
    }
}

/// The units of a cost by label.
#[napi(object, object_to_js = false)]
pub(crate) struct UnitsByLabel {
    pub labels: Vec<String>,
    /// As many as labels; JavaScript passes NaN for values that are not numbers.
    pub units: Vec<f64>,
}

/// The units of a cost, and the limiters that it names.
pub(crate) struct GivenUnits {
    pub by_label: UnitsByLabel,
    /// For each label the name of its limiter, if it has one; `None` if there is none at all.
    pub limiters: Option<Vec<Option<String>>>,
}

/// Checked units of a cost.
pub(crate) enum Units<'a> {
    ByLabel(Vec<(&'a str, u64)>),
    ByLimiter(Vec<LimiterUnits<'a>>),
}

impl<'a> Units<'a> {
    pub(crate) fn read(argument: &'static str, given: &'a GivenUnits) -> paddlegate::Result<Self> {
        let pairs = given.by_label.labels.iter().zip(&given.by_label.units);
        let checked = pairs.map(|(label, units)| {
            let checked = whole(argument, *units).map_err(|_| {
                let shown: String = label.chars().take(40).collect();
                let message = format!("must be whole numbers from 0 to 2^53 - 1: label={shown:?} units={units}");
                Error::invalid(argument, message)
            })?;
            Ok((label.as_str(), checked))
        });
        let by_label = checked.collect::<paddlegate::Result<Vec<_>>>()?;
        let Some(limiters) = &given.limiters else { return Ok(Self::ByLabel(by_label)) };
        let each = limiters.iter().map(Option::as_deref).zip(by_label);
        let each = each.map(|(limiter, (label, units))| LimiterUnits { limiter, label: Some(label), units });
        Ok(Self::ByLimiter(each.collect()))
    }

    pub(crate) fn cost(&self) -> Cost<'_> {
        match self {
            Self::ByLabel(units) => Cost::ByLabel(units),
            Self::ByLimiter(units) => Cost::ByLimiter(units),
        }
    }
}

/// Builds limits in the given order.
pub(crate) fn limits(specs: &[LimitSpec]) -> paddlegate::Result<Vec<Limit>> {
    specs.iter().map(limit).collect()
}

fn limit(spec: &LimitSpec) -> paddlegate::Result<Limit> {
    let kind = Kind::from_name(&spec.kind)?;
    let (amount_name, interval_name) = kind.arguments();
    let amount = match amount_name {
        Some(name) => whole(name, spec.amount.unwrap_or(f64::NAN))?,
        None => 0,
    };
    let interval = match (interval_name, &spec.interval) {
        (Some(name), Some(interval)) => span(name, interval)?,
        (Some(_), None) if kind == Kind::Concurrency => LOCK_TIMEOUT,
        (Some(name), None) => span(name, &Either::A(f64::NAN))?,
        (None, _) => Micros(0),
    };
    let offset = spec.offset.as_ref().map_or(Ok(Micros(0)), |offset| span("offset", offset))?;
    let limit = if kind == Kind::Quota {
        let per = spec.per.as_deref().unwrap_or_default();
        Limit::quota(amount, Calendar::parse(per, spec.timezone.as_deref(), spec.starts.as_deref())?)?
    } else {
        Limit::of_kind(kind, amount, interval, offset)?
    };
    let limit = match &spec.refund {
        Some(refund) => limit.with_refund(Refund::from_name(refund)?)?,
        None => limit,
    };
    match &spec.label {
        Some(label) => limit.labelled(label),
        None => Ok(limit),
    }
}

/// Reads the behaviour of a limiter whose store is unavailable.
pub(crate) fn on_unavailable(
    mode: Option<&str>,
    local_share_percent: Option<f64>,
) -> paddlegate::Result<OnUnavailable> {
    let share = local_share_percent.map(|share| whole("local_share_percent", share)).transpose()?;
    OnUnavailable::from_name(mode.unwrap_or(OnUnavailable::Raise.name()), share)
}

/// A limiter of a document, without its function; [`Store::loaded`](crate::store::Store::loaded) returns that.
#[napi(object, object_from_js = false)]
pub struct LoadedLimiter {
    pub name: String,
    pub wait_timeout_ms: Option<f64>,
    pub on_limit: &'static str,
    pub group: Option<String>,
    pub keyed: bool,
}

impl From<&paddlegate::LoadedLimiter> for LoadedLimiter {
    fn from(loaded: &paddlegate::LoadedLimiter) -> Self {
        Self {
            name: loaded.limiter.name().to_owned(),
            wait_timeout_ms: loaded.wait_timeout.map(to_millis),
            on_limit: loaded.on_limit.name(),
            group: loaded.limiter.group().map(str::to_owned),
            keyed: loaded.limiter.is_keyed(),
        }
    }
}

/// One limiter of the list; durations and times in seconds.
#[napi(object, object_from_js = false)]
pub struct ListedLimiter {
    pub name: String,
    pub group: Option<String>,
    pub keyed: bool,
    pub mode: &'static str,
    pub limits: Vec<ListedLimit>,
    /// `None` in memory, which does not record it.
    pub last_used: Option<f64>,
    pub ttl: f64,
}

/// A limit of a [`ListedLimiter`].
#[napi(object, object_from_js = false)]
pub struct ListedLimit {
    pub label: String,
    pub kind: &'static str,
    pub amount: f64,
    pub interval: f64,
    pub offset: f64,
    /// The calendar of a quota.
    pub per: Option<&'static str>,
    pub timezone: Option<String>,
    pub starts: Option<String>,
}

impl From<&Limit> for ListedLimit {
    fn from(limit: &Limit) -> Self {
        Self {
            label: limit.label().to_string(),
            kind: limit.kind().name(),
            amount: number(limit.amount()),
            interval: to_seconds(limit.interval()),
            offset: to_seconds(limit.offset()),
            per: limit.calendar().map(Calendar::per).map(CalendarPeriod::name),
            timezone: limit.calendar().map(|calendar| calendar.timezone().to_owned()),
            starts: limit.calendar().map(Calendar::starts),
        }
    }
}

impl From<LimiterInfo> for ListedLimiter {
    fn from(listed: LimiterInfo) -> Self {
        Self {
            limits: listed.limits.iter().map(ListedLimit::from).collect(),
            last_used: (listed.last_used > Micros(0)).then(|| to_seconds(listed.last_used)),
            ttl: to_seconds(listed.ttl),
            name: listed.name,
            group: listed.group,
            keyed: listed.keyed,
            mode: listed.mode.name(),
        }
    }
}

pub(crate) fn span(argument: &'static str, span: &Either<f64, String>) -> paddlegate::Result<Micros> {
    match span {
        Either::A(seconds) => Micros::from_seconds(argument, *seconds),
        Either::B(text) => Micros::parse(argument, text),
    }
}

/// Reads a duration in milliseconds.
pub(crate) fn millis(argument: &'static str, millis: f64) -> paddlegate::Result<Micros> {
    Micros::from_seconds(argument, millis / 1e3)
}

/// Reads a time in milliseconds since 1970, to the nearest microsecond.
pub(crate) fn time(argument: &'static str, millis: f64) -> paddlegate::Result<Micros> {
    whole(argument, (millis * 1e3).round()).map(Micros).map_err(|_| {
        let message = format!("must be a time since 1970 in milliseconds: {argument}={millis}");
        Error::invalid(argument, message)
    })
}

pub(crate) fn to_millis(micros: Micros) -> f64 {
    number(micros.0) / 1e3
}

pub(crate) fn to_seconds(micros: Micros) -> f64 {
    number(micros.0) / 1e6
}

/// Reads a non-negative integer; JavaScript passes NaN for values that are not numbers.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn whole(argument: &'static str, value: f64) -> paddlegate::Result<u64> {
    if (0.0..TOO_LARGE).contains(&value) && value.fract() == 0.0 {
        return Ok(value as u64);
    }
    Err(Error::invalid(argument, format!("must be a whole number from 0 to 2^53 - 1: {argument}={value}")))
}

/// Converts counters and other values of core, all below 2^53.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn number(value: u64) -> f64 {
    value as f64
}
