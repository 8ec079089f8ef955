//! `Decision`: the immutable result of one request.

use std::hash::{DefaultHasher, Hash, Hasher};

use paddlegate::{Error, HeaderFields, Label, Micros, Reason, Status, Ticket};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use crate::argument::{OptionalArg, text};
use crate::decision_limit::{DecisionLimit, LimitFields, fields_of, restore_limit, shown};
use crate::error::{Failure, Result};

/// The result of one call. True when the call was granted, otherwise false.
#[derive(PartialEq)]
#[pyclass(frozen, eq, module = "paddlegate")]
pub(crate) struct Decision(pub(crate) paddlegate::Decision);

/// The pickled fields in order; times in microseconds.
type Fields = (
    String,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    (Option<String>, Option<String>),
    (Option<String>, Option<String>),
    u64,
    Option<String>,
    (Option<u64>, Option<u64>),
    Option<(u64, u64, Option<u64>)>,
    (bool, bool, Vec<LimitFields>),
);

#[pymethods]
impl Decision {
    /// The status of the call: `granted`, `refused`, `queued` or `no_ticket`.
    #[getter]
    fn status(&self) -> &'static str {
        word(self.0.status)
    }

    /// Whether the call was granted.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed()
    }

    /// The units of the limit described here, 1 for a throttle; None when no limit applies.
    #[getter]
    fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// The units that can be taken right after this decision; None when no limit applies.
    #[getter]
    fn remaining(&self) -> Option<u64> {
        self.0.remaining
    }

    /// Seconds to wait before the next attempt, 0 when granted; None when no time is known.
    ///
    /// With `would_refuse` the seconds that the call would have to wait.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(seconds)
    }

    /// Seconds until all units are available again; None when no time is known.
    #[getter]
    fn reset_after(&self) -> Option<f64> {
        self.0.reset_after.map(seconds)
    }

    /// Why the call was refused or queued; None if granted.
    ///
    /// The kind of the limit, `paused`, `blocked`, `unavailable`, `too_large`: a limit that was
    /// lowered at run time is below the cost, or `running`: another run of the job has its lease.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        let unavailable = self.0.degraded && !self.0.allowed();
        self.0.reason.map(Reason::name).or(unavailable.then_some("unavailable"))
    }

    /// The `reason` that a call would have had which only the mode "shadow" granted, or None.
    ///
    /// Such a grant charges nothing.
    #[getter]
    fn would_refuse(&self) -> Option<&'static str> {
        self.0.would_refuse.map(Reason::name)
    }

    /// The label of the described limit; None for a runtime pause or when no limit applies.
    #[getter]
    fn label(&self) -> Option<&str> {
        self.0.label.as_deref()
    }

    /// The limiter of several that decide together which is described; None for a single one.
    #[getter]
    fn limiter(&self) -> Option<&str> {
        self.0.limiter.as_deref()
    }

    /// The store's time of the decision in microseconds; 0 when no store was called.
    #[getter]
    fn at_us(&self) -> u64 {
        self.0.at.0
    }

    /// The id with which any process can correct or release the grant; None without one.
    #[getter]
    fn permit(&self) -> Option<&str> {
        self.0.permit.as_deref()
    }

    /// Seconds that the lease lasts from `at_us`; None without a concurrency limit.
    #[getter]
    fn lease(&self) -> Option<f64> {
        self.0.lease.map(seconds)
    }

    /// A number that rises with every lease of the limiter; None without a lease.
    #[getter]
    fn fencing_token(&self) -> Option<u64> {
        self.0.fencing_token
    }

    /// The number of the ticket in the queue; None without a ticket.
    #[getter]
    fn ticket(&self) -> Option<u64> {
        self.0.ticket.map(|ticket| ticket.number)
    }

    /// The number of tickets ahead; None without a ticket.
    #[getter]
    fn position(&self) -> Option<u64> {
        self.0.ticket.map(|ticket| ticket.position)
    }

    /// Seconds until the call can be granted if all tickets ahead are; None when unknown.
    #[getter]
    fn ready_after(&self) -> Option<f64> {
        self.0.ticket?.ready_after.map(seconds)
    }

    /// Whether `on_unavailable` of the limiter decided, because the store could not.
    #[getter]
    fn degraded(&self) -> bool {
        self.0.degraded
    }

    /// Whether the estimate was above the capacity of a limit and was lowered to it.
    #[getter]
    fn is_lowered(&self) -> bool {
        self.0.is_lowered
    }

    /// Each limit after this decision, in the order of the policy, if the call asked for them.
    ///
    /// Otherwise empty, as where no store decided.
    #[getter]
    fn limits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.limits.iter().cloned().map(DecisionLimit))
    }

    /// Return the header fields that tell the caller of a server what this decision left.
    ///
    /// `fields` is "draft": `RateLimit-Policy` and `RateLimit` of the newest IETF draft; "draft-6":
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy` of the sixth; or "x":
    /// `X-RateLimit-Limit`, `-Remaining`, and `-Reset` in seconds since 1970. A refusal has
    /// `Retry-After` in whole seconds, if the time is known. A decision that was asked for with
    /// `limits` describes each limit, another one the tightest. Raises `InvalidError`, argument
    /// `fields`, for other names.
    #[pyo3(signature = (fields=None), text_signature = "($self, fields='draft')")]
    #[allow(clippy::doc_markdown)] // Python shows this text as it is.
    fn headers<'py>(&self, py: Python<'py>, fields: OptionalArg) -> Result<Bound<'py, PyDict>> {
        let fields = fields.map(|name| Ok::<_, Failure>(HeaderFields::from_name(text("fields", name)?)?));
        Ok(self.0.headers(fields.transpose()?.unwrap_or_default()).into_py_dict(py)?)
    }

    fn __bool__(&self) -> bool {
        self.0.allowed()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.at, &self.0.label, &self.0.limiter, self.0.remaining, self.0.retry_after, &self.0.permit)
            .hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Fields,))> {
        let Self(it) = self;
        let micros = |time: Option<Micros>| time.map(|time| time.0);
        let name = |reason: Option<Reason>| reason.map(|reason| reason.name().to_owned());
        let fields = (
            word(it.status).to_owned(),
            it.limit,
            it.remaining,
            micros(it.retry_after),
            micros(it.reset_after),
            (name(it.reason), name(it.would_refuse)),
            (it.label.as_deref().map(str::to_owned), it.limiter.clone()),
            it.at.0,
            it.permit.clone(),
            (micros(it.lease), it.fencing_token),
            it.ticket.map(|ticket| (ticket.number, ticket.position, micros(ticket.ready_after))),
            (it.degraded, it.is_lowered, it.limits.iter().map(fields_of).collect()),
        );
        Ok((py.import("paddlegate._native")?.getattr("restore")?, (fields,)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        const ALWAYS: [&str; 9] =
            ["status", "limit", "remaining", "retry_after", "reset_after", "reason", "label", "at_us", "permit"];
        const LEASED: [&str; 2] = ["lease", "fencing_token"];
        const QUEUED: [&str; 3] = ["ticket", "position", "ready_after"];
        let Self(it) = slf.get();
        let degraded = it.degraded.then_some("degraded");
        let in_shadow = it.would_refuse.map(|_| "would_refuse");
        let of_several = it.limiter.as_ref().map(|_| "limiter");
        let leased = it.lease.iter().flat_map(|_| LEASED);
        let queued = it.ticket.iter().flat_map(|_| QUEUED);
        let lowered = it.is_lowered.then_some("is_lowered");
        let limits = (!it.limits.is_empty()).then_some("limits");
        let names = ALWAYS.into_iter().chain(in_shadow).chain(of_several).chain(leased).chain(queued);
        shown(slf, names.chain(degraded).chain(lowered).chain(limits))
    }
}

/// Restore a decision from its pickled fields.
#[pyfunction]
#[pyo3(signature = (fields, /))]
pub(crate) fn restore(fields: Fields) -> Result<Decision> {
    const ALL: [Status; 4] = [Status::Refused, Status::Granted, Status::Queued, Status::NoTicket];
    let (status, limit, remaining, retry_after, reset_after, reason, label, at, permit, lease, ticket, degraded) =
        fields;
    let ((reason, would_refuse), (label, limiter), (lease, fencing_token)) = (reason, label, lease);
    let (degraded, is_lowered, limits) = degraded;
    let why = |name: Option<String>| name.map(|name| Reason::from_name(&name)).transpose();
    let known = ALL.into_iter().find(|known| word(*known) == status);
    Ok(Decision(paddlegate::Decision {
        status: known.ok_or_else(|| Error::data(format!("no decision has this status: status={status:?}")))?,
        limit,
        remaining,
        retry_after: retry_after.map(Micros),
        reset_after: reset_after.map(Micros),
        reason: why(reason)?,
        would_refuse: why(would_refuse)?,
        label: label.map(|label| Label::new(&label)).transpose()?,
        limiter,
        at: Micros(at),
        permit,
        lease: lease.map(Micros),
        fencing_token,
        ticket: ticket.map(|(number, position, ready)| Ticket { number, position, ready_after: ready.map(Micros) }),
        degraded,
        limits: limits.into_iter().map(|limit| Ok(restore_limit(limit)?.0)).collect::<Result<_>>()?,
        is_lowered,
    }))
}

const fn word(status: Status) -> &'static str {
    match status {
        Status::Refused => "refused",
        Status::Granted => "granted",
        Status::Queued => "queued",
        Status::NoTicket => "no_ticket",
    }
}

/// Exact to the microsecond for all times that the core accepts.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn seconds(time: Micros) -> f64 {
    time.0 as f64 / 1e6
}
