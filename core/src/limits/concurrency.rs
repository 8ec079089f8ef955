//! `concurrency`: at most `limit` leases at once. Twin of `concurrency.lua`.
//!
//! A wait lasts until enough leases have ended by timeout; a release may end it earlier.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::check::LimitCheck;
use crate::base::charge::Charge;
use crate::base::ranked::Ranked;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Concurrency {
    pub(crate) limit: u64,
    pub(crate) timeout: u64,
}

impl Concurrency {
    /// Counts the live leases at `now` and checks whether `cost` more fit. The caller changes the leases themselves.
    pub(crate) fn decide(&self, leases: &Leases, now: u64, cost: Option<u64>, change: u64) -> LimitCheck {
        let mut live = leases.live(now);
        let mut reset = leases.end(now, live).map_or(0, |end| end - now);
        let mut wait = 0;
        if let Some(cost) = cost.filter(|cost| live + cost > self.limit) {
            let ended = live + cost - self.limit;
            wait = leases.end(now, ended).map_or(self.timeout, |end| end - now);
        } else if change > 0 {
            live += change;
            reset = reset.max(self.timeout);
        }
        LimitCheck { level: live, wait, remaining: self.limit.saturating_sub(live), reset }
    }
}

/// The maximum number of reclaimed leases that a limiter remembers.
const MAX_RECLAIMED: usize = 1_000;

/// The leases of a limiter, sorted by their end. In Redis a sorted set with records and the same operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    by_end: Ranked<(u64, String)>,
    /// Leases that ended without a release and made room for others, latest end first. A late release of one counts
    /// once.
    reclaimed: BTreeSet<(Reverse<u64>, String)>,
    by_id: HashMap<String, Lease>,
    /// The last fencing token.
    pub(crate) fencing_token: u64,
}

/// One lease. `granted_at` distinguishes the leases that one id had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) end: u64,
    pub(crate) granted_at: u64,
    pub(crate) fencing_token: u64,
    /// In the order of the sorted tags.
    pub(crate) charged: Charge,
}

impl Leases {
    /// Returns the number of leases that have not ended.
    pub(crate) fn live(&self, now: u64) -> u64 {
        (self.by_end.len() - self.ended(now)) as u64
    }

    /// Returns the end of the `k`-th live lease, counted from 1.
    fn end(&self, now: u64, k: u64) -> Option<u64> {
        let k = usize::try_from(k).ok()?.checked_sub(1)?;
        self.by_end.get(self.ended(now) + k).map(|(end, _)| *end)
    }

    /// Returns a page of the live leases with their ids; the first to end first.
    pub(crate) fn page(&self, now: u64, offset: u64, count: u64) -> impl Iterator<Item = (&str, &Lease)> {
        let [offset, count] = [offset, count].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let live = self.by_end.from(self.ended(now).saturating_add(offset)).take(count);
        live.filter_map(|(_, id)| Some((id.as_str(), self.by_id.get(id)?)))
    }

    /// Returns how long the live lease that ends first has been held.
    pub(crate) fn age_of_first(&self, now: u64) -> u64 {
        let first = self.by_end.get(self.ended(now)).and_then(|(_, id)| self.by_id.get(id));
        first.map_or(0, |lease| now.saturating_sub(lease.granted_at))
    }

    fn ended(&self, now: u64) -> usize {
        self.by_end.rank(|(end, _)| *end <= now)
    }

    /// Returns the lease of an id, live or ended; with `granted_at` only the lease granted at that time.
    pub(crate) fn get(&self, id: &str, granted_at: Option<u64>) -> Option<Lease> {
        self.by_id.get(id).copied().filter(|lease| granted_at.is_none_or(|granted_at| lease.granted_at == granted_at))
    }

    /// Returns whether the lease has ended and made room for another.
    pub(crate) fn is_reclaimed(&self, id: &str, lease: &Lease) -> bool {
        self.reclaimed.contains(&(Reverse(lease.end), id.to_owned()))
    }

    /// Grants or renews a lease.
    pub(crate) fn set(&mut self, id: &str, lease: Lease) {
        self.remove(id);
        self.by_end.insert((lease.end, id.to_owned()));
        self.by_id.insert(id.to_owned(), lease);
    }

    pub(crate) fn remove(&mut self, id: &str) {
        if let Some(lease) = self.by_id.remove(id)
            && !self.reclaimed.remove(&(Reverse(lease.end), id.to_owned()))
        {
            self.by_end.remove(&(lease.end, id.to_owned()));
        }
    }

    /// Reclaims at most `most` ended leases and returns their number.
    pub(crate) fn reclaim(&mut self, now: u64, most: usize) -> u64 {
        let ended: Vec<(u64, String)> =
            self.by_end.from(0).take_while(|(end, _)| *end <= now).take(most).cloned().collect();
        for lease in &ended {
            self.by_end.remove(lease);
            self.reclaimed.insert((Reverse(lease.0), lease.1.clone()));
        }
        while self.reclaimed.len() > MAX_RECLAIMED
            && let Some((_, id)) = self.reclaimed.pop_last()
        {
            self.by_id.remove(&id);
        }
        ended.len() as u64
    }
}
