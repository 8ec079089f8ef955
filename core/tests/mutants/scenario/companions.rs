//! Checks what a call does for its companions where workloads do not.

use paddlegate::{Kind, MAX_SPAN, Micros, Operation, Request, Wait, with_companions};

use super::{HOUR, NOW, key, limit};
use crate::script::Script;
use crate::support::raw::Reply;

const SECOND: u64 = 1_000_000;

/// Returns a limiter whose only lease is held.
fn held(port: u16, text: &str) -> Script {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 1)]);
    script.raw.command("FLUSHALL");
    super::enter(&mut script, "holder", 1, NOW);
    script
}

/// Looks with a channel, for companions too, and returns the reply.
fn look(script: &mut Script, id: &str, channel: &str, claim_timeout: u64, companions: &[&str], at: u64) -> Reply {
    let wait = |waiter| Wait { channel, claim_timeout: Micros(claim_timeout), waiter, ..Wait::up_to(MAX_SPAN) };
    let operation = |waiter| Operation::AcquireWithId { request: Request::cost(1), id, wait: Some(wait(waiter)) };
    with_companions(companions, |waiter| script.run(operation(waiter), at)).0
}

fn expect_times(reply: &Reply, expected: &[u64]) -> Result<(), String> {
    let times: Vec<Reply> = expected.iter().map(|time| Reply::Integer(time.cast_signed())).collect();
    match reply {
        Reply::Array(items) if items.last() == Some(&Reply::Array(times)) => Ok(()),
        other => Err(format!("{other:?} instead of {expected:?}")),
    }
}

/// Companions have the channel of the call, not one that begins alike.
pub(super) fn of_one_channel(port: u16, text: &str) -> Result<(), String> {
    let mut script = held(port, text);
    for (id, channel) in [("own", "c"), ("longer", "cc"), ("shorter", ""), ("first", "c")] {
        look(&mut script, id, channel, 1, &[], NOW);
    }
    let reply = look(&mut script, "first", "c", 1, &["own", "longer", "shorter", "nobody"], NOW + 1);
    expect_times(&reply, &[5 * SECOND, 0, 0, 0])
}

/// The keys of a queue live as long as the tickets that were kept.
pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    let mut script = held(port, text);
    look(&mut script, "kept", "c", 100 * SECOND, &[], NOW);
    look(&mut script, "first", "c", 1, &[], NOW);
    look(&mut script, "first", "c", 1, &["kept"], NOW + 4 * SECOND);
    let (queue, state) = (key(&mut script, ":q:"), key(&mut script, ":s:"));
    for key in [queue, state] {
        let ttl = script.raw.ttl(&key);
        // The ticket lapses 106 s after this time, and the key ten seconds later.
        if !(113_000..=HOUR.cast_signed()).contains(&ttl) {
            return Err(format!("a key expires in {ttl} ms"));
        }
    }
    Ok(())
}

/// A damaged ticket stays as it is, and its own call finds it.
pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    let huge = "9999999999999999999";
    for field in [4, 5] {
        let mut script = held(port, text);
        look(&mut script, "first", "c", 1, &[], NOW);
        look(&mut script, "damaged", "c", 1, &[], NOW);
        let tickets = key(&mut script, ":t:");
        let Reply::Text(valid) = script.raw.execute(&[&b"HGET"[..], &tickets, b"damaged"]) else {
            return Err("no ticket".into());
        };
        let valid = String::from_utf8(valid).expect("a ticket of text");
        let mut numbers: Vec<&str> = valid.split(' ').collect();
        numbers[field] = huge;
        let damaged = numbers.join(" ").into_bytes();
        script.raw.execute(&[&b"HSET"[..], &tickets, b"damaged", &damaged]);
        let reply = look(&mut script, "first", "c", 1, &["damaged"], NOW + 1);
        expect_times(&reply, &[0])?;
        let after = script.raw.execute(&[&b"HGET"[..], &tickets, b"damaged"]);
        if after != Reply::Text(damaged) {
            return Err(format!("{after:?} of a damaged ticket"));
        }
    }
    Ok(())
}

/// Without the right to publish, the reply says whose turn has come.
pub(super) fn unpublished(port: u16, text: &str) -> Result<(), String> {
    let mut script = held(port, text);
    look(&mut script, "first", "c", 1, &[], NOW);
    look(&mut script, "second", "c", 1, &[], NOW);
    script.raw.command("ACL SETUSER default -publish");
    let permit = format!("holder:{NOW}:1");
    script.run(Operation::Release { permit: &permit }, NOW);
    let reply = look(&mut script, "second", "c", 1, &["first"], NOW + 1);
    script.raw.command("ACL SETUSER default +publish");
    expect_times(&reply, &[0])
}

/// A ticket whose channel nobody hears leaves the queue, and its call must come back.
pub(super) fn unheard(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 1)]);
    script.raw.command("FLUSHALL");
    super::take(&mut script);
    look(&mut script, "first", "c", 1, &[], NOW);
    look(&mut script, "second", "c", 1, &[], NOW);
    // The turn of the first comes in three seconds.
    let reply = look(&mut script, "second", "c", 1, &["first"], NOW + HOUR - 3 * SECOND);
    expect_times(&reply, &[0])
}
