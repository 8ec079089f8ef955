//! Checks the expiry of the keys.

use paddlegate::{Kind, Micros, Operation, Request};

use super::{HOUR, NOW, enter, every_kind, key, limit, limiter_with_waiter, take};
use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::sequence::{Implementation, Spec};
use crate::support::units::Units;

/// The milliseconds for which the script keeps leases and the fencing token after the expiry of the last lease.
const LATE_RELEASE: u64 = 300_000;

pub(super) fn keys(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        let interval = 3_600_000;
        let late_release = if script.limiter().policy().concurrency().is_some() { LATE_RELEASE } else { 0 };
        let time_to_reset = |script: &mut Script| match script.limiter().policy().limits().len() {
            1 => script.peek(NOW, &Units::All(0)).reset_after.div_ceil(1_000) + late_release,
            _ => interval + late_release,
        };
        script.acquire(NOW, &Units::All(1), false);
        let state = time_to_reset(&mut script);
        check_expiry(&mut script, ":s:", state, "a grant without a permit")?;
        let kinds: Vec<Kind> = script.limiter().policy().limits().iter().map(paddlegate::Limit::kind).collect();
        if kinds.contains(&Kind::Window) {
            check_expiry(&mut script, ":w:", interval, "a grant without a permit")?;
        }
        script.raw.command("FLUSHALL");
        script.acquire(NOW, &Units::All(1), true);
        let state = time_to_reset(&mut script);
        check_expiry(&mut script, ":s:", state, "a grant")?;
        check_expiry(&mut script, ":p:", 300_000, "a grant")?;
        if kinds.contains(&Kind::Window) {
            check_expiry(&mut script, ":w:", interval, "a grant")?;
        }
        if kinds.contains(&Kind::Concurrency) {
            check_expiry(&mut script, ":h:", interval + LATE_RELEASE, "a grant")?;
        }
        for key in script.raw.keys("mutant") {
            script.raw.execute(&[&b"PEXPIRE"[..], &key, b"5000"]);
        }
        script.correct(0, &Units::All(2), NOW);
        if script.limiter().policy().limits().len() == 1 {
            let state = time_to_reset(&mut script);
            check_expiry(&mut script, ":s:", state, "a correction")?;
        }
        // A refusal after the clock went backwards rewrites the state and must keep its expiry.
        let key = key(&mut script, ":s:");
        script.raw.execute(&[&b"PEXPIRE"[..], &key, b"70000"]);
        script.acquire(NOW - HOUR, &Units::All(0), false);
        let ttl = script.raw.ttl(&key);
        if !(65_000..=70_000).contains(&ttl) {
            return Err(format!("the state expires in {ttl} ms, not in 70 s as before"));
        }
    }
    Ok(())
}

/// Checks that a key expires ten seconds after the given time, with a tolerance for the time since the write.
pub(super) fn check_expiry(script: &mut Script, role: &str, milliseconds: u64, after: &str) -> Result<(), String> {
    let key = key(script, role);
    let ttl = script.raw.ttl(&key);
    let expected = milliseconds.cast_signed() + 10_000;
    if (expected - 3_000..=expected).contains(&ttl) {
        return Ok(());
    }
    Err(format!("{role} expires in {ttl} ms after {after}, not in {expected}"))
}

/// Checks that the permits live until the last of them ends.
pub(super) fn long_permits(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 5)]);
    let week = 7 * 86_400_000;
    for (time, expected) in [(None, 300_000), (Some(week), week), (None, week), (Some(86_400_000), week)] {
        let request = Request::estimate(1);
        let request = time.map_or(request, |time| request.settle_within(Micros(time * 1_000)));
        script.decision(Operation::Acquire(request), NOW)?;
        check_expiry(&mut script, ":p:", expected, "a permit")?;
    }
    // A settled permit is remembered for a minute, but not beyond its time.
    let permit = script.decision(Operation::Acquire(Request::estimate(1)), NOW)?.permit.ok_or("no permit")?;
    for (at, code) in [(299_999_999, 3), (299_999_999, 4), (300_000_000, 5)] {
        let actual = 1.into();
        match script.run(Operation::Correct { permit: &permit, actual }, NOW + at) {
            Reply::Array(items) if items.first() == Some(&Reply::Integer(code)) => {}
            other => return Err(format!("{other:?} instead of {code} at {at}")),
        }
    }
    Ok(())
}

pub(super) fn leases_and_tickets(port: u16, text: &str) -> Result<(), String> {
    let mut script = limiter_with_waiter(port, text);
    // The last of four in the queue calls again after so many milliseconds.
    let (hour, recheck) = (HOUR / 1_000, 250);
    check_expiry(&mut script, ":h:", hour + LATE_RELEASE, "a grant")?;
    check_expiry(&mut script, ":s:", hour + LATE_RELEASE, "a ticket")?;
    check_expiry(&mut script, ":q:", recheck + 2_000, "a ticket")?;
    // The records of the leases are in the same key as the records of the tickets.
    check_expiry(&mut script, ":t:", hour + LATE_RELEASE, "a ticket")?;
    for (id, claim_timeout) in [("long claim timeout", 2 * HOUR), ("waiter", 1), ("short claim timeout", 1)] {
        enter(&mut script, id, claim_timeout, NOW);
        for role in [":q:", ":t:", ":s:"] {
            check_expiry(&mut script, role, 2 * hour + recheck, "a ticket")?;
        }
    }
    let permit = format!("holder:{NOW}:1");
    script.run(Operation::Renew { permit: &permit }, NOW);
    for role in [":t:", ":s:"] {
        check_expiry(&mut script, role, 2 * hour + recheck, "a renewal")?;
    }
    script.resize(&[limit(Kind::Concurrency, 2)]);
    enter(&mut script, "waiter", 1, NOW);
    for role in [":t:", ":s:"] {
        check_expiry(&mut script, role, 2 * hour + recheck, "a grant before others")?;
    }
    enter(&mut script, "short claim timeout", 1, NOW);
    check_expiry(&mut script, ":s:", 2 * hour + recheck, "a ticket after a grant")?;
    for role in [":h:", ":t:", ":s:"] {
        let key = key(&mut script, role);
        script.raw.execute(&[&b"PEXPIRE"[..], &key, b"5000"]);
    }
    script.run(Operation::Renew { permit: &permit }, NOW);
    for role in [":h:", ":t:", ":s:"] {
        check_expiry(&mut script, role, hour + LATE_RELEASE, "a renewal")?;
    }
    // A lease keeps its record also without a queue.
    script.raw.command("FLUSHALL");
    enter(&mut script, "holder", 1, NOW);
    check_expiry(&mut script, ":t:", hour + LATE_RELEASE, "a grant")?;
    script.raw.command("FLUSHALL");
    // A grant without an id must not shorten the life of the queue.
    let mut rate = Script::new(port, text, &[limit(Kind::Leaky, 2)]);
    rate.acquire(NOW, &Units::All(2), false);
    enter(&mut rate, "long claim timeout", 4 * HOUR, NOW);
    rate.acquire(NOW + HOUR, &Units::All(1), false);
    check_expiry(&mut rate, ":s:", 3 * hour + hour / 2, "a grant before an expired queue")
}

pub(super) fn several_timeouts(port: u16, text: &str) -> Result<(), String> {
    let timeout = |interval| [Spec { interval, ..limit(Kind::Concurrency, 3) }];
    let mut script = Script::new(port, text, &timeout(HOUR));
    enter(&mut script, "long", 1, NOW);
    script.resize(&timeout(1_000_000));
    enter(&mut script, "short", 1, NOW);
    check_expiry(&mut script, ":h:", HOUR / 1_000 + LATE_RELEASE, "a shorter lease")?;
    let leases = key(&mut script, ":h:");
    script.raw.execute(&[&b"PEXPIRE"[..], &leases, b"5000"]);
    script.run(Operation::Renew { permit: &format!("short:{NOW}:1") }, NOW);
    check_expiry(&mut script, ":h:", HOUR / 1_000 + LATE_RELEASE, "the renewal of a shorter lease")?;
    let granted = script.decision(Operation::Acquire(Request::cost(1)), NOW)?;
    if granted.reset_after != Some(Micros(HOUR)) {
        return Err(format!("the longer lease of another caller is ignored: {granted:?}"));
    }
    let peek = script.decision(Operation::Peek(Request::cost(1)), NOW - HOUR)?;
    if peek.at != Micros(NOW) {
        return Err(format!("time ran backwards: {peek:?}"));
    }
    Ok(())
}

pub(super) fn statistics_and_list(port: u16, text: &str) -> Result<(), String> {
    let limits = [limit(Kind::Leaky, 1)];
    let mut script = Script::new(port, text, &limits);
    let quarter = 90 * 86_400_000 - 10_000;
    take(&mut script);
    for role in [":m:", ":limiters"] {
        let found = script.raw.keys(role).pop().ok_or("missing")?;
        let ttl = script.raw.ttl(&found);
        if !(quarter - 3_000..=quarter + 20_000).contains(&ttl) {
            return Err(format!("{role} expires in {ttl} ms"));
        }
    }
    // Each call recreates the deleted statistics. A process registers its limiter once a minute, so these calls do not.
    let statistics = key(&mut script, ":m:");
    let one = Request::cost(1);
    for what in ["a refusal", "a grant", "a refusal with an id", "a grant with an id"] {
        if what.starts_with("a grant") {
            let state = key(&mut script, ":s:");
            script.raw.execute(&[&b"DEL"[..], &state]);
        }
        script.raw.execute(&[&b"DEL"[..], &statistics]);
        if what.ends_with("id") {
            script.run(Operation::AcquireWithId { request: one, id: what, wait: None }, NOW);
        } else {
            take(&mut script);
        }
        // New statistics expire in two minutes until a process registers the limiter with its ttl.
        check_expiry(&mut script, ":m:", 110_000, what)?;
    }
    // A new field must not change the expiry of the statistics.
    for with_id in [false, true] {
        for key in [&statistics, &key(&mut script, ":s:")] {
            script.raw.execute(&[&b"DEL"[..], key]);
        }
        take(&mut script);
        script.raw.execute(&[&b"PEXPIRE"[..], &statistics, b"15000"]);
        if with_id {
            script.run(Operation::AcquireWithId { request: one, id: "refused", wait: None }, NOW);
        } else {
            take(&mut script);
        }
        check_expiry(&mut script, ":m:", 5_000, "a first refusal")?;
    }
    // Another process registers the limiter, which removes expired entries from the list.
    take(&mut script);
    script.raw.execute(&[&b"PERSIST"[..], &statistics]);
    let list = script.raw.keys(":limiters").pop().ok_or("no list")?;
    script.raw.execute(&[&b"ZADD"[..], &list, b"5", b"forgotten"]);
    script.resize(&limits);
    take(&mut script);
    check_expiry(&mut script, ":m:", quarter.unsigned_abs(), "another process")?;
    if script.raw.execute(&[&b"ZCARD"[..], &list]) != Reply::Integer(1) {
        return Err("an expired entry is kept".into());
    }
    let year = 366 * 86_400_000_u64;
    script.raw.execute(&[&b"PEXPIRE"[..], &list, (year + 10_000).to_string().as_bytes()]);
    script.resize(&limits);
    take(&mut script);
    if script.raw.ttl(&list) < year.cast_signed() {
        return Err("a shorter ttl shortens the life of the list".into());
    }
    for field in ["granted", "refused", "units"] {
        script.raw.execute(&[&b"HSET"[..], &statistics, field.as_bytes(), b"x"]);
    }
    for at in [NOW + HOUR, NOW + HOUR, NOW + 2 * HOUR] {
        let request = Request::cost(1);
        script.decision(Operation::Acquire(request), at)?;
        script.decision(Operation::AcquireWithId { request, id: "damaged", wait: None }, at)?;
    }
    // A key of another program with the same name must not fail a call, and must not get an expiry.
    for foreign in [&statistics, &list] {
        script.raw.execute(&[&b"SET"[..], foreign, b"theirs"]);
    }
    script.resize(&limits);
    script.decision(Operation::Acquire(Request::cost(1)), NOW + 3 * HOUR)?;
    for foreign in [&statistics, &list] {
        if script.raw.ttl(foreign) != -1 {
            return Err("a key of another program got an expiry".into());
        }
    }
    Ok(())
}
