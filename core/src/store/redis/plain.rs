//! `PlainPolicy`: the limits of a policy whose calls the scripts of `engine/compose.rs` can decide, and `PlainCall`, one of these calls.

use std::sync::Arc;

use super::call::Call;
use super::command::Command;
use super::keys::{FixedArguments, Keys, limit_numbers};
use super::plain_reply::decision;
use super::wire::{Value, header, word, word_of_number};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::engine::compose;
use crate::engine::script::Script;
use crate::engine::transaction::{Entry, Waiting};
use crate::model::decision::Decision;
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::permit::Permit;
use crate::model::policy::{Policy, is_exceeded};
use crate::model::request::QueuePosition;
use crate::model::share::Order;
use crate::model::statistics::is_near;

/// The limits of a policy, and what the scripts get of them; see `engine/plain/state.lua`.
pub(super) struct PlainPolicy {
    script: &'static Script,
    /// The script of calls with a permit, which the whole script decides on with a lease.
    with_permit: Option<&'static Script>,
    limits: Vec<Limit>,
    words: Vec<String>,
    /// The sorted tags of the limits, to which permits belong.
    tags: Arc<str>,
}

/// The milliseconds that a key lives longer than its content matters.
const SLACK: u64 = 10_000;

/// The maximum of a limit whose level the scripts print as a short number: the level of a debt is twice as much.
const MAX_SHORT: u64 = i32::MAX as u64 / 2;

/// The maximum units of a window that a plain call takes, which writes an entry for each.
const MAX_ENTRIES: u64 = 1_000;

impl PlainPolicy {
    /// Returns the limits of a policy; `None` when all its calls need the whole script.
    pub(super) fn new(policy: &Policy) -> Option<Self> {
        let limits = policy.only_limits().filter(|limits| !limits.is_empty())?;
        let (mut pattern, mut format) = ("^(%d+) (%d+)".to_owned(), "%s %s".to_owned());
        let (mut shape, mut numbers) = (String::new(), Vec::new());
        for (i, limit) in limits.iter().enumerate() {
            let [a, b, c] = limit_numbers(limit);
            // What its record has behind the level, the most that is taken, and the numbers that the script computes with.
            let (kind, held, most, own) = match limit.rule {
                Rule::Leaky(_) => ("m", Some(format!(" {a} {c}")), a * c, &[a, b, c][..]),
                Rule::Bucket(_) => ("b", Some(format!(" {a}")), a, &[a, b, c][..]),
                Rule::Window(_) => ("w", None, 0, &[a, b, b.div_ceil(1_000) + SLACK][..]),
                Rule::Concurrency(_) if limits.len() == 1 && a > 0 => {
                    (compose::LEASE, Some(String::new()), u64::MAX, &[a, b][..])
                }
                _ => return None,
            };
            // Leases are of the name, whatever the label of the limit.
            let tag = policy.record_tag(i);
            // `%d` is quicker, but a server may have 32 bits for it.
            let level = match held {
                Some(_) if most <= MAX_SHORT => (" (%d+)", " %d"),
                Some(_) => (" (%d+)", " %.0f"),
                None => ("", ""),
            };
            let held = held.unwrap_or_default();
            pattern.extend([" ", &tag.replace('-', "%-"), level.0, &held]);
            format.extend([" ", tag, level.1, &held]);
            shape.push_str(kind);
            numbers.extend(own.iter().map(u64::to_string));
        }
        let words = [pattern + " %.$", format + " ."].into_iter().chain(numbers).collect();
        let script = compose::script(&shape);
        let with_permit = (shape != compose::LEASE).then(|| compose::script(&(shape + "p")));
        Some(Self { script, with_permit, limits: limits.to_vec(), words, tags: policy.tags().clone() })
    }

    /// Returns the role of the key that only some calls have.
    pub(super) fn more_role(&self, has_permit: bool) -> Option<&'static str> {
        if self.grants_leases() { Some("t") } else { has_permit.then_some("p") }
    }

    /// Returns whether its calls grant leases.
    pub(super) fn grants_leases(&self) -> bool {
        matches!(&*self.limits, [limit] if matches!(limit.rule, Rule::Concurrency(_)))
    }

    /// Returns the text before the time and the charge of a permit, as `transaction/enter.lua` stores it.
    fn permit_of(&self, id: &str) -> String {
        format!("{}|{id}", self.tags)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Returns whether a script of plain calls can decide on a charge.
    fn can_decide(&self, charge: &Charge) -> bool {
        let fits = |(i, limit): (usize, &Limit)| {
            let units = charge.of(i);
            !is_exceeded(limit, units) && (units <= MAX_ENTRIES || !matches!(limit.rule, Rule::Window(_)))
        };
        charge.most() > 0 && self.limits.iter().enumerate().all(fits)
    }

    /// Returns the decision that the reply says, without a permit.
    pub(super) fn decision(&self, reply: &Value, policy: &Policy, charge: &Charge) -> Result<Decision> {
        decision(&self.limits, reply, policy, charge)
    }
}

/// A plain call, and what the whole script needs when it was not plain.
pub(super) struct PlainCall {
    pub(super) policy: Arc<Policy>,
    pub(super) keys: Arc<Keys>,
    /// Boxed, because a call is moved often.
    pub(super) charge: Box<Charge>,
    pub(super) at: Option<Micros>,
    pub(super) entry: Option<Box<KeptEntry>>,
}

/// A call with an id, as [`Entry`].
pub(super) struct KeptEntry {
    id: String,
    permit: Option<Micros>,
    order: Order<'static>,
    share: String,
    queue: Option<(Waiting<'static>, String)>,
}

impl Call {
    /// Creates a call without an id that a script of plain calls decides; `None` for one that needs the whole script.
    pub(crate) fn plain(policy: &Arc<Policy>, keys: &Arc<Keys>, charge: &Charge, at: Option<Micros>) -> Option<Self> {
        let (arguments, limits) = keys.plain(false).filter(|(_, limits)| !limits.grants_leases())?;
        let command = invocation(limits, limits.script, arguments, charge, &[], at)?;
        let (policy, keys, charge) = (policy.clone(), keys.clone(), Box::new(*charge));
        Some(Self::of_plain(limits.script, command, PlainCall { policy, keys, charge, at, entry: None }))
    }

    /// Creates a call with an id that a script of plain calls decides; `None` for one that needs the whole script.
    pub(crate) fn plain_enter(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        entry: &Entry<'_>,
        at: Option<Micros>,
    ) -> Option<Self> {
        // A call that comes back has a ticket, or had one.
        if entry.queue.is_some_and(|queue| queue.position != QueuePosition::End) {
            return None;
        }
        if entry.queue.is_some() && keys.is_full() {
            // It has to queue, which only the whole script can.
            return None;
        }
        let (arguments, limits) = keys.plain(entry.permit.is_some())?;
        let (script, command) = if let Some(settle_within) = entry.permit {
            let (script, charge) = (limits.with_permit?, policy.in_tag_order(&entry.charge));
            let words = [limits.permit_of(entry.id), charge.to_string(), settle_within.0.to_string()];
            (script, invocation(limits, script, arguments, &entry.charge, &words, at)?)
        } else {
            let lease: &[String] = if limits.grants_leases() { &[entry.id.to_owned()] } else { &[] };
            (limits.script, invocation(limits, limits.script, arguments, &entry.charge, lease, at)?)
        };
        let (policy, keys, charge) = (policy.clone(), keys.clone(), Box::new(entry.charge));
        let entry = Some(Box::new(KeptEntry::new(entry)));
        Some(Self::of_plain(script, command, PlainCall { policy, keys, charge, at, entry }))
    }
}

impl PlainCall {
    /// Returns the call with the whole script.
    pub(super) fn whole(&self) -> Call {
        let Self { policy, keys, charge, at, entry } = self;
        let charge = **charge;
        let Some(entry) = entry else { return Call::acquire(policy, keys, (charge, false), *at, None) };
        let queue = entry.queue.as_ref().map(|(waiting, channel)| Waiting { channel, ..*waiting });
        let order = Order { share: &entry.share, ..entry.order };
        let whole = Entry { id: &entry.id, charge, permit: entry.permit, order, queue, describes: false };
        Call::enter(policy, keys, &whole, *at, None)
    }

    /// Returns the answer to a call that was plain; `None` for one that must queue.
    pub(super) fn answer(&self, reply: &Value) -> Result<Option<Decision>> {
        let mut decision = self.keys.plain_decision(reply, &self.policy, &self.charge)?;
        if self.keys.grants_leases() {
            self.keys.note_decision(decision.status, decision.remaining.unwrap_or_default());
        }
        if !decision.allowed() && self.entry.as_ref().is_some_and(|entry| entry.queue.is_some()) {
            // The next calls find its ticket.
            self.keys.was_not_plain();
            return Ok(None);
        }
        let keeps = |entry: &KeptEntry| entry.permit.is_some() || self.policy.concurrency().is_some();
        if let Some(entry) = self.entry.as_ref().filter(|entry| decision.allowed() && keeps(entry)) {
            let charged = self.policy.in_tag_order(&self.charge);
            decision.permit = Some(Permit { id: &entry.id, granted_at: decision.at.0, charged }.to_string());
        }
        let label = decision.label.as_ref().filter(|_| !decision.allowed());
        let refused_by = label.and_then(|label| self.policy.limits().iter().position(|limit| limit.label() == label));
        let left = decision.remaining.zip(decision.limit).filter(|_| decision.allowed());
        let is_near = left.is_some_and(|(remaining, limit)| is_near(remaining, limit));
        self.keys.count(decision.at, refused_by.map(|i| self.policy.tag(i)), self.charge.most(), is_near);
        Ok(Some(decision))
    }
}

impl KeptEntry {
    pub(super) fn new(entry: &Entry<'_>) -> Self {
        // One that describes its limits is not plain.
        let Entry { id, charge: _, permit, order, queue, describes: _ } = *entry;
        Self {
            id: id.to_owned(),
            permit,
            share: order.share.to_owned(),
            order: Order { share: "", ..order },
            queue: queue.map(|waiting| (Waiting { channel: "", ..waiting }, waiting.channel.to_owned())),
        }
    }
}

/// Encodes a plain call, of which `more` follows the units; `None` when the whole script must decide on the charge.
fn invocation(
    limits: &PlainPolicy,
    script: &Script,
    arguments: &FixedArguments,
    charge: &Charge,
    more: &[String],
    at: Option<Micros>,
) -> Option<Command> {
    if !limits.can_decide(charge) {
        return None;
    }
    let mut bytes = Vec::with_capacity(arguments.bytes.len() + 224);
    header(&mut bytes, 2 + arguments.words + limits.limits.len() + more.len() + usize::from(at.is_some()));
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, script.digest.as_bytes());
    bytes.extend_from_slice(&arguments.bytes);
    for (i, limit) in limits.limits.iter().enumerate() {
        let units = charge.of(i);
        word_of_number(&mut bytes, if limit.kind() == Kind::Throttle { units.min(1) } else { units });
    }
    for text in more {
        word(&mut bytes, text.as_bytes());
    }
    if let Some(at) = at {
        word_of_number(&mut bytes, at.0);
    }
    Some(Command::new(bytes))
}
