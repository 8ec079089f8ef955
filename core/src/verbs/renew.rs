//! `renew`: restarts the duration of a lease. The script's part is in `engine/transaction/permit.lua`.

use super::prelude::*;
use crate::model::limit::Limit;
use crate::model::permit;

/// The status of a lease that has ended, and of one whose duration was restarted.
const ENDED: i64 = 5;
const RENEWED: i64 = 9;

pub(crate) struct Renew<'a>(pub(crate) Permit<'a>);

impl<'a> Renew<'a> {
    pub(crate) fn new(policy: &Policy, permit: &'a str) -> Checked<Self> {
        if permit == permit::SHADOW {
            return Ok(ControlFlow::Break(Answer::Renewal(policy.concurrency().map(Limit::interval))));
        }
        Ok(match parsed(permit)?.filter(|_| policy.concurrency().is_some()) {
            Some(permit) => ControlFlow::Continue(Self(permit)),
            None => ControlFlow::Break(Answer::Renewal(None)),
        })
    }
}

impl Verb for Renew<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Renewal(None))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(Answer::Renewal(held.transaction(self.0.id)?.renew(&self.0)))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words::new("renew", KeySet::WithLeases, [self.0.id.to_owned(), self.0.granted_at.to_string()])
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::of(|items| match *items {
            [Value::Integer(ENDED), Value::Integer(0)] => Ok(Answer::Renewal(None)),
            [Value::Integer(RENEWED), Value::Integer(lease)] => {
                Ok(Answer::Renewal(Some(Micros(u64::try_from(lease).map_err(|_| garbled())?))))
            }
            _ => Err(garbled()),
        })
    }
}

impl OfSeveral for Renew<'_> {
    /// Returns the lease that ends first.
    fn combined(each: &[Answer]) -> Answer {
        let lease = |answer: &Answer| match answer {
            Answer::Renewal(lease) => *lease,
            _ => None,
        };
        Answer::Renewal(each.iter().map(lease).collect::<Option<Vec<_>>>().and_then(|each| each.into_iter().min()))
    }
}
