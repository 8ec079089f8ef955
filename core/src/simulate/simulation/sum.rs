//! The totals of a simulation.

use super::Simulation;
use crate::model::limit::{Kind, Limit};
use crate::simulate::job::Phase;
use crate::simulate::totals::{Totals, Waits, largest_burst};

impl Simulation {
    /// Returns the totals so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { arrived: self.come as u64, ..self.totals.clone() };
        // A simulation that was cut off ends at its current time.
        let until = self.until.filter(|_| !totals.cut_off);
        totals.ended_at = until.unwrap_or(self.now);
        let policy = &self.candidate.policy;
        let (mut waits, mut gone, mut held) = (Vec::new(), Vec::new(), self.held);
        let mut of_limits = vec![0_u128; policy.limits().len()];
        for (i, (job, state)) in self.jobs.iter().zip(&self.job_states).take(self.come).enumerate() {
            totals.pending += u64::from(state.granted_at.is_none() && !state.phase.is_over());
            let Some(at) = state.granted_at else { continue };
            let units = job.units().charge(policy);
            gone.push((at, units.most()));
            for (i, sum) in of_limits.iter_mut().enumerate() {
                *sum += u128::from(units.of(i));
            }
            if state.phase != Phase::Lost {
                waits.push(at - job.at);
            }
            if state.phase != Phase::Done {
                held += self.held_by(i, totals.ended_at);
            }
        }
        gone.sort_unstable();
        totals.granted = waits.len() as u64;
        totals.waited = waits.iter().filter(|wait| **wait > 0).count() as u64;
        totals.wait = Waits::of(waits);
        totals.units = gone.iter().map(|(_, units)| units).sum();
        totals.burst_interval = self.burst_interval;
        totals.largest_burst = largest_burst(&gone, self.burst_interval);
        let drained = gone.last().zip(self.jobs.first()).map(|((last, _), first)| last - first.at);
        totals.drained_after = drained.filter(|_| totals.pending == 0 && self.come == self.jobs.len());
        // Without an end in the scenario the last microsecond is included, except for leases.
        let span = totals.ended_at + u64::from(until.is_none());
        let used = |i: usize, limit: &Limit| match limit.kind() {
            Kind::Concurrency => (held, totals.ended_at),
            Kind::Throttle => (u128::from(self.starts), span),
            _ => (of_limits[i], span),
        };
        let shares = policy.limits().iter().enumerate().filter_map(|(i, limit)| {
            let (used, span) = used(i, limit);
            (used * 1_000).checked_div(self.limit_history.allowed(i, span))
        });
        totals.utilisation_permille = shares.max().map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX));
        totals
    }
}
