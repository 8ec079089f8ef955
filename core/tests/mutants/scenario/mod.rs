//! Checks the script where workloads and sequences do not: damaged values, wrong arguments, expiry of keys, a full
//! server and the server's clock.

mod damage;
mod expiry;
mod extensions;
mod forms;
mod history;
mod inspections;
mod keys;
mod modes;
mod overrides;
mod policies;
mod recordings;

pub use damage::damaged_states;
use paddlegate::{Kind, Micros, Operation, Request, Wait};

use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::sequence::Spec;

const NOW: u64 = 1_700_000_000_000_000;
const HOUR: u64 = 3_600_000_000;

pub type Scenario = fn(u16, &str) -> Result<(), String>;

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("damaged values are errors", damage::damaged_values),
    ("damaged logs are errors", damage::damaged_logs),
    ("wrong arguments are errors", damage::wrong_arguments),
    ("keys expire when they no longer count", expiry::keys),
    ("peeks and refusals write nothing", keys::nothing_written),
    ("a full server refuses a whole call", keys::full_server),
    ("permits are bounded and expire", keys::permits),
    ("permits live as long as the longest", expiry::long_permits),
    ("a log holds only entries that count", keys::log_length),
    ("damaged leases are errors", damage::damaged_leases),
    ("damaged tickets are errors", damage::damaged_tickets),
    ("leases and tickets expire when they no longer count", expiry::leases_and_tickets),
    ("leases with different timeouts expire separately", expiry::several_timeouts),
    ("statistics and the list of limiters expire", expiry::statistics_and_list),
    ("records are removed with their lease or ticket", keys::records),
    ("a ticket keeps its position in the queue", keys::positions),
    ("a release works for a user without the right to publish", keys::unpublished),
    ("a host stays on the list then", keys::unpublished_to_hosts),
    ("several calls remove many expired tickets", keys::many_expired),
    ("a hundred calls are ready at once", keys::many_ready),
    ("a call fails without a charge if the permits have a foreign type", keys::foreign_permits),
    ("damaged overrides are errors", overrides::damaged),
    ("overrides expire when they no longer count", overrides::expiry),
    ("what is paused is listed until it ends", overrides::listed),
    ("a report fills a log with entries", overrides::log_after_a_report),
    ("a wait ends with the override that caused it", overrides::end_of_an_override),
    ("a report estimates the units of many open permits", overrides::many_open),
    ("a report counts what has just begun, and what was just settled", overrides::long_open),
    ("a correction changes a long log", keys::long_logs),
    ("the number of reclaimed leases is bounded", keys::many_reclaimed),
    ("records of other policies are kept while they count", policies::kept_records),
    ("a name has at most 32 limits in use", policies::number_of_labels),
    ("overrides and learned limits have at most 32 labels", policies::labels_of_overrides),
    ("a reset removes what all policies have stored", policies::reset),
    ("overrides of other policies are kept", policies::overrides),
    ("leases of all labels have one fencing token", policies::fencing_tokens),
    ("a call beside another policy is listed", policies::list),
    ("calls beside another policy write nothing without a grant", policies::nothing_written),
    ("a ticket has the limits of its last call", policies::tags_of_tickets),
    ("leases of another label are the same limit for those who wait", policies::woken_tickets),
    ("similar tags are different", policies::similar_tags),
    ("keys and limiters without statistics", forms::keys_and_statistics),
    ("a counted refusal changes nothing else", modes::counted),
    ("modes and counts of refusals end", modes::ends),
    ("modes and blocks expire when they no longer count", modes::expiry),
    ("damaged modes and blocks are errors", modes::damaged),
    ("charges of extended permits expire", extensions::expiry),
    ("inspections find leases in pages", inspections::leases),
    ("inspections find tickets in pages", inspections::tickets),
    ("inspections find what rules", inspections::rulings),
    ("inspections of limits by themselves", inspections::limits),
    ("inspections find which tickets are ready", inspections::suspended),
    ("inspections of damaged values are errors", inspections::damaged),
    ("a foreign value stops an extension", extensions::foreign),
    ("the history stays small", history::size),
    ("damaged history stops nothing", history::damaged),
    ("the decisions of calls are recorded", recordings::calls),
    ("the decisions of waits are recorded", recordings::waits),
    ("what was recorded is capped", recordings::capped),
    ("recordings are read in pages", recordings::pages),
    ("recordings end", recordings::ends),
    ("recordings beside foreign values", recordings::foreign),
];

/// Each of these scenarios takes up to a second.
pub const SLOW_SCENARIOS: &[(&str, Scenario)] =
    &[("the server's clock is read", keys::own_clock), ("lapsed charges of permits are removed", extensions::lapsed)];

fn limit(kind: Kind, amount: u64) -> Spec {
    Spec { kind, number: 0, amount, interval: HOUR, offset: 0 }
}

fn every_kind(port: u16, text: &str) -> Vec<Script> {
    let mut scripts: Vec<Script> = [Kind::Bucket, Kind::Window, Kind::Leaky, Kind::Points, Kind::Throttle]
        .map(|kind| Script::new(port, text, &[limit(kind, 5)]))
        .into();
    // A call takes one lease whatever its cost is, so the limit is smaller than the others.
    scripts.push(Script::new(port, text, &[limit(Kind::Concurrency, 2)]));
    let short = |kind| Spec { interval: 60_000_000, ..limit(kind, 5) };
    let mixed = [short(Kind::Leaky), limit(Kind::Window, 5), short(Kind::Bucket), short(Kind::Concurrency)];
    // A policy with leases gives every call an id, so the same policy without leases is tested too.
    scripts.push(Script::new(port, text, &mixed[..3]));
    scripts.push(Script::new(port, text, &mixed));
    scripts
}

fn take(script: &mut Script) -> Reply {
    script.run(Operation::Acquire(Request::cost(1)), NOW)
}

/// Runs a call that gets a permit, whose id the library generates.
fn estimate(script: &mut Script) -> Reply {
    script.run(Operation::Acquire(Request::estimate(1)), NOW)
}

fn key(script: &mut Script, role: &str) -> Vec<u8> {
    script.raw.keys(&format!("{role}mutant")).pop().expect("a key")
}

fn expect_damage_error(reply: &Reply, what: &str) -> Result<(), String> {
    match reply {
        Reply::Error(error) if error.starts_with("PGDATA ") => Ok(()),
        other => Err(format!("{what}: {other:?}")),
    }
}

fn enter(script: &mut Script, id: &str, claim_timeout: u64, at: u64) -> Reply {
    let wait = Wait { claim_timeout: Micros(claim_timeout), ..Wait::up_to(paddlegate::MAX_SPAN) };
    script.run(Operation::AcquireWithId { request: Request::cost(1), id, wait: Some(wait) }, at)
}

/// Returns a limiter whose only lease is held while another caller waits.
fn limiter_with_waiter(port: u16, text: &str) -> Script {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 1)]);
    script.raw.command("FLUSHALL");
    enter(&mut script, "holder", 1, NOW);
    enter(&mut script, "waiter", 2_000_000, NOW);
    script
}
