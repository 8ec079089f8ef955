//! `NativeLimit`: one limit of a policy, and the options of a limiter.

use paddlegate_core::{
    BlockAfter, Calendar, Error, Kind, LOCK_TIMEOUT, Limit, Limiter, Micros, Mode, OnUnavailable, Policy, Refund,
    Result,
};

use crate::number::{micros, number, some, us, whole};

/// One limit of a policy. What its kind lacks is absent.
#[derive(uniffi::Record)]
pub struct NativeLimit {
    pub kind: String,
    pub label: Option<String>,
    pub amount: Option<i64>,
    pub interval_us: Option<i64>,
    pub offset_us: Option<i64>,
    pub refund: Option<String>,
    pub per: Option<String>,
    pub timezone: Option<String>,
    pub starts: Option<String>,
}

/// The options of a limiter.
#[derive(uniffi::Record)]
pub struct NativeOptions {
    pub lock_timeout_us: Option<i64>,
    pub ttl_us: Option<i64>,
    pub group: Option<String>,
    pub keyed: bool,
    pub statistics: bool,
    pub mode: Option<String>,
    pub block_after: Option<NativeBlockAfter>,
    pub aging_us: Option<i64>,
    pub on_unavailable: Option<String>,
    pub local_share_percent: Option<i64>,
}

/// Refusals within a time that lead to a block.
#[derive(uniffi::Record)]
pub struct NativeBlockAfter {
    pub refusals: i64,
    pub within_us: i64,
    pub for_us: i64,
}

impl NativeLimit {
    pub(crate) fn read(&self, lock_timeout: Micros) -> Result<Limit> {
        let kind = Kind::from_name(&self.kind)?;
        let (amount_name, interval_name) = kind.arguments();
        let missing = |name| move || Error::invalid(name, "is missing");
        let amount = match (amount_name, self.amount) {
            (Some(_), None) if kind == Kind::Throttle => 1,
            (Some(name), amount) => whole(name, amount.ok_or_else(missing(name))?)?,
            (None, _) => 0,
        };
        let interval = match (interval_name, self.interval_us) {
            (Some(_), None) if kind == Kind::Concurrency => lock_timeout,
            (Some(name), interval) => micros(name, interval.ok_or_else(missing(name))?)?,
            (None, _) => Micros(0),
        };
        let limit = if kind == Kind::Quota {
            let per = self.per.as_deref().ok_or_else(missing("per"))?;
            Limit::quota(amount, Calendar::parse(per, self.timezone.as_deref(), self.starts.as_deref())?)?
        } else {
            Limit::of_kind(kind, amount, interval, some("offset", self.offset_us, micros)?.unwrap_or(Micros(0)))?
        };
        let limit = match &self.refund {
            Some(refund) => limit.with_refund(Refund::from_name(refund)?)?,
            None => limit,
        };
        self.label.as_deref().map_or(Ok(limit.clone()), |label| limit.labelled(label))
    }

    pub(crate) fn shown(it: &Limit) -> Self {
        let calendar = it.calendar();
        let refund = it.refund();
        Self {
            kind: it.kind().name().to_owned(),
            label: Some(it.label().to_string()),
            amount: Some(number(it.amount())),
            interval_us: Some(us(it.interval())),
            offset_us: Some(us(it.offset())),
            refund: (refund != Refund::default()).then(|| refund.name().to_owned()),
            per: calendar.map(|it| it.per().name().to_owned()),
            timezone: calendar.map(|it| it.timezone().to_owned()),
            starts: calendar.map(Calendar::starts),
        }
    }

    pub(crate) fn shown_all(limits: &[Limit]) -> Vec<Self> {
        limits.iter().map(Self::shown).collect()
    }
}

/// Returns what a limiter does while its store cannot decide, if anything is given.
pub(crate) fn unavailable(mode: Option<&str>, local_share_percent: Option<i64>) -> Result<Option<OnUnavailable>> {
    if mode.is_none() && local_share_percent.is_none() {
        return Ok(None);
    }
    let share = some("local_share_percent", local_share_percent, whole)?;
    Ok(Some(OnUnavailable::from_name(mode.unwrap_or(OnUnavailable::Raise.name()), share)?))
}

impl NativeOptions {
    /// Returns the policy of limits; `lock_timeout` is for one of concurrency.
    pub(crate) fn policy(&self, limits: &[NativeLimit]) -> Result<Policy> {
        let lock_timeout = some("lock_timeout", self.lock_timeout_us, micros)?;
        let each = limits.iter().map(|limit| limit.read(lock_timeout.unwrap_or(LOCK_TIMEOUT)));
        let policy = Policy::new(each.collect::<Result<Vec<_>>>()?)?;
        if lock_timeout.is_some() && policy.concurrency().is_none() {
            return Err(Error::invalid("lock_timeout", "there is no concurrency limit"));
        }
        Ok(policy)
    }

    /// Returns the limiter with the options that do not belong to its policy.
    pub(crate) fn applied(&self, limiter: Limiter) -> Result<Limiter> {
        let mut limiter = limiter;
        if let Some(mode) = unavailable(self.on_unavailable.as_deref(), self.local_share_percent)? {
            limiter = limiter.with_on_unavailable(mode);
        }
        if let Some(group) = &self.group {
            limiter = limiter.with_group(group)?;
        }
        if self.keyed {
            limiter = limiter.keyed()?;
        }
        if let Some(mode) = &self.mode {
            limiter = limiter.with_mode(Mode::from_name(mode)?)?;
        }
        if let Some(rule) = &self.block_after {
            limiter = limiter.with_block_after(rule.read()?)?;
        }
        if let Some(aging) = some("aging", self.aging_us, micros)? {
            limiter = limiter.with_aging(aging.duration())?;
        }
        if self.statistics { Ok(limiter) } else { limiter.without_statistics() }
    }
}

impl NativeBlockAfter {
    fn read(&self) -> Result<BlockAfter> {
        const NAME: &str = "block_after";
        let (within, lasts) = (micros(NAME, self.within_us)?, micros(NAME, self.for_us)?);
        BlockAfter::of_micros(whole(NAME, self.refusals)?, within, lasts)
    }
}
