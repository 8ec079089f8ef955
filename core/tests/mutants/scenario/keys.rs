//! Checks which keys and entries the script writes.

use std::time::Duration;

use paddlegate::{
    Answer, Cost, Kind, MAX_PERMITS, Micros, Operation, Page, QueuePosition, Request, Settlement, Status, TurnsHost,
    Wait,
};

use super::{HOUR, NOW, enter, estimate, every_kind, key, limit, limiter_with_waiter};
use crate::script::Script;
use crate::support::open_whole;
use crate::support::raw::Reply;
use crate::support::script_client::ScriptClient;
use crate::support::sequence::Implementation;
use crate::support::units::Units;

pub(super) fn nothing_written(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        script.acquire(NOW, &Units::All(1), true);
        script.acquire(NOW + 1, &Units::All(4), true);
        // The first refusal sets the expiry of the statistics, which would count as a write below.
        script.acquire(NOW + 1, &Units::All(5), true);
        script.raw.command("CONFIG RESETSTAT");
        let refused = [Request::estimate(5), Request::cost(5), Request::cost(0)];
        for request in refused {
            script.run(Operation::Acquire(request), NOW + 1);
            script.run(Operation::Peek(request), NOW + 1);
            script.run(Operation::Peek(request), NOW - HOUR);
            script.run(Operation::Inspect { page: Page::default() }, NOW - HOUR);
        }
        for permit in [format!("{}:{NOW}:1", "0".repeat(32)), format!("{}:1:1", "0".repeat(32))] {
            script.run(Operation::Correct { permit: &permit, actual: Cost::Units(0) }, NOW);
        }
        let Reply::Text(stats) = script.raw.command("INFO commandstats") else { return Err("no statistics".into()) };
        let stats = String::from_utf8_lossy(&stats);
        let writes = "set lpush rpush ltrim lrem zadd zrem zremrangebyscore zremrangebyrank hset hdel publish pexpire";
        for command in writes.split(' ') {
            if stats.contains(&format!("cmdstat_{command}:")) {
                return Err(format!("{command} was called"));
            }
        }
    }
    Ok(())
}

pub(super) fn full_server(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        script.acquire(NOW - 1, &Units::All(1), true);
        let before = contents(&mut script);
        script.raw.command("CONFIG SET maxmemory 1");
        let granted = script.run(Operation::Acquire(Request::estimate(1)), NOW + HOUR);
        let corrected = script.correct(0, &Units::All(2), NOW);
        script.raw.command("CONFIG SET maxmemory 0");
        if !matches!(granted, Reply::Error(_)) || corrected == "settled" {
            return Err(format!("{granted:?}, {corrected}"));
        }
        if contents(&mut script) != before {
            return Err("a refused call wrote a key".into());
        }
    }
    Ok(())
}

fn contents(script: &mut Script) -> Vec<(Vec<u8>, Reply, i64)> {
    let mut keys = script.raw.keys("mutant");
    keys.sort();
    // The expiry is rounded to minutes, because some time has passed between two reads.
    keys.into_iter().map(|key| (key.clone(), script.raw.dump(&key), (script.raw.ttl(&key) + 30_000) / 60_000)).collect()
}

pub(super) fn permits(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    let count = |script: &mut Script| {
        let key = key(script, ":p:");
        script.raw.execute(&[&b"ZCARD"[..], &key])
    };
    for i in 0..3 {
        script.acquire(NOW + i, &Units::All(1), true);
    }
    script.acquire(NOW + 301_000_000, &Units::All(1), true);
    if count(&mut script) != Reply::Integer(1) {
        return Err("expired permits are kept".into());
    }
    // The test adds more permits than a limiter may keep, in a few commands.
    let key = key(&mut script, ":p:");
    for start in (0..MAX_PERMITS as u64 + 10).step_by(1_000) {
        let mut words = vec![b"ZADD".to_vec(), key.clone()];
        for i in start..start + 1_000 {
            words.push(((NOW + 500_000_000) * 2 + 2 * i).to_string().into_bytes());
            words.push(format!("p|{i:032}:{NOW}:1").into_bytes());
        }
        script.raw.execute(&words);
    }
    // A call removes at most a thousand permits, so the first one leaves more than the maximum.
    for (at, left) in [(303_000_000, 100_002), (303_020_000, 100_000)] {
        script.acquire(NOW + at, &Units::All(1), true);
        match count(&mut script) {
            Reply::Integer(count) if count == left => {}
            other => return Err(format!("{other:?} permits instead of {left}")),
        }
    }
    Ok(())
}

/// Checks how a correction changes a log of many entries; the cases count the entries of each time.
pub(super) fn long_logs(port: u16, text: &str) -> Result<(), String> {
    /// The units of the grants, the corrections of permits, and the expected number of entries of each grant.
    type Case = (&'static [u64], &'static [(usize, u64)], &'static [u64]);
    let cases: [Case; 10] = [
        (&[2_000, 1_500, 2_000, 900], &[(2, 2_010)], &[2_000, 1_500, 2_010, 900]),
        // With more than a thousand newer entries, the additional charge gets a later time.
        (&[2_000, 1_500, 2_000, 900], &[(0, 2_010)], &[2_000, 1_500, 2_010, 900]),
        (&[2_000, 1_500, 2_000, 900], &[(1, 1_490)], &[2_000, 1_490, 2_000, 900]),
        (&[2_000, 1_500, 2_000, 900], &[(2, 500)], &[2_000, 1_500, 500, 900]),
        (&[2_000, 1_500, 2_000, 900], &[(3, 0)], &[2_000, 1_500, 2_000, 0]),
        (&[2_000, 1_500, 2_000, 900], &[(0, 500)], &[500, 1_500, 2_000, 900]),
        // When too many entries would have to move, the oldest entries are removed instead.
        (&[2_000, 1_500, 2_000, 900], &[(1, 300)], &[800, 1_500, 2_000, 900]),
        (&[2_000, 1_500, 2_000, 900], &[(1, 300), (0, 0)], &[0, 1_500, 2_000, 900]),
        (&[500, 3_000, 2_000, 900], &[(1, 1_500)], &[500, 1_500, 2_000, 900]),
        (&[2_000, 900], &[(0, 0)], &[0, 900]),
    ];
    for (grants, corrections, expected) in cases {
        let mut script = Script::new(port, text, &[limit(Kind::Window, 10_000)]);
        script.raw.command("FLUSHALL");
        for (at, units) in (NOW..).zip(grants) {
            script.acquire(at, &Units::All(*units), true);
        }
        for (permit, actual) in corrections {
            script.correct(*permit, &Units::All(*actual), NOW + 10);
        }
        let log = key(&mut script, ":w:");
        if script.raw.ttl(&log) < 0 {
            return Err("a log has no expiry after a correction".into());
        }
        let Reply::Array(entries) = script.raw.execute(&[&b"LRANGE"[..], &log, b"0", b"-1"]) else {
            return Err("no log".into());
        };
        if !entries.is_sorted_by_key(|entry| match entry {
            Reply::Text(text) => std::cmp::Reverse(text.clone()),
            _ => std::cmp::Reverse(Vec::new()),
        }) {
            return Err(format!("{grants:?} {corrections:?}: the entries are not in order"));
        }
        let times = (NOW..).take(grants.len()).map(|at| Reply::Text(at.to_string().into_bytes()));
        let counts = times.map(|time| entries.iter().filter(|entry| **entry == time).count() as u64);
        let counts: Vec<u64> = counts.collect();
        if counts != expected {
            return Err(format!("{grants:?} {corrections:?}: {counts:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

/// Checks that the script keeps only the last thousand reclaimed leases.
pub(super) fn many_reclaimed(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 5_000)]);
    script.raw.command("FLUSHALL");
    enter(&mut script, "holder", 1, NOW);
    let (leases, records) = (key(&mut script, ":h:"), key(&mut script, ":t:"));
    let (mut ends, mut of) = (vec![b"ZADD".to_vec(), leases.clone()], vec![b"HSET".to_vec(), records.clone()]);
    for number in 0..1_500_u64 {
        let id = format!("dead {number}");
        ends.extend([(NOW + 1 + number).to_string().into_bytes(), id.clone().into_bytes()]);
        of.extend([format!("\u{1f}{id}").into_bytes(), format!("{} {NOW} 1", NOW - 5).into_bytes()]);
    }
    script.raw.execute(&ends);
    script.raw.execute(&of);
    for id in ["one", "two"] {
        enter(&mut script, id, 1, NOW + HOUR / 2);
    }
    for (command, key) in [("ZCARD", &leases), ("HLEN", &records)] {
        match script.raw.execute(&[command.as_bytes(), key]) {
            Reply::Integer(1_003) => {}
            other => return Err(format!("{command}: {other:?}")),
        }
    }
    let at = NOW + 2 * HOUR;
    let cancelled = script.answer(Operation::Cancel { id: "dead 1499", gave_up: false }, at)?;
    if cancelled != Answer::Settlement(Settlement::Unknown) {
        return Err(format!("{cancelled:?} of a reclaimed lease"));
    }
    // A late release of a lease that is still stored counts once; a removed or unknown lease is not counted.
    for id in ["dead 1499", "dead 1499", "dead 1", "nobody"] {
        let released = script.answer(Operation::Release { permit: &format!("{id}:{}:1", NOW - 5) }, at)?;
        match (released, script.answer(Operation::Statistics, at)?) {
            (Answer::Settlement(Settlement::Late), Answer::Statistics(counted))
                if (counted.overages, counted.reclaimed) == (1, 1_500) => {}
            other => return Err(format!("{id}: {other:?}")),
        }
    }
    Ok(())
}

pub(super) fn log_length(port: u16, text: &str) -> Result<(), String> {
    for estimate in [false, true] {
        let mut script = Script::new(port, text, &[limit(Kind::Window, 5)]);
        for i in 0..12 {
            script.acquire(NOW + i * HOUR / 5, &Units::All(1), estimate);
        }
        let log = key(&mut script, ":w:");
        match script.raw.execute(&[&b"LLEN"[..], &log]) {
            Reply::Integer(5) => {}
            other => return Err(format!("{other:?} entries")),
        }
    }
    Ok(())
}

pub(super) fn records(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    let tickets = key(&mut script, ":t:");
    let count = |script: &mut Script, expected: i64, after: &str| match script.raw.execute(&[&b"HLEN"[..], &tickets]) {
        Reply::Integer(count) if count == expected => Ok(()),
        other => Err(format!("{other:?} records after {after}")),
    };
    count(&mut script, 3, "a lease and a ticket")?;
    script.run(Operation::Cancel { id: "waiter", gave_up: false }, NOW);
    count(&mut script, 2, "a cancellation")?;
    let permit = format!("holder:{NOW}:1");
    script.run(Operation::Release { permit: &permit }, NOW);
    count(&mut script, 1, "a release")?;
    enter(&mut script, "expires", 1, NOW);
    enter(&mut script, "next", 1, NOW + 2 * HOUR);
    count(&mut script, 3, "the expiry of a lease, whose record is kept")?;
    // A lease without a record can still be released by its holder.
    script.raw.execute(&[&b"DEL"[..], &tickets]);
    let permit = format!("next:{}:1", NOW + 2 * HOUR);
    match script.answer(Operation::Release { permit: &permit }, NOW + 2 * HOUR)? {
        Answer::Settlement(Settlement::Released) => Ok(()),
        other => Err(format!("{other:?} of a lease without a record")),
    }
}

pub(super) fn positions(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    let claim = |script: &mut Script, id: &str, position: QueuePosition, at: u64| {
        let wait = Wait { position, ..Wait::up_to(paddlegate::MAX_SPAN) };
        script.decision(Operation::AcquireWithId { request: Request::cost(1), id, wait: Some(wait) }, at)
    };
    let unknown_number = claim(&mut script, "unknown number", QueuePosition::Number(100), NOW + 10)?;
    if unknown_number.ticket.map(|ticket| ticket.number) != Some(2) {
        return Err(format!("a ticket number that was never issued: {unknown_number:?}"));
    }
    let earlier = claim(&mut script, "waiter", QueuePosition::Existing, NOW)?;
    if earlier.at != Micros(NOW + 10) {
        return Err(format!("time ran backwards behind a queue: {earlier:?}"));
    }
    let queue = key(&mut script, ":q:");
    script.raw.execute(&[&b"ZREM"[..], &queue, b"waiter"]);
    match claim(&mut script, "waiter", QueuePosition::Existing, NOW + 10)? {
        gone if gone.status == Status::NoTicket => Ok(()),
        other => Err(format!("a record without a position: {other:?}")),
    }
}

pub(super) fn unpublished(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    let wait = Wait { channel: "somewhere", ..Wait::up_to(paddlegate::MAX_SPAN) };
    script.run(Operation::AcquireWithId { request: Request::cost(1), id: "waiter", wait: Some(wait) }, NOW);
    let tickets = key(&mut script, ":t:");
    let before = script.raw.execute(&[&b"HGET"[..], &tickets, b"waiter"]);
    script.raw.command("ACL SETUSER default -publish");
    let permit = format!("holder:{NOW}:1");
    let reply = script.run(Operation::Release { permit: &permit }, NOW);
    script.raw.command("ACL SETUSER default +publish");
    match (reply, script.raw.execute(&[&b"HGET"[..], &tickets, b"waiter"])) {
        (Reply::Array(status), after) if status == [Reply::Integer(7)] && after == before => Ok(()),
        other => Err(format!("{other:?} after {before:?}")),
    }
}

pub(super) fn unpublished_to_hosts(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    let host = Some(TurnsHost { id: "host", channel: "somewhere" });
    script.run(Operation::Ready { count: 1, host }, NOW);
    let tickets = key(&mut script, ":t:");
    script.raw.command("ACL SETUSER default -publish");
    let permit = format!("holder:{NOW}:1");
    let reply = script.run(Operation::Release { permit: &permit }, NOW);
    script.raw.command("ACL SETUSER default +publish");
    match (reply, script.raw.execute(&[&b"HGET"[..], &tickets, b"\x1c"])) {
        (Reply::Array(status), Reply::Text(_)) if status == [Reply::Integer(7)] => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

pub(super) fn many_ready(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 100)]);
    for who in ["holder", "waiter"] {
        for number in 0..100 {
            enter(&mut script, &format!("{who} {number}"), 2 * HOUR, NOW);
        }
    }
    match script.run(Operation::Ready { count: 100, host: None }, NOW + HOUR) {
        Reply::Array(after_and_ids) if after_and_ids.len() == 101 => Ok(()),
        other => Err(format!("not a hundred: {other:?}")),
    }
}

pub(super) fn many_expired(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    let (queue, tickets) = (key(&mut script, ":q:"), key(&mut script, ":t:"));
    let (mut positions, mut records) = (vec![b"ZADD".to_vec(), queue.clone()], vec![b"HSET".to_vec(), tickets]);
    for number in 2..=750 {
        let id = format!("dead {number}").into_bytes();
        positions.extend([number.to_string().into_bytes(), id.clone()]);
        records.extend([id, format!("{number} 1 1 {NOW} {NOW} {NOW} 1 c ").into_bytes()]);
    }
    script.raw.execute(&positions);
    script.raw.execute(&records);
    let permit = format!("holder:{NOW}:1");
    script.run(Operation::Release { permit: &permit }, NOW + HOUR / 2);
    for left in [250, 0] {
        match script.raw.execute(&[&b"ZCARD"[..], &queue]) {
            Reply::Integer(count) if count == left => {}
            other => return Err(format!("{other:?} tickets instead of {left}")),
        }
        script.run(Operation::Cancel { id: "nobody", gave_up: false }, NOW + HOUR / 2);
    }
    Ok(())
}

pub(super) fn foreign_permits(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Window, 5), limit(Kind::Concurrency, 2)]);
    estimate(&mut script);
    let permits = key(&mut script, ":p:");
    script.raw.execute(&[&b"SET"[..], &permits, b"theirs"]);
    let counts = |script: &mut Script| {
        [("LLEN", ":w:"), ("ZCARD", ":h:")].map(|(command, role)| {
            let key = key(script, role);
            script.raw.execute(&[command.as_bytes(), &key])
        })
    };
    let before = counts(&mut script);
    match (estimate(&mut script), counts(&mut script)) {
        (Reply::Error(_), after) if after == before => Ok(()),
        other => Err(format!("{other:?} after {before:?}")),
    }
}

pub(super) fn own_clock(port: u16, text: &str) -> Result<(), String> {
    let store = open_whole(&format!("redis://127.0.0.1:{port}"), None);
    let limiter = store.leaky("own clock", 5, Duration::from_secs(3_600)).expect("a limiter");
    let mut client = ScriptClient::new(port, text);
    let time = |client: &mut ScriptClient| match client.raw.command("TIME") {
        Reply::Array(parts) => {
            let number = |part: &Reply| match part {
                Reply::Text(text) => String::from_utf8_lossy(text).parse::<u64>().expect("a number"),
                other => panic!("{other:?}"),
            };
            number(&parts[0]) * 1_000_000 + number(&parts[1])
        }
        other => panic!("{other:?}"),
    };
    // Early in a second the microseconds have fewer digits.
    while time(&mut client) % 1_000_000 > 90_000 {}
    for _ in 0..20 {
        let before = time(&mut client);
        let answer = client.run(&limiter, Operation::Acquire(Request::cost(0)))?;
        let after = time(&mut client);
        if !matches!(&answer, Answer::Decision(decision) if (before..=after).contains(&decision.at.0)) {
            return Err(format!("{answer:?} is not from {before} to {after}"));
        }
    }
    Ok(())
}
