//! Helpers that run one operation at a given time and return its answer.

use paddlegate::{
    Answer, Cost, Decision, Limiter, MAX_SPAN, Micros, Operation, QueuePosition, Request, Settlement, SignalHandling,
    Statistics, Wait,
};

use super::set_clock;

pub fn run(limiter: &Limiter, operation: Operation<'_>, at: u64) -> Answer {
    set_clock(at);
    limiter.run(operation, SignalHandling::Ignore).unwrap_or_else(|error| panic!("{operation:?}: {error}"))
}

pub fn acquire(limiter: &Limiter, request: Request, at: u64) -> Decision {
    decision(limiter, Operation::Acquire(request), at)
}

pub fn peek(limiter: &Limiter, request: Request, at: u64) -> Decision {
    decision(limiter, Operation::Peek(request), at)
}

pub fn debit<'a>(limiter: &Limiter, cost: impl Into<Cost<'a>>, at: u64) -> Decision {
    decision(limiter, Operation::Debit(cost.into()), at)
}

pub fn refund<'a>(limiter: &Limiter, units: impl Into<Cost<'a>>, at: u64) -> Decision {
    decision(limiter, Operation::Refund(units.into()), at)
}

pub fn enter<'a>(limiter: &Limiter, id: &str, cost: impl Into<Cost<'a>>, wait: Option<Wait<'_>>, at: u64) -> Decision {
    decision(limiter, Operation::AcquireWithId { request: Request::cost(cost), id, wait }, at)
}

pub fn correct<'a>(limiter: &Limiter, permit: &str, actual: impl Into<Cost<'a>>, at: u64) -> Settlement {
    settlement(limiter, Operation::Correct { permit, actual: actual.into() }, at)
}

pub fn release(limiter: &Limiter, permit: &str, at: u64) -> Settlement {
    settlement(limiter, Operation::Release { permit }, at)
}

pub fn cancel(limiter: &Limiter, id: &str, at: u64) -> Settlement {
    settlement(limiter, Operation::Cancel { id, gave_up: false }, at)
}

pub fn renew(limiter: &Limiter, permit: &str, at: u64) -> Option<Micros> {
    match run(limiter, Operation::Renew { permit }, at) {
        Answer::Renewal(renewal) => renewal,
        other => panic!("not a renewal: {other:?}"),
    }
}

pub fn ready(limiter: &Limiter, at: u64) -> Vec<String> {
    match run(limiter, Operation::Ready { count: 100, host: None }, at) {
        Answer::Ready(ready) => ready.ids,
        other => panic!("not a list: {other:?}"),
    }
}

pub fn statistics(limiter: &Limiter, at: u64) -> Statistics {
    match run(limiter, Operation::Statistics, at) {
        Answer::Statistics(statistics) => *statistics,
        other => panic!("not statistics: {other:?}"),
    }
}

fn decision(limiter: &Limiter, operation: Operation<'_>, at: u64) -> Decision {
    match run(limiter, operation, at) {
        Answer::Decision(decision) => decision,
        other => panic!("not a decision: {other:?}"),
    }
}

pub fn settlement(limiter: &Limiter, operation: Operation<'_>, at: u64) -> Settlement {
    match run(limiter, operation, at) {
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
