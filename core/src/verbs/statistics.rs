//! `statistics` and `history`: what was counted. The script's part is in `engine/transaction/permit.lua`.

use super::counted::Counted;
use super::prelude::*;
use crate::engine::state::State;
use crate::model::statistics;

pub(crate) enum Statistics {
    OfAllTime,
    /// The history, with the time for a limiter without a state.
    Recent(u64),
}

impl Statistics {
    fn of(&self, state: &mut State, now: u64) -> Answer {
        match self {
            Self::OfAllTime => Answer::Statistics(state.statistics(now).into()),
            Self::Recent(_) => Answer::History(state.counters.history(now).into()),
        }
    }

    /// Returns the answer of a limiter that has counted nothing.
    pub(crate) fn nothing(&self) -> Answer {
        let now = if let Self::Recent(now) = self { *now } else { 0 };
        self.of(&mut State::default(), now)
    }
}

impl Verb for Statistics {
    const NEEDS_COUNTS: bool = true;

    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(self.nothing())
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(self.of(held.state, held.now))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        Words::new("statistics", KeySet::All, [String::new()])
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        let is_history = matches!(self, Self::Recent(_));
        Decoder::of(move |items| {
            let [Value::Integer(leases), Value::Integer(tickets), Value::Array(fields), Value::Integer(now)] = items
            else {
                return Err(garbled());
            };
            let [leases, tickets, now] = [leases, tickets, now].map(|number| u64::try_from(*number).unwrap_or(0));
            let counted = Counted::read(fields);
            Ok(if is_history {
                Answer::History(counted.history(now).into())
            } else {
                Answer::Statistics(statistics::Statistics { leases, tickets, ..counted.statistics }.into())
            })
        })
    }

    fn leaves_unknown(&self) -> bool {
        true
    }
}
