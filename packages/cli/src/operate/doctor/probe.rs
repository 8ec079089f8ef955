//! What a limiter needs: decisions, leases, a queue and wake-ups, tried on a limiter of the doctor's own.

use std::time::{Duration, Instant};

use paddlegate::{ErrorKind, Limit, Limiter, Micros, Paddlegate, Policy, Request, Status, Wait};

use super::check::Checks;
use crate::human::span;

/// How often the time of a decision is measured.
const DECISIONS: usize = 5;
/// How long the limiter's lease and its keys last if nobody deletes them.
const LEASE: Duration = Duration::from_secs(10);
/// How often the doctor looks whether the wake-up has come.
const LOOK: Duration = Duration::from_millis(2);

/// Tries a limiter that no other program has, and deletes it.
pub(super) fn check(paddlegate: &Paddlegate, checks: &mut Checks) {
    match paddlegate.limiter_page("", None) {
        Ok(_) => checks.ok("list", "the list of limiters, layout pg2, can be read"),
        // Each such key has been named.
        Err(error) if error.kind() == ErrorKind::Data => {}
        Err(error) => checks.fault("list", error.message(), RIGHTS),
    }
    let limiter = match limiter(paddlegate) {
        Ok(limiter) => limiter,
        Err(error) => return checks.fault("decisions", error.message(), "report this"),
    };
    // The first call goes to the first node of the URL, which may be down or a replica.
    let others = paddlegate.redis().map_or(0, |redis| redis.location().nodes.len().saturating_sub(1));
    let mut tried = decisions(&limiter);
    for _ in 0..others {
        tried = tried.or_else(|_| decisions(&limiter));
    }
    match tried {
        Ok(time) => checks.ok("decisions", format!("a round trip with the script takes {}", span(time))),
        Err(error) => return checks.fault("decisions", error.message(), RIGHTS),
    }
    match wakeup(&limiter, paddlegate.redis().map_or(LEASE, |redis| redis.timeout().duration())) {
        Ok(true) => checks.ok("wake-ups", "a waiting call is woken by a release"),
        Ok(false) => checks.warn("wake-ups", "a release has sent none", CHANNELS),
        Err(error) => checks.warn("wake-ups", error.message(), CHANNELS),
    }
    if let Err(error) = limiter.reset() {
        checks.fault("reset", error.message(), "grant +unlink; the doctor's limiter ends by itself");
    }
}

const RIGHTS: &str = "grant the commands and ~pg2:* of docs/src/reference/redis-keys-acl.md";
const CHANNELS: &str = "grant +publish +subscribe &pg2:hints:*; until then waiting calls are up to 5.5 s late";

fn limiter(paddlegate: &Paddlegate) -> paddlegate::Result<Limiter> {
    let limits = [Limit::window(1_000, LEASE)?, Limit::concurrency(1, LEASE)?];
    let name = format!("paddlegate doctor {}", paddlegate::new_id()?);
    paddlegate.limiter(&name, Policy::new(limits)?)?.without_statistics()
}

/// Takes the only lease, and returns the shortest time of a decision in microseconds.
fn decisions(limiter: &Limiter) -> paddlegate::Result<u64> {
    let mut least = u64::MAX;
    for _ in 0..DECISIONS {
        let began = now();
        // The same lease each time.
        limiter.acquire_with_id(Request::cost(1), "first", None)?;
        least = least.min(u64::try_from(now().duration_since(began).as_micros()).unwrap_or(u64::MAX));
    }
    Ok(least)
}

/// Queues a call, releases the lease and returns whether that woke the call.
fn wakeup(limiter: &Limiter, patience: Duration) -> paddlegate::Result<bool> {
    let listener = limiter.listen()?;
    let wait = Wait { channel: listener.channel(), ..Wait::up_to(Micros(10_000_000)) };
    let queued = limiter.acquire_with_id(Request::cost(1), "second", Some(wait))?;
    limiter.cancel("first")?;
    let deadline = now() + patience;
    while queued.status == Status::Queued && now() < deadline {
        if listener.receive()?.iter().any(|wakeup| wakeup.id == "second") {
            return Ok(true);
        }
        // A person waits for the answer.
        #[allow(clippy::disallowed_methods)]
        std::thread::sleep(LOOK);
    }
    Ok(false)
}

/// The clock of measured times; no decision depends on it.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}
