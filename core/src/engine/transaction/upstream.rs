//! Reports of the upstream, which correct the limiter, and admin commands. Twin of `upstream.lua` and `admin.lua`.

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::engine::budget::ReportOutcome;
use crate::engine::overrides::Overrides;
use crate::engine::permits;
use crate::engine::state::{Demand, Units, has_tag};
use crate::engine::transaction::Transaction;
use crate::limits::concurrency::Lease;
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::limit::{Kind, Limit, Rule};
use crate::model::overrides::{AdminCommand, RuntimeState};
use crate::model::permit::{OURS, PERMIT_TIMEOUT, Permit, SETTLED_MEMORY, Settlement};
use crate::model::policy::{MAX_LIMITS, Policy};

/// The maximum distance between two ends of an interval that count as the same end: upstreams report whole seconds.
const SAME_END: u64 = 2_000_000;

/// The maximum number of permits that one report examines.
const MAX_OPEN: usize = 250;

impl Transaction<'_> {
    /// Applies a command and returns the runtime state.
    pub(crate) fn admin(mut self, command: &AdminCommand<'_>) -> Result<RuntimeState> {
        let in_use = self.state.is_used();
        let fresh = Overrides::default();
        if matches!(command, AdminCommand::Get) {
            let overrides = self.state.overrides.as_deref().unwrap_or(&fresh);
            return Ok(RuntimeState { in_use, ..overrides.runtime_state(self.now) });
        }
        command.check_end(self.now)?;
        let held = self.state.overrides.as_deref().filter(|overrides| overrides.hold(self.now));
        let mut overrides = held.cloned().unwrap_or(fresh);
        overrides.apply(command, self.now);
        overrides.check_labels(&Policy::without_limits())?;
        // Until now the levels drained under the previous limits.
        self.settle_now();
        let runtime_state = RuntimeState { in_use, ..overrides.runtime_state(self.now) };
        self.policy = overrides.policy(self.own, self.now);
        self.state.overrides = Some(Box::new(overrides));
        self.is_admin = true;
        self.settle_now();
        self.advance();
        self.keep_queue_summary();
        Ok(runtime_state)
    }

    /// Applies a report of the upstream.
    pub(crate) fn apply_report(
        mut self,
        permit: Option<&Permit<'_>>,
        report: &UpstreamReport<'_>,
    ) -> Result<ReportOutcome> {
        let now = self.now;
        let actual = report.actual.map(|actual| actual.charge("actual", self.own)).transpose()?;
        let settles = permit.zip(actual);
        let mut settlement = Settlement::Settled;
        let since = permit.map_or(now, |permit| permit.granted_at.min(now));
        let reported_at = self
            .state
            .overrides
            .as_ref()
            .filter(|overrides| overrides.hold(now))
            .map_or(0, |overrides| overrides.reported_at);
        let late = since < reported_at || now >= since + PERMIT_TIMEOUT.0;
        let reports = report.says() && !late;
        if reports {
            let held = self.state.overrides.as_deref().filter(|overrides| overrides.hold(now));
            held.map_or(Ok(()), |overrides| overrides.check_labels(self.own))?;
        }
        let own = settles.map(|(permit, _)| self.stored_permit(permit).0).unwrap_or_default();
        let (in_flight, is_known) = if reports { self.in_flight(&own, since) } else { (Units::default(), false) };
        let mut outcome = ReportOutcome { settlement, flags: 0, marks: vec![0; self.own.limits().len()] };
        if reports && !is_known {
            outcome.flags |= ReportOutcome::OPEN;
        }
        let is_known = is_known && (permit.is_some() || self.own.is_estimated());
        if let Some((permit, actual)) = &settles {
            settlement = self.settle_permit(permit, actual);
            outcome.settlement = settlement;
        }
        if report.says() && late {
            outcome.flags |= ReportOutcome::OLD;
        }
        if !reports && report.pause.is_none() {
            if settles.is_some() && settlement == Settlement::Settled {
                self.advance();
                self.keep_queue_summary();
            }
            return Ok(outcome);
        }

        // Charged units must stay charged when the end of an interval moves.
        self.settle_now();
        let overrides = self.state.overrides.take().filter(|overrides| overrides.hold(now));
        let mut overrides = overrides.unwrap_or_default();
        let (before, paused_before) = (overrides.learned.clone(), overrides.paused_until);
        if let Some(moment) = report.pause {
            overrides.paused_until = overrides.paused_until.max(moment.on(now));
            outcome.flags |=
                if overrides.paused_until > paused_before { ReportOutcome::PAUSED } else { ReportOutcome::SHORTER };
        }
        let mut past = [false; MAX_LIMITS];
        if reports {
            overrides.reported_at = since;
            for (i, own) in self.own.limits().iter().enumerate() {
                let Some(budget) = report.budget(own) else { continue };
                let known = overrides.learned(own).unwrap_or(own);
                let learned = learned_limit(known, budget, now);
                past[i] = learned.past;
                outcome.marks[i] = learned.marks(known, budget);
                if learned.pause > overrides.paused_until {
                    overrides.paused_until = learned.pause;
                    outcome.flags |= ReportOutcome::PAUSED;
                }
                if overrides.learned(own).is_some() || learned.limit != *own {
                    overrides.learn(learned.limit);
                }
            }
        }
        if report.pause.is_some() || overrides.paused_until != paused_before || overrides.learned != before {
            overrides.changed(now);
        }
        self.policy = overrides.policy(self.own, now);
        self.state.overrides = Some(overrides);
        // Sets the levels under the new limits before the reported remaining units are applied.
        self.settle_now();
        for (i, limit) in self.policy.limits().iter().enumerate().filter(|(i, _)| reports && !past[*i]) {
            let remaining = report.budget(limit).and_then(|budget| budget.remaining);
            if let Some(remaining) = remaining.filter(|_| !limit.counts_starts()) {
                let taken = limit.amount() - remaining.saturating_sub(in_flight[i]).min(limit.amount());
                outcome.marks[i] |= self.state.take_over(&self.policy, i, taken, is_known, now);
            }
        }
        self.settle_now();
        self.advance();
        self.keep_queue_summary();
        Ok(outcome)
    }

    /// Lowers the remaining units of one limit to `left`; never raises them.
    ///
    /// Each lease in the store, also of this process, becomes a local lease of full duration, since its release goes to
    /// the store.
    pub(crate) fn seed_local(mut self, i: usize, left: u64) {
        self.settle_now();
        let (now, limit) = (self.now, &self.policy.limits()[i]);
        let taken = left.min(limit.capacity())..limit.capacity();
        let rule = limit.rule;
        match (rule, self.leases()) {
            (Rule::Concurrency(concurrency), Some(leases)) => {
                let lease = Lease {
                    end: now + concurrency.timeout,
                    granted_at: now,
                    fencing_token: 0,
                    charged: Charge::All(1),
                };
                taken.for_each(|n| leases.set(&format!("{OURS}known-{n}"), lease));
            }
            _ => {
                self.state.take_over(&self.policy, i, taken.end - taken.start, false, now);
            }
        }
        self.settle_now();
    }

    pub(crate) fn settle_now(&mut self) {
        let evaluation = self.state.decide(&self.policy, self.now, Demand::default());
        self.state.settle(&self.policy, &evaluation.levels, self.now, self.skew);
    }

    /// Returns the units of other open permits for each limit, and whether no permit is open or was settled since the call at `since`.
    ///
    /// The upstream may not have counted open calls, nor calls that were settled after `since`: their requests may have
    /// arrived after that call. Examines permits settled since then, and open permits granted at most four minutes
    /// before.
    fn in_flight(&self, own: &str, since: u64) -> (Units, bool) {
        let first_mark = (since + SETTLED_MEMORY.0) * 2;
        let (marks, more) = self.state.permits.since(first_mark, MAX_OPEN);
        // Units of limits that this report is not about do not count.
        let is_shared =
            |id: &str| permits::tags(id).is_none_or(|tags| tags.split(',').any(|tag| has_tag(self.own.tags(), tag)));
        // The upstream has seen what is open for four minutes, however long it stays open.
        let is_recent = |(mark, id): &(u64, String)| {
            let granted_at = permits::parse(id).map_or(since, |permit| permit.granted_at);
            mark % 2 == 1 || granted_at + PERMIT_TIMEOUT.0 >= since + SETTLED_MEMORY.0
        };
        let of_others = marks.filter(|permit| permit.1 != own && is_shared(&permit.1) && is_recent(permit));
        let mut others = of_others.peekable();
        let is_known = more == 0 && others.peek().is_none();
        let mut units = Units::default();
        for (_, id) in others.filter(|(mark, _)| mark % 2 == 0) {
            let (Some(permit), tags) = (permits::parse(id), permits::tags(id)) else { continue };
            for (i, units) in units.iter_mut().enumerate().take(self.own.limits().len()) {
                let place = tags.map_or(Some(i), |tags| tags.split(',').position(|tag| tag == self.own.record_tag(i)));
                *units += place.map_or(0, |place| permit.charged.of(place));
            }
        }
        for units in units.iter_mut().filter(|_| more > 0) {
            // The rest is assumed to have the average charge of the permits that were read.
            *units += more * units.div_ceil(MAX_OPEN as u64).min(MAX_TIME.0 / more);
        }
        (units, is_known)
    }
}

/// The effect of a report on one limit.
struct LearnedLimit {
    /// The learned limit.
    limit: Limit,
    /// Whether the report is about a past interval, so that its remaining units do not apply to the current one.
    past: bool,
    /// The end of the pause that the report implies; zero for no pause.
    pause: u64,
}

impl LearnedLimit {
    /// Returns the marks of the changed properties, and of remaining units that do not apply.
    fn marks(&self, known: &Limit, budget: &BudgetUpdate) -> u64 {
        let is_other_rate = known.kind() == Kind::Throttle && self.limit.amount() != known.amount();
        let marks = [
            (self.limit.capacity() != known.capacity(), ReportOutcome::LIMIT),
            (self.limit.interval() != known.interval() || is_other_rate, ReportOutcome::INTERVAL),
            (self.limit.offset() != known.offset(), ReportOutcome::RESET),
            (self.past && budget.remaining.is_some(), ReportOutcome::PAST),
        ];
        marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark)).sum()
    }
}

fn learned_limit(known: &Limit, budget: &BudgetUpdate, now: u64) -> LearnedLimit {
    let reported = budget.limit.as_ref().unwrap_or(known);
    let limit = known.with_numbers(reported.amount(), reported.interval(), reported.offset());
    let mut learned = LearnedLimit { limit: limit.unwrap_or_else(|_| known.clone()), past: false, pause: 0 };
    let Rule::Bucket(bucket) = known.rule else { return learned };
    let interval = reported.interval().0;
    let mut offset = if bucket.offset < interval { bucket.offset } else { reported.offset().0 };
    if let Some(reset) = budget.reset {
        let end = reset.on(now);
        let phase = (interval - end % interval) % interval;
        let shift = phase.abs_diff(offset);
        let is_same = shift.min(interval - shift) <= SAME_END;
        learned.past = end <= now || is_same && end + SAME_END < now + interval - (now + offset) % interval;
        if !is_same && end > now {
            offset = phase;
        }
        if learned.past && end > now {
            learned.pause = end;
        }
    }
    if let Ok(limit) = known.with_numbers(reported.amount(), reported.interval(), Micros(offset)) {
        learned.limit = limit;
    }
    learned
}
