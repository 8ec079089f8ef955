//! Helpers that run one operation at a given time and return its answer.

use paddlegate::{
    Answer, Decision, Limiter, MAX_SPAN, Micros, Operation, QueuePosition, Request, Settlement, SignalHandling,
    Statistics, Wait,
};

pub fn run(limiter: &Limiter, operation: Operation<'_>) -> Answer {
    limiter.run(operation, SignalHandling::Ignore).unwrap_or_else(|error| panic!("{operation:?}: {error}"))
}

pub fn enter(limiter: &Limiter, id: &str, cost: u64, wait: Option<Wait<'_>>, at: u64) -> Decision {
    match run(limiter, Operation::AcquireWithId { request: Request::cost(cost).at(Micros(at)), id, wait }) {
        Answer::Decision(decision) => decision,
        other => panic!("not a decision: {other:?}"),
    }
}

pub fn release(limiter: &Limiter, permit: &str, at: u64) -> Settlement {
    settlement(limiter, Operation::Release { permit, at: Some(Micros(at)) })
}

pub fn cancel(limiter: &Limiter, id: &str, at: u64) -> Settlement {
    settlement(limiter, Operation::Cancel { id, gave_up: false, at: Some(Micros(at)) })
}

pub fn renew(limiter: &Limiter, permit: &str, at: u64) -> Option<Micros> {
    match run(limiter, Operation::Renew { permit, at: Some(Micros(at)) }) {
        Answer::Renewal(renewal) => renewal,
        other => panic!("not a renewal: {other:?}"),
    }
}

pub fn statistics(limiter: &Limiter, at: u64) -> Statistics {
    match run(limiter, Operation::Statistics { at: Some(Micros(at)) }) {
        Answer::Statistics(statistics) => *statistics,
        other => panic!("not statistics: {other:?}"),
    }
}

fn settlement(limiter: &Limiter, operation: Operation<'_>) -> Settlement {
    match run(limiter, operation) {
        Answer::Settlement(settlement) => settlement,
        other => panic!("not a settlement: {other:?}"),
    }
}

/// Returns a wait with the longest `max_wait` and no channel: the waiter polls.
pub fn longest_wait() -> Wait<'static> {
    Wait::up_to(MAX_SPAN)
}

/// Returns a wait that keeps an existing queue position and never enters the queue anew.
pub fn existing_only() -> Wait<'static> {
    Wait { position: QueuePosition::Existing, ..longest_wait() }
}
