//! `learn`: applies a report of the upstream. The script's part is in `engine/transaction/upstream.lua`.

use super::numbers::{encode_deadline, encode_limit};
use super::prelude::*;
use crate::base::micros::MAX_TIME;
use crate::engine::budget::{PendingReport, ReportOutcome};
use crate::model::budget::{BudgetUpdate, UpstreamReport};
use crate::model::permit::{self, PERMIT_TIMEOUT};

pub(crate) struct Learn<'a> {
    report: UpstreamReport<'a>,
    permit: Option<Permit<'a>>,
    actual: Option<Charge>,
}

impl<'a> Learn<'a> {
    pub(crate) fn new(policy: &Policy, mut report: UpstreamReport<'a>) -> Checked<Self> {
        report.check(policy)?;
        if report.permit == Some(permit::SHADOW) {
            // Nothing was charged, so there is nothing to settle.
            report.settled = report.actual.map(|_| Settlement::Settled).or(report.settled);
            (report.permit, report.actual) = (None, None);
        }
        let unlimited = report.permit.is_none_or(|permit| permit == permit::UNLIMITED);
        if policy.limits().is_empty() && unlimited {
            return Ok(ControlFlow::Break(unrecorded(&report, policy, Settlement::Settled)));
        }
        // A report with an unknown permit still updates the budget, under a permit that was never issued.
        let unknown = Permit { id: "-", granted_at: MAX_TIME.0 - PERMIT_TIMEOUT.0, charged: Charge::All(0) };
        let permit = report.permit.map(parsed).transpose()?.map(|permit| permit.unwrap_or(unknown));
        let actual = report.actual.map(|actual| actual.charge("actual", policy)).transpose()?;
        Ok(ControlFlow::Continue(Self { report, permit, actual }))
    }
}

/// Returns the answer to a report that no state records.
pub(crate) fn unrecorded(report: &UpstreamReport<'_>, policy: &Policy, settlement: Settlement) -> Answer {
    Answer::Report(PendingReport::new(report, policy).without_state(settlement).into())
}

impl Verb for Learn<'_> {
    fn without_state(&self, policy: &Policy) -> Result<Answer> {
        Ok(unrecorded(&self.report, policy, Settlement::Unknown))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        let pending = PendingReport::new(&self.report, held.policy);
        let outcome = held.transaction("")?.apply_report(self.permit.as_ref(), &self.report)?;
        Ok(Answer::Report(pending.learned(&outcome).into()))
    }

    fn encode(&self, policy: &Policy, _: Listed) -> Words {
        let Self { report, permit, actual } = self;
        let permit = permit.as_ref();
        // The permit of another policy has a key that the script does not find.
        let charged = permit.and_then(|permit| policy.in_policy_order(&permit.charged)).unwrap_or_default();
        let mut words = Words::new(
            "learn",
            KeySet::WithPermit,
            [
                permit.map(ToString::to_string).unwrap_or_default(),
                permit.map_or(0, |permit| permit.granted_at).to_string(),
                charged.to_string(),
                policy.refunds(),
                if actual.is_some() { "1" } else { "" }.to_owned(),
                encode_deadline(report.pause),
            ],
        );
        for limit in policy.limits() {
            let budget = report.budget(limit).cloned().unwrap_or_else(|| BudgetUpdate::new(limit.label().clone()));
            words.more.extend([
                budget.remaining.map(|remaining| remaining.to_string()).unwrap_or_default(),
                budget.limit.as_ref().map(encode_limit).unwrap_or_default(),
                encode_deadline(budget.reset),
            ]);
        }
        Words { units: actual.unwrap_or_default().to_string(), ..words }
    }

    fn decoder(&self, policy: &Arc<Policy>) -> Decoder {
        let pending = PendingReport::new(&self.report, policy);
        Decoder::of(move |items| {
            let (status, rest) = items.split_at_checked(1).ok_or_else(garbled)?;
            match parse_u64s(rest)[..] {
                [flags, ref marks @ ..] if marks.len() == pending.limits() && rest.len() == pending.limits() + 1 => {
                    let outcome = ReportOutcome { settlement: settlement(status)?, flags, marks: marks.to_vec() };
                    Ok(Answer::Report(pending.clone().learned(&outcome).into()))
                }
                _ => Err(garbled()),
            }
        })
    }
}
