//! What was ordered and learned, behind the library's back.

use paddlegate::{
    AdminCommand, BudgetUpdate, Deadline, Kind, Limit, LimitOverride, Micros, Operation, Request, UpstreamReport,
};

use super::life::lives;
use super::{HOUR, NOW, estimate, is_damage, key, limit, take};
use crate::side::Script;
use crate::support::raw::Reply;
use crate::support::script::{Side, Spec};

const QUARTER: u64 = 90 * 86_400_000;

fn order(script: &mut Script, amount: u64, interval: u64, expires: Option<Deadline>) -> Reply {
    let kind = script.limiter().policy().limits()[0].kind();
    let changes = [LimitOverride::Set(Limit::of_kind(kind, amount, Micros(interval), Micros(0)).expect("a limit"))];
    let control = AdminCommand::Override { changes: &changes, expires };
    script.run(Operation::Admin { command: control, at: Some(Micros(NOW)) })
}

/// An upstream says that nothing is left.
fn report(script: &mut Script, at: u64) -> Reply {
    let budgets = [BudgetUpdate { remaining: Some(0), ..BudgetUpdate::default() }];
    let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report, at: Some(Micros(at)) })
}

/// "last skew;version;pause;until;synced;told;learned" and so on.
pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    let beyond = "4503599627370497";
    for kind in [Kind::Leaky, Kind::Bucket, Kind::Window] {
        let mut script = Script::new(port, text, &[limit(kind, 5)]);
        script.raw.command("FLUSHALL");
        order(&mut script, 3, HOUR, None);
        take(&mut script);
        let key = key(&mut script, ":s:");
        let Reply::Text(sound) = script.raw.ask(&[&b"GET"[..], &key]) else { return Err("no state".into()) };
        let sound = String::from_utf8(sound).expect("a state of text");
        let (time, line) = sound.split_once(" 0;").ok_or("no orders")?;
        let (orders, rest) = line.split_once(' ').unwrap_or((line, ""));
        let fields: Vec<&str> = orders.split(';').collect();
        if fields.len() != 6 {
            return Err(format!("other orders: {orders}"));
        }
        let mut poisons = Vec::new();
        for field in 0..4 {
            poisons.extend(["", "x", "-1", "1.5", beyond].map(|poison| (field, poison.to_owned())));
        }
        let told: Vec<&str> = fields[4].split('/').collect();
        for number in 0..3 {
            for poison in ["", "x", "-1", beyond] {
                let mut told = told.clone();
                told[number] = poison;
                poisons.push((4, told.join("/")));
            }
        }
        // What no limit of the kind may be.
        let [amount, interval, _] = told[..] else { return Err(format!("other numbers: {orders}")) };
        poisons.push(match kind {
            Kind::Bucket => (4, format!("{amount}/{interval}/{interval}")),
            Kind::Window => (4, format!("100001/{interval}/0")),
            _ => (4, format!("4503599627370496/{interval}/2")),
        });
        if kind == Kind::Leaky {
            poisons.push((4, format!("{amount}/{interval}/0")));
        }
        for number in 0..2 {
            let mut told = told.clone();
            told[number] = "0";
            poisons.push((4, told.join("/")));
        }
        for field in [4, 5] {
            poisons.extend(["", "x", "-,-", "1/1"].map(|poison| (field, poison.to_owned())));
        }
        for (field, poison) in poisons {
            let mut fields = fields.clone();
            // What was learned counts where nothing is told.
            if field == 5 {
                fields[4] = "-";
            }
            fields[field] = &poison;
            let state = format!("{time} 0;{} {rest}", fields.join(";")).trim_end().to_owned();
            script.raw.ask(&[&b"SET"[..], &key, state.as_bytes()]);
            is_damage(&take(&mut script), &state)?;
            is_damage(&estimate(&mut script), &state)?;
        }
    }
    Ok(())
}

pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    let hour = HOUR / 1_000;
    let short = |kind| [Spec { interval: 10_000_000, ..limit(kind, 2) }];
    // Until they have ended and what was taken has, or as long as the statistics, whoever is granted something.
    for (expires, life) in [(None, QUARTER), (Some(Deadline::After(Micros(HOUR))), hour + 10_000)] {
        for is_with_id in [false, true] {
            let mut script = Script::new(port, text, &short(Kind::Leaky));
            script.raw.command("FLUSHALL");
            order(&mut script, 3, 10_000_000, expires);
            lives(&mut script, ":s:", life, "an order")?;
            let state = key(&mut script, ":s:");
            script.raw.ask(&[&b"PEXPIRE"[..], &state, b"5000"]);
            if is_with_id {
                estimate(&mut script)
            } else {
                take(&mut script)
            };
            lives(&mut script, ":s:", life, "a grant under an order")?;
        }
    }
    // What was taken lasts longer under other numbers.
    let mut script = Script::new(port, text, &short(Kind::Leaky));
    script.raw.command("FLUSHALL");
    script.acquire(NOW, 2, false);
    order(&mut script, 2, HOUR, Some(Deadline::After(Micros(1_000_000))));
    lives(&mut script, ":s:", hour, "a short order for a slow limit")?;
    let mut script = Script::new(port, text, &short(Kind::Window));
    script.raw.command("FLUSHALL");
    take(&mut script);
    order(&mut script, 2, HOUR, None);
    lives(&mut script, ":w0:", hour, "an order for a longer window")
}

pub(super) fn log_of_a_report(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Window, 5)]);
    script.raw.command("FLUSHALL");
    report(&mut script, NOW);
    for role in [":w0:", ":s:"] {
        lives(&mut script, role, HOUR / 1_000, "a report")?;
    }
    // Those that have expired leave.
    report(&mut script, NOW + 2 * HOUR);
    let log = key(&mut script, ":w0:");
    match script.raw.ask(&[&b"LLEN"[..], &log]) {
        Reply::Integer(5) => {}
        other => return Err(format!("{other:?} entries")),
    }
    let look = script.decision(Operation::Peek(Request::cost(1).at(Micros(NOW + 2 * HOUR))))?;
    if look.allowed() { Err(format!("something is left: {look:?}")) } else { Ok(()) }
}

/// A report reads some of the open permits, and takes the others to have charged as much.
pub(super) fn many_open(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Points, 1_000_000)]);
    script.raw.command("FLUSHALL");
    for i in 0..300 {
        script.acquire(NOW + i, 10, true);
    }
    let budgets = [BudgetUpdate { remaining: Some(100_000), ..BudgetUpdate::default() }];
    let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
    script.run(Operation::ApplyReport { report, at: Some(Micros(NOW + 300)) });
    let look = script.decision(Operation::Peek(Request::cost(0).at(Micros(NOW + 300))))?;
    if look.remaining == Some(97_000) { Ok(()) } else { Err(format!("{look:?}")) }
}

/// Who is refused by an override waits for its end at most, and who is refused by another limit does not.
pub(super) fn end_of_an_override(port: u16, text: &str) -> Result<(), String> {
    let numbers = |kind, amount| Limit::of_kind(kind, amount, Micros(HOUR), Micros(0)).expect("a limit");
    let cases = [
        (5, [LimitOverride::Set(numbers(Kind::Window, 1)), LimitOverride::Keep], 10_000_000),
        (1, [LimitOverride::Keep, LimitOverride::Set(numbers(Kind::Leaky, 4))], HOUR),
    ];
    for (amount, changes, wait) in cases {
        let window = Spec { amount, ..limit(Kind::Window, 5) };
        let mut script = Script::new(port, text, &[window, limit(Kind::Leaky, 5)]);
        script.raw.command("FLUSHALL");
        let control = AdminCommand::Override { changes: &changes, expires: Some(Deadline::After(Micros(10_000_000))) };
        script.run(Operation::Admin { command: control, at: Some(Micros(NOW)) });
        take(&mut script);
        let refused = script.decision(Operation::Acquire(Request::cost(1).at(Micros(NOW))))?;
        if refused.retry_after != Some(Micros(wait)) {
            return Err(format!("{refused:?} instead of {wait}"));
        }
    }
    Ok(())
}
