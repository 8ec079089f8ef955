//! Makes a limiter of the library one of the two sides that a property compares.

use paddlegate::{Decision, Limit, Limiter, Micros, Paddlegate, Policy, Request};

use super::calls;
use super::limiter::text;
use super::sequence::{Implementation, Outcome, Spec};

pub struct Library {
    store: Paddlegate,
    name: String,
    limiter: Limiter,
    permits: Vec<String>,
}

impl Library {
    pub fn new(store: &Paddlegate, name: &str, limits: &[Spec]) -> Self {
        let limiter = store.limiter(name, policy(limits)).expect("a limiter");
        Self { store: store.clone(), name: name.to_owned(), limiter, permits: Vec::new() }
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
    fn acquire(&mut self, at: u64, units: u64, estimate: bool) -> Outcome {
        let request = if estimate { Request::estimate(units) } else { Request::cost(units) };
        let decision = calls::acquire(&self.limiter, request, at);
        self.permits.extend(decision.permit.clone());
        outcome(&decision)
    }

    fn peek(&mut self, at: u64, units: u64) -> Outcome {
        outcome(&calls::peek(&self.limiter, Request::cost(units), at))
    }

    fn correct(&mut self, permit: usize, actual: u64, at: u64) -> String {
        calls::correct(&self.limiter, &self.permits[permit], actual, at).name().to_owned()
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.limiter = self.store.limiter(&self.name, policy(limits)).expect("a limiter");
    }

    fn reset(&mut self) {
        self.limiter.reset().expect("a reset");
    }

    fn lose_keys(&mut self) {
        self.reset();
    }
}

pub fn policy(limits: &[Spec]) -> Policy {
    Policy::new(limits.iter().map(limit)).expect("a policy")
}

pub fn limit(spec: &Spec) -> Limit {
    let limit = Limit::of_kind(spec.kind, spec.amount, Micros(spec.interval), Micros(spec.offset)).expect("a limit");
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
