//! What the verbs with a decision have in common: `acquire`, `enter`, `peek`, `debit`.

use super::prelude::*;
use crate::engine::reply::{LeaseAndTicket, LimitNumbers, Reply};
use crate::model::decision::Status;
use crate::model::permit::UNLIMITED;
use crate::model::policy::exceeds_capacity;

/// The status of a call without an id that must be repeated with one.
pub(crate) const NEEDS_ID: i64 = 4;

/// The status of a request that exceeds the capacity of a limit.
pub(crate) const EXCEEDS_CAPACITY: i64 = 5;

/// The status of a call that only shadow granted.
const GRANTED_IN_SHADOW: u64 = 6;

/// A decision that the script makes.
pub(crate) struct Pending {
    pub(crate) policy: Arc<Policy>,
    /// Boxed, because a call is moved often.
    pub(crate) charge: Box<Charge>,
    pub(crate) asks: Asks,
    /// The id of a call whose grant returns a permit.
    pub(crate) permit: Option<String>,
    pub(crate) estimate: Estimate,
    /// Whether the decision has each limit.
    pub(crate) describes: bool,
    /// Whether the call is the run of a job, which does not take the lease of another run.
    pub(crate) is_run: bool,
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Units, without an id: it may have to be repeated with one.
    WithoutId,
    /// Units, with an id.
    WithId,
    /// Nothing that can be refused.
    Nothing,
}

/// Whether the units of a call are an estimate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimate {
    No,
    /// It is lowered when it exceeds a limit's capacity.
    Whole,
    Lowered,
}

impl Pending {
    pub(crate) fn new(policy: &Arc<Policy>, charge: &Charge, asks: Asks) -> Self {
        Self {
            policy: policy.clone(),
            charge: (*charge).into(),
            asks,
            permit: None,
            estimate: Estimate::No,
            describes: false,
            is_run: false,
        }
    }

    pub(crate) fn estimated(self, is_estimate: bool) -> Self {
        Self { estimate: if is_estimate { Estimate::Whole } else { Estimate::No }, ..self }
    }

    /// Lowers an estimate that exceeds the capacity of a limit to it, by the reply that says so. Returns the units for another
    /// attempt.
    pub(crate) fn lower(&mut self, items: &[Value]) -> Option<String> {
        if self.estimate == Estimate::No {
            return None;
        }
        *self.charge = lowered(items, &self.policy, &self.charge)?;
        self.estimate = Estimate::Lowered;
        Some(described(&self.charge, self.describes))
    }

    /// Decodes the reply.
    pub(crate) fn decode(&self, items: &[Value]) -> Result<(Reply, Answer)> {
        let Self { policy, charge, estimate, .. } = self;
        if items.first() == Some(&Value::Integer(EXCEEDS_CAPACITY)) {
            return Err(exceeded(items, argument(*estimate != Estimate::No), policy, charge));
        }
        let reply = reply(items, policy)?;
        let permit = self.permit.as_deref();
        let decision = if self.is_run {
            reply.decision_on_run(policy, charge, permit)
        } else {
            reply.decision(policy, charge, permit)
        };
        let is_lowered = *estimate == Estimate::Lowered;
        Ok((reply, Answer::Decision(Decision { is_lowered, ..decision })))
    }

    /// Returns whether a decision is a refusal of the call.
    pub(crate) fn is_refused(&self, reply: &Reply) -> bool {
        // A call of nothing with an id only looks.
        let can_be = self.asks == Asks::WithoutId || self.asks == Asks::WithId && self.charge.is_call();
        can_be && reply.status == Status::Refused
    }
}

impl From<Pending> for Decoder {
    fn from(pending: Pending) -> Self {
        Self::Decision(pending)
    }
}

/// Returns the name of the argument that gave the charge.
pub(crate) const fn argument(is_estimate: bool) -> &'static str {
    if is_estimate { "estimate" } else { "cost" }
}

/// Returns the decision of a policy that needs no state.
pub(crate) fn without_state(policy: &Policy, charge: &Charge, is_estimate: bool, has_id: bool) -> Result<Answer> {
    policy.check_fits(policy, argument(is_estimate), charge)?;
    Ok(Answer::Decision(match policy.paused() {
        Some(limit) => Decision::paused(Some(limit.label())),
        None => Decision::unlimited((is_estimate || has_id).then(|| UNLIMITED.to_owned())),
    }))
}

/// Returns the units of a call as the script takes them, with the mark of one whose reply describes each limit.
pub(crate) fn described(charge: &Charge, describes: bool) -> String {
    // One number alone is of all limits, and zero then only looks.
    let comma = if *charge == Charge::each([0]) { "," } else { "" };
    if describes { format!("?{charge}{comma}") } else { format!("{charge}{comma}") }
}

/// Returns the words of a call without an id, which follow its time when the entry for the list of limiters is due.
pub(crate) fn listed_words(listed: Listed) -> Vec<String> {
    listed.map_or_else(Vec::new, |(ttl, entry)| vec![String::new(), String::new(), ttl.0.to_string(), entry])
}

/// Returns an estimate that exceeds the capacity of a limit lowered to it, by the reply that says so; `None` for another reply.
pub(crate) fn lowered(items: &[Value], policy: &Policy, estimate: &Charge) -> Option<Charge> {
    if items.first() != Some(&Value::Integer(EXCEEDS_CAPACITY)) {
        return None;
    }
    let numbers = parse_u64s(items);
    let index = numbers.get(1).and_then(|index| usize::try_from(*index).ok())?;
    let most = policy.limits().get(index)?.amount().max(*numbers.get(2)?);
    if estimate.of(index) <= most {
        return None;
    }
    let limits = policy.limits().iter().enumerate();
    let each = limits.map(|(i, limit)| match estimate.of(i) {
        units if limit.counts_starts() => units.min(1),
        units if i == index => units.min(most),
        units => units,
    });
    Some(Charge::each(each).simplest())
}

/// Returns the error of a call that exceeds the capacity of a limit, from the reply that says so.
pub(crate) fn exceeded(items: &[Value], argument: &'static str, policy: &Policy, charge: &Charge) -> Error {
    let numbers = parse_u64s(items);
    let index = numbers.get(1).and_then(|index| usize::try_from(*index).ok());
    match (index.filter(|index| *index < policy.limits().len()), numbers.get(2)) {
        (Some(index), Some(most)) => {
            exceeds_capacity(argument, charge.of(index), policy.limits()[index].label(), *most)
        }
        _ => garbled(),
    }
}

/// Decodes the numbers of a decision.
pub(crate) fn reply(items: &[Value], policy: &Policy) -> Result<Reply> {
    let natural = |i: usize| {
        let number = items.get(i).and_then(integer);
        number.and_then(|number| u64::try_from(number).ok()).ok_or_else(garbled)
    };
    let (items, limits) = match items {
        [items @ .., Value::Array(limits)] => (items, numbers_of_limits(limits)?),
        items => (items, Box::default()),
    };
    if !matches!(items.len(), 6 | 7 | 13 | 14) {
        return Err(garbled());
    }
    let code = natural(0)?;
    let status = match code {
        0 => Status::Refused,
        1 | GRANTED_IN_SHADOW => Status::Granted,
        2 => Status::Queued,
        3 => Status::NoTicket,
        _ => return Err(garbled()),
    };
    let index = usize::try_from(natural(1)?).ok().filter(|index| *index <= policy.limits().len() + 1);
    let lease_and_ticket = if items.len() < 13 {
        LeaseAndTicket::default()
    } else {
        LeaseAndTicket {
            lease: natural(6)?,
            fencing_token: natural(7)?,
            number: natural(8)?,
            position: natural(9)?,
            ready: u64::try_from(integer(&items[10]).ok_or_else(garbled)?).ok(),
            granted_at: natural(11)?,
            charged: charge(&items[12]).ok_or_else(garbled)?,
        }
    };
    Ok(Reply {
        status,
        would_refuse: code == GRANTED_IN_SHADOW,
        index: index.ok_or_else(garbled)?,
        remaining: natural(2)?,
        retry_after: natural(3)?,
        reset_after: natural(4)?,
        at: natural(5)?,
        amount: if matches!(items.len(), 7 | 14) { Some(natural(items.len() - 1)?) } else { None },
        lease_and_ticket,
        limits,
    })
}

/// Decodes the numbers of each limit.
fn numbers_of_limits(items: &[Value]) -> Result<Box<[LimitNumbers]>> {
    let numbers = parse_u64s(items);
    if numbers.len() != items.len() || !numbers.len().is_multiple_of(5) {
        return Err(garbled());
    }
    let of_limit = |numbers: &[u64]| match *numbers {
        [amount, interval, remaining, wait, reset] => LimitNumbers { amount, interval, remaining, wait, reset },
        _ => LimitNumbers::default(),
    };
    Ok(numbers.chunks(5).map(of_limit).collect())
}

/// Decodes the charge of a lease: a number, or one for each limit.
pub(crate) fn charge(item: &Value) -> Option<Charge> {
    match item {
        Value::Integer(units) => u64::try_from(*units).ok().map(Charge::All),
        Value::Text(text) => Charge::parse(std::str::from_utf8(text).ok()?),
        _ => None,
    }
}
