//! A holder in Rust: `paddlegate-bench handoff NAME LIMIT LOCK_MS HOLD_MS ROUNDS 1`, as `tests/shared/workers/holder.py`.

use std::thread::sleep;
use std::time::Duration;

use paddlegate::{Paddlegate, Request};
use rustix::time::{ClockId, clock_gettime};

const PATIENCE: Duration = Duration::from_secs(120);

/// Prints two lines for each lease: `enter FENCE TICKET NS` and `leave FENCE NS ANSWER`.
#[allow(clippy::disallowed_methods)] // A holder that works.
pub(crate) fn run(url: &str, name: &str, numbers: [u64; 4]) {
    let [limit, lock_ms, hold_ms, rounds] = numbers;
    let limiter = Paddlegate::open(url, None).unwrap().concurrent(name, limit, Duration::from_millis(lock_ms)).unwrap();
    for _ in 0..rounds {
        let decision = limiter.acquire(Request::default(), PATIENCE).unwrap();
        let (fencing_token, permit) = (decision.fencing_token.expect("a token"), decision.permit.expect("a permit"));
        println!("enter {fencing_token} {} {}", decision.ticket.map_or(0, |ticket| ticket.number), now());
        sleep(Duration::from_millis(hold_ms));
        let at = now();
        let answer = limiter.release(&permit).unwrap();
        println!("leave {fencing_token} {at} {}", answer.name());
    }
}

/// A clock that all processes of the machine share.
fn now() -> i128 {
    let time = clock_gettime(ClockId::Monotonic);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}
