//! `Together`: one call to several limiters. Its reply is decoded here.

use std::sync::Arc;

use super::call::{
    Call, EXCEEDS_CAPACITY, Expects, LEASE_ENDED, LEASE_RENEWED, NEEDS_ID, described, entry_words, exceeded,
    listed_words, lowered, refusals,
};
use super::command::Command;
use super::keys::{FixedArguments, Keys};
use super::reply::{decision, garbled, parse_u64s, settlement};
use super::wire::{Value, header, word};
use crate::base::charge::Charge;
use crate::base::clock;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::engine::script::Script;
use crate::engine::together::{self, Parts};
use crate::engine::transaction::{Entry, Waiting};
use crate::model::decision::Status;
use crate::model::operation::Answer;
use crate::model::permit::new_id;

/// The time to live and the entry for the list of limiters, when the entry is due.
pub(crate) type Listed = Option<(Micros, String)>;

/// What a call to several limiters expects.
pub(super) enum Together {
    Decision {
        parts: Parts,
        /// Keys and time of a call without an id, in case it must be repeated with one.
        retry_with_id: Option<(Vec<Arc<Keys>>, Option<Micros>)>,
        /// Of each limiter with a state the keys, if its refusals are counted for a key.
        refused: Vec<Option<Arc<Keys>>>,
        /// Of each limiter with a state the place of its units in the command, as [`Command::units`].
        units: Vec<(usize, usize)>,
    },
    Settlement,
    Cancellation,
    Renewal,
}

/// The part of a call that one limiter gets.
struct Member<'a> {
    arguments: &'a FixedArguments,
    units: String,
    words: Vec<String>,
}

/// One settlement of a permit at one limiter: the charge, and the words from the id on.
pub(crate) struct Settled {
    pub(crate) keys: Arc<Keys>,
    pub(crate) charge: Charge,
    pub(crate) words: Vec<String>,
}

impl Call {
    /// Creates a call without an id to the limiters of `parts` with a state, whose keys are given.
    pub(crate) fn together(
        verb: &[u8],
        parts: Parts,
        keys: &[Arc<Keys>],
        at: Option<Micros>,
        listed: Vec<Listed>,
    ) -> Self {
        let members = parts.with_state().zip(keys).zip(listed).map(|((part, keys), listed)| Member {
            arguments: keys.without_id(listed.is_some()),
            units: described(&part.charge, parts.describes),
            words: listed.map(listed_words).unwrap_or_default(),
        });
        let (command, units) = invocation(verb, &members.collect::<Vec<_>>(), at);
        let retry_with_id = (verb == b"acquire").then(|| (keys.to_vec(), at));
        let refused = keys.iter().map(|keys| retry_with_id.as_ref().and_then(|_| refusals(keys))).collect();
        Self::to_several(keys, command, Together::Decision { parts, retry_with_id, refused, units })
    }

    /// Creates a call with an id.
    pub(crate) fn enter_together(
        parts: Parts,
        keys: &[Arc<Keys>],
        entry: &Entry<'_>,
        at: Option<Micros>,
        listed: Vec<Listed>,
    ) -> Self {
        let with_state = parts.each.iter().enumerate().filter(|(_, part)| part.has_state);
        let members = with_state.zip(keys).zip(listed).map(|(((place, part), keys), listed)| {
            let queue = entry.queue.map(|waiting| {
                let position = together::position(waiting.position, place);
                Waiting { position, ..waiting }
            });
            Member {
                arguments: keys.with_id(listed.is_some()),
                units: described(&part.charge, parts.describes),
                words: entry_words(&Entry { queue, ..*entry }, part.policy.aging(), listed),
            }
        });
        let (command, units) = invocation(b"acquire", &members.collect::<Vec<_>>(), at);
        let refused = parts.with_state().zip(keys).map(|(part, keys)| refusals(keys).filter(|_| part.charge.is_call()));
        let refused = refused.collect();
        Self::to_several(keys, command, Together::Decision { parts, retry_with_id: None, refused, units })
    }

    pub(crate) fn correct_together(settled: &[Settled], at: Option<Micros>) -> Self {
        Self::settle(b"correct", settled, at, |keys| keys.with_permit(), Together::Settlement)
    }

    pub(crate) fn release_together(settled: &[Settled], at: Option<Micros>) -> Self {
        let with_leases =
            Self::settle(b"release", settled, at, |keys| keys.with_leases(), Together::Settlement).command;
        let mut call = Self::settle(b"release", settled, at, |keys| keys.with_id(false), Together::Settlement);
        call.with_leases = Some(with_leases.into());
        call
    }

    pub(crate) fn renew_together(settled: &[Settled], at: Option<Micros>) -> Self {
        Self::settle(b"renew", settled, at, |keys| keys.with_leases(), Together::Renewal)
    }

    pub(crate) fn cancel_together(settled: &[Settled], at: Option<Micros>) -> Self {
        Self::settle(b"cancel", settled, at, |keys| keys.with_id(false), Together::Cancellation)
    }

    fn settle(
        verb: &[u8],
        settled: &[Settled],
        at: Option<Micros>,
        arguments: impl Fn(&Keys) -> &FixedArguments,
        expects: Together,
    ) -> Self {
        let members = settled.iter().map(|it| Member {
            arguments: arguments(&it.keys),
            units: it.charge.to_string(),
            words: it.words.clone(),
        });
        let (command, _) = invocation(verb, &members.collect::<Vec<_>>(), at);
        let keys: Vec<Arc<Keys>> = settled.iter().map(|settled| settled.keys.clone()).collect();
        Self::to_several(&keys, command, expects)
    }

    fn to_several(keys: &[Arc<Keys>], command: Command, expects: Together) -> Self {
        let slot = keys.first().map_or(0, |keys| keys.slot());
        let mut call = Self::with_slot(slot, command, Expects::Together(Box::new(expects)));
        call.script = Script::of_several();
        call
    }
}

impl Together {
    /// Returns the call with an id, if a limiter needs one; `None` otherwise.
    pub(super) fn repeated(&self, items: &[Value]) -> Option<Result<Call>> {
        let Self::Decision { parts, retry_with_id: Some((keys, at)), .. } = self else { return None };
        let needs_id = |item: &Value| status(item) == Some(NEEDS_ID);
        items.iter().any(needs_id).then(|| {
            let id = new_id()?;
            let entry = Entry::without_queue(&id, Charge::All(0), None);
            Ok(Call::enter_together(parts.clone(), keys, &entry, *at, vec![None; keys.len()]))
        })
    }

    /// Lowers an estimate that exceeds the capacity of a limit to it, by the reply that says so. Returns whether the call is to be
    /// sent again.
    pub(super) fn lower_estimate(&mut self, command: &mut Command, items: &[Value]) -> bool {
        let Self::Decision { parts, units, .. } = self else { return false };
        let describes = parts.describes;
        let members = parts.each.iter_mut().filter(|part| part.has_state && parts.is_estimate).zip(items).enumerate();
        for (i, (part, item)) in members {
            if let Value::Array(items) = item
                && let Some(charge) = lowered(items, &part.policy, &part.charge)
            {
                part.charge = charge;
                let start = command.set_units(units[i], &described(&charge, describes));
                let before = units[i].0;
                units[i].0 = start;
                for (start_before, end_before) in &mut units[..i] {
                    *start_before = *start_before + start - before;
                    *end_before = *end_before + start - before;
                }
                parts.is_lowered = true;
                return true;
            }
        }
        false
    }

    pub(super) fn decode(&self, items: &[Value]) -> Result<Answer> {
        let each = || {
            items.iter().map(|item| match item {
                Value::Array(items) => Ok(items.as_slice()),
                _ => Err(garbled()),
            })
        };
        match self {
            Self::Decision { parts, refused, .. } => {
                let replies = parts.with_state().zip(each()).map(|(part, items)| match items? {
                    items if items.first() == Some(&Value::Integer(EXCEEDS_CAPACITY)) => {
                        Err(exceeded(items, parts.argument(), &part.policy, &part.charge))
                    }
                    items => decision(items, &part.policy),
                });
                let replies = replies.collect::<Result<Vec<_>>>()?;
                if replies.len() != parts.with_state().count() {
                    return Err(garbled());
                }
                for (reply, keys) in replies.iter().zip(refused) {
                    if let (Status::Refused, Some(keys)) = (reply.status, keys) {
                        keys.count_refused_key(Micros(reply.at));
                    }
                }
                Ok(Answer::Decision(parts.decision(&replies)))
            }
            Self::Settlement => {
                let each = each().map(|items| settlement(items?)).collect::<Result<Vec<_>>>()?;
                Ok(Answer::Settlement(together::settlement(&each)))
            }
            Self::Cancellation => {
                let each = each().map(|items| settlement(items?)).collect::<Result<Vec<_>>>()?;
                Ok(Answer::Settlement(together::cancellation(&each)))
            }
            Self::Renewal => {
                let each = each().map(|items| renewal(items?)).collect::<Result<Vec<_>>>()?;
                Ok(Answer::Renewal(together::renewal(&each)))
            }
        }
    }
}

/// Decodes the reply to a renewal.
pub(super) fn renewal(items: &[Value]) -> Result<Option<Micros>> {
    match parse_u64s(items)[..] {
        [LEASE_ENDED, 0] => Ok(None),
        [LEASE_RENEWED, lease] => Ok(Some(Micros(lease))),
        _ => Err(garbled()),
    }
}

fn status(item: &Value) -> Option<i64> {
    match item {
        Value::Array(items) => match items.first() {
            Some(Value::Integer(status)) => Some(*status),
            _ => None,
        },
        _ => None,
    }
}

/// Encodes the arguments in the order that `engine/together.lua` defines. Returns where the units of each member are, from the end.
fn invocation(verb: &[u8], members: &[Member<'_>], at: Option<Micros>) -> (Command, Vec<(usize, usize)>) {
    let mut keys = Vec::new();
    let mut arguments = Vec::new();
    let (mut key_count, mut words) = (0, 0);
    let (mut starts, mut places) = (Vec::with_capacity(members.len()), Vec::with_capacity(members.len()));
    let time = at.map(|at| at.0.to_string()).unwrap_or_default();
    for Member { arguments: fixed, units, words: more } in members {
        key_count += fixed.keys;
        keys.extend_from_slice(&fixed.bytes[fixed.keys_at.clone()]);
        // The limits, then verb, units, time and the other words.
        let limits = fixed.words - 1 - fixed.keys;
        let count = limits + 3 + more.len();
        words += 2 + count;
        word(&mut arguments, fixed.keys.to_string().as_bytes());
        word(&mut arguments, count.to_string().as_bytes());
        starts.push(arguments.len());
        arguments.extend_from_slice(&fixed.bytes[fixed.keys_at.end..]);
        word(&mut arguments, verb);
        let units_at = arguments.len();
        word(&mut arguments, units.as_bytes());
        places.push((units_at, arguments.len()));
        word(&mut arguments, time.as_bytes());
        for text in more {
            word(&mut arguments, text.as_bytes());
        }
    }
    let mut bytes = Vec::with_capacity(keys.len() + arguments.len() + 128);
    // EVALSHA, digest, number of keys, keys, number of limiters and their arguments.
    header(&mut bytes, 3 + key_count + 1 + words);
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, Script::of_several().digest.as_bytes());
    word(&mut bytes, key_count.to_string().as_bytes());
    bytes.extend_from_slice(&keys);
    word(&mut bytes, members.len().to_string().as_bytes());
    let start = bytes.len();
    bytes.extend_from_slice(&arguments);
    let mut command = Command::new(bytes);
    for (i, (Member { arguments: fixed, .. }, member)) in members.iter().zip(starts).enumerate() {
        command.note(i + 1, &fixed.quotas, |at| start + member + at - fixed.keys_at.end);
    }
    command.set_time(|| at.map_or_else(clock::now, |at| at.0));
    let length = arguments.len();
    (command, places.into_iter().map(|(start, end)| (length - start, length - end)).collect())
}
