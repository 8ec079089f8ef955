//! Encodes the verbs of one limiter as calls.

use std::borrow::Cow;
use std::sync::Arc;

use super::call::{Call, Expects};
use super::command::Command;
use super::keys::{FixedArguments, Keys};
use super::wire::{header, word, word_of_number};
use crate::base::charge::Charge;
use crate::base::clock;
use crate::base::micros::Micros;
use crate::engine::script::Script;
use crate::engine::transaction::Entry;
use crate::model::permit::Permit;
use crate::model::policy::Policy;
use crate::verbs::acquire::Acquire;
use crate::verbs::decision::Asks;
use crate::verbs::enter::Enter;
use crate::verbs::release::Release;
use crate::verbs::{Decoder, KeySet, Listed, Plain, Verb, Words};

impl Keys {
    /// Returns the arguments of a verb; those of rare ones are made for each call. A call that `is_listed` also updates the
    /// list of limiters.
    pub(super) fn of(&self, keys: KeySet, is_listed: bool) -> Cow<'_, FixedArguments> {
        match keys {
            KeySet::WithoutId => Cow::Borrowed(self.without_id(is_listed)),
            KeySet::WithId => Cow::Borrowed(self.with_id(is_listed)),
            KeySet::WithPermit => Cow::Borrowed(self.with_permit()),
            KeySet::WithLeases => Cow::Borrowed(self.with_leases()),
            KeySet::All => Cow::Owned(self.all()),
            KeySet::Reset => Cow::Owned(self.reset()),
        }
    }
}

impl Call {
    /// Creates the call of a verb. `at` is the time of a test clock.
    pub(crate) fn of<V: Verb>(
        verb: &V,
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        at: Option<Micros>,
        listed: Listed,
    ) -> Self {
        Self::encoded(keys, &verb.encode(policy, listed), at, verb.decoder(policy))
    }

    /// Creates the call that a script of plain calls decides; `None` when the whole script must.
    pub(crate) fn decided_plainly(
        plain: Plain<'_>,
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        at: Option<Micros>,
    ) -> Option<Self> {
        match plain {
            Plain::Acquire(Acquire { describes: true, .. }) | Plain::Enter(Entry { describes: true, .. }) => None,
            Plain::Acquire(acquire) => Self::plain(policy, keys, &acquire.charge, at),
            Plain::Enter(entry) => Self::plain_enter(policy, keys, entry, at),
            Plain::Release(permit) => Self::plain_release(keys, permit, at),
        }
    }

    /// Creates the call that the whole script decides in the place of a plain one without an id.
    pub(super) fn acquire(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        (charge, describes): (Charge, bool),
        at: Option<Micros>,
        listed: Listed,
    ) -> Self {
        Self::of(&Acquire { charge, is_estimate: false, describes }, policy, keys, at, listed)
    }

    /// Creates the same with an id.
    pub(super) fn enter(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        entry: &Entry<'_>,
        at: Option<Micros>,
        listed: Listed,
    ) -> Self {
        Self::of(&Enter(*entry), policy, keys, at, listed)
    }

    /// Creates the same of the release of a lease.
    pub(super) fn release(keys: &Arc<Keys>, permit: &Permit<'_>, at: Option<Micros>) -> Self {
        Self::encoded(keys, &Release(*permit).words(), at, Decoder::of_settlement())
    }

    fn encoded(keys: &Arc<Keys>, words: &Words, at: Option<Micros>, decoder: Decoder) -> Self {
        let command = invocation(&keys.of(words.keys, words.is_listed), words, at);
        let existing = words.existing.map(|existing| invocation(&keys.of(existing, false), words, at).into());
        let now = || at.unwrap_or_else(|| Micros(clock::now()));
        let expects = match decoder {
            Decoder::Decision(pending) => {
                let asked = (pending.asks != Asks::Nothing).then(|| (keys.clone(), at));
                Expects::Decision(pending, asked)
            }
            Decoder::Cancellation { gave_up } => {
                let counts = gave_up && keys.counts_refused_keys();
                Expects::Cancellation(counts.then(|| (keys.clone(), now())))
            }
            Decoder::Reset => Self::reset_of(keys, now()),
            Decoder::Reply(decode) => Expects::Reply(decode),
        };
        let mut call = Self::with_slot(keys.slot(), command, expects);
        call.existing = existing;
        call
    }
}

/// Encodes the arguments in the order that `engine/state.lua` defines.
fn invocation(arguments: &FixedArguments, words: &Words, at: Option<Micros>) -> Command {
    let Words { verb, units, more, .. } = words;
    let timed = usize::from(at.is_some() || !more.is_empty());
    let mut bytes = Vec::with_capacity(arguments.bytes.len() + 192);
    // EVALSHA and digest, the fixed arguments, verb and units, then time and `more`.
    header(&mut bytes, 2 + arguments.words + 2 + timed + more.len());
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, Script::of_one().digest.as_bytes());
    let start = bytes.len();
    bytes.extend_from_slice(&arguments.bytes);
    word(&mut bytes, verb.as_bytes());
    let units_start = bytes.len();
    word(&mut bytes, units.as_bytes());
    let units_end = bytes.len();
    match at {
        Some(at) => word_of_number(&mut bytes, at.0),
        None if more.is_empty() => {}
        None => word(&mut bytes, b""),
    }
    for text in more {
        word(&mut bytes, text.as_bytes());
    }
    let mut command = Command::new(bytes);
    command.units = (command.bytes.len() - units_start, command.bytes.len() - units_end);
    command.note(1, &arguments.quotas, |at| start + at);
    command.set_time(|| at.map_or_else(clock::now, |at| at.0));
    command
}
