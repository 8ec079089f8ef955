//! `Keys`: the Redis keys of a state, and the limits as arguments of the script.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use once_cell::race::OnceBox;

use super::command::{INSTANTS_LENGTH, QuotaAt};
use super::hints::Hints;
use super::names::{KeyParts, Names, refused_keys};
use super::plain::PlainPolicy;
use super::reply::garbled;
use super::tally::{Tallies, Tally};
use super::wire::{Value, word};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::hash;
use crate::base::micros::Micros;
use crate::model::calendar::INSTANTS;
use crate::model::decision::{Decision, Status};
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::mode::Mode;
use crate::model::policy::Policy;
pub(super) use crate::verbs::numbers::limit_numbers;

/// The keys of a state, and the constant part of its commands.
pub(crate) struct Keys {
    names: Arc<Names>,
    /// The key of a keyed limiter.
    key: Option<Arc<str>>,
    roles: Arc<Roles>,
    /// For calls without an id and with one. The `_listed` variants also update the limiter list.
    without_id: OnceBox<FixedArguments>,
    without_id_listed: OnceBox<FixedArguments>,
    with_id: OnceBox<FixedArguments>,
    with_id_listed: OnceBox<FixedArguments>,
    with_leases: OnceBox<FixedArguments>,
    with_permit: OnceBox<FixedArguments>,
    plain: OnceBox<FixedArguments>,
    plain_with_permit: OnceBox<FixedArguments>,
    hints: Arc<Hints>,
    /// The number of the state among the hints.
    number: u64,
    /// Where this process counts plain calls; `None` without statistics.
    tally: Option<Arc<Tally>>,
}

/// The part of the keys and arguments that a policy decides, which all keys of a keyed limiter share.
pub(crate) struct Roles {
    /// The roles of the keys of each limit that has one.
    of_limits: Vec<String>,
    has_leases: bool,
    /// `ARGV` before the verb: the number of limits, then four words per limit.
    limits: Vec<u8>,
    limit_words: usize,
    /// The places of the instants in `limits`.
    quotas: Vec<QuotaAt>,
    /// Of a policy whose calls can be plain.
    plain: Option<PlainPolicy>,
}

/// The arguments of `EVALSHA` from the third on: number of keys, keys, limits.
#[derive(Clone)]
pub(super) struct FixedArguments {
    pub(super) bytes: Vec<u8>,
    pub(super) words: usize,
    /// The number of keys, and their place in the bytes.
    pub(super) keys: usize,
    pub(super) keys_at: Range<usize>,
    /// The places of the instants of quotas in the bytes.
    pub(super) quotas: Vec<QuotaAt>,
}

impl Keys {
    pub(crate) fn new(parts: KeyParts<'_>, policy: &Policy) -> Self {
        let names = Arc::new(Names::new(parts, parts.part()));
        Self::with_common(names, parts.key, Arc::new(Roles::new(policy)), Arc::new(Hints::of_one()))
    }

    /// Creates the keys of a state that has the rest in common with others.
    pub(crate) fn with_common(names: Arc<Names>, key: Option<&Arc<str>>, roles: Arc<Roles>, hints: Arc<Hints>) -> Self {
        Self {
            names,
            number: key.map_or(0, |key| hash(key)),
            key: key.cloned(),
            roles,
            without_id: OnceBox::new(),
            without_id_listed: OnceBox::new(),
            with_id: OnceBox::new(),
            with_id_listed: OnceBox::new(),
            with_leases: OnceBox::new(),
            with_permit: OnceBox::new(),
            plain: OnceBox::new(),
            plain_with_permit: OnceBox::new(),
            hints,
            tally: None,
        }
    }

    /// Returns the keys of a limiter whose plain calls are counted in this tally.
    pub(crate) fn with_tally(self, tally: Option<Arc<Tally>>) -> Self {
        Self { tally, ..self }
    }

    /// Creates the tally of the statistics.
    pub(crate) fn new_tally(&self, tallies: &Arc<Tallies>) -> Arc<Tally> {
        Arc::new(Tally::new(self.slot(), self.statistics().to_owned(), tallies))
    }

    /// Returns whether this process counts the next call when that is plain.
    pub(crate) fn is_counted_here(&self) -> bool {
        self.roles.plain.as_ref().and(self.tally.as_ref()).is_some_and(|tally| tally.counts_here())
    }

    /// Counts the decision on a plain call: when, how many units, which limit refused it, if any, and whether a
    /// grant was near a limit.
    pub(super) fn count(&self, at: Micros, refused_by: Option<&str>, units: u64, is_near: bool) {
        if let Some(tally) = &self.tally {
            tally.count(at, refused_by, units, is_near, self.key());
        }
    }

    /// Counts a call that the store did not decide: with a time, one that this process decided then instead.
    pub(crate) fn count_undecided(&self, degraded_at: Option<Micros>) {
        if let Some(tally) = &self.tally {
            tally.count_undecided(degraded_at);
        }
    }

    /// Returns whether refusals are counted for the key.
    pub(super) const fn counts_refused_keys(&self) -> bool {
        self.key.is_some() && self.tally.is_some()
    }

    /// Counts for its key a refusal that the script has counted.
    pub(super) fn count_refused_key(&self, at: Micros) {
        if let (Some(tally), Some(key)) = (&self.tally, self.key()) {
            tally.count_refused_key(at, key);
        }
    }

    /// Returns the key of the sorted set of the keys that were refused in an hour.
    pub(super) fn refused_keys(&self, hour: u64) -> String {
        refused_keys(self.statistics(), hour)
    }

    /// Returns the key of a keyed limiter.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn slot(&self) -> u16 {
        self.names.slot()
    }

    /// Returns the number of the hash tag among the tags of a keyed limiter.
    pub(crate) fn part(&self) -> usize {
        self.names.part()
    }

    /// Returns the arguments of a call without an id. A `listed` call also updates the limiter list.
    pub(super) fn without_id(&self, listed: bool) -> &FixedArguments {
        let arguments = if listed { &self.without_id_listed } else { &self.without_id };
        arguments.get_or_init(|| self.arguments(&[], listed).into())
    }

    /// Returns the arguments of a call with an id.
    pub(super) fn with_id(&self, listed: bool) -> &FixedArguments {
        let arguments = if listed { &self.with_id_listed } else { &self.with_id };
        arguments.get_or_init(|| self.arguments(&["p", "q", "t"], listed).into())
    }

    /// Returns the arguments of a call with the id of a permit, which may have been extended.
    pub(super) fn with_permit(&self) -> &FixedArguments {
        self.with_permit.get_or_init(|| self.arguments(&["p", "q", "t", "e"], false).into())
    }

    /// Returns the arguments with the keys that exist while there are leases. A node whose slot is being moved serves only keys
    /// that exist.
    pub(super) fn with_leases(&self) -> &FixedArguments {
        self.with_leases.get_or_init(|| self.arguments(&["t"], false).into())
    }

    /// Returns the arguments of a plain call, and what it decides on; `None` when the whole script must decide.
    pub(super) fn plain(&self, has_permit: bool) -> Option<(&FixedArguments, &PlainPolicy)> {
        let limits = self.roles.plain.as_ref()?;
        if self.hints.takes_whole(self.number) {
            return None;
        }
        let arguments = if has_permit { &self.plain_with_permit } else { &self.plain };
        Some((arguments.get_or_init(|| self.plain_arguments(limits, limits.more_role(has_permit)).into()), limits))
    }

    fn plain_arguments(&self, limits: &PlainPolicy, more: Option<&str>) -> FixedArguments {
        let mut bytes = Vec::with_capacity(2 * self.key_length() + 128);
        let roles = iter::once("s").chain(self.roles.of_limits.iter().map(String::as_str)).chain(more);
        let keys = 1 + self.roles.of_limits.len() + more.iter().len();
        word(&mut bytes, keys.to_string().as_bytes());
        let from = bytes.len();
        for role in roles {
            self.word(&mut bytes, role);
        }
        let keys_at = from..bytes.len();
        limits.words().for_each(|text| word(&mut bytes, text.as_bytes()));
        FixedArguments { bytes, words: 1 + keys + limits.words().count(), keys, keys_at, quotas: Vec::new() }
    }

    /// Returns the decision that the reply to a plain call says.
    pub(super) fn plain_decision(&self, reply: &Value, policy: &Policy, charge: &Charge) -> Result<Decision> {
        self.roles.plain.as_ref().ok_or_else(garbled)?.decision(reply, policy, charge)
    }

    /// Returns whether plain calls grant leases.
    pub(super) fn grants_leases(&self) -> bool {
        self.roles.plain.as_ref().is_some_and(PlainPolicy::grants_leases)
    }

    /// Counts the time for which a released lease was held.
    pub(super) fn count_held(&self, held: u64) {
        if let Some(tally) = &self.tally {
            tally.count_held(held);
        }
    }

    /// Notes whether a decision on a lease left no room for another.
    pub(super) fn note_decision(&self, status: Status, remaining: u64) {
        match status {
            Status::Granted => self.hints.note_full(self.number, remaining == 0),
            Status::Refused | Status::Queued => self.hints.note_full(self.number, true),
            // A call without a ticket learns nothing of the leases.
            Status::NoTicket => {}
        }
    }

    /// Notes that a released lease has made room.
    pub(super) fn note_room(&self) {
        self.hints.note_full(self.number, false);
    }

    /// Returns whether a lease has to wait, as far as this process knows.
    pub(super) fn is_full(&self) -> bool {
        self.hints.is_full(self.number)
    }

    /// Leaves the next calls to the whole script, since the state was not plain.
    pub(super) fn was_not_plain(&self) {
        self.hints.was_not_plain(self.number);
    }

    /// Returns the key of the statistics of a limiter that has them.
    pub(crate) fn statistics(&self) -> &str {
        self.names.statistics().unwrap_or_default()
    }

    /// Returns the arguments with all keys that belong to the state, for `statistics` and `inspect`.
    pub(super) fn all(&self) -> FixedArguments {
        // A keyed limiter has one statistic for all its keys.
        self.arguments_with(self.names.statistics().filter(|_| self.key.is_none()), self.all_roles(), false)
    }

    /// Returns the arguments of `reset`: of a limiter without statistics, too, which others of its name may have.
    pub(super) fn reset(&self) -> FixedArguments {
        let statistics = self.key.is_none().then(|| self.names.own_statistics());
        self.arguments_with(statistics.as_deref(), self.all_roles(), false)
    }

    fn all_roles(&self) -> &'static [&'static str] {
        // The leases of the name may belong to another policy.
        if self.roles.has_leases { &["p", "q", "t", "e"] } else { &["p", "q", "t", "h", "e"] }
    }

    fn arguments(&self, more: &[&str], listed: bool) -> FixedArguments {
        self.arguments_with(self.names.statistics(), more, listed)
    }

    /// Appends the Redis key with a role.
    fn word(&self, bytes: &mut Vec<u8>, role: &str) {
        self.names.word(bytes, role, self.key().unwrap_or_default());
    }

    /// Returns about how many bytes the word of a Redis key has.
    fn key_length(&self) -> usize {
        self.names.length() + self.key().map_or(0, str::len) + 16
    }

    fn arguments_with(&self, statistics: Option<&str>, more: &[&str], listed: bool) -> FixedArguments {
        let Roles { of_limits, limits, limit_words, quotas, .. } = &*self.roles;
        let keys = 2 + of_limits.len() + more.len() + usize::from(listed);
        let mut bytes = Vec::with_capacity(keys * self.key_length() + limits.len());
        word(&mut bytes, keys.to_string().as_bytes());
        let from = bytes.len();
        self.word(&mut bytes, "s");
        match statistics {
            Some(statistics) => word(&mut bytes, statistics.as_bytes()),
            // The script knows by the name of the state that there are none.
            None => self.word(&mut bytes, "s"),
        }
        of_limits.iter().map(String::as_str).chain(more.iter().copied()).for_each(|role| self.word(&mut bytes, role));
        if listed {
            word(&mut bytes, self.names.list().as_bytes());
        }
        let keys_at = from..bytes.len();
        let quotas = quotas.iter().map(|quota| QuotaAt { at: bytes.len() + quota.at, ..quota.clone() }).collect();
        bytes.extend_from_slice(limits);
        FixedArguments { bytes, words: 1 + keys + limit_words, keys, keys_at, quotas }
    }
}

impl Roles {
    pub(crate) fn new(policy: &Policy) -> Self {
        let role = |(i, limit): (usize, &Limit)| match limit.rule {
            // `:` ends the role, and a label cannot contain it.
            Rule::Window(_) => Some(policy.tag(i).replace(':', ".")),
            Rule::Concurrency(_) => Some("h".to_owned()),
            _ => None,
        };
        let words = limit_arguments(policy);
        let (mut limits, mut quotas) = (Vec::new(), Vec::new());
        for (i, text) in words.iter().enumerate() {
            word(&mut limits, text.as_bytes());
            // Of the four words of a quota, which follow the number of limits, the third has the instants.
            let limit = (i % 4 == 3).then(|| policy.limits().get(i / 4)).flatten();
            if let Some(calendar) = limit.and_then(Limit::shared_calendar) {
                quotas.push(QuotaAt { at: limits.len() - INSTANTS_LENGTH - 2, limiter: 1, calendar: calendar.clone() });
            }
        }
        Self {
            of_limits: policy.limits().iter().enumerate().filter_map(role).collect(),
            has_leases: policy.concurrency().is_some(),
            limits,
            limit_words: words.len(),
            quotas,
            plain: PlainPolicy::new(policy),
        }
    }
}

/// Returns `ARGV` before the verb: the number of limits, with the mode and the rule for blocks, then four words per limit.
fn limit_arguments(policy: &Policy) -> Vec<String> {
    let mode = if policy.mode() == Mode::Shadow { "s" } else { "" };
    let rule = policy
        .block_after()
        .map_or_else(String::new, |rule| format!(":{}/{}/{}", rule.refusals(), rule.within().0, rule.lasts().0));
    let quota = if policy.limits().iter().any(|limit| limit.kind() == Kind::Quota) { "q" } else { "" };
    let mut words = vec![format!("{}{quota}{mode}{rule}", policy.limits().len())];
    for (i, limit) in policy.limits().iter().enumerate() {
        words.push(policy.tag(i).to_owned());
        let numbers = limit_numbers(limit).map(|number| number.to_string());
        if limit.calendar().is_some() {
            let [amount, ..] = numbers;
            words.extend([amount, ["0000000000000000"; INSTANTS].join("/"), "0".to_owned()]);
        } else {
            words.extend(numbers);
        }
    }
    words
}
