//! `Together`: one call to several limiters. Its reply is decoded here.

use std::borrow::Cow;
use std::sync::Arc;

use super::call::{Call, Expects};
use super::command::Command;
use super::keys::{FixedArguments, Keys};
use super::reply::garbled;
use super::wire::{Value, header, word};
use crate::base::charge::Charge;
use crate::base::clock;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::engine::script::Script;
use crate::engine::together::{Part, Parts};
use crate::engine::transaction::Entry;
use crate::model::decision::Status;
use crate::model::operation::Answer;
use crate::model::permit::new_id;
use crate::model::policy::Policy;
use crate::verbs::decision::{Asks, EXCEEDS_CAPACITY, NEEDS_ID, described, exceeded, lowered, reply};
use crate::verbs::enter::Enter;
use crate::verbs::{Decode, Decoder, OfSeveral, Verb, Words};

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
    /// What each limiter decides by itself.
    Each { decode: Vec<Decode>, combined: fn(&[Answer]) -> Answer, is_cancellation: bool },
}

impl Call {
    /// Creates the call of a decision of the limiters of `parts` with a state, whose keys and words are given. A call `asks` for units
    /// or does not.
    pub(crate) fn together(parts: Parts, keys: &[Arc<Keys>], words: &[Words], asks: Asks, at: Option<Micros>) -> Self {
        let (command, units) = invocation(keys, words, false, at);
        let refused = parts.with_state().zip(keys).map(|(part, keys)| {
            let can_be = asks == Asks::WithoutId || asks == Asks::WithId && part.charge.is_call();
            (can_be && keys.counts_refused_keys()).then(|| keys.clone())
        });
        let refused = refused.collect();
        let retry_with_id = (asks == Asks::WithoutId).then(|| (keys.to_vec(), at));
        Self::to_several(keys, command, Together::Decision { parts, retry_with_id, refused, units })
    }

    /// Creates the call of a verb that each limiter decides by itself.
    pub(crate) fn of_each<V: OfSeveral>(each: &[(V, &Arc<Policy>, Arc<Keys>)], at: Option<Micros>) -> Self {
        let words: Vec<Words> = each.iter().map(|(verb, policy, _)| verb.encode(policy, None)).collect();
        let decoders: Vec<Decoder> = each.iter().map(|(verb, policy, _)| verb.decoder(policy)).collect();
        let keys: Vec<Arc<Keys>> = each.iter().map(|(.., keys)| keys.clone()).collect();
        Self::encoded_to_each(&keys, &words, at, decoders, V::combined)
    }

    fn encoded_to_each(
        keys: &[Arc<Keys>],
        words: &[Words],
        at: Option<Micros>,
        decoders: Vec<Decoder>,
        combined: fn(&[Answer]) -> Answer,
    ) -> Self {
        let is_cancellation = matches!(decoders[..], [Decoder::Cancellation { .. }, ..]);
        let decode = decoders.into_iter().map(Decoder::decode).collect();
        let (command, _) = invocation(keys, words, false, at);
        let needs_existing = words.iter().any(|words| words.existing.is_some());
        let existing = needs_existing.then(|| invocation(keys, words, true, at).0.into());
        let mut call = Self::to_several(keys, command, Together::Each { decode, combined, is_cancellation });
        call.existing = existing;
        call
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
            let enter = |part: &Part| Enter(part.entry(0, parts.describes, &entry)).encode(&part.policy, None);
            let words: Vec<Words> = parts.with_state().map(enter).collect();
            Ok(Call::together(parts.clone(), keys, &words, Asks::WithId, *at))
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
                    items => reply(items, &part.policy),
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
            Self::Each { decode, combined, .. } => {
                if decode.len() != items.len() {
                    return Err(garbled());
                }
                let each = decode.iter().zip(items).map(|(decode, reply)| decode(reply)).collect::<Result<Vec<_>>>()?;
                Ok(combined(&each))
            }
        }
    }

    pub(super) fn is_cancellation(&self) -> bool {
        matches!(self, Self::Each { is_cancellation: true, .. })
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

/// Encodes the words for each limiter in the order that `engine/together.lua` defines, with all keys or with those that exist.
/// Returns where the units of each are, from the end.
fn invocation(
    keys: &[Arc<Keys>],
    words: &[Words],
    existing: bool,
    at: Option<Micros>,
) -> (Command, Vec<(usize, usize)>) {
    let set = |words: &Words| words.existing.filter(|_| existing).unwrap_or(words.keys);
    let members = keys.iter().zip(words).map(|(keys, words)| (keys.of(set(words), words.is_listed), words));
    let members: Vec<(Cow<'_, FixedArguments>, &Words)> = members.collect();
    let mut key_words = Vec::new();
    let mut arguments = Vec::new();
    let (mut key_count, mut count_of_words) = (0, 0);
    let (mut starts, mut places) = (Vec::with_capacity(members.len()), Vec::with_capacity(members.len()));
    let time = at.map(|at| at.0.to_string()).unwrap_or_default();
    for (fixed, Words { verb, units, more, .. }) in &members {
        key_count += fixed.keys;
        key_words.extend_from_slice(&fixed.bytes[fixed.keys_at.clone()]);
        // The limits, then verb, units, time and the other words.
        let limits = fixed.words - 1 - fixed.keys;
        let count = limits + 3 + more.len();
        count_of_words += 2 + count;
        word(&mut arguments, fixed.keys.to_string().as_bytes());
        word(&mut arguments, count.to_string().as_bytes());
        starts.push(arguments.len());
        arguments.extend_from_slice(&fixed.bytes[fixed.keys_at.end..]);
        word(&mut arguments, verb.as_bytes());
        let units_at = arguments.len();
        word(&mut arguments, units.as_bytes());
        places.push((units_at, arguments.len()));
        word(&mut arguments, time.as_bytes());
        for text in more {
            word(&mut arguments, text.as_bytes());
        }
    }
    let mut bytes = Vec::with_capacity(key_words.len() + arguments.len() + 128);
    // EVALSHA, digest, number of keys, keys, number of limiters and their arguments.
    header(&mut bytes, 3 + key_count + 1 + count_of_words);
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, Script::of_several().digest.as_bytes());
    word(&mut bytes, key_count.to_string().as_bytes());
    bytes.extend_from_slice(&key_words);
    word(&mut bytes, members.len().to_string().as_bytes());
    let start = bytes.len();
    bytes.extend_from_slice(&arguments);
    let mut command = Command::new(bytes);
    for (i, ((fixed, _), member)) in members.iter().zip(starts).enumerate() {
        command.note(i + 1, &fixed.quotas, |at| start + member + at - fixed.keys_at.end);
    }
    command.set_time(|| at.map_or_else(clock::now, |at| at.0));
    let length = arguments.len();
    (command, places.into_iter().map(|(start, end)| (length - start, length - end)).collect())
}
