//! `cancel`: ends the wait of a call, or the lease that it may have become. The script's part is in
//! `engine/transaction/permit.lua`.

use super::prelude::*;
use crate::model::request::check_id;

pub(crate) struct Cancel<'a> {
    id: &'a str,
    /// The word by which the script counts a refusal; empty when the call did not give up.
    gave_up: &'static str,
}

impl<'a> Cancel<'a> {
    pub(crate) fn new(id: &'a str, gave_up: bool) -> Result<Self> {
        check_id(id)?;
        Ok(Self { id, gave_up: if gave_up { "1" } else { "" } })
    }

    /// Creates the part of one of several limiters, of which the one in whose queue the call waited counts the refusal.
    pub(crate) fn of_several(id: &'a str, gave_up: bool) -> Result<Self> {
        Ok(Self { gave_up: if gave_up { "here" } else { "" }, ..Self::new(id, gave_up)? })
    }
}

impl Verb for Cancel<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Settlement(Settlement::Unknown))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let is_of_several = held.limiters.is_some();
        let transaction = held.transaction(self.id)?;
        let waited = || transaction.ticket_of(self.id).is_some_and(|ticket| !ticket.is_suspended());
        let counts = !self.gave_up.is_empty() && (!is_of_several || waited());
        Ok(Answer::Settlement(transaction.cancel(self.id, counts)))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words::new("cancel", KeySet::WithId, [self.id.to_owned(), self.gave_up.to_owned()])
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::Cancellation { gave_up: !self.gave_up.is_empty() }
    }
}

impl OfSeveral for Cancel<'_> {
    fn combined(each: &[Answer]) -> Answer {
        let cancelled = Answer::Settlement(Settlement::Cancelled);
        if each.contains(&cancelled) { cancelled } else { Answer::Settlement(Settlement::Unknown) }
    }
}
