//! Makes a limiter of the library one of the two sides that a property compares.

use std::collections::HashMap;

use paddlegate::{
    AdminCommand, Answer, BudgetUpdate, Calendar, Deadline, Decision, Extension, Kind, Limit, LimitOverride, Limiter,
    Micros, Mode, Operation, Paddlegate, Page, Policy, Refund, Request, Status, UpstreamReport,
};

use super::calls;
use super::limiter::text;
use super::sequence::{CALENDARS, Implementation, Outcome, Spec};
use super::units::Units;

pub struct Library {
    store: Paddlegate,
    name: String,
    limiter: Limiter,
    /// A limiter of the same name with the limits of all its policies.
    whole: Limiter,
    permits: Vec<String>,
    /// In shadow the answers are what they would be without it.
    mode: Mode,
    /// The last ids of extended permits.
    extended: HashMap<usize, String>,
}

impl Library {
    pub fn new(store: &Paddlegate, name: &str, limits: &[Spec]) -> Self {
        Self::in_mode(store, name, limits, Mode::Enforce)
    }

    pub fn in_mode(store: &Paddlegate, name: &str, limits: &[Spec], mode: Mode) -> Self {
        let limiter = store.limiter(name, policy(limits).with_mode(mode)).expect("a limiter");
        Self {
            store: store.clone(),
            name: name.to_owned(),
            whole: limiter.clone(),
            limiter,
            permits: Vec::new(),
            mode,
            extended: HashMap::new(),
        }
    }

    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Returns the ids of the permits, oldest first.
    pub fn permits(&self) -> &[String] {
        &self.permits
    }
}

impl Implementation for Library {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome {
        let decision = with_units(units, estimate, |request| calls::acquire(&self.limiter, request, at));
        let decision = without_shadow(decision);
        self.permits.extend(decision.permit.clone());
        outcome(&decision)
    }

    fn peek(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&without_shadow(with_units(units, false, |request| calls::peek(&self.limiter, request, at))))
    }

    fn debit(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&units.with(|units| calls::debit(&self.limiter, units, at)))
    }

    fn refund(&mut self, at: u64, units: &Units) -> Outcome {
        outcome(&units.with(|units| calls::refund(&self.limiter, units, at)))
    }

    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        let id = self.extended.get(&permit).filter(|_| !is_first_id).unwrap_or(&self.permits[permit]);
        match calls::run(&self.limiter, Operation::Extend { permit: id, units: units.into() }, at) {
            Answer::Extension(extension) => match *extension {
                Extension::Decided(decision) => {
                    self.extended.extend(decision.permit.clone().map(|id| (permit, id)));
                    Ok(outcome(&decision))
                }
                Extension::Closed(settlement) => Err(settlement.name().to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }

    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String {
        // Any id of a permit settles it.
        let id = self.extended.get(&permit).filter(|_| permit.is_multiple_of(2)).unwrap_or(&self.permits[permit]);
        let settlement = actual.with(|actual| calls::correct(&self.limiter, id, actual, at));
        settlement.name().to_owned()
    }

    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        with_override(limits, |command| calls::run(&self.limiter, Operation::Admin { command }, at));
    }

    fn learn(&mut self, limits: &[Spec], at: u64) {
        with_report(limits, |report| calls::run(&self.limiter, Operation::ApplyReport { report }, at));
    }

    fn resize(&mut self, limits: &[Spec]) {
        let policy = policy(limits).with_mode(self.mode);
        self.limiter = self.store.limiter(&self.name, policy).expect("a limiter");
    }

    fn reset(&mut self) {
        self.limiter.reset().expect("a reset");
        // Keys live in the server's time, which does not jump as the test's does: the log of a limit that has ended for the
        // test, and is not in the state any more, would be there when the test's clock goes back.
        self.whole.reset().expect("a reset");
    }

    fn lose_keys(&mut self) {
        self.reset();
    }

    fn inspect(&mut self, at: u64) -> Option<String> {
        match calls::run(&self.limiter, Operation::Inspect { page: Page::default() }, at) {
            Answer::Inspection(inspection) => Some(format!("{:?}", inspection.limits)),
            other => panic!("{other:?}"),
        }
    }
}

/// Returns what a decision in shadow would be without it.
fn without_shadow(decision: Decision) -> Decision {
    match decision.would_refuse {
        None => decision,
        reason => {
            assert!(decision.allowed(), "{decision:?}");
            Decision { status: Status::Refused, reason, would_refuse: None, permit: None, ..decision }
        }
    }
}

/// Calls `run` with a request of these units.
pub fn with_units<T>(units: &Units, estimate: bool, run: impl FnOnce(Request<'_>) -> T) -> T {
    units.with(|units| run(if estimate { Request::estimate(units) } else { Request::cost(units) }))
}

/// Calls `run` with the command that sets or removes overrides.
pub fn with_override<T>(limits: Option<(&[Spec], Option<u64>)>, run: impl FnOnce(AdminCommand<'_>) -> T) -> T {
    let (changes, expires) = match limits {
        Some((limits, for_us)) => {
            let changes = limits.iter().map(|spec| LimitOverride::Set(limit(spec))).collect();
            (changes, for_us.map(|for_us| Deadline::After(Micros(for_us))))
        }
        None => (vec![LimitOverride::RemoveAll], None),
    };
    run(AdminCommand::Override { changes: &changes, expires })
}

/// Runs an operation with the report of an upstream that has these limits.
pub fn with_report<T>(limits: &[Spec], run: impl FnOnce(UpstreamReport<'_>) -> T) -> T {
    let learned = policy(limits);
    let budget = |limit: &Limit| BudgetUpdate {
        label: limit.label().clone(),
        remaining: None,
        limit: Some(limit.clone()),
        reset: None,
    };
    let budgets: Vec<BudgetUpdate> = learned.limits().iter().map(budget).collect();
    run(UpstreamReport { budgets: &budgets, ..UpstreamReport::default() })
}

pub fn policy(limits: &[Spec]) -> Policy {
    Policy::new(limits.iter().map(limit)).expect("a policy")
}

pub fn limit(spec: &Spec) -> Limit {
    let limit = match spec.kind {
        Kind::Quota => {
            let (per, timezone, starts, _) = CALENDARS[usize::try_from(spec.offset).expect("an index")];
            let calendar = Calendar::parse(per, Some(timezone), Some(starts)).expect("a calendar");
            Limit::quota(spec.amount, calendar).expect("a limit")
        }
        Kind::Leaky | Kind::Points if spec.offset == 1 => {
            let limit = Limit::of_kind(spec.kind, spec.amount, Micros(spec.interval), Micros(0)).expect("a limit");
            limit.with_refund(Refund::Undrained).expect("a meter")
        }
        Kind::Leaky | Kind::Points => {
            Limit::of_kind(spec.kind, spec.amount, Micros(spec.interval), Micros(0)).expect("a limit")
        }
        kind => Limit::of_kind(kind, spec.amount, Micros(spec.interval), Micros(spec.offset)).expect("a limit"),
    };
    match spec.label() {
        Some(label) => limit.labelled(&label).expect("a label"),
        None => limit,
    }
}

pub fn outcome(decision: &Decision) -> Outcome {
    let micros = |micros: Option<Micros>| micros.map_or(0, |micros| micros.0);
    Outcome {
        allowed: decision.allowed(),
        remaining: decision.remaining.unwrap_or(u64::MAX),
        retry_after: micros(decision.retry_after),
        reset_after: micros(decision.reset_after),
        at: decision.at.0,
        text: text(decision),
    }
}
