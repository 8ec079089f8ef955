//! `PolicyUnderTest`: a policy, and the behaviour of refused callers.

use super::fields::Field;
use crate::base::error::Result;
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::limiter::MAX_NAME;
use crate::client::reschedule::RESCHEDULE;
use crate::model::calendar::Calendar;
use crate::model::limit::{Kind, LOCK_TIMEOUT, Limit, MAX_UNITS};
use crate::model::policy::{MAX_LIMITS, Policy};
use crate::model::refund::Refund;

/// One of the compared policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyUnderTest {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) retry: Retry,
    /// Whether callers report the actual cost of a call.
    pub(super) corrects: bool,
}

/// The behaviour of refused callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// They do not retry.
    Never,
    /// They retry like Sidekiq's jobs: [`backoff`](crate::backoff).
    Linear { attempts: u32 },
    /// They retry after a random time below `min(cap, base * 2^n)` (full jitter).
    Exponential { attempts: u32, base: Micros, cap: Micros },
    /// They wait in the limiter's queue.
    Wait { wait: Micros },
    /// They take a ticket, leave, and return when it can be granted: jobs, by [`admit`](crate::Limiter::admit).
    Ticket { wait: Micros },
}

#[derive(Clone, Copy)]
enum Word {
    None,
    Linear,
    Exponential,
    Wait,
    Ticket,
}

const WORDS: [(&str, Word); 5] = [
    ("none", Word::None),
    ("linear", Word::Linear),
    ("exponential", Word::Exponential),
    ("wait", Word::Wait),
    ("ticket", Word::Ticket),
];

impl PolicyUnderTest {
    pub(super) fn read(field: &Field<'_>) -> Result<Self> {
        let name = field.get("name");
        let name = match name.text()? {
            Some(text) if text.is_empty() || text.len() > MAX_NAME => {
                return Err(name.fault(&format!("must have 1 to {MAX_NAME} bytes: bytes={}", text.len())));
            }
            text => text.unwrap_or("policy").to_owned(),
        };
        let attempts = field.get("attempts").whole(0, 1_000)?;
        let attempts = attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(RESCHEDULE);
        let (base, cap) = (field.get("base").length()?, field.get("cap").length()?);
        let wait = field.get("wait").span()?;
        let retry = match field.get("retry").word(&WORDS, Some(Word::None))? {
            Word::None => Retry::Never,
            Word::Linear => Retry::Linear { attempts },
            Word::Exponential => Retry::Exponential {
                attempts,
                base: base.unwrap_or(Micros(1_000_000)),
                cap: cap.unwrap_or(Micros(3_600_000_000)),
            },
            Word::Wait => Retry::Wait { wait: wait.unwrap_or(MAX_SPAN) },
            Word::Ticket => Retry::Ticket { wait: wait.unwrap_or(MAX_SPAN) },
        };
        let corrects = field.get("correct").flag()?.unwrap_or(true);
        Ok(Self { name, policy: policy(field)?, retry, corrects })
    }
}

/// Reads the `limits` of a policy under test or of an upstream.
pub(super) fn policy(field: &Field<'_>) -> Result<Policy> {
    let limits = field.get("limits");
    let items = limits.items(MAX_LIMITS)?;
    if items.is_empty() {
        return Err(limits.fault("is missing; give a list of limits, each with a kind"));
    }
    let read = items.iter().map(limit).collect::<Result<Vec<_>>>()?;
    Policy::new(read).map_err(|error| limits.caused(&error))
}

fn limit(field: &Field<'_>) -> Result<Limit> {
    let words = Kind::ALL.map(|kind| (kind.name(), kind));
    let kind = field.get("kind").word(&words, None)?;
    let (amount, interval, offset) = (field.get("limit"), field.get("interval"), field.get("offset"));
    let counted = !matches!(kind, Kind::Unlimited | Kind::Paused);
    let amount = match amount.whole(u64::from(!counted || kind != Kind::Concurrency), MAX_UNITS)? {
        Some(given) if !counted && given != 1 => {
            return Err(amount.fault(&format!("has no meaning for a {}; remove it", kind.name())));
        }
        None if counted && kind != Kind::Throttle => return amount.required(None),
        given => given.unwrap_or(1),
    };
    let interval = match (kind, interval.length()?) {
        (Kind::Unlimited | Kind::Paused, Some(_)) => {
            return Err(interval.fault(&format!("has no meaning for {}; remove it", kind.name())));
        }
        (Kind::Unlimited | Kind::Paused | Kind::Quota, None) => Micros(0),
        (Kind::Quota, Some(_)) => return Err(interval.fault("has no meaning for a quota; give per")),
        (Kind::Concurrency, given) => given.unwrap_or(LOCK_TIMEOUT),
        (_, given) => interval.required(given)?,
    };
    if kind != Kind::Bucket && offset.is_given() {
        return Err(offset.fault(&format!("has a meaning for buckets only; remove it: kind={}", kind.name())));
    }
    let offset = offset.span()?.unwrap_or_default();
    // The argument names for amount and interval depend on the kind.
    let limit = match kind {
        Kind::Quota => {
            let per = field.get("per");
            let (timezone, starts) = (field.get("timezone"), field.get("starts"));
            let calendar = Calendar::parse(per.required(per.text()?)?, timezone.text()?, starts.text()?);
            calendar.and_then(|calendar| Limit::quota(amount, calendar))
        }
        kind => Limit::of_kind(kind, amount, interval, offset),
    };
    let limit = limit.map_err(|error| match error.argument() {
        Some("capacity" | "limit") => field.get("limit").fault(error.message()),
        Some(argument @ ("offset" | "per" | "timezone" | "starts")) => field.get(argument).fault(error.message()),
        _ => field.get("interval").fault(error.message()),
    })?;
    let refund = field.get("refund");
    let limit = match refund.word(&[("full", Refund::Full), ("undrained", Refund::Undrained)], Some(Refund::Full))? {
        Refund::Full => limit,
        kept @ Refund::Undrained => limit.with_refund(kept).map_err(|error| refund.fault(error.message()))?,
    };
    field.get("label").label()?.map_or(Ok(limit.clone()), |label| limit.labelled(&label))
}
