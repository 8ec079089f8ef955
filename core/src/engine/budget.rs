//! `ReportOutcome`: the changes of the state by an upstream report, and the conversion to a result.

use crate::model::budget::UpstreamReport;
use crate::model::label::Label;
use crate::model::learned::{Learned, Notes, property};
use crate::model::limit::Kind;
use crate::model::permit::Settlement;
use crate::model::policy::Policy;

/// The store's reply to a report. Twin of the reply in `upstream.lua`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportOutcome {
    /// `Settled` also when there was nothing to settle.
    pub(crate) settlement: Settlement,
    pub(crate) flags: u64,
    /// One sum of marks for each limit.
    pub(crate) marks: Vec<u64>,
}

impl ReportOutcome {
    /// The report started or extended the pause.
    pub(crate) const PAUSED: u64 = 1;
    /// The pause in force lasts at least as long.
    pub(crate) const SHORTER: u64 = 2;
    /// The report of a later call was applied before, or the call is older than permits are kept.
    pub(crate) const OLD: u64 = 4;
    /// Calls are open that the upstream may not have counted yet.
    pub(crate) const OPEN: u64 = 8;

    /// Marks of a limit: the changed properties.
    pub(crate) const LIMIT: u64 = 1;
    pub(crate) const INTERVAL: u64 = 2;
    pub(crate) const RESET: u64 = 4;
    pub(crate) const REMAINING: u64 = 8;
    /// The upstream has more remaining units, and the limiter may not raise its own.
    pub(crate) const NOT_RAISED: u64 = 16;
    /// The reported remaining units belong to an interval that has ended.
    pub(crate) const PAST: u64 = 32;
}

/// A report without the store's reply yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingReport {
    /// The part of the result that the report alone determines.
    learned: Learned,
    settles: bool,
    limits: Vec<(Label, Kind)>,
}

impl PendingReport {
    pub(crate) fn new(report: &UpstreamReport<'_>, policy: &Policy) -> Self {
        let notes = report.notes.cloned().unwrap_or_default();
        let Notes { mut ignored, cost, pause, scope, bucket } = notes;
        let limits: Vec<(Label, Kind)> =
            policy.limits().iter().map(|limit| (limit.label().clone(), limit.kind())).collect();
        for limit in policy.limits() {
            let (kind, Some(budget)) = (limit.kind(), report.budget(limit)) else { continue };
            let mut ignore =
                |what, why| ignored.push(format!("{}: {why}", property(what, limit.label(), limits.len())));
            if budget.remaining.is_some() && matches!(kind, Kind::Throttle | Kind::Concurrency) {
                ignore("remaining", "this kind of limit has no budget");
            }
            if budget.reset.is_some() && kind != Kind::Bucket {
                ignore("reset", "only the interval of a bucket has an end");
            }
        }
        if cost.is_some() && report.permit.is_none() && policy.is_estimated() {
            ignored.push("cost: no permit was given".to_owned());
        }
        let learned = Learned { settlement: report.settled, ignored, cost, pause, scope, bucket, ..Learned::default() };
        Self { learned, settles: report.actual.is_some(), limits }
    }

    pub(crate) fn limits(&self) -> usize {
        self.limits.len()
    }

    /// Returns the result for the store's reply.
    pub(crate) fn learned(self, outcome: &ReportOutcome) -> Learned {
        let Self { mut learned, settles, limits } = self;
        if settles {
            learned.settlement = Some(outcome.settlement);
        }
        let has = |flag| outcome.flags & flag != 0;
        let mut ignore = |text: String| learned.ignored.push(text);
        if has(ReportOutcome::OLD) {
            ignore("a later answer was learned before".to_owned());
        }
        for (mark, (label, kind)) in outcome.marks.iter().zip(&limits) {
            let label = |what| property(what, label, limits.len());
            for (bit, what) in [
                (ReportOutcome::LIMIT, "limit"),
                (ReportOutcome::INTERVAL, "interval"),
                (ReportOutcome::REMAINING, "remaining"),
                (ReportOutcome::RESET, "reset"),
            ] {
                if mark & bit != 0 {
                    learned.learned.push(label(what));
                }
            }
            if mark & ReportOutcome::NOT_RAISED != 0 {
                let why = match kind {
                    Kind::Window => "a window is only lowered",
                    _ if has(ReportOutcome::OPEN) => "calls are open",
                    _ => "calls have no permits, so some may be open",
                };
                ignore(format!("{}: {why}", label("remaining")));
            }
            if mark & ReportOutcome::PAST != 0 {
                ignore(format!("{}: its interval has ended", label("remaining")));
            }
        }
        if has(ReportOutcome::PAUSED) {
            learned.learned.push("pause".to_owned());
        } else if has(ReportOutcome::SHORTER) {
            ignore("pause: a longer one is in force".to_owned());
        }
        learned
    }

    /// Returns the result when no state records the report.
    pub(crate) fn without_state(self, settlement: Settlement) -> Learned {
        let Self { mut learned, settles, .. } = self;
        if settles {
            learned.settlement = Some(settlement);
        }
        learned.ignored.push("the limiter has no limit that could learn".to_owned());
        learned
    }
}
