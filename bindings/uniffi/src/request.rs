//! `NativeRequest`: the cost of a call and its place in the queue.

use paddlegate_core::{Cost, LimiterUnits, Micros, QueuePosition, Request, Result, Wait};

use crate::number::{micros, some, us, whole};

/// What a call takes, and how it queues.
#[derive(Default, uniffi::Record)]
pub struct NativeRequest {
    pub cost: Option<NativeCharge>,
    pub estimate: Option<NativeCharge>,
    pub settle_within_us: Option<i64>,
    pub priority: Option<i64>,
    pub share: Option<String>,
    pub weight: Option<i64>,
    pub limits: bool,
}

/// The units of a call: a number, or a number for each row.
#[derive(uniffi::Enum)]
pub enum NativeCharge {
    Number { units: i64 },
    Rows { rows: Vec<NativeUnits> },
}

/// Units of a label, and of one limiter of several.
#[derive(uniffi::Record)]
pub struct NativeUnits {
    pub limiter: Option<String>,
    pub label: Option<String>,
    pub units: i64,
}

/// How an attempt waits in the queue. Its position is 0 for the end, -1 for that of the existing ticket, or the number of a ticket.
#[derive(Clone, uniffi::Record)]
pub struct NativeWait {
    pub max_wait_us: i64,
    pub claim_timeout_us: i64,
    pub keep_us: i64,
    pub channel: String,
    pub position: i64,
    /// Whether it is a run of a job.
    pub is_run: bool,
}

impl NativeRequest {
    /// Passes the request to `run`.
    pub(crate) fn with<T>(request: Option<&Self>, run: impl FnOnce(Request<'_>) -> Result<T>) -> Result<T> {
        let Some(it) = request else { return run(Request::default()) };
        NativeCharge::with_optional("cost", it.cost.as_ref(), |cost| {
            NativeCharge::with_optional("estimate", it.estimate.as_ref(), |estimate| {
                let settle_within = some("settle_within", it.settle_within_us, micros)?;
                let request = Request { cost, estimate, settle_within, limits: it.limits, ..Request::default() };
                let priority = some("priority", it.priority, whole)?;
                let weight = some("weight", it.weight, whole)?;
                run(request.in_queue(priority, it.share.as_deref(), weight)?)
            })
        })
    }
}

impl NativeCharge {
    /// Passes the cost to `run`.
    pub(crate) fn with<T>(&self, argument: &'static str, run: impl FnOnce(Cost<'_>) -> Result<T>) -> Result<T> {
        let rows = match self {
            Self::Number { units } => return run(Cost::Units(whole(argument, *units)?)),
            Self::Rows { rows } => rows,
        };
        if rows.iter().any(|row| row.limiter.is_some()) {
            let units = |row: &'_ NativeUnits| whole(argument, row.units);
            let each = rows.iter().map(|row| {
                let (limiter, label) = (row.limiter.as_deref(), row.label.as_deref());
                Ok(LimiterUnits { limiter, label, units: units(row)? })
            });
            return run(Cost::ByLimiter(&each.collect::<Result<Vec<_>>>()?));
        }
        let each = rows.iter().map(|row| Ok((row.label.as_deref().unwrap_or_default(), whole(argument, row.units)?)));
        run(Cost::ByLabel(&each.collect::<Result<Vec<_>>>()?))
    }

    fn with_optional<T>(
        argument: &'static str,
        units: Option<&Self>,
        run: impl FnOnce(Option<Cost<'_>>) -> Result<T>,
    ) -> Result<T> {
        match units {
            Some(units) => units.with(argument, |cost| run(Some(cost))),
            None => run(None),
        }
    }
}

impl NativeWait {
    pub(crate) fn read(&self) -> Result<Wait<'_>> {
        let position = match self.position {
            0 => QueuePosition::End,
            -1 => QueuePosition::Existing,
            number => QueuePosition::Number(whole("ticket", number)?),
        };
        Ok(Wait {
            max_wait: micros("wait_timeout", self.max_wait_us)?,
            claim_timeout: micros("claim_timeout", self.claim_timeout_us)?,
            keep: Micros(whole("keep", self.keep_us)?),
            channel: &self.channel,
            position,
            is_run: self.is_run,
        })
    }
}

impl From<Wait<'_>> for NativeWait {
    fn from(it: Wait<'_>) -> Self {
        let position = match it.position {
            QueuePosition::End => 0,
            QueuePosition::Existing => -1,
            QueuePosition::Number(number) => crate::number::number(number),
        };
        Self {
            max_wait_us: us(it.max_wait),
            claim_timeout_us: us(it.claim_timeout),
            keep_us: us(it.keep),
            channel: it.channel.to_owned(),
            position,
            is_run: it.is_run,
        }
    }
}
