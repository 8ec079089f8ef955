//! Checks what valid calls do not show: damaged values, wrong arguments, expiry, a full server, the server's clock.

mod damage;
mod keys;
mod life;
mod orders;

use paddlegate::{Kind, Micros, Operation, Request, Wait};

use crate::side::Script;
use crate::support::raw::Reply;
use crate::support::script::Spec;

const NOW: u64 = 1_700_000_000_000_000;
const HOUR: u64 = 3_600_000_000;

pub type Scenario = fn(u16, &str) -> Result<(), String>;

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("damaged values are errors", damage::damaged_values),
    ("damaged logs are errors", damage::damaged_logs),
    ("wrong arguments are errors", damage::wrong_arguments),
    ("keys live as long as they count", life::expiry),
    ("looks and refusals write nothing", keys::nothing_written),
    ("a full server refuses all of a call", keys::full_server),
    ("permits are bounded and end", keys::permits),
    ("a log holds what counts", keys::log_length),
    ("damaged leases are errors", damage::damaged_leases),
    ("damaged tickets are errors", damage::damaged_tickets),
    ("leases and tickets live as long as they count", life::expiry_of_queues),
    ("leases of several timeouts", life::several_timeouts),
    ("statistics and the list end", life::statistics_and_list),
    ("records end with what they are of", keys::records),
    ("places in the queue", keys::places),
    ("a user who may not publish", keys::unpublished),
    ("many dead are removed by several calls", keys::many_dead),
    ("foreign permits charge nothing", keys::foreign_permits),
    ("damaged orders are errors", orders::damaged),
    ("orders live as long as they count", orders::expiry),
    ("a report fills a log", orders::log_of_a_report),
    ("a wait ends with its override", orders::end_of_an_override),
    ("a report on many open permits", orders::many_open),
    ("long logs are corrected", keys::long_logs),
    ("many leases that made room", keys::many_reclaimed),
];

/// Each of these takes up to a second.
pub const SLOW_SCENARIOS: &[(&str, Scenario)] = &[("the server's clock is read", keys::own_clock)];

fn limit(kind: Kind, amount: u64) -> Spec {
    Spec { kind, amount, interval: HOUR, offset: 0 }
}

fn every_kind(port: u16, text: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle]
        .map(|kind| Script::new(port, text, &[limit(kind, 5)]))
        .into();
    // A call of any cost takes one lease.
    scripts.push(Script::new(port, text, &[limit(Kind::Concurrency, 2)]));
    let short = |kind| Spec { interval: 60_000_000, ..limit(kind, 5) };
    let mixed = [short(Kind::Leaky), limit(Kind::Window, 5), short(Kind::Bucket), short(Kind::Concurrency)];
    // With leases every call has an id.
    scripts.push(Script::new(port, text, &mixed[..3]));
    scripts.push(Script::new(port, text, &mixed));
    scripts
}

fn take(script: &mut Script) -> Reply {
    script.run(Operation::Acquire(Request::cost(1).at(Micros(NOW))))
}

/// Runs a call that gets a permit, whose id the library generates.
fn estimate(script: &mut Script) -> Reply {
    script.run(Operation::Acquire(Request::estimate(1).at(Micros(NOW))))
}

fn key(script: &mut Script, role: &str) -> Vec<u8> {
    script.raw.keys(&format!("{role}mutant")).pop().expect("a key")
}

fn is_damage(reply: &Reply, what: &str) -> Result<(), String> {
    match reply {
        Reply::Error(error) if error.starts_with("PGDATA ") => Ok(()),
        other => Err(format!("{what}: {other:?}")),
    }
}

fn enter(script: &mut Script, id: &str, grace: u64, at: u64) -> Reply {
    let wait = Wait { claim_timeout: Micros(grace), ..Wait::up_to(paddlegate::MAX_SPAN) };
    script.run(Operation::AcquireWithId { request: Request::cost(1).at(Micros(at)), id, wait: Some(wait) })
}

/// Returns a limiter whose only lease is held, with a waiter.
fn waited_for(port: u16, text: &str) -> Script {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 1)]);
    script.raw.command("FLUSHALL");
    enter(&mut script, "holder", 1, NOW);
    enter(&mut script, "waiter", 2_000_000, NOW);
    script
}
