//! `PlainLimit`: the limit of a policy whose calls the scripts of `engine/plain` can decide, and `PlainCall`, one of these calls.

use std::sync::Arc;

use super::call::Call;
use super::command::Command;
use super::keys::{FixedArguments, Keys, limit_numbers};
use super::reply::garbled;
use super::wire::{Value, header, word};
use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::engine::plain::Plain;
use crate::engine::plain_script::PlainKind;
use crate::engine::script::Script;
use crate::engine::transaction::{Entry, Waiting};
use crate::limits::check::LimitCheck;
use crate::limits::leaky::Meter;
use crate::limits::window::Window;
use crate::model::decision::Decision;
use crate::model::limit::{Limit, Rule};
use crate::model::permit::Permit;
use crate::model::policy::{Policy, is_exceeded};
use crate::model::request::QueuePosition;
use crate::model::share::Order;

#[derive(Clone)]
pub(super) struct PlainLimit {
    kind: PlainKind,
    limit: Limit,
    /// What the script gets of the limit; see `engine/plain/state.lua`.
    words: Vec<String>,
    /// The tag of the limit, to which permits belong.
    tags: Arc<str>,
}

impl PlainLimit {
    /// Returns the limit of a policy; `None` when all its calls need the whole script.
    pub(super) fn new(policy: &Policy) -> Option<Self> {
        let limit = policy.sole()?;
        let [a, b, c] = limit_numbers(limit);
        // The numbers of the record, and those that the script computes with.
        let (kind, capture, level, held, numbers) = match limit.rule {
            Rule::Leaky(_) => {
                let kind = if a == 1 { PlainKind::Throttle } else { PlainKind::Meter };
                (kind, " (%d+)", " %.0f", format!(" {a} {c}"), vec![b, a * c])
            }
            Rule::Bucket(_) => (PlainKind::Bucket, " (%d+)", " %.0f", format!(" {a}"), vec![a, b, c]),
            // A window has no number in its record: the place is captured in its stead, and the format does not use it.
            Rule::Window(_) => (PlainKind::Window, " ()", " ", String::new(), vec![a, b]),
            _ => return None,
        };
        let tag = policy.tag(0);
        let end = if held.is_empty() { "" } else { " " };
        let pattern = format!("^(%d+) (%d+) {}{capture}{held}{end}%.$", tag.replace('-', "%-"));
        let format = format!("%.0f %.0f {tag}{level}{held}{end}.");
        let words = [pattern, format].into_iter().chain(numbers.iter().map(u64::to_string)).collect();
        Some(Self { kind, limit: limit.clone(), words, tags: policy.tags().clone() })
    }

    /// Returns the script of calls with a permit; `None` when the whole script must decide on them.
    pub(super) fn script_of_permits(&self) -> Option<&'static Script> {
        (self.kind == PlainKind::Meter).then(|| Script::of_plain(PlainKind::MeterPermit))
    }

    /// Returns the text before the time and the charge of a permit, as `transaction/enter.lua` stores it.
    pub(super) fn permit_of(&self, id: &str) -> String {
        format!("{}|{id}", self.tags)
    }

    pub(super) fn script(&self) -> &'static Script {
        Script::of_plain(self.kind)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Returns the units as the script takes them; `None` when the whole script must decide on them.
    pub(super) fn units(&self, units: u64) -> Option<u64> {
        if units == 0 || is_exceeded(&self.limit, units) {
            return None;
        }
        match self.limit.rule {
            Rule::Leaky(leaky) if self.limit.counts_starts() => Some(leaky.scale),
            Rule::Leaky(leaky) => Some(units * leaky.scale),
            Rule::Window(_) if units > 1 => None,
            _ => Some(units),
        }
    }

    /// Returns the decision on so many units from the reply, without a permit; `None` for a reply that the script does not send.
    pub(super) fn decision(&self, reply: &[Value], units: u64) -> Option<Decision> {
        let number = |i: usize| match reply.get(i) {
            Some(Value::Integer(number)) => u64::try_from(*number).ok().filter(|number| *number <= MAX_TIME.0),
            _ => None,
        };
        let (level, now) = (number(1)?, number(2)?);
        let refused = (number(0)? == 0).then_some(if self.limit.counts_starts() { 1 } else { units });
        let check = match self.limit.rule {
            Rule::Leaky(leaky) => {
                let meter = Meter { level, capacity: leaky.capacity, scale: leaky.scale };
                leaky.decide(meter, now, now, refused, 0)
            }
            Rule::Bucket(bucket) => bucket.decide(level, bucket.limit, now, now, refused, 0),
            Rule::Window(Window { limit, interval }) => {
                let left = |entry: u64| (entry + interval).saturating_sub(now);
                match refused {
                    Some(_) => LimitCheck { level, wait: left(number(3)?), remaining: 0, reset: left(number(4)?) },
                    None => LimitCheck { level, wait: 0, remaining: limit.checked_sub(level + 1)?, reset: interval },
                }
            }
            _ => return None,
        };
        (refused.is_some() == (check.wait > 0)).then(|| Plain::of_store(check, now).decision(&self.limit))
    }
}

/// A plain call, and what the whole script needs when it was not plain.
pub(super) struct PlainCall {
    pub(super) policy: Arc<Policy>,
    pub(super) keys: Arc<Keys>,
    pub(super) units: u64,
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
        let Charge::All(units) = *charge else { return None };
        let (arguments, limit) = keys.plain()?;
        let taken = limit.units(units)?;
        let bytes = plain_invocation(limit.script(), arguments, taken, &[], at);
        let call = PlainCall { policy: policy.clone(), keys: keys.clone(), units, at, entry: None };
        Some(Self::of_plain(limit.script(), bytes, call))
    }

    /// Creates a call with an id that a script of plain calls decides; `None` for one that needs the whole script.
    pub(crate) fn plain_enter(
        policy: &Arc<Policy>,
        keys: &Arc<Keys>,
        entry: &Entry<'_>,
        at: Option<Micros>,
    ) -> Option<Self> {
        let Charge::All(units) = entry.charge else { return None };
        // A call that comes back has a ticket, or had one.
        if entry.queue.is_some_and(|queue| queue.position != QueuePosition::End) {
            return None;
        }
        let (bytes, script);
        if let Some(settle_within) = entry.permit {
            let (arguments, limit) = keys.plain_with_permit()?;
            script = limit.script_of_permits()?;
            let words = [limit.permit_of(entry.id), units.to_string(), settle_within.0.to_string()];
            bytes = plain_invocation(script, arguments, limit.units(units)?, &words, at);
        } else {
            let (arguments, limit) = keys.plain()?;
            script = limit.script();
            bytes = plain_invocation(script, arguments, limit.units(units)?, &[], at);
        }
        let entry = Some(Box::new(KeptEntry::new(entry)));
        let call = PlainCall { policy: policy.clone(), keys: keys.clone(), units, at, entry };
        Some(Self::of_plain(script, bytes, call))
    }
}

impl PlainCall {
    /// Returns the call with the whole script.
    pub(super) fn whole(&self) -> Call {
        let Self { policy, keys, units, at, entry } = self;
        let charge = Charge::All(*units);
        let Some(entry) = entry else { return Call::acquire(policy, keys, charge, *at, None) };
        let queue = entry.queue.as_ref().map(|(waiting, channel)| Waiting { channel, ..*waiting });
        let order = Order { share: &entry.share, ..entry.order };
        Call::enter(policy, keys, &Entry { id: &entry.id, charge, permit: entry.permit, order, queue }, *at, None)
    }

    /// Returns the answer to a call that was plain; `None` for one that must queue.
    pub(super) fn answer(&self, reply: &[Value]) -> Result<Option<Decision>> {
        let mut decision = self.keys.plain_decision(reply, self.units).ok_or_else(garbled)?;
        if !decision.allowed() && self.entry.as_ref().is_some_and(|entry| entry.queue.is_some()) {
            return Ok(None);
        }
        if let Some(entry) = self.entry.as_ref().filter(|entry| entry.permit.is_some() && decision.allowed()) {
            let charged = Charge::All(self.units);
            decision.permit = Some(Permit { id: &entry.id, granted_at: decision.at.0, charged }.to_string());
        }
        self.keys.count(&decision, self.units);
        Ok(Some(decision))
    }
}

impl KeptEntry {
    pub(super) fn new(entry: &Entry<'_>) -> Self {
        let Entry { id, charge: _, permit, order, queue } = *entry;
        Self {
            id: id.to_owned(),
            permit,
            share: order.share.to_owned(),
            order: Order { share: "", ..order },
            queue: queue.map(|waiting| (Waiting { channel: "", ..waiting }, waiting.channel.to_owned())),
        }
    }
}

/// Encodes a plain call; see `engine/plain/state.lua`. `more` follows the units.
fn plain_invocation(
    script: &Script,
    arguments: &FixedArguments,
    units: u64,
    more: &[String],
    at: Option<Micros>,
) -> Command {
    let mut bytes = Vec::with_capacity(arguments.bytes.len() + 224);
    header(&mut bytes, 2 + arguments.words + 1 + more.len() + usize::from(at.is_some()));
    word(&mut bytes, b"EVALSHA");
    word(&mut bytes, script.digest.as_bytes());
    bytes.extend_from_slice(&arguments.bytes);
    word(&mut bytes, units.to_string().as_bytes());
    for text in more {
        word(&mut bytes, text.as_bytes());
    }
    if let Some(at) = at {
        word(&mut bytes, at.0.to_string().as_bytes());
    }
    Command::new(bytes)
}
