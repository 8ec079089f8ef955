//! Recording and reading the timeline.

use super::Simulation;
use crate::model::decision::Decision;
use crate::model::reason::Reason;
use crate::simulate::headers::{LimitLevel, headers};
use crate::simulate::timeline::{JobOutcome, Row, Timeline};

impl Simulation {
    /// Returns the decisions so far.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the response headers for a row of the timeline, as names and values.
    pub fn headers(&self, row: usize) -> Vec<(&'static str, String)> {
        let timeline = &self.timeline;
        let Some(outcome) = timeline.outcome.get(row) else { return Vec::new() };
        let known = |time: u64| (time < u64::MAX).then_some(time);
        let is_granted = *outcome == JobOutcome::Granted as u8;
        headers(
            &self.candidate.policy,
            &LimitLevel {
                limit: usize::from(timeline.limit[row]),
                remaining: timeline.after[row],
                reset_after: known(timeline.reset_after[row]),
                retry_after: known(timeline.retry_after[row]).filter(|_| !is_granted),
            },
        )
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
        let queue = self.limiter.standing(&mut self.levels);
        // A limiter whose policy pauses it has no state.
        self.levels.resize(self.timeline.levels.len(), 0);
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
            queue: u32::try_from(queue).unwrap_or(u32::MAX),
            held: self.under_way,
        };
        self.timeline.push(row, &self.levels);
    }
}

/// Returns the decision of a row that neither a limit of the policy nor a pause decided.
pub(super) fn undecided() -> Decision {
    Decision { reason: None, ..Decision::paused(None) }
}
