//! `Keys`: the Redis keys of a limiter, and its limits as arguments of the script.

use std::ops::Range;

use super::route::slot;
use super::wire::word;
use crate::base::micros::Micros;
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::overrides::Deadline;
use crate::model::policy::{Policy, parse_tag};

/// The version of the stored layout. It is part of every key, so that another layout uses other keys.
const LAYOUT: &str = "pg2";

/// The keys of a limiter, and the constant part of its commands.
pub(crate) struct Keys {
    slot: u16,
    /// All keys, for `statistics` and `reset`.
    pub(super) all: FixedArguments,
    /// For calls without an id and with one. The `_listed` variants also update the limiter list.
    pub(super) without_id: FixedArguments,
    pub(super) without_id_listed: FixedArguments,
    pub(super) with_id: FixedArguments,
    pub(super) with_id_listed: FixedArguments,
    /// The keys that exist while there are leases. A node whose slot is being moved serves only keys that exist.
    pub(super) with_leases: FixedArguments,
}

/// The arguments of `EVALSHA` from the third on: number of keys, keys, limits.
pub(super) struct FixedArguments {
    pub(super) bytes: Vec<u8>,
    pub(super) words: usize,
    /// The number of keys, and their place in the bytes.
    pub(super) keys: usize,
    pub(super) keys_at: Range<usize>,
}

impl FixedArguments {
    fn new(keys: &[String], limits: &[String]) -> Self {
        let mut bytes = Vec::new();
        word(&mut bytes, keys.len().to_string().as_bytes());
        let keys_from = bytes.len();
        for key in keys {
            word(&mut bytes, key.as_bytes());
        }
        let keys_at = keys_from..bytes.len();
        for text in limits {
            word(&mut bytes, text.as_bytes());
        }
        Self { bytes, words: 1 + keys.len() + limits.len(), keys: keys.len(), keys_at }
    }
}

/// The number of hash tags: few enough to read the list of all limiters, enough to spread limiters over a cluster.
pub(crate) const TAGS: u16 = 256;

impl Keys {
    /// Returns the keys of a name. Limiters of one group have one hash tag, so that a cluster keeps them on one node.
    pub(crate) fn new(name: &str, group: Option<&str>, policy: &Policy) -> Self {
        // Eight bits of a digest, so that no name can choose or break the tag.
        let tag = sha1_smol::Sha1::from(group.unwrap_or(name)).hexdigest()[..2].to_owned();
        let key = |role: &str| format!("{LAYOUT}:{{{tag}}}:{role}:{name}");
        let mut keys = vec![key("s"), key("m")];
        for (i, limit) in policy.limits().iter().enumerate() {
            match limit.rule {
                // `:` ends the role, and a label cannot contain it.
                Rule::Window(_) => keys.push(key(&policy.tag(i).replace(':', "."))),
                Rule::Concurrency(_) => keys.push(key("h")),
                _ => {}
            }
        }
        let mut all = keys.clone();
        all.extend([key("p"), key("q"), key("t")]);
        // The leases of the name may be those of another policy.
        let mut reset = all.clone();
        if policy.concurrency().is_none() {
            reset.push(key("h"));
        }
        let with_list = |keys: &[String]| [keys, &[list(&tag)]].concat();
        let limits = limit_arguments(policy);
        Self {
            slot: slot(tag.as_bytes()),
            without_id: FixedArguments::new(&keys, &limits),
            without_id_listed: FixedArguments::new(&with_list(&keys), &limits),
            with_id: FixedArguments::new(&all, &limits),
            with_id_listed: FixedArguments::new(&with_list(&all), &limits),
            with_leases: FixedArguments::new(&[&keys[..], &[key("t")]].concat(), &limits),
            all: FixedArguments::new(&reset, &limits),
        }
    }

    pub(crate) const fn slot(&self) -> u16 {
        self.slot
    }
}

/// Returns the key of the limiter list of a tag.
pub(super) fn list(tag: &str) -> String {
    format!("{LAYOUT}:{{{tag}}}:limiters")
}

/// Returns `ARGV` before the verb: the number of limits, then four words per limit.
fn limit_arguments(policy: &Policy) -> Vec<String> {
    let mut words = vec![policy.limits().len().to_string()];
    for (i, limit) in policy.limits().iter().enumerate() {
        words.push(policy.tag(i).to_owned());
        words.extend(limit_numbers(limit).map(|number| number.to_string()));
    }
    words
}

/// Returns the three numbers of a limit that the script uses.
fn limit_numbers(limit: &Limit) -> [u64; 3] {
    match limit.rule {
        Rule::Bucket(bucket) => [bucket.limit, bucket.interval, bucket.offset],
        Rule::Window(window) => [window.limit, window.interval, 0],
        Rule::Leaky(leaky) => [leaky.capacity, leaky.leak, leaky.scale],
        Rule::Concurrency(concurrency) => [concurrency.limit, concurrency.timeout, 0],
        Rule::Unlimited | Rule::Paused => [0, 0, 0],
    }
}

/// Encodes these numbers as one word.
pub(super) fn encode_limit(limit: &Limit) -> String {
    limit_numbers(limit).map(|number| number.to_string()).join("/")
}

/// Decodes `tag=numbers`, the numbers as `encode_limit` makes them.
pub(super) fn decode_limit(word: &str) -> Option<Limit> {
    let (tag, numbers) = word.split_once('=')?;
    let (kind, label) = parse_tag(tag)?;
    let mut numbers = numbers.split('/').map(|number| number.parse::<u64>().ok());
    let (a, b, c) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let (amount, interval, offset) = match kind {
        Kind::Bucket => (a, b, c),
        Kind::Throttle => (b, c, 0),
        Kind::Leaky | Kind::Points => (a, a.checked_mul(c)?.checked_div(b)?, 0),
        _ => (a, b, 0),
    };
    Limit::of_kind(kind, amount, Micros(interval), Micros(offset)).ok()?.labelled(&label).ok()
}

pub(super) fn encode_deadline(deadline: Option<Deadline>) -> String {
    match deadline {
        None => String::new(),
        Some(Deadline::After(span)) => span.0.to_string(),
        Some(Deadline::At(at)) => format!("@{}", at.0),
    }
}
