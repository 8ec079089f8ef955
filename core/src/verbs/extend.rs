//! `extend`: reserves more units for the call of a permit. The script's part is in `engine/transaction/extend.lua`.

use super::decision::{self, EXCEEDS_CAPACITY, exceeded};
use super::prelude::*;
use crate::base::charge::MAX_UNITS;
use crate::engine::reply::Extended;
use crate::model::extension::Extension;
use crate::model::permit;

pub(crate) struct Extend<'a> {
    permit: Permit<'a>,
    /// What the permit says was charged, in the order of the policy.
    charged: Charge,
    units: Charge,
}

impl<'a> Extend<'a> {
    pub(crate) fn new(policy: &Policy, permit: &'a str, units: Cost<'_>) -> Checked<Self> {
        let units = units.extension("units", policy)?;
        // Nothing was charged for the call of a permit in shadow, which refuses nobody.
        if policy.limits().is_empty() && permit == permit::UNLIMITED || permit == permit::SHADOW {
            let granted = Extension::Decided(Decision::unlimited(Some(permit.to_owned())));
            return Ok(ControlFlow::Break(Answer::Extension(granted.into())));
        }
        let Some(permit) = parsed(permit)? else { return Ok(ControlFlow::Break(unknown())) };
        // The permit of another policy has a key that the state does not find.
        let charged = policy.in_policy_order(&permit.charged).unwrap_or_default();
        let sums = (0..policy.limits().len()).map(|i| charged.of(i) + units.of(i));
        if let Some(sum) = sums.max().filter(|sum| *sum > MAX_UNITS) {
            let message = format!("must be at most {MAX_UNITS} with what is reserved: sum={sum}");
            return Err(Error::invalid("units", message));
        }
        Ok(ControlFlow::Continue(Self { permit, charged, units }))
    }
}

fn unknown() -> Answer {
    Answer::Extension(Extension::Closed(Settlement::Unknown).into())
}

fn answer(extended: Extended, policy: &Policy, permit: &Permit<'_>) -> Answer {
    let extension = match extended {
        Ok((reply, charged)) => Extension::Decided(reply.extension(policy, permit, charged)),
        Err(settlement) => Extension::Closed(settlement),
    };
    Answer::Extension(extension.into())
}

/// Decodes the reply: a decision with the whole charge behind the time, or why the permit is not open.
fn extended(items: &[Value], policy: &Policy) -> Result<Extended> {
    if items.len() == 1 {
        return settlement(items).map(Err);
    }
    let charged = items.get(6).and_then(decision::charge).ok_or_else(garbled)?;
    let numbers: Vec<Value> = items.iter().enumerate().filter(|(i, _)| *i != 6).map(|(_, item)| item.clone()).collect();
    Ok(Ok((decision::reply(&numbers, policy)?, charged)))
}

impl Verb for Extend<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(unknown())
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let policy = held.policy;
        Ok(answer(held.transaction("")?.extend(&self.permit, &self.units)?, policy, &self.permit))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        let more = [self.permit.to_string(), self.permit.granted_at.to_string(), self.charged.to_string()];
        Words { units: self.units.to_string(), ..Words::new("extend", KeySet::WithPermit, more) }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        let (policy, permit, units) = (policy.clone(), self.permit.to_string(), Box::new(self.units));
        Decoder::of(move |items| {
            if items.len() > 1 && items.first() == Some(&Value::Integer(EXCEEDS_CAPACITY)) {
                return Err(exceeded(items, "units", &policy, &units));
            }
            let extended = extended(items, &policy)?;
            Ok(answer(extended, &policy, &Permit::parse(&permit).ok_or_else(garbled)?))
        })
    }
}
