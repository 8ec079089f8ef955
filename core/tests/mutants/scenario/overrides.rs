//! Checks overrides, pauses and learned limits in the stored state.

use paddlegate::{
    AdminCommand, BudgetUpdate, Deadline, Kind, Limit, LimitOverride, Micros, Operation, Request, UpstreamReport,
};

use super::expiry::check_expiry;
use super::{HOUR, NOW, estimate, expect_damage_error, key, limit, take};
use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::sequence::{Implementation, Spec};
use crate::support::units::Units;

const QUARTER_YEAR: u64 = 90 * 86_400_000;

fn set_override(script: &mut Script, amount: u64, interval: u64, expires: Option<Deadline>) -> Reply {
    let kind = script.limiter().policy().limits()[0].kind();
    let changes = [LimitOverride::Set(Limit::of_kind(kind, amount, Micros(interval), Micros(0)).expect("a limit"))];
    let control = AdminCommand::Override { changes: &changes, expires };
    script.run(Operation::Admin { command: control }, NOW)
}

/// Applies an upstream report with no remaining units.
fn report(script: &mut Script, at: u64) -> Reply {
    let label = script.limiter().policy().limits()[0].label().clone();
    let budgets = [BudgetUpdate { remaining: Some(0), ..BudgetUpdate::new(label) }];
    let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report }, at)
}

/// The state begins with `last skew;version;paused_until;overridden_until;reported_at;overridden;learned`.
pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    let beyond = "4503599627370497";
    for kind in [Kind::Leaky, Kind::Bucket, Kind::Window] {
        let mut script = Script::new(port, text, &[limit(kind, 5)]);
        script.raw.command("FLUSHALL");
        set_override(&mut script, 3, HOUR, None);
        take(&mut script);
        let key = key(&mut script, ":s:");
        let Reply::Text(valid) = script.raw.execute(&[&b"GET"[..], &key]) else { return Err("no state".into()) };
        let valid = String::from_utf8(valid).expect("a state of text");
        let (time, line) = valid.split_once(" 0;").ok_or("no overrides")?;
        let (overrides, rest) = line.split_once(' ').unwrap_or((line, ""));
        let fields: Vec<&str> = overrides.split(';').collect();
        if fields.len() != 6 {
            return Err(format!("unexpected overrides: {overrides}"));
        }
        let mut bad_values = Vec::new();
        for field in 0..4 {
            bad_values.extend(["", "x", "-1", "1.5", beyond].map(|bad_value| (field, bad_value.to_owned())));
        }
        let (tag, numbers) = fields[4].split_once('=').ok_or("no tag")?;
        let numbers_of_limit: Vec<&str> = numbers.split('/').collect();
        let [amount, interval, _] = numbers_of_limit[..] else {
            return Err(format!("unexpected numbers: {overrides}"));
        };
        let mut bad_numbers = Vec::new();
        for number in 0..3 {
            let bad = ["", "x", "-1", beyond].into_iter().chain((number < 2).then_some("0"));
            bad_numbers.extend(bad.map(|bad_value| {
                let mut numbers = numbers_of_limit.clone();
                numbers[number] = bad_value;
                numbers.join("/")
            }));
        }
        // These numbers are invalid for the kind.
        bad_numbers.push(match kind {
            Kind::Bucket => format!("{amount}/{interval}/{interval}"),
            Kind::Window => format!("100001/{interval}/0"),
            _ => format!("4503599627370496/{interval}/2"),
        });
        if kind == Kind::Leaky {
            bad_numbers.push(format!("{amount}/{interval}/0"));
        }
        for numbers in bad_numbers {
            // Also of a limit that the call does not have.
            for tag in [tag, &format!("{tag}:other")] {
                bad_values.extend([4, 5].map(|field| (field, format!("{tag}={numbers}"))));
            }
        }
        for bad_list in [
            "x",
            "-",
            tag,
            &format!("{tag}="),
            &format!("={numbers}"),
            &format!("{tag}={numbers},"),
            &format!(",{tag}={numbers}"),
            &format!("{tag}={numbers}={numbers}"),
            &format!("{tag}={numbers},,{tag}:other={numbers}"),
        ] {
            bad_values.extend([4, 5].map(|field| (field, bad_list.to_owned())));
        }
        for (field, bad_value) in bad_values {
            let mut fields = fields.clone();
            // The limit has no override when its learned numbers are wrong.
            if field == 5 {
                fields[4] = "";
            }
            fields[field] = &bad_value;
            let state = format!("{time} 0;{} {rest}", fields.join(";")).trim_end().to_owned();
            script.raw.execute(&[&b"SET"[..], &key, state.as_bytes()]);
            expect_damage_error(&take(&mut script), &state)?;
            expect_damage_error(&estimate(&mut script), &state)?;
        }
    }
    Ok(())
}

/// Checks that a pause lists its limiter until it ends, unless its statistics, and so its entry, last longer.
pub(super) fn listed(port: u16, text: &str) -> Result<(), String> {
    let pause = Operation::Admin { command: AdminCommand::Pause(Deadline::After(Micros(HOUR))) };
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 5)]);
    for (life, expected) in [(None, 1), (Some(HOUR / 1_000 + 60_000), 0), (Some(HOUR / 1_000 - 30_000), 1)] {
        script.raw.command("FLUSHALL");
        if let Some(life) = life {
            take(&mut script);
            let statistics = key(&mut script, ":m:");
            let list = script.raw.keys(":limiters").pop().ok_or("no list")?;
            script.raw.execute(&[&b"PEXPIRE"[..], &statistics, life.to_string().as_bytes()]);
            script.raw.execute(&[&b"DEL"[..], &list]);
            script.resize(&[limit(Kind::Leaky, 5)]);
        }
        script.run(pause, NOW);
        let Some(list) = script.raw.keys(":limiters").pop() else {
            if expected > 0 {
                return Err(format!("not listed: statistics for {life:?} ms"));
            }
            continue;
        };
        let Reply::Array(found) = script.raw.execute(&[&b"ZRANGE"[..], &list, b"0", b"-1", b"WITHSCORES"]) else {
            return Err("no list".into());
        };
        let texts: Vec<String> = found.iter().map(|part| format!("{part:?}")).collect();
        let [Reply::Text(entry), Reply::Text(score)] = &found[..] else { return Err(format!("{texts:?}")) };
        let (entry, score) = (String::from_utf8_lossy(entry), String::from_utf8_lossy(score));
        if expected == 0 || !entry.starts_with(&format!("{HOUR}|")) || score != (NOW + HOUR).to_string() {
            return Err(format!("entry={entry} score={score} life={life:?}"));
        }
    }
    Ok(())
}

pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    let hour = HOUR / 1_000;
    let short = |kind| [Spec { interval: 10_000_000, ..limit(kind, 2) }];
    // An override with a deadline expires after it, when the units taken under it have drained, up to a debt of one whole limit; a permanent one expires
    // as late as the statistics. A grant must not change that.
    for (expires, life) in [(None, QUARTER_YEAR), (Some(Deadline::After(Micros(HOUR))), hour + 20_000)] {
        for is_with_id in [false, true] {
            let mut script = Script::new(port, text, &short(Kind::Leaky));
            script.raw.command("FLUSHALL");
            set_override(&mut script, 3, 10_000_000, expires);
            check_expiry(&mut script, ":s:", life, "an override")?;
            let state = key(&mut script, ":s:");
            script.raw.execute(&[&b"PEXPIRE"[..], &state, b"5000"]);
            if is_with_id {
                estimate(&mut script)
            } else {
                take(&mut script)
            };
            check_expiry(&mut script, ":s:", life, "a grant under an override")?;
        }
    }
    // Units that were taken count longer under a slower override.
    let mut script = Script::new(port, text, &short(Kind::Leaky));
    script.raw.command("FLUSHALL");
    script.acquire(NOW, &Units::All(2), false);
    set_override(&mut script, 2, HOUR, Some(Deadline::After(Micros(1_000_000))));
    check_expiry(&mut script, ":s:", hour, "a short override for a slow limit")?;
    let mut script = Script::new(port, text, &short(Kind::Window));
    script.raw.command("FLUSHALL");
    take(&mut script);
    set_override(&mut script, 2, HOUR, None);
    check_expiry(&mut script, ":w:", hour, "an override with a longer window")
}

pub(super) fn log_after_a_report(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Window, 5)]);
    script.raw.command("FLUSHALL");
    report(&mut script, NOW);
    for role in [":w:", ":s:"] {
        check_expiry(&mut script, role, HOUR / 1_000, "a report")?;
    }
    // The next report removes expired entries.
    report(&mut script, NOW + 2 * HOUR);
    let log = key(&mut script, ":w:");
    match script.raw.execute(&[&b"LLEN"[..], &log]) {
        Reply::Integer(5) => {}
        other => return Err(format!("{other:?} entries")),
    }
    let peek = script.decision(Operation::Peek(Request::cost(1)), NOW + 2 * HOUR)?;
    if peek.allowed() { Err(format!("units are left: {peek:?}")) } else { Ok(()) }
}

/// Checks that a report reads some of the open permits and assumes the same average charge for the others.
pub(super) fn many_open(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    script.raw.command("FLUSHALL");
    for i in 0..300 {
        script.acquire(NOW + i, &Units::All(10), true);
    }
    let label = script.limiter().policy().limits()[0].label().clone();
    let budgets = [BudgetUpdate { remaining: Some(100_000), ..BudgetUpdate::new(label) }];
    let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report }, NOW + 300);
    let peek = script.decision(Operation::Peek(Request::cost(0)), NOW + 300)?;
    if peek.remaining == Some(97_000) { Ok(()) } else { Err(format!("{peek:?}")) }
}

/// Checks how long an open permit and a settled one count for a report, when they can be settled for hours.
pub(super) fn long_open(port: u16, text: &str) -> Result<(), String> {
    let amount = 1_000_000;
    for (settles, at, remaining) in [
        (false, 240_000_000, 400_000),
        (false, 240_000_001, 500_000),
        // What was settled at the time of the report may not be in it, so nothing is given back.
        (true, 1_000_000_000, 100_000),
        (true, 1_000_000_001, 500_000),
    ] {
        let mut script = Script::new(port, text, &[Spec { amount, interval: 10_000 * HOUR, ..limit(Kind::Points, 5) }]);
        script.raw.command("FLUSHALL");
        let units = if settles { 900_000 } else { 100_000 };
        let request = Request::estimate(units).settle_within(Micros(2 * HOUR));
        let permit = script.decision(Operation::Acquire(request), NOW)?.permit.ok_or("no permit")?;
        if settles {
            let actual = units.into();
            script.answer(Operation::Correct { permit: &permit, actual }, NOW + 1_000_000_000)?;
        }
        let label = script.limiter().policy().limits()[0].label().clone();
        let budgets = [BudgetUpdate { remaining: Some(500_000), ..BudgetUpdate::new(label) }];
        let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
        script.answer(Operation::ApplyReport { report }, NOW + at)?;
        let peek = script.decision(Operation::Peek(Request::cost(0)), NOW + at)?;
        // A few units drain meanwhile.
        if peek.remaining.is_none_or(|left| !(remaining..remaining + 50).contains(&left)) {
            return Err(format!("{:?} instead of {remaining} at {at}", peek.remaining));
        }
    }
    Ok(())
}

/// Checks that a call refused by an override waits at most until the override ends, but not a call refused by another
/// limit.
pub(super) fn end_of_an_override(port: u16, text: &str) -> Result<(), String> {
    let numbers = |kind, amount| Limit::of_kind(kind, amount, Micros(HOUR), Micros(0)).expect("a limit");
    let cases = [
        (5, [LimitOverride::Set(numbers(Kind::Window, 1))], 10_000_000),
        (1, [LimitOverride::Set(numbers(Kind::Leaky, 4))], HOUR),
    ];
    for (amount, changes, wait) in cases {
        let window = Spec { amount, ..limit(Kind::Window, 5) };
        let mut script = Script::new(port, text, &[window, limit(Kind::Leaky, 5)]);
        script.raw.command("FLUSHALL");
        let control = AdminCommand::Override { changes: &changes, expires: Some(Deadline::After(Micros(10_000_000))) };
        script.run(Operation::Admin { command: control }, NOW);
        take(&mut script);
        let refused = script.decision(Operation::Acquire(Request::cost(1)), NOW)?;
        if refused.retry_after != Some(Micros(wait)) {
            return Err(format!("{refused:?} instead of {wait}"));
        }
    }
    Ok(())
}
