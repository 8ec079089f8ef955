//! Checks the expiry of the keys.

use paddlegate::{Kind, Micros, Operation, Request};

use super::{HOUR, NOW, enter, every_kind, key, limit, take, waited_for};
use crate::side::Script;
use crate::support::raw::Reply;
use crate::support::script::{Side, Spec};

/// Milliseconds for which leases and their fencing token are kept after their end.
const LATE: u64 = 300_000;

pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    for mut script in every_kind(port, text) {
        script.raw.command("FLUSHALL");
        let interval = 3_600_000;
        // Leases and their fencing token are kept for longer.
        let late = if script.limiter().policy().concurrency().is_some() { LATE } else { 0 };
        let whole = |script: &mut Script| match script.limiter().policy().limits().len() {
            1 => script.peek(NOW, 0).reset_after.div_ceil(1_000) + late,
            _ => interval + late,
        };
        script.acquire(NOW, 1, false);
        let state = whole(&mut script);
        lives(&mut script, ":s:", state, "a grant without a permit")?;
        let mut kinds = script.limiter().policy().limits().iter().map(paddlegate::Limit::kind);
        if let Some(window) = kinds.position(|kind| kind == Kind::Window) {
            lives(&mut script, &format!(":w{window}:"), interval, "a grant without a permit")?;
        }
        script.raw.command("FLUSHALL");
        script.acquire(NOW, 1, true);
        let state = whole(&mut script);
        lives(&mut script, ":s:", state, "a grant")?;
        lives(&mut script, ":p:", 300_000, "a grant")?;
        let limits = script.limiter().policy().limits().iter();
        let kinds: Vec<Kind> = limits.map(paddlegate::Limit::kind).collect();
        if let Some(window) = kinds.iter().position(|kind| *kind == Kind::Window) {
            lives(&mut script, &format!(":w{window}:"), interval, "a grant")?;
        }
        if kinds.contains(&Kind::Concurrency) {
            lives(&mut script, ":h:", interval + LATE, "a grant")?;
        }
        for key in script.raw.keys("mutant") {
            script.raw.ask(&[&b"PEXPIRE"[..], &key, b"5000"]);
        }
        script.correct(0, 2, NOW);
        lives(&mut script, ":p:", 300_000, "a correction")?;
        if script.limiter().policy().limits().len() == 1 {
            let state = whole(&mut script);
            lives(&mut script, ":s:", state, "a correction")?;
        }
        // A refusal while the clock is behind rewrites the state and leaves its expiry.
        let key = key(&mut script, ":s:");
        script.raw.ask(&[&b"PEXPIRE"[..], &key, b"70000"]);
        script.acquire(NOW - HOUR, 0, false);
        let ttl = script.raw.ttl(&key);
        if !(65_000..=70_000).contains(&ttl) {
            return Err(format!("the state lives {ttl} ms, not 70 s as before"));
        }
    }
    Ok(())
}

/// A key lives for so long and ten seconds more, less the moment since it was written.
pub(super) fn lives(script: &mut Script, role: &str, milliseconds: u64, after: &str) -> Result<(), String> {
    let key = key(script, role);
    let ttl = script.raw.ttl(&key);
    let most = milliseconds.cast_signed() + 10_000;
    if (most - 3_000..=most).contains(&ttl) {
        return Ok(());
    }
    Err(format!("{role} lives {ttl} ms after {after}, not {most}"))
}

pub(super) fn expiry_of_queues(port: u16, text: &str) -> Result<(), String> {
    let mut script = waited_for(port, text);
    let (hour, recheck) = (HOUR / 1_000, 5_000);
    lives(&mut script, ":h:", hour + LATE, "a grant")?;
    lives(&mut script, ":s:", hour + LATE, "a ticket")?;
    lives(&mut script, ":q:", recheck + 2_000, "a ticket")?;
    // Whose the leases are is kept beside the tickets.
    lives(&mut script, ":t:", hour + LATE, "a ticket")?;
    for (id, grace) in [("patient", 2 * HOUR), ("waiter", 1), ("hasty", 1)] {
        enter(&mut script, id, grace, NOW);
        for role in [":q:", ":t:", ":s:"] {
            lives(&mut script, role, 2 * hour + recheck, "a ticket")?;
        }
    }
    let permit = format!("holder:{NOW}:1");
    let renewal = Operation::Renew { permit: &permit, at: Some(Micros(NOW)) };
    script.run(renewal);
    for role in [":t:", ":s:"] {
        lives(&mut script, role, 2 * hour + recheck, "a renewal")?;
    }
    script.resize(&[limit(Kind::Concurrency, 2)]);
    enter(&mut script, "waiter", 1, NOW);
    for role in [":t:", ":s:"] {
        lives(&mut script, role, 2 * hour + recheck, "a grant before others")?;
    }
    enter(&mut script, "hasty", 1, NOW);
    lives(&mut script, ":s:", 2 * hour + recheck, "a ticket after a grant")?;
    for role in [":h:", ":t:", ":s:"] {
        let key = key(&mut script, role);
        script.raw.ask(&[&b"PEXPIRE"[..], &key, b"5000"]);
    }
    script.run(renewal);
    for role in [":h:", ":t:", ":s:"] {
        lives(&mut script, role, hour + LATE, "a renewal")?;
    }
    // Alone, a lease keeps its record.
    script.raw.command("FLUSHALL");
    enter(&mut script, "holder", 1, NOW);
    lives(&mut script, ":t:", hour + LATE, "a grant")?;
    script.raw.command("FLUSHALL");
    // A grant that does not look at the queue keeps it.
    let mut rate = Script::new(port, text, &[limit(Kind::Leaky, 2)]);
    rate.acquire(NOW, 2, false);
    enter(&mut rate, "patient", 4 * HOUR, NOW);
    rate.acquire(NOW + HOUR, 1, false);
    lives(&mut rate, ":s:", 3 * hour + hour / 2, "a grant before a queue that has lapsed")
}

pub(super) fn several_timeouts(port: u16, text: &str) -> Result<(), String> {
    let timeout = |interval| [Spec { interval, ..limit(Kind::Concurrency, 3) }];
    let mut script = Script::new(port, text, &timeout(HOUR));
    enter(&mut script, "long", 1, NOW);
    script.resize(&timeout(1_000_000));
    enter(&mut script, "short", 1, NOW);
    lives(&mut script, ":h:", HOUR / 1_000 + LATE, "a shorter lease")?;
    let leases = key(&mut script, ":h:");
    script.raw.ask(&[&b"PEXPIRE"[..], &leases, b"5000"]);
    script.run(Operation::Renew { permit: &format!("short:{NOW}:1"), at: Some(Micros(NOW)) });
    lives(&mut script, ":h:", HOUR / 1_000 + LATE, "the renewal of a shorter lease")?;
    let granted = script.decision(Operation::Acquire(Request::cost(1).at(Micros(NOW))))?;
    if granted.reset_after != Some(Micros(HOUR)) {
        return Err(format!("the longer lease of another is forgotten: {granted:?}"));
    }
    let look = script.decision(Operation::Peek(Request::cost(1).at(Micros(NOW - HOUR))))?;
    if look.at != Micros(NOW) {
        return Err(format!("time ran backwards: {look:?}"));
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
            return Err(format!("{role} lives {ttl} ms"));
        }
    }
    // Grants and refusals make the statistics anew, and nobody tells the list within the minute.
    let statistics = key(&mut script, ":m:");
    let one = Request::cost(1).at(Micros(NOW));
    for what in ["a refusal", "a grant", "a refusal with an id", "a grant with an id"] {
        if what.starts_with("a grant") {
            let state = key(&mut script, ":s:");
            script.raw.ask(&[&b"DEL"[..], &state]);
        }
        script.raw.ask(&[&b"DEL"[..], &statistics]);
        if what.ends_with("id") {
            script.run(Operation::AcquireWithId { request: one, id: what, wait: None });
        } else {
            take(&mut script);
        }
        // Two minutes, until a process says how long it wants them.
        lives(&mut script, ":m:", 110_000, what)?;
    }
    // A field that is new changes no end.
    for with_id in [false, true] {
        for key in [&statistics, &key(&mut script, ":s:")] {
            script.raw.ask(&[&b"DEL"[..], key]);
        }
        take(&mut script);
        script.raw.ask(&[&b"PEXPIRE"[..], &statistics, b"15000"]);
        if with_id {
            script.run(Operation::AcquireWithId { request: one, id: "refused", wait: None });
        } else {
            take(&mut script);
        }
        lives(&mut script, ":m:", 5_000, "a first refusal")?;
    }
    // Another process tells it; what was put on it long ago is forgotten.
    take(&mut script);
    script.raw.ask(&[&b"PERSIST"[..], &statistics]);
    let list = script.raw.keys(":limiters").pop().ok_or("no list")?;
    script.raw.ask(&[&b"ZADD"[..], &list, b"5", b"forgotten"]);
    script.resize(&limits);
    take(&mut script);
    lives(&mut script, ":m:", quarter.unsigned_abs(), "another process")?;
    if script.raw.ask(&[&b"ZCARD"[..], &list]) != Reply::Integer(1) {
        return Err("an old entry is kept".into());
    }
    let year = 366 * 86_400_000_u64;
    script.raw.ask(&[&b"PEXPIRE"[..], &list, (year + 10_000).to_string().as_bytes()]);
    script.resize(&limits);
    take(&mut script);
    if script.raw.ttl(&list) < year.cast_signed() {
        return Err("one that asks for less ends it sooner".into());
    }
    for field in ["granted", "refused", "units"] {
        script.raw.ask(&[&b"HSET"[..], &statistics, field.as_bytes(), b"x"]);
    }
    for at in [NOW + HOUR, NOW + HOUR, NOW + 2 * HOUR] {
        let request = Request::cost(1).at(Micros(at));
        script.decision(Operation::Acquire(request))?;
        script.decision(Operation::AcquireWithId { request, id: "damaged", wait: None })?;
    }
    // What is another program's there stops nothing, and stays as it is.
    for foreign in [&statistics, &list] {
        script.raw.ask(&[&b"SET"[..], foreign, b"theirs"]);
    }
    script.resize(&limits);
    script.decision(Operation::Acquire(Request::cost(1).at(Micros(NOW + 3 * HOUR))))?;
    for foreign in [&statistics, &list] {
        if script.raw.ttl(foreign) != -1 {
            return Err("another program's key was given an end".into());
        }
    }
    Ok(())
}
