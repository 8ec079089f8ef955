//! Runs the calls of a limiter with another script text.

use std::collections::HashMap;

use paddlegate::{Answer, Decision, Extension, Limiter, Operation, Paddlegate, Page};

use crate::support::library::{outcome, policy, with_override, with_report, with_units};
use crate::support::raw::{Raw, Reply};
use crate::support::script_client::ScriptClient;
use crate::support::sequence::{Implementation, Outcome, Spec};
use crate::support::units::Units;
use crate::support::{clock, open, open_whole, set_clock};

pub struct Script {
    /// The connection that reads and changes the keys without the script.
    pub raw: Raw,
    client: ScriptClient,
    store: Paddlegate,
    limiter: Limiter,
    limits: Vec<Spec>,
    permits: Vec<String>,
    /// The last ids of extended permits.
    extended: HashMap<usize, String>,
    is_plain: bool,
}

impl Script {
    pub fn new(port: u16, text: &str, limits: &[Spec]) -> Self {
        Self::of(open_whole(&url(port), Some(&clock())), ScriptClient::new(port, text), limits, port)
    }

    /// Creates one with the text in the place of a script of plain calls.
    pub fn plain(port: u16, original: &str, text: &str, limits: &[Spec]) -> Self {
        let client = ScriptClient::in_place_of(port, original, text);
        let mut script = Self::of(open(&url(port), Some(&clock())), client, limits, port);
        script.is_plain = true;
        script.resize(limits);
        script
    }

    fn of(store: Paddlegate, client: ScriptClient, limits: &[Spec], port: u16) -> Self {
        let limiter = store.limiter("mutant", policy(limits)).expect("a limiter");
        let raw = Raw::connect("127.0.0.1", port);
        let permits = Vec::new();
        let (limits, extended) = (limits.to_vec(), HashMap::new());
        let mut script = Self { raw, client, store, limiter, limits, permits, extended, is_plain: false };
        script.reset();
        script
    }

    pub fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Returns the words of the command for an operation.
    pub fn words(&self, operation: Operation<'_>, at: u64) -> Vec<Vec<u8>> {
        set_clock(at);
        self.client.words(&self.limiter, operation)
    }

    /// Runs an operation and returns the raw reply.
    pub fn run(&mut self, operation: Operation<'_>, at: u64) -> Reply {
        let words = self.words(operation, at);
        self.raw.execute(&words)
    }

    /// Runs an operation and returns the answer that the library decodes.
    pub fn answer(&mut self, operation: Operation<'_>, at: u64) -> Result<Answer, String> {
        set_clock(at);
        self.client.run(&self.limiter, operation)
    }

    /// Runs an operation of another limiter.
    pub fn on(&mut self, limiter: &Limiter, operation: Operation<'_>, at: u64) -> Result<Answer, String> {
        set_clock(at);
        self.client.run(limiter, operation)
    }

    pub fn decision(&mut self, operation: Operation<'_>, at: u64) -> Result<Decision, String> {
        if self.is_plain {
            // After a call that was not plain, the limiter would leave the next ones to the whole script.
            self.renew();
        }
        match self.answer(operation, at)? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(format!("not a decision: {other:?}")),
        }
    }

    /// Makes the limiter anew.
    fn renew(&mut self) {
        let limiter = self.store.limiter("mutant", policy(&self.limits)).expect("a limiter");
        // Without statistics no call needs the whole script because it comes after a second without calls.
        self.limiter = if self.is_plain { limiter.without_statistics().expect("a limiter") } else { limiter };
    }

    fn outcome_of(&mut self, operation: Operation<'_>, at: u64) -> Outcome {
        match self.decision(operation, at) {
            Ok(decision) => outcome(&decision),
            // The comparison must detect an error, so it becomes an outcome that no limiter returns.
            Err(text) => Outcome { allowed: false, remaining: 0, retry_after: 0, reset_after: 0, at: 0, text },
        }
    }
}

impl Implementation for Script {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome {
        match with_units(units, estimate, |request| self.decision(Operation::Acquire(request), at)) {
            Ok(decision) => {
                self.permits.extend(decision.permit.clone().filter(|_| estimate));
                outcome(&decision)
            }
            Err(text) => Outcome { allowed: false, remaining: 0, retry_after: 0, reset_after: 0, at: 0, text },
        }
    }

    fn peek(&mut self, at: u64, units: &Units) -> Outcome {
        with_units(units, false, |request| self.outcome_of(Operation::Peek(request), at))
    }

    fn debit(&mut self, at: u64, units: &Units) -> Outcome {
        units.with(|units| self.outcome_of(Operation::Debit(units), at))
    }

    fn refund(&mut self, at: u64, units: &Units) -> Outcome {
        units.with(|units| self.outcome_of(Operation::Refund(units), at))
    }

    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        with_override(limits, |command| self.run(Operation::Admin { command }, at));
    }

    fn learn(&mut self, limits: &[Spec], at: u64) {
        with_report(limits, |report| self.run(Operation::ApplyReport { report }, at));
    }

    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        let Some(first) = self.permits.get(permit).cloned() else { return Err("no permit".to_owned()) };
        let id = self.extended.get(&permit).filter(|_| !is_first_id).unwrap_or(&first).clone();
        match self.answer(Operation::Extend { permit: &id, units: units.into() }, at)? {
            Answer::Extension(extension) => match *extension {
                Extension::Decided(decision) => {
                    self.extended.extend(decision.permit.clone().map(|id| (permit, id)));
                    Ok(outcome(&decision))
                }
                Extension::Closed(settlement) => Err(settlement.name().to_owned()),
            },
            other => Err(format!("{other:?}")),
        }
    }

    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String {
        let Some(first) = self.permits.get(permit).cloned() else { return "no permit".to_owned() };
        let permit = self.extended.get(&permit).filter(|_| permit.is_multiple_of(2)).cloned().unwrap_or(first);
        match actual.with(|actual| self.answer(Operation::Correct { permit: &permit, actual }, at)) {
            Ok(Answer::Settlement(settlement)) => settlement.name().to_owned(),
            other => format!("{other:?}"),
        }
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.limits = limits.to_vec();
        self.renew();
    }

    fn reset(&mut self) {
        self.run(Operation::Reset, 0);
    }

    fn lose_keys(&mut self) {
        self.reset();
    }

    fn inspect(&mut self, at: u64) -> Option<String> {
        Some(match self.answer(Operation::Inspect { page: Page::default() }, at) {
            Ok(Answer::Inspection(inspection)) => format!("{:?}", inspection.limits),
            other => format!("{other:?}"),
        })
    }
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}
