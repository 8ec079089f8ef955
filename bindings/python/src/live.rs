//! `AdminRequest`: changes to the runtime state of a limiter. Built once, so that the synchronous and the asynchronous
//! form convert arguments alike.

use paddlegate::upstream::Response;
use paddlegate::{
    AdminCommand, Deadline, Error, Feedback, Limiter, MAX_PAUSE, Micros, Operation, Provider, UpstreamReport,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::argument::{OptionalArg, instant, permit_id, rate, span, text, time, whole};
use crate::decision::seconds;
use crate::error::Result;

/// What is told to a limiter that runs: an order, or what upstream says of its budget.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct AdminRequest {
    word: AdminWord,
    at: Option<Micros>,
}

enum AdminWord {
    Look,
    Pause(Deadline),
    Resume,
    Override {
        index: usize,
        numbers: Numbers,
        expires: Option<Deadline>,
    },
    Restore(Option<usize>),
    BudgetUpdate {
        index: usize,
        remaining: Option<u64>,
        numbers: Numbers,
        reset: Option<Deadline>,
        permit: Option<String>,
    },
    Learn {
        feedback: Feedback,
        max_pause: Micros,
        max_learned: Option<u64>,
        permit: Option<String>,
    },
}

/// The given values of a limit.
#[derive(Clone, Copy)]
struct Numbers {
    amount: Option<u64>,
    interval: Option<Micros>,
    /// Units per second, which determine the interval.
    rate: Option<f64>,
}

#[pymethods]
impl AdminRequest {
    #[staticmethod]
    fn look(at_us: OptionalArg) -> Result<Self> {
        Self::new(AdminWord::Look, at_us)
    }

    #[staticmethod]
    fn pause(seconds: OptionalArg, until: OptionalArg, at_us: OptionalArg) -> Result<Self> {
        let moment = moment(("seconds", seconds), ("until", until))?;
        Self::new(
            AdminWord::Pause(
                moment.ok_or_else(|| Error::invalid("seconds", "is missing; give a duration or an end time"))?,
            ),
            at_us,
        )
    }

    #[staticmethod]
    fn resume(at_us: OptionalArg) -> Result<Self> {
        Self::new(AdminWord::Resume, at_us)
    }

    #[staticmethod]
    fn r#override(
        limit: OptionalArg,
        interval: OptionalArg,
        index: &Bound<'_, PyAny>,
        expires_in: OptionalArg,
        expires_at: OptionalArg,
        at_us: OptionalArg,
    ) -> Result<Self> {
        let (numbers, index) = (numbers(limit, interval, None)?, place(index)?);
        let expires = moment(("expires_in", expires_in), ("expires_at", expires_at))?;
        Self::new(AdminWord::Override { index, numbers, expires }, at_us)
    }

    #[staticmethod]
    fn restore(index: OptionalArg, at_us: OptionalArg) -> Result<Self> {
        Self::new(AdminWord::Restore(index.map(place).transpose()?), at_us)
    }

    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn report_budget(
        remaining: OptionalArg,
        limit: OptionalArg,
        interval: OptionalArg,
        restore_rate: OptionalArg,
        reset_in: OptionalArg,
        reset_at: OptionalArg,
        index: &Bound<'_, PyAny>,
        permit: OptionalArg,
        at_us: OptionalArg,
    ) -> Result<Self> {
        let sync = AdminWord::BudgetUpdate {
            index: place(index)?,
            remaining: remaining.map(|remaining| whole("remaining", remaining)).transpose()?,
            numbers: numbers(limit, interval, restore_rate)?,
            reset: moment(("reset_in", reset_in), ("reset_at", reset_at))?,
            permit: permit.map(permit_id).transpose()?,
        };
        Self::new(sync, at_us)
    }

    // The caller does not control an upstream's headers and body, so invalid text in them is not an error.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
    fn learn_from_response(
        py: Python<'_>,
        headers: Vec<(Bound<'_, PyString>, Bound<'_, PyString>)>,
        body: &Bound<'_, PyString>,
        status: OptionalArg,
        provider: &Bound<'_, PyAny>,
        max_pause: OptionalArg,
        max_learned: OptionalArg,
        permit: OptionalArg,
        at_us: OptionalArg,
    ) -> Result<Self> {
        let status = status.map(|status| whole("status", status)).transpose()?.map(u16::try_from).transpose();
        let status = status.map_err(|_| Error::invalid("status", "must be an http status code"))?;
        let max_learned = max_learned.map(|most| whole("max_learned", most)).transpose()?;
        let provider = Provider::from_name(text("provider", provider)?)?;
        let max_pause = max_pause.map_or(Ok(MAX_PAUSE), |longest| span("max_pause", longest))?;
        let headers: Vec<_> = headers.iter().map(|(k, v)| (k.to_string_lossy(), v.to_string_lossy())).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (&**k, &**v)).collect();
        let body = body.to_string_lossy();
        let response = Response { status, headers: &headers, body: &body };
        let feedback = py.detach(|| Feedback::read(provider, &response, max_pause));
        Self::new(
            AdminWord::Learn { feedback, max_pause, max_learned, permit: permit.map(permit_id).transpose()? },
            at_us,
        )
    }
}

impl AdminRequest {
    fn new(word: AdminWord, at_us: OptionalArg) -> Result<Self> {
        Ok(Self { word, at: time(at_us)? })
    }

    /// Builds the operation for one limiter and passes it to `run`.
    pub(crate) fn on_reply<T>(&self, limiter: &Limiter, run: impl FnOnce(Operation<'_>) -> Result<T>) -> Result<T> {
        let at = self.at;
        match &self.word {
            AdminWord::Look => run(Operation::Admin { command: AdminCommand::Get, at }),
            AdminWord::Pause(moment) => run(Operation::Admin { command: AdminCommand::Pause(*moment), at }),
            AdminWord::Resume => run(Operation::Admin { command: AdminCommand::Resume, at }),
            AdminWord::Override { index, numbers, expires } => {
                let changes = limiter.override_changes(*index, numbers.amount, numbers.interval)?;
                run(Operation::Admin { command: AdminCommand::Override { changes: &changes, expires: *expires }, at })
            }
            AdminWord::Restore(index) => {
                let changes = limiter.override_removals(*index)?;
                run(Operation::Admin { command: AdminCommand::Override { changes: &changes, expires: None }, at })
            }
            AdminWord::BudgetUpdate { index, remaining, numbers, reset, permit } => {
                let interval = numbers.interval_of(limiter, *index)?;
                let budgets = limiter.budget_updates(*index, *remaining, numbers.amount, interval, *reset)?;
                let report =
                    UpstreamReport { permit: permit.as_deref(), budgets: &budgets, ..UpstreamReport::default() };
                run(Operation::ApplyReport { report, at })
            }
            AdminWord::Learn { feedback, max_pause, max_learned, permit } => {
                let lesson = feedback.lesson(limiter.policy(), *max_pause, *max_learned);
                run(Operation::ApplyReport { report: lesson.report(permit.as_deref()), at })
            }
        }
    }
}

impl Numbers {
    fn interval_of(self, limiter: &Limiter, index: usize) -> Result<Option<Micros>> {
        let Some(rate) = self.rate else { return Ok(self.interval) };
        let known = limiter.policy().limits().get(index).map_or(0, paddlegate::Limit::amount);
        Ok(Some(Micros::of_rate("restore_rate", self.amount.unwrap_or(known), rate)?))
    }
}

fn numbers(limit: OptionalArg, interval: OptionalArg, restore_rate: OptionalArg) -> Result<Numbers> {
    if interval.is_some() && restore_rate.is_some() {
        return Err(Error::invalid("restore_rate", "give the interval or the rate, not both").into());
    }
    Ok(Numbers {
        amount: limit.map(|limit| whole("limit", limit)).transpose()?,
        interval: interval.map(|interval| span("interval", interval)).transpose()?,
        rate: restore_rate.map(|per_second| rate("restore_rate", per_second)).transpose()?,
    })
}

fn place(index: &Bound<'_, PyAny>) -> Result<usize> {
    Ok(usize::try_from(whole("index", index)?).unwrap_or(usize::MAX))
}

/// Reads a deadline relative to now or as a time, whichever is given.
fn moment(after: (&'static str, OptionalArg), at: (&'static str, OptionalArg)) -> Result<Option<Deadline>> {
    match (after, at) {
        ((_, None), (_, None)) => Ok(None),
        ((argument, Some(after)), (_, None)) => Ok(Some(Deadline::After(span(argument, after)?))),
        ((_, None), (argument, Some(at))) => Ok(Some(Deadline::At(instant(argument, at)?))),
        ((other, Some(_)), (argument, Some(_))) => {
            Err(Error::invalid(argument, format!("give this or {other}, not both")).into())
        }
    }
}

/// The fields of `paddlegate::Learned` in order.
pub(crate) type Learned =
    (Option<&'static str>, Vec<String>, Vec<String>, Option<u64>, Option<f64>, Option<&'static str>, Option<String>);

pub(crate) fn learned(it: paddlegate::Learned) -> Learned {
    let settlement = it.settlement.map(paddlegate::Settlement::name);
    (settlement, it.learned, it.ignored, it.cost, it.pause.map(seconds), it.scope, it.bucket)
}

/// A limit as its kind, its amount and its interval in seconds.
type Shown = Option<(&'static str, u64, f64)>;

/// The fields of `paddlegate::RuntimeState` in order.
pub(crate) type RuntimeState = (u64, bool, Option<f64>, Vec<Shown>, Option<f64>, Vec<Shown>);

pub(crate) fn runtime_state(it: &paddlegate::RuntimeState) -> RuntimeState {
    let limits = |limits: &[Option<paddlegate::Limit>]| {
        let shown = |limit: &paddlegate::Limit| (limit.kind().name(), limit.amount(), seconds(limit.interval()));
        limits.iter().map(|limit| limit.as_ref().map(shown)).collect()
    };
    let (paused_for, expires_in) = (it.paused_for.map(seconds), it.expires_after.map(seconds));
    (it.version, it.in_use, paused_for, limits(&it.overrides), expires_in, limits(&it.learned))
}
