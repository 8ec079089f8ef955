//! `correct`: replaces an estimate by the actual cost. The script's part is in `engine/transaction/upstream.lua`.

use super::prelude::*;
use crate::model::permit;

pub(crate) struct Correct<'a> {
    pub(crate) permit: Permit<'a>,
    pub(crate) actual: Charge,
}

impl<'a> Correct<'a> {
    pub(crate) fn new(policy: &Policy, permit: &'a str, actual: Cost<'_>) -> Checked<Self> {
        let actual = actual.charge("actual", policy)?;
        if policy.limits().is_empty() && permit == permit::UNLIMITED || permit == permit::SHADOW {
            return Ok(ControlFlow::Break(Answer::Settlement(Settlement::Settled)));
        }
        Ok(match parsed(permit)? {
            Some(permit) => ControlFlow::Continue(Self { permit, actual }),
            None => ControlFlow::Break(Answer::Settlement(Settlement::Unknown)),
        })
    }
}

impl Verb for Correct<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Settlement(Settlement::Unknown))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(Answer::Settlement(held.transaction("")?.correct(&self.permit, &self.actual)))
    }

    fn encode(&self, policy: &Policy, _: Listed) -> Words {
        let Self { permit, actual } = self;
        // The permit of another policy has a key that the script does not find.
        let charged = policy.in_policy_order(&permit.charged).unwrap_or_default();
        let more = [permit.to_string(), permit.granted_at.to_string(), charged.to_string(), policy.refunds()];
        Words { units: actual.to_string(), ..Words::new("correct", KeySet::WithPermit, more) }
    }
}

impl OfSeveral for Correct<'_> {
    fn combined(each: &[Answer]) -> Answer {
        settled_by_all(each)
    }
}
