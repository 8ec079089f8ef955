//! `inspect`: what a limiter contains. The script's part is in `engine/transaction/inspect.lua`.

use super::admin::overriding_mode;
use super::numbers::decode_limit;
use super::prelude::*;
use crate::base::micros::MAX_TIME;
use crate::model::inspection::{InspectedLimit, Inspection, LeaseInfo, LimitSource, Page, TicketInfo};
use crate::model::limit::{Kind, Limit};
use crate::model::mode::Mode;

pub(crate) struct Inspect {
    pub(crate) page: Page,
    /// The mode of the caller, without an override.
    pub(crate) mode: Mode,
}

impl Verb for Inspect {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Err(Error::internal("the limiter has no state"))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let inspection = held.state.inspect(held.policy, self.mode, held.now, self.page);
        Ok(Answer::Inspection(inspection.into()))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        let more = [String::new(), self.page.offset.to_string(), self.page.count.to_string()];
        Words::new("inspect", KeySet::All, more)
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        let (policy, mode) = (policy.clone(), self.mode);
        Decoder::of(move |items| Ok(Answer::Inspection(inspection(items, &policy, mode)?.into())))
    }

    fn leaves_unknown(&self) -> bool {
        true
    }
}

fn inspection(items: &[Value], policy: &Policy, own_mode: Mode) -> Result<Inspection> {
    let [
        at,
        pause,
        block,
        Value::Text(mode),
        leases,
        tickets,
        Value::Array(of_limits),
        Value::Array(of_leases),
        Value::Array(of_tickets),
    ] = items
    else {
        return Err(garbled());
    };
    if of_limits.len() != 6 * policy.limits().len() || of_leases.len() % 4 > 0 || of_tickets.len() % 5 > 0 {
        return Err(garbled());
    }
    let span = |value: &Value| number(value).map(|span| (span > 0).then_some(Micros(span)));
    Ok(Inspection {
        at: Micros(number(at)?),
        limits: of_limits.chunks(6).enumerate().map(|(i, items)| limit(items, policy, i)).collect::<Result<_>>()?,
        paused_for: span(pause)?,
        blocked_for: span(block)?,
        mode: overriding_mode(mode)?.unwrap_or(own_mode),
        leases: of_leases.chunks(4).map(lease).collect::<Result<_>>()?,
        lease_count: number(leases)?,
        tickets: of_tickets.chunks(5).map(ticket).collect::<Result<_>>()?,
        ticket_count: number(tickets)?,
    })
}

fn limit(items: &[Value], policy: &Policy, i: usize) -> Result<InspectedLimit> {
    let [source, Value::Text(numbers), taken, remaining, wait, reset] = items else { return Err(garbled()) };
    let source = usize::try_from(number(source)?).ok().and_then(|source| LimitSource::ALL.get(source).copied());
    let (source, own, wait) = (source.ok_or_else(garbled)?, &policy.limits()[i], number(wait)?);
    let ruling = match source {
        LimitSource::Policy => own.clone(),
        _ => ruling(policy.tag(i), std::str::from_utf8(numbers).map_err(|_| garbled())?, own).ok_or_else(garbled)?,
    };
    Ok(InspectedLimit {
        label: own.label().clone(),
        kind: own.kind(),
        limit: ruling.amount(),
        interval: ruling.interval(),
        source,
        taken: number(taken)?,
        remaining: number(remaining)?,
        next_after: (wait < MAX_TIME.0).then_some(Micros(wait)),
        reset_after: Micros(number(reset)?),
    })
}

/// Returns the limit with the numbers that rule. A quota keeps the calendar of the caller.
fn ruling(tag: &str, numbers: &str, own: &Limit) -> Option<Limit> {
    let ruling = decode_limit(&format!("{tag}={numbers}"))?;
    match own.kind() {
        Kind::Quota => own.with_numbers(ruling.amount(), own.interval(), own.offset()).ok(),
        _ => Some(ruling),
    }
}

fn lease(items: &[Value]) -> Result<LeaseInfo> {
    let [id, held, remains, fencing_token] = items else { return Err(garbled()) };
    Ok(LeaseInfo {
        id: text(id)?,
        held_for: known(held)?.map(Micros),
        ends_in: Micros(number(remains)?),
        fencing_token: known(fencing_token)?,
    })
}

fn ticket(items: &[Value]) -> Result<TicketInfo> {
    let [id, priority, share, waited, ready] = items else { return Err(garbled()) };
    Ok(TicketInfo {
        id: text(id)?,
        priority: u8::try_from(number(priority)?).map_err(|_| garbled())?,
        share: Some(text(share)?).filter(|share| !share.is_empty()),
        waited: Micros(number(waited)?),
        ready: number(ready)? == 1,
    })
}

fn number(value: &Value) -> Result<u64> {
    known(value)?.ok_or_else(garbled)
}

/// Returns a number; `None` for one that is unknown.
fn known(value: &Value) -> Result<Option<u64>> {
    integer(value).map(|number| u64::try_from(number).ok()).ok_or_else(garbled)
}

/// Returns a text, which an operator reads: one that another program wrote need not be UTF-8.
fn text(value: &Value) -> Result<String> {
    match value {
        Value::Text(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        _ => Err(garbled()),
    }
}
