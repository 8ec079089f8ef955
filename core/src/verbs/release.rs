//! `release`: ends a lease. The script's part is in `engine/transaction/permit.lua`.

use super::prelude::*;
use crate::model::permit;

pub(crate) struct Release<'a>(pub(crate) Permit<'a>);

impl<'a> Release<'a> {
    pub(crate) fn new(policy: &Policy, permit: &'a str) -> Checked<Self> {
        let grants_leases = policy.concurrency().is_some();
        if permit == permit::SHADOW && grants_leases {
            return Ok(ControlFlow::Break(Answer::Settlement(Settlement::Released)));
        }
        Ok(match parsed(permit)?.filter(|_| grants_leases) {
            Some(permit) => ControlFlow::Continue(Self(permit)),
            None => ControlFlow::Break(Answer::Settlement(Settlement::Unknown)),
        })
    }

    /// Returns what the script gets, whatever the policy.
    pub(crate) fn words(&self) -> Words {
        let words = Words::new("release", KeySet::WithId, [self.0.id.to_owned(), self.0.granted_at.to_string()]);
        Words { existing: Some(KeySet::WithLeases), ..words }
    }
}

impl Verb for Release<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Settlement(Settlement::Unknown))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(Answer::Settlement(held.transaction(self.0.id)?.release(&self.0)))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        self.words()
    }

    fn plain(&self) -> Option<Plain<'_>> {
        Some(Plain::Release(&self.0))
    }
}

impl OfSeveral for Release<'_> {
    fn combined(each: &[Answer]) -> Answer {
        settled_by_all(each)
    }
}
