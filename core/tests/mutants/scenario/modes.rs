//! Checks overrides of the mode and blocks in the stored state.

use paddlegate::{
    AdminCommand, Answer, BlockAfter, Deadline, Decision, Kind, LimitOverride, Limiter, Micros, Mode, Operation,
    Reason, Request, RuntimeState, Status, Wait,
};

use super::expiry::check_expiry;
use super::{HOUR, NOW, enter, estimate, expect_damage_error, key, limit, take};
use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::sequence::Spec;

const SECOND: u64 = 1_000_000;
const QUARTER_YEAR: u64 = 90 * 86_400_000;

/// Refusals are counted for 100 s, and a block lasts 200 s.
fn counting(script: &Script, refusals: u64) -> Limiter {
    let rule = BlockAfter::of_micros(refusals, Micros(100 * SECOND), Micros(200 * SECOND)).expect("a rule");
    script.limiter().with_block_after(rule).expect("one limiter")
}

fn acquire(script: &mut Script, limiter: &Limiter, at: u64) -> Result<Decision, String> {
    match script.on(limiter, Operation::Acquire(Request::cost(1)), at)? {
        Answer::Decision(decision) => Ok(decision),
        other => Err(format!("not a decision: {other:?}")),
    }
}

fn admin(script: &mut Script, command: AdminCommand<'_>, at: u64) -> Result<RuntimeState, String> {
    match script.answer(Operation::Admin { command }, at)? {
        Answer::RuntimeState(state) => Ok(*state),
        other => Err(format!("no runtime state: {other:?}")),
    }
}

fn set_mode(script: &mut Script, mode: Mode, expires: Option<u64>) -> Result<RuntimeState, String> {
    let changes = [LimitOverride::Mode(mode)];
    let expires = expires.map(|us| Deadline::After(Micros(us)));
    admin(script, AdminCommand::Override { changes: &changes, expires }, NOW)
}

fn full(port: u16, text: &str, interval: u64) -> Script {
    let mut script = Script::new(port, text, &[Spec { interval, ..limit(Kind::Leaky, 2) }]);
    script.raw.command("FLUSHALL");
    script.run(Operation::Acquire(Request::cost(2)), NOW);
    script
}

fn state(script: &mut Script) -> Result<String, String> {
    let key = key(script, ":s:");
    match script.raw.execute(&[&b"GET"[..], &key]) {
        Reply::Text(state) => Ok(String::from_utf8_lossy(&state).into_owned()),
        other => Err(format!("no state: {other:?}")),
    }
}

/// A refusal that is counted changes nothing else in the state.
pub(super) fn counted(port: u16, text: &str) -> Result<(), String> {
    let mut script = full(port, text, HOUR);
    let before = state(&mut script)?;
    let limiter = counting(&script, 3);
    // The server's clock runs backwards, then it is later.
    for (at, skew, refusals) in [(NOW - 10 * SECOND, 10 * SECOND, 1), (NOW + 5 * SECOND, 10 * SECOND, 2)] {
        acquire(&mut script, &limiter, at)?;
        let records = before.strip_prefix(&format!("{NOW} 0")).ok_or("another state")?;
        let expected = format!("{NOW} {skew};0;0;0;0;;;;0;0;{};{refusals}{records}", NOW + 100 * SECOND);
        let found = state(&mut script)?;
        if found != expected {
            return Err(format!("{found} instead of {expected}"));
        }
    }
    let mut script = full(port, text, HOUR);
    enter(&mut script, "waiter", 2_000_000, NOW);
    acquire(&mut script, &limiter, NOW + 5 * SECOND)?;
    let found = state(&mut script)?;
    if !found.starts_with(&format!("{NOW} 0:1:")) || !found.contains(";1 l ") {
        return Err(format!("no queue or no count: {found}"));
    }
    Ok(())
}

/// When the time of counting ends, and what a resume and a removal of all overrides end.
pub(super) fn ends(port: u16, text: &str) -> Result<(), String> {
    let mut script = full(port, text, HOUR);
    let limiter = counting(&script, 2);
    let end = NOW + 100 * SECOND;
    // Otherwise nothing would be in force at the end of the time of counting, which then would not be read.
    set_mode(&mut script, Mode::Enforce, None)?;
    for (at, is_blocked) in [(NOW, false), (end, false), (end + 1, true)] {
        // The limit waits for half an hour, so a shorter block is not described.
        let decision = acquire(&mut script, &limiter, at)?;
        let state = admin(&mut script, AdminCommand::Get, at)?;
        if decision.reason != Some(Reason::Limit(Kind::Leaky)) || state.blocked_for.is_some() != is_blocked {
            return Err(format!("at {at}: {decision:?} {state:?}"));
        }
    }
    let mut script = full(port, text, HOUR);
    acquire(&mut script, &limiter, NOW)?;
    admin(&mut script, AdminCommand::Resume, NOW)?;
    acquire(&mut script, &limiter, NOW)?;
    let state = admin(&mut script, AdminCommand::Get, NOW)?;
    if state.blocked_for.is_some() {
        return Err(format!("a resume kept the count: {state:?}"));
    }
    set_mode(&mut script, Mode::Shadow, None)?;
    let changes = [LimitOverride::RemoveAll];
    let state = admin(&mut script, AdminCommand::Override { changes: &changes, expires: None }, NOW)?;
    if state.mode.is_some() {
        return Err(format!("a removal of all kept the mode: {state:?}"));
    }
    // The wait is not too long, because it ends with the override of the mode.
    set_mode(&mut script, Mode::Enforce, Some(10 * SECOND))?;
    let shadow = script.limiter().with_mode(Mode::Shadow).map_err(|error| error.to_string())?;
    let wait = Some(Wait::up_to(Micros(15 * SECOND)));
    match script.on(&shadow, Operation::AcquireWithId { request: Request::cost(1), id: "one", wait }, NOW)? {
        Answer::Decision(decision)
            if decision.status == Status::Queued && decision.retry_after == Some(Micros(10 * SECOND)) =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    }
}

pub(super) fn expiry(port: u16, text: &str) -> Result<(), String> {
    for (expires, life) in [(None, QUARTER_YEAR), (Some(2 * HOUR), 2 * HOUR / 1_000)] {
        let mut script = full(port, text, 10 * SECOND);
        set_mode(&mut script, Mode::Shadow, expires)?;
        check_expiry(&mut script, ":s:", life, "an override of the mode")?;
    }
    for (interval, lives) in [(10 * SECOND, [100_000, 200_000]), (HOUR, [HOUR / 1_000, HOUR / 1_000])] {
        let mut script = full(port, text, interval);
        let limiter = counting(&script, 2);
        for (life, what) in lives.into_iter().zip(["a refusal", "a block"]) {
            acquire(&mut script, &limiter, NOW)?;
            check_expiry(&mut script, ":s:", life, what)?;
        }
    }
    let mut script = full(port, text, 10 * SECOND);
    admin(&mut script, AdminCommand::Block(Deadline::After(Micros(HOUR))), NOW)?;
    check_expiry(&mut script, ":s:", HOUR / 1_000, "a block by a command")
}

/// The overrides end with `;mode;blocked_until;barred_until;counted_until;refusals`.
pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    let mut script = full(port, text, HOUR);
    set_mode(&mut script, Mode::Shadow, None)?;
    let limiter = counting(&script, 5);
    acquire(&mut script, &limiter, NOW)?;
    let valid = state(&mut script)?;
    let (before, more) = valid.split_once(";s;").ok_or("no mode")?;
    let (numbers, records) = more.split_once(' ').ok_or("no records")?;
    let numbers: Vec<&str> = numbers.split(';').collect();
    let bad_numbers = (0..numbers.len()).flat_map(|i| ["", "x", "-1", "1.5", "4503599627370497"].map(|bad| (i, bad)));
    let mut bad_texts: Vec<String> = bad_numbers
        .map(|(i, bad)| {
            let mut numbers = numbers.clone();
            numbers[i] = bad;
            format!(";s;{}", numbers.join(";"))
        })
        .collect();
    let numbers = numbers.join(";");
    bad_texts.extend(["x", "S", "se", "1"].map(|mode| format!(";{mode};{numbers}")));
    bad_texts.extend([
        format!(";s;{numbers};0"),
        format!(";s;{numbers}x"),
        ";s".to_owned(),
        ";".to_owned(),
        "x".to_owned(),
    ]);
    for bad in bad_texts {
        let state = format!("{before}{bad} {records}");
        let key = key(&mut script, ":s:");
        script.raw.execute(&[&b"SET"[..], &key, state.as_bytes()]);
        expect_damage_error(&take(&mut script), &state)?;
        expect_damage_error(&estimate(&mut script), &state)?;
    }
    Ok(())
}
