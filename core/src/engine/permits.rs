//! `Permits`: the open and recently settled permits of a limiter.

use std::collections::{HashMap, VecDeque};

use crate::base::charge::Charge;
use crate::base::ranked::Ranked;
use crate::model::permit::{MAX_PERMITS, Permit};
use crate::model::policy::Policy;

/// The open and recently settled permits of a limiter. In Redis a sorted set.
///
/// A permit belongs to the limits that its call had: its key is the tags of these and its id. Its mark is `deadline * 2`,
/// plus one when it is settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Permits {
    by_mark: Ranked<(u64, String)>,
    by_id: HashMap<String, u64>,
    /// Each extended permit by its key without the charge. In Redis a hash.
    extended: HashMap<String, Extended>,
}

/// The charge of an extended permit, and the times and the units of its last extensions, the first one first.
#[derive(Clone, Debug)]
struct Extended {
    charge: Charge,
    extensions: VecDeque<(u64, Charge)>,
}

/// The maximum number of extensions of a permit whose times are known.
const MAX_EXTENSIONS: usize = 32;

impl Permits {
    pub(crate) fn mark(&self, id: &str) -> Option<u64> {
        self.by_id.get(id).copied()
    }

    /// Returns the charge of an extended permit, of which the key may be an older one.
    pub(crate) fn extended(&self, key: &str) -> Option<Charge> {
        self.extended.get(without_charge(key)?).map(|extended| extended.charge)
    }

    /// Returns the times and the units of the last extensions of a permit, the last one first.
    pub(crate) fn extensions(&self, key: &str) -> impl Iterator<Item = &(u64, Charge)> {
        let extended = without_charge(key).and_then(|base| self.extended.get(base));
        extended.into_iter().flat_map(|extended| extended.extensions.iter().rev())
    }

    /// Replaces the charge of an open permit, which as the units of the extension is in the order of the sorted tags.
    pub(crate) fn extend(&mut self, key: &str, charge: Charge, extension: (u64, Charge), deadline: u64) {
        let (Some(base), Some(mark)) = (without_charge(key), self.by_id.remove(key)) else { return };
        self.by_mark.remove(&(mark, key.to_owned()));
        let extended = || Extended { charge, extensions: VecDeque::new() };
        let extended = self.extended.entry(base.to_owned()).or_insert_with(extended);
        extended.charge = charge;
        extended.extensions.push_back(extension);
        if extended.extensions.len() > MAX_EXTENSIONS {
            extended.extensions.pop_front();
        }
        self.keep(format!("{base}:{charge}"), deadline * 2);
    }

    /// Opens or settles a permit.
    pub(crate) fn keep(&mut self, id: String, mark: u64) {
        if let Some(before) = self.by_id.insert(id.clone(), mark) {
            self.by_mark.remove(&(before, id.clone()));
        }
        self.by_mark.insert((mark, id));
    }

    /// Removes ended permits and those above [`MAX_PERMITS`], at most `most` at a time.
    pub(crate) fn forget(&mut self, now: u64, most: usize) {
        let ended = self.by_mark.rank(|(mark, _)| *mark <= now * 2 + 1);
        let excess = ended.max(self.by_mark.len().saturating_sub(MAX_PERMITS)).min(most);
        let forgotten: Vec<_> = self.by_mark.from(0).take(excess).cloned().collect();
        for permit in &forgotten {
            self.by_mark.remove(permit);
            self.by_id.remove(&permit.1);
            if let Some(base) = without_charge(&permit.1).filter(|_| !self.extended.is_empty()) {
                self.extended.remove(base);
            }
        }
    }

    /// Returns the first `most` permits from a mark on, and the number of further permits.
    pub(crate) fn since(&self, mark: u64, most: usize) -> (impl Iterator<Item = &(u64, String)>, u64) {
        let rank = self.by_mark.rank(|(other, _)| *other < mark);
        (self.by_mark.from(rank).take(most), (self.by_mark.len() - rank).saturating_sub(most) as u64)
    }

    /// Returns when the last permit ends; 0 without permits.
    pub(crate) fn end(&self) -> u64 {
        self.by_mark.len().checked_sub(1).and_then(|last| self.by_mark.get(last)).map_or(0, |(mark, _)| mark / 2)
    }
}

/// Returns the key of a permit of a policy.
pub(crate) fn key(policy: &Policy, permit: &Permit<'_>) -> String {
    format!("{}|{permit}", policy.tags())
}

/// Returns the part of a key that an extension leaves unchanged.
fn without_charge(key: &str) -> Option<&str> {
    key.rsplit_once(':').map(|(base, _)| base)
}

/// Returns the permit of a key.
pub(crate) fn parse(key: &str) -> Option<Permit<'_>> {
    Permit::parse(key.split_once('|')?.1)
}

/// Returns the tags of a key.
pub(crate) fn tags(key: &str) -> Option<&str> {
    key.split_once('|').map(|(tags, _)| tags).filter(|tags| !tags.is_empty())
}
