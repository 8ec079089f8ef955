//! `extend`: more units for an open permit. Twin of `extend.lua`.

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::engine::permits;
use crate::engine::reply::{Extended, Reply};
use crate::engine::state::{Change, Demand, Evaluation};
use crate::engine::transaction::Transaction;
use crate::model::decision::Status;
use crate::model::permit::{PERMIT_TIMEOUT, Permit, Settlement};

/// A permit as the state knows it, which may have been extended since the caller got its id.
pub(super) struct OpenPermit {
    pub(super) key: String,
    pub(super) deadline: u64,
    /// In the order of the policy.
    pub(super) charged: Charge,
    /// The times and the units of the last extensions, the last one first.
    extensions: Vec<(u64, Charge)>,
}

impl OpenPermit {
    /// Returns what the permit has reserved of a limit, the last first: the time, and the units. Those without the time of an
    /// extension are of the grant.
    pub(super) fn reservations(&self, i: usize, granted_at: u64) -> impl Iterator<Item = (u64, u64)> {
        let grant = (granted_at, Charge::All(u64::MAX));
        self.extensions.iter().copied().chain([grant]).scan(self.charged.of(i), move |rest, (at, units)| {
            let units = units.of(i).min(*rest);
            *rest -= units;
            Some((at, units))
        })
    }

    /// Returns the time of the last reservation.
    pub(super) fn last_at(&self, granted_at: u64) -> u64 {
        self.extensions.first().map_or(granted_at, |(at, _)| *at)
    }

    pub(super) fn is_extended(&self) -> bool {
        !self.extensions.is_empty()
    }
}

impl Transaction<'_> {
    /// Reserves more units for the call of a permit, if all limits allow it. It does not wait behind the queue, whose calls
    /// came after that of the permit.
    ///
    /// What the caller's id says and the units make the sum: a repeated call reserves nothing twice.
    pub(crate) fn extend(mut self, permit: &Permit<'_>, units: &Charge) -> Result<Extended> {
        let open = match self.open_permit(permit) {
            Ok(open) => open,
            Err(settlement) => return Ok(Err(settlement)),
        };
        let Some(granted) = self.own.in_policy_order(&permit.charged) else { return Ok(Err(Settlement::Unknown)) };
        let limits = self.own.limits().iter().enumerate();
        let taken = Charge::each(limits.map(|(i, limit)| {
            let sum = granted.of(i) + units.of(i);
            if limit.counts_starts() { 0 } else { sum.saturating_sub(open.charged.of(i)) }
        }));
        self.policy.check_fits_of(self.own, "units", &taken, units)?;
        // A repeated extension only looks.
        let cost = if taken.most() > 0 { taken } else { Charge::All(0) };
        let ask = Demand { cost: Some(&cost), change: Change::Cost, ..Demand::default() };
        let mut evaluation = self.state.decide(&self.policy, self.now, ask);
        let sum = Charge::each((0..self.own.limits().len()).map(|i| open.charged.of(i) + taken.of(i))).simplest();
        let charge = self.own.in_tag_order(&sum);
        if taken.most() == 0 {
            evaluation = Evaluation { wait: 0, ..evaluation };
        }
        let status = if evaluation.wait == 0 { Status::Granted } else { Status::Refused };
        let amount = Some(self.policy.capacity(evaluation.index));
        let reply = Reply { amount, ..Reply::new(status, &evaluation, self.now) };
        if taken.most() == 0 || evaluation.wait > 0 {
            self.state.skew = self.skew;
            return Ok(Ok((reply, if evaluation.wait > 0 { self.own.in_tag_order(&taken) } else { charge })));
        }
        let extension = (self.now, self.own.in_tag_order(&taken));
        self.state.permits.extend(&open.key, charge, extension, open.deadline);
        for i in 0..self.policy.limits().len() {
            if let Some(log) = self.state.log(&self.policy, i) {
                log.push(self.now, taken.of(i), evaluation.levels[i]);
            }
        }
        self.state.counters.charge(self.now, taken.most().cast_signed());
        self.state.settle(&self.policy, &evaluation.levels, self.now, self.skew);
        self.advance();
        self.keep_queue_summary();
        Ok(Ok((reply, charge)))
    }

    /// Returns the key under which a permit is stored, perhaps after an extension, and its charge in the order of the tags.
    pub(super) fn stored_permit(&self, permit: &Permit<'_>) -> (String, Charge) {
        let (permits, key) = (&self.state.permits, permits::key(self.own, permit));
        match permits.extended(&key).filter(|_| permits.mark(&key).is_none()) {
            Some(extended) => (permits::key(self.own, &Permit { charged: extended, ..*permit }), extended),
            None => (key, permit.charged),
        }
    }

    /// Returns the open permit of an id, perhaps of one that it had before an extension.
    pub(super) fn open_permit(&self, permit: &Permit<'_>) -> std::result::Result<OpenPermit, Settlement> {
        let now = self.now;
        let (key, charged) = self.stored_permit(permit);
        match self.state.permits.mark(&key) {
            Some(mark) if mark % 2 == 1 && now < mark / 2 => Err(Settlement::Already),
            Some(mark) if mark % 2 == 0 && now < mark / 2 => {
                let charged = self.own.in_policy_order(&charged).ok_or(Settlement::Unknown)?;
                let extensions = self.state.permits.extensions(&key);
                let in_order = |(at, units): &(u64, Charge)| Some((*at, self.own.in_policy_order(units)?));
                let extensions = extensions.filter_map(in_order).collect();
                Ok(OpenPermit { key, deadline: mark / 2, charged, extensions })
            }
            // The time of every permit is at least this long. A younger one was forgotten or settled, or is of another policy.
            _ if now >= permit.granted_at + PERMIT_TIMEOUT.0 => Err(Settlement::Late),
            _ => Err(Settlement::Unknown),
        }
    }
}
