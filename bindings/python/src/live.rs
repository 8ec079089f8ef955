//! `AdminRequest`: changes to the runtime state of a limiter. Built once, so that the synchronous and the asynchronous
//! form convert arguments alike.

use paddlegate::{
    AdminRequest as Request, Deadline, Error, LOCK_TIMEOUT, LearnOptions, Limit, LimitNumbers, Micros, Mode, Policy,
};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::argument::{OptionalArg, flag, instant, permit_id, rate, span, text, whole};
use crate::decision::seconds;
use crate::error::Result;
use crate::limits::limits;

/// A change of the runtime state of a limiter: an admin command or an upstream report.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct AdminRequest(pub(crate) Request);

#[pymethods]
impl AdminRequest {
    #[staticmethod]
    const fn get() -> Self {
        Self(Request::Get)
    }

    #[staticmethod]
    fn pause(seconds: OptionalArg, until: OptionalArg) -> Result<Self> {
        let (span, time) = deadline(("seconds", seconds), ("until", until))?;
        Ok(Self(Request::Pause(Deadline::one_of(span, time)?)))
    }

    #[staticmethod]
    fn block(seconds: OptionalArg, until: OptionalArg) -> Result<Self> {
        let (span, time) = deadline(("seconds", seconds), ("until", until))?;
        Ok(Self(Request::Block(Deadline::one_of(span, time)?)))
    }

    #[staticmethod]
    const fn resume() -> Self {
        Self(Request::Resume)
    }

    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn r#override(
        limit: OptionalArg,
        interval: OptionalArg,
        label: OptionalArg,
        limits: OptionalArg,
        mode: OptionalArg,
        expires_in: OptionalArg,
        expires_at: OptionalArg,
    ) -> Result<Self> {
        let numbers_are_given = limit.is_some() || interval.is_some() || label.is_some();
        let (numbers, label) = (numbers(limit, interval, None)?, owned_label(label)?);
        let (span, time) = deadline(("expires_in", expires_in), ("expires_at", expires_at))?;
        let expires = Deadline::either(span, time)?;
        match (limits, mode) {
            (None, None) => Ok(Self(Request::Override { label, numbers, expires })),
            (Some(_), None) if numbers_are_given => {
                Err(Error::invalid("limits", "give limits or the numbers of one limit, not both").into())
            }
            (Some(limits), None) => Ok(Self(Request::OverrideLimits { limits: whole_limits(limits)?, expires })),
            (None, Some(mode)) if !numbers_are_given => {
                Ok(Self(Request::OverrideMode { mode: Mode::from_name(text("mode", mode)?)?, expires }))
            }
            (_, Some(_)) => Err(Error::invalid("mode", "give the mode or limits, not both").into()),
        }
    }

    #[staticmethod]
    fn restore(label: OptionalArg, mode: OptionalArg) -> Result<Self> {
        match (owned_label(label)?, flag("mode", mode, false)?) {
            (label, false) => Ok(Self(Request::Restore(label))),
            (None, true) => Ok(Self(Request::RestoreMode)),
            (Some(_), true) => Err(Error::invalid("mode", "give the mode or a label, not both").into()),
        }
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
        label: OptionalArg,
        permit: OptionalArg,
    ) -> Result<Self> {
        let (span, time) = deadline(("reset_in", reset_in), ("reset_at", reset_at))?;
        Ok(Self(Request::ReportBudget {
            label: owned_label(label)?,
            remaining: remaining.map(|remaining| whole("remaining", remaining)).transpose()?,
            numbers: numbers(limit, interval, restore_rate)?,
            reset: Deadline::either(span, time)?,
            permit: permit.map(permit_id).transpose()?,
        }))
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
        default_pause: OptionalArg,
        max_learned: OptionalArg,
        permit: OptionalArg,
    ) -> Result<Self> {
        let headers: Vec<_> = headers.iter().map(|(k, v)| (k.to_string_lossy(), v.to_string_lossy())).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(k, v)| (&**k, &**v)).collect();
        let (status, body) = (status.map(|status| whole("status", status)).transpose()?, body.to_string_lossy());
        let options = LearnOptions {
            provider: Some(text("provider", provider)?),
            max_pause: max_pause.map(|longest| span("max_pause", longest)).transpose()?,
            default_pause: default_pause.map(|pause| span("default_pause", pause)).transpose()?,
            max_learned: max_learned.map(|most| whole("max_learned", most)).transpose()?,
            permit: permit.map(permit_id).transpose()?,
        };
        Ok(Self(py.detach(|| Request::learn(status, &headers, &body, options))?))
    }
}

fn numbers(limit: OptionalArg, interval: OptionalArg, restore_rate: OptionalArg) -> Result<LimitNumbers> {
    Ok(LimitNumbers {
        amount: limit.map(|limit| whole("limit", limit)).transpose()?,
        interval: interval.map(|interval| span("interval", interval)).transpose()?,
        rate: restore_rate.map(|per_second| rate("restore_rate", per_second)).transpose()?,
    })
}

fn owned_label(label: OptionalArg) -> Result<Option<String>> {
    label.map(|label| text("label", label).map(str::to_owned)).transpose()
}

/// Reads limits that could be those of a policy.
fn whole_limits(given: &Bound<'_, PyAny>) -> Result<Vec<Limit>> {
    let limits = limits(given, LOCK_TIMEOUT)?;
    Policy::new(limits.iter().cloned())?;
    Ok(limits)
}

type Named<T> = (&'static str, Option<T>);

/// Converts a deadline that is given as a span or as a time; each keeps the name of its argument.
fn deadline(
    after: (&'static str, OptionalArg),
    at: (&'static str, OptionalArg),
) -> Result<(Named<Micros>, Named<Micros>)> {
    let span = after.1.map(|value| span(after.0, value)).transpose()?;
    let time = at.1.map(|value| instant(at.0, value)).transpose()?;
    Ok(((after.0, span), (at.0, time)))
}

/// The fields of `paddlegate::Learned` in order.
pub(crate) type Learned =
    (Option<&'static str>, Vec<String>, Vec<String>, Option<u64>, Option<f64>, Option<&'static str>, Option<String>);

pub(crate) fn learned(it: paddlegate::Learned) -> Learned {
    let settlement = it.settlement.map(paddlegate::Settlement::name);
    (settlement, it.learned, it.ignored, it.cost, it.pause.map(seconds), it.scope, it.bucket)
}

/// A limit as its label, its kind, its amount and its interval in seconds.
type Shown = (String, &'static str, u64, f64);

/// The fields of `paddlegate::RuntimeState` in order.
pub(crate) type RuntimeState =
    (u64, bool, Option<f64>, Vec<Shown>, Option<f64>, Vec<Shown>, Option<f64>, Option<&'static str>);

pub(crate) fn runtime_state(it: &paddlegate::RuntimeState) -> RuntimeState {
    let shown =
        |limit: &Limit| (limit.label().to_string(), limit.kind().name(), limit.amount(), seconds(limit.interval()));
    let limits = |limits: &[Limit]| limits.iter().map(shown).collect();
    let (paused_for, expires_in) = (it.paused_for.map(seconds), it.expires_after.map(seconds));
    let (blocked_for, mode) = (it.blocked_for.map(seconds), it.mode.map(Mode::name));
    let (overrides, learned) = (limits(&it.overrides), limits(&it.learned));
    (it.version, it.in_use, paused_for, overrides, expires_in, learned, blocked_for, mode)
}
