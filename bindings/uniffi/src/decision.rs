//! `NativeDecision`: the result of a call.

use paddlegate_core::{Answer, Decision, DecisionLimit, Error, Extension, Reason, Settlement};

use crate::error::Result;
use crate::number::{number, some_us, us};

/// The result of a call.
#[derive(uniffi::Record)]
pub struct NativeDecision {
    pub status: String,
    pub limit: Option<i64>,
    pub remaining: Option<i64>,
    pub retry_after_us: Option<i64>,
    pub reset_after_us: Option<i64>,
    pub reason: Option<String>,
    pub would_refuse: Option<String>,
    pub label: Option<String>,
    pub limiter: Option<String>,
    pub at_us: i64,
    pub permit: Option<String>,
    pub lease_us: Option<i64>,
    pub fencing_token: Option<i64>,
    pub ticket: Option<i64>,
    pub position: Option<i64>,
    pub ready_after_us: Option<i64>,
    pub degraded: bool,
    pub is_lowered: bool,
    pub limits: Vec<NativeDecisionLimit>,
}

/// One limit after a decision.
#[derive(uniffi::Record)]
pub struct NativeDecisionLimit {
    pub limiter: Option<String>,
    pub label: String,
    pub kind: String,
    pub limit: i64,
    pub interval_us: i64,
    pub remaining: i64,
    pub retry_after_us: Option<i64>,
    pub reset_after_us: Option<i64>,
}

/// The result of an extension: one of the two.
#[derive(uniffi::Record)]
pub struct NativeExtension {
    pub decision: Option<NativeDecision>,
    pub settlement: Option<String>,
}

impl From<Decision> for NativeDecision {
    fn from(it: Decision) -> Self {
        let unavailable = it.degraded && !it.allowed();
        Self {
            status: it.status.name().to_owned(),
            limit: it.limit.map(number),
            remaining: it.remaining.map(number),
            retry_after_us: some_us(it.retry_after),
            reset_after_us: some_us(it.reset_after),
            reason: it.reason.map(Reason::name).or(unavailable.then_some("unavailable")).map(str::to_owned),
            would_refuse: it.would_refuse.map(|reason| reason.name().to_owned()),
            label: it.label.map(|label| label.to_string()),
            limiter: it.limiter,
            at_us: us(it.at),
            permit: it.permit,
            lease_us: some_us(it.lease),
            fencing_token: it.fencing_token.map(number),
            ticket: it.ticket.map(|ticket| number(ticket.number)),
            position: it.ticket.map(|ticket| number(ticket.position)),
            ready_after_us: some_us(it.ticket.and_then(|ticket| ticket.ready_after)),
            degraded: it.degraded,
            is_lowered: it.is_lowered,
            limits: it.limits.into_iter().map(NativeDecisionLimit::from).collect(),
        }
    }
}

impl From<DecisionLimit> for NativeDecisionLimit {
    fn from(it: DecisionLimit) -> Self {
        Self {
            limiter: it.limiter,
            label: it.label.to_string(),
            kind: it.kind.name().to_owned(),
            limit: number(it.limit),
            interval_us: us(it.interval),
            remaining: number(it.remaining),
            retry_after_us: some_us(it.retry_after),
            reset_after_us: some_us(it.reset_after),
        }
    }
}

impl From<Extension> for NativeExtension {
    fn from(it: Extension) -> Self {
        match it {
            Extension::Decided(decision) => Self { decision: Some(decision.into()), settlement: None },
            Extension::Closed(settlement) => Self { decision: None, settlement: Some(named(settlement)) },
        }
    }
}

pub(crate) fn named(settlement: Settlement) -> String {
    settlement.name().to_owned()
}

/// Returns the settlement that an operation answers.
pub(crate) fn settled(answer: Answer) -> Result<String> {
    match answer {
        Answer::Settlement(settlement) => Ok(named(settlement)),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(answer: &Answer) -> crate::error::NativeException {
    Error::internal(format!("unexpected reply type: {answer:?}")).into()
}
