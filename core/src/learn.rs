//! `Report`: what upstream says of its budget, which corrects ours. Twin of `learn.lua`.

use crate::control::{Control, Controls, Moment, Orders};
use crate::error::{Error, Result};
use crate::learned::{Notes, Uptake};
use crate::limit::{Limit, Rule};
use crate::micros::{MAX_TIME, Micros};
use crate::permit::{PERMIT_TIMEOUT, Permit, SETTLED_MEMORY, Settlement};
use crate::policy::{MAX_LIMITS, Policy};
use crate::request::check_units;
use crate::state::Ask;
use crate::verb::Turn;

/// What one answer of the upstream says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// The permit of the call that was answered. Its time tells older reports from newer ones.
    pub permit: Option<&'a str>,
    /// What the call did cost; settles the permit.
    pub actual: Option<u64>,
    /// What is said of the budget behind each limit, in the order of the policy; may be shorter.
    pub budgets: &'a [Sync],
    /// Nothing is granted until then.
    pub pause: Option<Moment>,
    /// What is told beside, for the answer.
    pub notes: Option<&'a Notes>,
    /// What became of the permit, where this process has settled it already.
    pub settled: Option<Settlement>,
}

/// What upstream says of the budget behind one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sync {
    /// Units that are left there. Lowers what is left here by what is still open; raises it only when nothing is open, and
    /// only where calls have permits, so that this can be known. A window is only lowered.
    pub remaining: Option<u64>,
    /// Its numbers, which rule in all processes from now on, unless they are overridden. Of the kind of the limit.
    pub limit: Option<Limit>,
    /// When the interval of a bucket ends. Within two seconds of the known end it is the known end.
    pub reset: Option<Moment>,
}

impl Report<'_> {
    pub(crate) fn check(&self, policy: &Policy) -> Result<()> {
        check_units("actual", self.actual.unwrap_or(0))?;
        self.pause.map_or(Ok(()), |moment| moment.check(("pause", "pause")))?;
        if self.actual.is_some() && self.permit.is_none() {
            return Err(Error::invalid("permit", "give the permit whose actual cost this is"));
        }
        if self.budgets.len() > policy.limits().len() {
            let (given, limits) = (self.budgets.len(), policy.limits().len());
            let message = format!("must not be more than the limits: budgets={given} limits={limits}");
            return Err(Error::invalid("budgets", message));
        }
        for (budget, limit) in self.budgets.iter().zip(policy.limits()) {
            check_units("remaining", budget.remaining.unwrap_or(0))?;
            // An interval may end just now.
            let reset = budget.reset.filter(|reset| *reset != Moment::After(Micros(0)));
            reset.map_or(Ok(()), |moment| moment.check(("reset_in", "reset_at")))?;
            if let Some(other) = budget.limit.as_ref().filter(|other| other.kind() != limit.kind()) {
                let (other, kind) = (other.kind().name(), limit.kind().name());
                let message = format!("must be of the kind of the limit: kind={other} limit={kind}");
                return Err(Error::invalid("limit", message));
            }
        }
        Ok(())
    }

    fn says(&self) -> bool {
        self.budgets.iter().any(|budget| *budget != Sync::default())
    }
}

/// How far the end of an upstream's interval must lie from ours to be another one: upstreams say it in whole seconds.
const SAME_END: u64 = 2_000_000;

/// How many open permits one report looks at.
const MAX_OPEN: usize = 250;

impl Turn<'_> {
    /// Obeys an order, and answers what is in force.
    pub(crate) fn control(mut self, control: &Control<'_>) -> Controls {
        let in_use = self.state.is_used();
        let fresh = Orders::new(self.own);
        if matches!(control, Control::Look) {
            let orders = self.state.orders.as_deref().unwrap_or(&fresh);
            return Controls { in_use, ..orders.controls(self.now) };
        }
        // What drained until now did so by the numbers that ruled.
        self.settle_now();
        let mut orders = self.state.orders.take().filter(|orders| orders.hold(self.now)).unwrap_or(Box::new(fresh));
        orders.obey(control, self.now);
        let controls = Controls { in_use, ..orders.controls(self.now) };
        self.policy = orders.policy(self.own, self.now);
        self.state.orders = Some(orders);
        self.orders = true;
        self.settle_now();
        self.advance();
        self.state.line = self.line.written(self.now);
        controls
    }

    /// Replaces a permit's charge by the actual cost, once.
    pub(crate) fn correct(mut self, permit: &Permit<'_>, actual: u64) -> Settlement {
        let settlement = self.settle_permit(permit, actual);
        if settlement == Settlement::Settled {
            self.advance();
            self.state.line = self.line.written(self.now);
        }
        settlement
    }

    /// Takes over what upstream says.
    pub(crate) fn learn(mut self, permit: Option<&Permit<'_>>, report: &Report<'_>) -> Uptake {
        let now = self.now;
        let settles = permit.zip(report.actual);
        let mut settlement = Settlement::Settled;
        let since = permit.map_or(now, |permit| permit.granted_at.min(now));
        let synced = self.state.orders.as_ref().filter(|orders| orders.hold(now)).map_or(0, |orders| orders.synced);
        let late = since < synced || now >= since + PERMIT_TIMEOUT.0;
        let reports = report.says() && !late;
        let own = settles.map(|(permit, _)| permit.to_string()).unwrap_or_default();
        let (in_flight, is_known) = if reports { self.in_flight(&own, since) } else { (0, false) };
        let mut told = Uptake { settlement, flags: 0, marks: vec![0; self.own.limits().len()] };
        if reports && !is_known {
            told.flags |= Uptake::OPEN;
        }
        let is_known = is_known && (permit.is_some() || self.own.is_estimated());
        if let Some((permit, actual)) = settles {
            settlement = self.settle_permit(permit, actual);
            told.settlement = settlement;
        }
        if report.says() && late {
            told.flags |= Uptake::OLD;
        }
        if !reports && report.pause.is_none() {
            if settles.is_some() && settlement == Settlement::Settled {
                self.advance();
                self.state.line = self.line.written(now);
            }
            return told;
        }

        // What was taken stays taken when an interval ends elsewhere from now on.
        self.settle_now();
        let orders = self.state.orders.take().filter(|orders| orders.hold(now));
        let mut orders = orders.unwrap_or_else(|| Box::new(Orders::new(self.own)));
        let (before, halted) = (orders.learned.clone(), orders.pause);
        if let Some(moment) = report.pause {
            orders.pause = orders.pause.max(moment.on(now));
            told.flags |= if orders.pause > halted { Uptake::PAUSED } else { Uptake::SHORTER };
        }
        let mut past = [false; MAX_LIMITS];
        if reports {
            orders.synced = since;
            for (i, budget) in report.budgets.iter().enumerate() {
                let own = &self.own.limits()[i];
                let known = orders.learned[i].as_ref().unwrap_or(own);
                let heard = hear(known, budget, now);
                past[i] = heard.past;
                told.marks[i] = heard.marks(known, budget);
                if heard.pause > orders.pause {
                    orders.pause = heard.pause;
                    told.flags |= Uptake::PAUSED;
                }
                if orders.learned[i].is_some() || heard.limit != *own {
                    orders.learned[i] = Some(heard.limit);
                }
            }
        }
        if report.pause.is_some() || orders.pause != halted || orders.learned != before {
            orders.changed(now);
        }
        self.policy = orders.policy(self.own, now);
        self.state.orders = Some(orders);
        // Levels under the new numbers first, then what the upstream says of them.
        self.settle_now();
        for (i, budget) in report.budgets.iter().enumerate().filter(|(i, _)| reports && !past[*i]) {
            let limit = &self.policy.limits()[i];
            if let Some(remaining) = budget.remaining.filter(|_| !limit.counts_starts()) {
                let taken = limit.amount() - remaining.saturating_sub(in_flight).min(limit.amount());
                told.marks[i] |= self.state.take_over(limit, i, taken, is_known, now);
            }
        }
        self.settle_now();
        self.advance();
        self.state.line = self.line.written(now);
        told
    }

    pub(crate) fn settle_now(&mut self) {
        let outcome = self.state.decide(&self.policy, self.now, Ask::default());
        self.state.settle(&self.policy, &outcome.levels, self.now, self.skew);
    }

    /// What others have open, and whether nothing is open or was settled since the call at `since`.
    ///
    /// What is open was perhaps not seen by the upstream, nor what was settled since: it may have come there after that call.
    /// Looks at those, and at what is open for less than four minutes.
    fn in_flight(&self, own: &str, since: u64) -> (u64, bool) {
        let seen_from = (since + SETTLED_MEMORY.0) * 2;
        let (marks, more) = self.state.permits.since(seen_from, MAX_OPEN);
        let mut others = marks.filter(|(_, id)| id != own).peekable();
        let is_known = more == 0 && others.peek().is_none();
        let open = others.filter(|(mark, _)| mark % 2 == 0).filter_map(|(_, id)| Permit::parse(id));
        let read: u64 = open.map(|permit| permit.charged).sum();
        // The others are taken to have charged what these did on average.
        let unread = if more > 0 { more * read.div_ceil(MAX_OPEN as u64).min(MAX_TIME.0 / more) } else { 0 };
        (read + unread, is_known)
    }

    fn settle_permit(&mut self, permit: &Permit<'_>, actual: u64) -> Settlement {
        let (now, deadline) = (self.now, permit.granted_at + PERMIT_TIMEOUT.0);
        if now >= deadline {
            return Settlement::Late;
        }
        let id = permit.to_string();
        match self.state.permits.mark(&id) {
            None => return Settlement::Unknown,
            Some(mark) if mark % 2 == 1 => {
                return if now < mark / 2 { Settlement::Already } else { Settlement::Unknown };
            }
            Some(_) => {}
        }
        let change = actual.cast_signed() - permit.charged.cast_signed();
        let ask = Ask { change, granted_at: permit.granted_at, ..Ask::default() };
        let outcome = self.state.decide(&self.policy, now, ask);
        for (i, limit) in self.policy.limits().iter().enumerate() {
            if let (Rule::Window(window), Some(log)) = (limit.rule, self.state.log(i))
                && permit.granted_at + window.interval > now
            {
                let most = (2 * window.limit).saturating_sub(outcome.levels[i]);
                log.correct(permit.granted_at, change.min(most.cast_signed()), outcome.levels[i]);
            }
        }
        self.state.permits.keep(id, (now + SETTLED_MEMORY.0).min(deadline) * 2 + 1);
        self.state.statistics.corrections += 1;
        self.state.statistics.units = self.state.statistics.units.saturating_add_signed(change);
        self.state.settle(&self.policy, &outcome.levels, now, self.skew);
        Settlement::Settled
    }
}

/// What is heard of one limit.
struct Heard {
    /// Its numbers.
    limit: Limit,
    /// Whether the answer is about the interval before, and so says nothing of what is left in this one.
    past: bool,
    /// Until when nothing passes; zero for no pause.
    pause: u64,
}

impl Heard {
    /// What has changed of the numbers, and whether what is left says nothing.
    fn marks(&self, known: &Limit, budget: &Sync) -> u64 {
        let marks = [
            (self.limit.amount() != known.amount(), Uptake::LIMIT),
            (self.limit.interval() != known.interval(), Uptake::INTERVAL),
            (self.limit.offset() != known.offset(), Uptake::RESET),
            (self.past && budget.remaining.is_some(), Uptake::PAST),
        ];
        marks.into_iter().filter_map(|(is_so, mark)| is_so.then_some(mark)).sum()
    }
}

fn hear(known: &Limit, budget: &Sync, now: u64) -> Heard {
    let said = budget.limit.as_ref().unwrap_or(known);
    let mut heard = Heard { limit: said.clone(), past: false, pause: 0 };
    let Rule::Bucket(bucket) = known.rule else { return heard };
    let interval = said.interval().0;
    let mut offset = if bucket.offset < interval { bucket.offset } else { said.offset().0 };
    if let Some(reset) = budget.reset {
        let end = reset.on(now);
        let phase = (interval - end % interval) % interval;
        let shift = phase.abs_diff(offset);
        let is_same = shift.min(interval - shift) <= SAME_END;
        heard.past = end <= now || is_same && end + SAME_END < now + interval - (now + offset) % interval;
        if !is_same && end > now {
            offset = phase;
        }
        if heard.past && end > now {
            heard.pause = end;
        }
    }
    if let Ok(limit) = Limit::of_kind(said.kind(), said.amount(), said.interval(), Micros(offset)) {
        heard.limit = limit;
    }
    heard
}
