//! Recording and reading the timeline.

use std::mem;

use super::{START, Simulation};
use crate::base::error::Result;
use crate::base::micros::{MAX_TIME, Micros};
use crate::model::decision::Decision;
use crate::model::headers::{draft, level_item, more_after, policy_item, retry_after};
use crate::model::limit::Limit;
use crate::model::reason::Reason;
use crate::simulate::timeline::{JobOutcome, Row, Timeline};

impl Simulation {
    /// Returns the decisions so far.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the response headers for a row of the timeline, as names and values: the limits of the policy, and of the
    /// tightest one what remains.
    pub fn headers(&self, row: usize) -> Vec<(&'static str, String)> {
        let timeline = &self.timeline;
        let Some(outcome) = timeline.outcome.get(row) else { return Vec::new() };
        let known = |time: u64| (time < u64::MAX).then_some(Micros(time));
        let retry = known(timeline.retry_after[row]).filter(|_| *outcome != JobOutcome::Granted as u8);
        let limits = self.candidate.policy.limits();
        let of = |limit: &Limit| policy_item(limit.label(), limit.amount(), Some(limit.kind()), Some(limit.interval()));
        let policies: Vec<String> = limits.iter().map(of).collect();
        let tightest = limits.get(usize::from(timeline.limit[row])).map(|limit| {
            level_item(limit.label(), timeline.after[row], more_after(retry, known(timeline.reset_after[row])))
        });
        let mut headers = draft(&policies, tightest.as_slice());
        headers.extend(retry.map(retry_after));
        headers
    }

    /// Returns whether the next row is kept.
    pub(super) fn keeps(&self) -> bool {
        self.records && self.rows < self.most_rows
    }

    pub(super) fn record(&mut self, job: usize, outcome: JobOutcome, decision: &Decision) {
        let keeps = self.keeps();
        self.rows += 1;
        self.totals.unrecorded = self.rows.saturating_sub(self.most_rows);
        if !keeps {
            return;
        }
        let mut levels = mem::take(&mut self.levels);
        let queue = self.standing(&mut levels);
        self.levels = levels;
        self.left.resize(self.levels.len(), 0);
        let state = &self.job_states[job];
        let policy = &self.candidate.policy;
        let limit = match &decision.label {
            Some(label) => policy.position(label),
            None => (decision.reason == Some(Reason::Paused)).then_some(policy.limits().len()),
        };
        let row = Row {
            at: self.now,
            job: u32::try_from(job).unwrap_or(u32::MAX),
            client: u16::try_from(state.client).unwrap_or(u16::MAX),
            attempt: u16::try_from(state.attempt).unwrap_or(u16::MAX),
            outcome,
            cost: self.jobs[job].cost.charge(policy).most(),
            wait: self.now - self.jobs[job].at,
            limit: limit.and_then(|limit| u8::try_from(limit).ok()).unwrap_or(u8::MAX),
            retry_after: decision.retry_after.map(|retry| retry.0),
            reset_after: decision.reset_after.map(|reset| reset.0),
            before: limit.and_then(|limit| self.left.get(limit)).copied(),
            after: limit.and_then(|limit| self.levels.get(limit)).copied(),
            queue,
            held: self.under_way,
        };
        self.timeline.push(row, &self.levels);
    }

    /// Writes the remaining units of each limit to `levels` and returns the length of the queue.
    fn standing(&self, levels: &mut Vec<u64>) -> u32 {
        let queue = self.limiter.standing(levels);
        // A limiter whose policy pauses it has no state.
        levels.resize(self.timeline.levels.len(), 0);
        u32::try_from(queue).unwrap_or(u32::MAX)
    }

    /// Moves the clock, and records how the levels change until then by themselves.
    pub(super) fn advance(&mut self, to: u64) -> Result<()> {
        if to > self.now && self.keeps() && self.has_room() {
            let (queue, first) = self.note_levels();
            let mut last = Vec::new();
            self.set_clock(to)?;
            self.standing(&mut last);
            let mut parts = vec![(self.now, first, to, last)];
            while let Some((from, before, until, after)) = parts.pop() {
                if before == after {
                    continue;
                }
                if until - from <= PRECISION || self.are_close(&before, &after) {
                    self.timeline.over_time.push(until, queue, self.under_way, &after);
                    continue;
                }
                let (middle, mut between) = (u64::midpoint(from, until), Vec::new());
                self.set_clock(middle)?;
                self.standing(&mut between);
                parts.push((middle, between.clone(), until, after));
                parts.push((from, before, middle, between));
            }
        }
        self.now = to;
        self.set_clock(to)
    }

    fn has_room(&self) -> bool {
        (self.timeline.over_time.at.len() as u64) < self.most_rows
    }

    /// Records the levels of now and returns them, with the length of the queue.
    pub(super) fn note_levels(&mut self) -> (u32, Vec<u64>) {
        let mut levels = Vec::new();
        let queue = self.standing(&mut levels);
        if self.keeps() && self.has_room() {
            self.timeline.over_time.push(self.now, queue, self.under_way, &levels);
        }
        (queue, levels)
    }

    fn set_clock(&self, now: u64) -> Result<()> {
        self.clock.set(Micros(START.saturating_add(now).min(MAX_TIME.0)))
    }

    /// Returns whether each level changes by at most a hundredth of its limit.
    fn are_close(&self, before: &[u64], after: &[u64]) -> bool {
        let changes = before.iter().zip(after).map(|(before, after)| before.abs_diff(*after));
        changes.zip(self.candidate.policy.limits()).all(|(change, limit)| change.saturating_mul(100) <= limit.amount())
    }
}

/// How late a change of a level may be recorded: a millisecond.
const PRECISION: u64 = 1_000;

/// Returns the decision of a row that neither a limit of the policy nor a pause decided.
pub(super) fn undecided() -> Decision {
    Decision { reason: None, ..Decision::paused(None) }
}
