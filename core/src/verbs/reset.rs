//! `reset`: forgets all that was taken. The script's part is in `engine/transaction/admin.lua`.

use super::prelude::*;
use crate::engine::state::State;

pub(crate) struct Reset;

impl Verb for Reset {
    /// What was counted before must not be added after it.
    const NEEDS_COUNTS: bool = true;

    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Reset)
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        *held.state = State::default();
        Ok(Answer::Reset)
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words::new("reset", KeySet::Reset, [])
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::Reset
    }

    fn leaves_unknown(&self) -> bool {
        true
    }

    fn listing(&self) -> Listing {
        Listing::Next
    }
}
