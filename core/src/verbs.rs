//! The verbs, a file each: `NAME.rs` checks the arguments and has the answer without a state, the effect on a state in
//! memory, the words for the script, and the decoder of its reply. `Limiter` picks the place in one match.

pub(crate) mod acquire;
pub(crate) mod admin;
pub(crate) mod cancel;
pub(crate) mod correct;
pub(crate) mod counted;
pub(crate) mod debit;
pub(crate) mod decision;
pub(crate) mod enter;
pub(crate) mod extend;
pub(crate) mod inspect;
pub(crate) mod learn;
pub(crate) mod numbers;
pub(crate) mod peek;
pub(crate) mod ready;
#[cfg(feature = "redis")]
pub(crate) mod record;
pub(crate) mod refund;
pub(crate) mod release;
pub(crate) mod renew;
pub(crate) mod reset;
pub(crate) mod statistics;
pub(crate) mod value;

use crate::engine::state::State;
use crate::engine::transaction::{Entry, Publish, Transaction};
use crate::model::permit::MAX_PERMIT_ID;
use acquire::Acquire;
use decision::Pending;
use prelude::*;

/// What the files of the verbs use.
mod prelude {
    pub(super) use super::value::{Value, garbled, integer, parse_u64s};
    pub(super) use super::{Checked, Decoder, Held, KeySet, Listed, Listing, OfSeveral, Plain, Verb, Words};
    pub(super) use super::{parsed, settled_by_all, settlement};
    pub(super) use crate::base::charge::Charge;
    pub(super) use crate::base::error::{Error, Result};
    pub(super) use crate::base::micros::Micros;
    pub(super) use crate::model::cost::Cost;
    pub(super) use crate::model::decision::Decision;
    pub(super) use crate::model::operation::Answer;
    pub(super) use crate::model::permit::{Permit, Settlement};
    pub(super) use crate::model::policy::Policy;
    pub(super) use std::ops::ControlFlow;
    pub(super) use std::sync::Arc;
}

/// A call of a verb, or its answer when that needs no state.
pub(crate) type Checked<V> = Result<ControlFlow<Answer, V>>;

/// The time to live and the entry for the list of limiters, when the entry is due.
pub(crate) type Listed = Option<(Micros, String)>;

/// One call of a verb with its arguments, which are checked.
pub(crate) trait Verb {
    /// Whether the script must know what this process has counted before.
    const NEEDS_COUNTS: bool = false;

    /// Returns the answer of a limiter without a state.
    fn without_state(&self, policy: &Policy) -> Result<Answer>;

    /// Returns the answer of a state in memory, and changes it.
    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer>;

    /// Returns what the script gets.
    fn encode(&self, policy: &Policy, listed: Listed) -> Words;

    /// Returns what decodes the script's reply: what became of a permit, unless the verb says otherwise.
    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::of_settlement()
    }

    /// Returns whether a name that nobody has used stays unknown, since the call takes nothing.
    fn leaves_unknown(&self) -> bool {
        false
    }

    /// Returns what a script of plain calls may decide instead; `None` for a call that needs the whole script.
    fn plain(&self) -> Option<Plain<'_>> {
        None
    }

    /// Returns when the call adds the limiter to the list of limiters.
    fn listing(&self) -> Listing {
        Listing::Never
    }
}

/// A verb that also works on several limiters that decide together.
pub(crate) trait OfSeveral: Verb {
    /// Returns the answer of all limiters from that of each.
    fn combined(each: &[Answer]) -> Answer;
}

/// A call that a script of plain calls may decide.
#[derive(Clone, Copy)]
pub(crate) enum Plain<'a> {
    Acquire(&'a Acquire),
    Enter(&'a Entry<'a>),
    Release(&'a Permit<'a>),
}

/// When a call adds its limiter to the list of limiters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Never,
    /// Once a minute.
    WhenDue,
    Now,
    /// The next call that may.
    Next,
}

/// The state of a limiter in memory, under its lock.
pub(crate) struct Held<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) policy: &'a Policy,
    pub(crate) channels: &'a dyn Publish,
    pub(crate) now: u64,
    /// The number of limiters that get the same call; `None` for a call to one.
    pub(crate) limiters: Option<usize>,
}

impl Held<'_> {
    /// Starts a call that examines the queue. Its id is empty when it has none.
    pub(crate) fn transaction<'a>(&'a mut self, id: &'a str) -> Result<Transaction<'a>> {
        let transaction = Transaction::new(self.state, self.policy, self.channels, self.now, id)?;
        Ok(match self.limiters {
            Some(limiters) => transaction.of_several(limiters),
            None => transaction,
        })
    }

    /// Returns an estimate that is above the capacity of a limit, lowered to it; `None` for another.
    pub(crate) fn lowered(&self, estimate: &Charge) -> Option<Charge> {
        // Nearly every estimate fits, and then nobody needs the limits in force.
        self.policy.fitted(self.policy, estimate)?;
        self.state.effective_policy(self.policy, self.now).fitted(self.policy, estimate)
    }
}

/// What the script gets beside the limits, in the order that `engine/state.lua` defines.
pub(crate) struct Words {
    pub(crate) verb: &'static str,
    pub(crate) keys: KeySet,
    /// The keys instead on a node whose slot is being moved, which serves only keys that exist.
    pub(crate) existing: Option<KeySet>,
    /// Whether the call adds the limiter to the list of limiters.
    pub(crate) is_listed: bool,
    pub(crate) units: String,
    /// From the id on.
    pub(crate) more: Vec<String>,
}

/// Keys that a script gets beside those of the limits.
#[derive(Clone, Copy)]
pub(crate) enum KeySet {
    WithoutId,
    WithId,
    WithPermit,
    /// Those that exist while there are leases.
    WithLeases,
    All,
    /// All, and the statistics that others of the name may have.
    Reset,
}

impl Words {
    /// Creates the words of a call that takes no units.
    pub(crate) fn new<const N: usize>(verb: &'static str, keys: KeySet, more: [String; N]) -> Self {
        Self { verb, keys, existing: None, is_listed: false, units: "0".to_owned(), more: more.into() }
    }
}

/// What decodes a reply by itself.
pub(crate) type Decode = Box<dyn Fn(&Value) -> Result<Answer> + Send + Sync>;

/// What decodes the reply to a call. Only the last one needs no help of the store.
pub(crate) enum Decoder {
    Decision(Pending),
    /// The end of a call, which counts as a refusal when it gave up.
    Cancellation {
        gave_up: bool,
    },
    /// The store then forgets how often the key was refused.
    Reset,
    Reply(Decode),
}

impl Decoder {
    /// Creates the decoder of a list.
    pub(crate) fn of(decode: impl Fn(&[Value]) -> Result<Answer> + Send + Sync + 'static) -> Self {
        Self::Reply(Box::new(move |reply| decode(reply.items()?)))
    }

    /// Creates the decoder of what became of a permit.
    pub(crate) fn of_settlement() -> Self {
        Self::of(|items| settlement(items).map(Answer::Settlement))
    }

    /// Returns what decodes the reply, without the store's part.
    pub(crate) fn decode(self) -> Decode {
        match self {
            Self::Decision(pending) => Box::new(move |reply| Ok(pending.decode(reply.items()?)?.1)),
            Self::Cancellation { .. } => Self::of_settlement().decode(),
            Self::Reset => Box::new(|reply| integer(reply).map(|_| Answer::Reset).ok_or_else(garbled)),
            Self::Reply(decode) => decode,
        }
    }
}

/// Parses a permit id; `None` when this library cannot have issued it.
pub(crate) fn parsed(permit: &str) -> Result<Option<Permit<'_>>> {
    if permit.is_empty() || permit.len() > MAX_PERMIT_ID {
        return Err(Error::invalid("permit", format!("must have 1 to {MAX_PERMIT_ID} bytes: bytes={}", permit.len())));
    }
    Ok(Permit::parse(permit))
}

/// Decodes what became of a permit or a ticket.
pub(crate) fn settlement(items: &[Value]) -> Result<Settlement> {
    Ok(match items {
        [Value::Integer(3)] => Settlement::Settled,
        [Value::Integer(4)] => Settlement::Already,
        [Value::Integer(5)] => Settlement::Late,
        [Value::Integer(6)] => Settlement::Unknown,
        [Value::Integer(7)] => Settlement::Released,
        [Value::Integer(8)] => Settlement::Cancelled,
        _ => return Err(garbled()),
    })
}

/// Returns the result of the same settlement at several limiters: the first that had no effect, else the effect.
fn settled_by_all(each: &[Answer]) -> Answer {
    let has_effect = |answer: &&Answer| {
        matches!(answer, Answer::Settlement(Settlement::Settled | Settlement::Released | Settlement::Cancelled))
    };
    let settled = each.iter().find(|answer| !has_effect(answer)).or(each.first());
    settled.cloned().unwrap_or(Answer::Settlement(Settlement::Unknown))
}
