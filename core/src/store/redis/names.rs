//! `Names`: the names of the Redis keys of a limiter. The keys of a keyed limiter share them for each hash tag.

use std::sync::Arc;

use super::route::slot;
use super::wire::word_of;

/// The version of the stored layout. It is part of every key, so that another layout uses other keys.
const LAYOUT: &str = "pg2";

/// The number of hash tags: few enough to read the list of all limiters, enough to spread limiters over a cluster.
pub(crate) const TAGS: u16 = 256;

/// The number of hash tags over which the keys of a keyed limiter are spread: few enough to read all its statistics.
pub(crate) const PARTS: usize = 16;

/// What the keys of a state are made of.
#[derive(Clone, Copy)]
pub(crate) struct KeyParts<'a> {
    pub(crate) name: &'a str,
    /// Limiters of one group have one hash tag, so that a cluster keeps them on one node. A name in another group has other keys.
    pub(crate) group: Option<&'a str>,
    /// The key of a keyed limiter.
    pub(crate) key: Option<&'a Arc<str>>,
    pub(crate) has_statistics: bool,
}

/// What the names of all keys of a limiter with one hash tag have in common.
pub(crate) struct Names {
    slot: u16,
    /// The number of the hash tag among the tags of a keyed limiter; 0 for other limiters.
    part: usize,
    /// The text before the role of a key.
    before: String,
    /// The text after the role; of a keyed limiter the key follows.
    after: String,
    /// `None` for a limiter without statistics.
    statistics: Option<String>,
    list: String,
}

impl KeyParts<'_> {
    /// Returns the number of the hash tag among the tags of a keyed limiter.
    pub(crate) fn part(&self) -> usize {
        match (self.group, self.key) {
            (None, Some(key)) => usize::from(digest(key) >> 4),
            _ => 0,
        }
    }
}

impl Names {
    /// Creates the names for all keys of this part.
    pub(crate) fn new(parts: KeyParts<'_>, part: usize) -> Self {
        let KeyParts { name, group, key, has_statistics } = parts;
        let tag = match (group, key) {
            (None, Some(_)) => tag_of_part(name, part),
            (group, _) => format!("{:02x}", digest(group.unwrap_or(name))),
        };
        // The lengths tell where the group ends and the name begins, and where the name ends and the key begins.
        let (common, group) = beginnings(&tag, group);
        let (before, after) = match key {
            None => (format!("{common}:"), format!(":{group}{name}")),
            Some(_) => (format!("{common}{}:", name.len()), format!(":{group}{name}:")),
        };
        let statistics = has_statistics.then(|| match key {
            None => own_statistics(&before, &after),
            Some(_) => statistics_of_keys(&common, &group, name),
        });
        Self { slot: slot(tag.as_bytes()), part, before, after, statistics, list: list(&tag) }
    }

    pub(crate) const fn slot(&self) -> u16 {
        self.slot
    }

    pub(crate) const fn part(&self) -> usize {
        self.part
    }

    /// Returns the key of the statistics; `None` for a limiter without statistics.
    pub(crate) fn statistics(&self) -> Option<&str> {
        self.statistics.as_deref()
    }

    /// Returns the key of the statistics of a limiter without keys, also if it has none.
    pub(super) fn own_statistics(&self) -> String {
        own_statistics(&self.before, &self.after)
    }

    /// Returns the key of the list of limiters.
    pub(super) fn list(&self) -> &str {
        &self.list
    }

    /// Appends the Redis key with a role, of this key of a keyed limiter or of none.
    pub(super) fn word(&self, bytes: &mut Vec<u8>, role: &str, key: &str) {
        word_of(bytes, &[self.before.as_bytes(), role.as_bytes(), self.after.as_bytes(), key.as_bytes()]);
    }

    /// Returns the number of bytes of a Redis key without the role and the key of a keyed limiter.
    pub(super) const fn length(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// Returns the slots and the keys of the statistics of a keyed limiter, for each of its hash tags.
pub(super) fn statistics_of_all_keys(name: &str, group: Option<&str>) -> Vec<(u16, String)> {
    of_each_tag(name, group, |before, group| statistics_of_keys(before, group, name))
}

/// Returns the slots of the states of a keyed limiter and what they begin with, for each of its hash tags. The key follows.
pub(super) fn states_of_all_keys(name: &str, group: Option<&str>) -> Vec<(u16, String)> {
    of_each_tag(name, group, |before, group| format!("{before}{}:s:{group}{name}:", name.len()))
}

/// Returns the slot of each hash tag of a keyed limiter with what the beginnings of its keys give.
fn of_each_tag(name: &str, group: Option<&str>, make: impl Fn(&str, &str) -> String) -> Vec<(u16, String)> {
    let of_tag = |tag: String| {
        let (before, group) = beginnings(&tag, group);
        (slot(tag.as_bytes()), make(&before, &group))
    };
    match group {
        Some(group) => vec![of_tag(format!("{:02x}", digest(group)))],
        None => (0..PARTS).map(|part| of_tag(tag_of_part(name, part))).collect(),
    }
}

fn own_statistics(before: &str, after: &str) -> String {
    format!("{before}m{after}")
}

/// Returns the key of the statistics that the keys of a keyed limiter with one hash tag share. No other key has `k` there.
fn statistics_of_keys(before: &str, group: &str, name: &str) -> String {
    format!("{before}k:m:{group}{name}")
}

/// Returns the key of the sorted set of the keys that were refused in an hour, from the key of the statistics.
pub(super) fn refused_keys(statistics: &str, hour: u64) -> String {
    // No hash tag and no length has a `k`.
    statistics.replacen("k:m:", &format!("k:r{hour}:"), 1)
}

/// Returns the beginning of every key of a hash tag and a group, and what stands before the name. A dot separates the length of
/// the group from the hash tag of the name.
fn beginnings(tag: &str, group: Option<&str>) -> (String, String) {
    match group {
        None => (format!("{LAYOUT}:{{{tag}}}"), String::new()),
        Some(group) => (format!("{LAYOUT}:{{{tag}}}g{}.", group.len()), format!("{group}:")),
    }
}

fn tag_of_part(name: &str, part: usize) -> String {
    format!("{part:x}{:x}", digest(name) & 15)
}

/// Returns eight bits of a digest, so that no name can choose or break the hash tag.
fn digest(text: &str) -> u8 {
    sha1_smol::Sha1::from(text).digest().bytes()[0]
}

/// Returns the key of the limiter list of a tag.
pub(super) fn list(tag: &str) -> String {
    format!("{LAYOUT}:{{{tag}}}:limiters")
}
