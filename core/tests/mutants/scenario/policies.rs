//! Checks the state of a name that several policies use.

use std::time::Duration;

use paddlegate::{
    AdminCommand, Answer, BudgetUpdate, Deadline, Kind, Limit, LimitOverride, Micros, Operation, Page, Policy, Request,
    RuntimeState, UpstreamReport, Wait,
};

use super::expiry::check_expiry;
use super::{HOUR, NOW, enter, estimate, extensions, key, limit, take};
use crate::script::Script;
use crate::support::raw::Reply;
use crate::support::script_client::ScriptClient;
use crate::support::sequence::{Implementation, Spec};
use crate::support::units::Units;
use crate::support::{clock, library, open_whole, set_clock};

fn other(kind: Kind, number: usize) -> Spec {
    Spec { number, ..limit(kind, 5) }
}

/// Checks how long the record of another policy is kept, and under which time.
pub(super) fn kept_records(port: u16, text: &str) -> Result<(), String> {
    let (hourly, quick) = ([limit(Kind::Leaky, 5)], [Spec { interval: 10_000_000, ..other(Kind::Leaky, 1) }]);
    for is_with_id in [false, true] {
        let call = |script: &mut Script, at: u64| {
            let request = if is_with_id { Request::estimate(1) } else { Request::cost(1) };
            script.decision(Operation::Acquire(request), at).map(|_| state(script))
        };
        let mut script = Script::new(port, text, &hourly);
        call(&mut script, NOW)?;
        let record = state(&mut script).replace(&format!("{NOW} 0"), "").replace(" .", "");
        script.resize(&quick);
        let first = call(&mut script, NOW + 1)?;
        let (_, times) = first.split_once(&format!("{record}@")).ok_or(format!("no record in {first}"))?;
        let until = times
            .strip_suffix(" .")
            .and_then(|times| times.strip_prefix(&format!("{NOW}~")))
            .ok_or(format!("another time in {first}"))?;
        let until: u64 = until.parse().map_err(|error| format!("{error}: {first}"))?;
        if !(NOW + 727_000_000..=NOW + 730_000_001).contains(&until) {
            return Err(format!("kept until {until}: {first}"));
        }
        check_expiry(&mut script, ":s:", (until - NOW) / 1_000 - 10_000, "a call of another policy")?;
        for at in [NOW + 2, until - 1] {
            let later = call(&mut script, at)?;
            if !later.ends_with(&format!("{record}@{NOW}~{until} .")) {
                return Err(format!("{later} after {first}"));
            }
        }
        let after = call(&mut script, until)?;
        if after.contains('@') {
            return Err(format!("a record is kept that has ended: {after}"));
        }
        // The state lives as long as a record of this call, too.
        script.resize(&hourly);
        call(&mut script, until + 1)?;
        check_expiry(&mut script, ":s:", 720_000, "a call with a longer interval")?;
        // Calls in turn do not extend the life of the state: of the first limit, 20 units drain in 24 minutes.
        let policies = [hourly, quick].map(|[spec]| [Spec { amount: 50, ..spec }]);
        let mut script = Script::new(port, text, &policies[0]);
        for at in NOW..NOW + 40 {
            script.resize(&policies[(at % 2) as usize]);
            call(&mut script, at)?;
        }
        check_expiry(&mut script, ":s:", 1_440_000, "calls of two policies in turn")?;
    }
    Ok(())
}

fn state(script: &mut Script) -> String {
    let key = key(script, ":s:");
    match script.raw.execute(&[&b"GET"[..], &key]) {
        Reply::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("no state: {other:?}"),
    }
}

/// Checks that a name has at most 32 limits in use.
pub(super) fn number_of_labels(port: u16, text: &str) -> Result<(), String> {
    let policy = |number: usize| -> Vec<Spec> { (0..8).map(|i| other(Kind::Leaky, 8 * number + i + 1)).collect() };
    let mut script = Script::new(port, text, &policy(0));
    for number in 0..4 {
        script.resize(&policy(number));
        script.decision(Operation::Acquire(Request::cost(1)), NOW)?;
    }
    let before = state(&mut script);
    let another = [other(Kind::Leaky, 33)];
    script.resize(&another);
    for reply in [take(&mut script), estimate(&mut script)] {
        if !matches!(&reply, Reply::Error(error) if error.starts_with("PGLABELS ")) {
            return Err(format!("{reply:?} of the label after the last"));
        }
    }
    if state(&mut script) != before {
        return Err("a call with too many labels wrote the state".into());
    }
    // An inspection takes no label.
    script.answer(Operation::Inspect { page: Page::default() }, NOW)?;
    script.resize(&policy(1));
    script.decision(Operation::Acquire(Request::cost(1)), NOW)?;
    script.resize(&another);
    script.decision(Operation::Acquire(Request::cost(1)), NOW + 2 * HOUR).map(|_| ())
}

/// Checks that the overrides and learned limits of a name have at most 32 labels.
pub(super) fn labels_of_overrides(port: u16, text: &str) -> Result<(), String> {
    for (count, overridden) in [(31, true), (31, false), (32, true), (32, false)] {
        let limits: Vec<String> = (1..=count).map(|number| format!("l:limit-{number}=5/1/720000000")).collect();
        let (overridden, learned) =
            if overridden { (limits.join(","), String::new()) } else { (String::new(), limits.join(",")) };
        let full = format!("{NOW} 0;{NOW};0;4503599627370496;0;{overridden};{learned} .");
        for (number, fits) in [(1, true), (33, count < 32)] {
            let limit = [other(Kind::Leaky, number)];
            let mut script = Script::new(port, text, &limit);
            take(&mut script);
            let key = key(&mut script, ":s:");
            for is_report in [false, true] {
                script.raw.execute(&[&b"SET"[..], &key, full.as_bytes()]);
                let smaller = library::limit(&Spec { amount: 2, ..limit[0] });
                let changes = [LimitOverride::Set(smaller.clone())];
                let budgets =
                    [BudgetUpdate { limit: Some(smaller.clone()), ..BudgetUpdate::new(smaller.label().clone()) }];
                let operation = if is_report {
                    Operation::ApplyReport { report: UpstreamReport { budgets: &budgets, ..UpstreamReport::default() } }
                } else {
                    Operation::Admin { command: AdminCommand::Override { changes: &changes, expires: None } }
                };
                match script.run(operation, NOW) {
                    Reply::Array(_) if fits => {}
                    Reply::Error(error) if !fits && error.starts_with("PGLABELS ") && state(&mut script) == full => {}
                    other => return Err(format!("{other:?} of label {number} with {count}, report: {is_report}")),
                }
            }
        }
    }
    Ok(())
}

/// Checks that a reset removes what all policies of the name have stored, whatever is stored there.
pub(super) fn reset(port: u16, text: &str) -> Result<(), String> {
    let windows = [limit(Kind::Window, 5), other(Kind::Window, 1), other(Kind::Concurrency, 2)];
    let meter = [limit(Kind::Leaky, 5)];
    let reset = |script: &mut Script, what: &str| match script.run(Operation::Reset, NOW) {
        Reply::Integer(_) => match script.raw.keys("mutant").first() {
            None => Ok(()),
            Some(key) => Err(format!("{} is left of {what}", String::from_utf8_lossy(key))),
        },
        other => Err(format!("{other:?} of {what}")),
    };
    let mut script = Script::new(port, text, &windows);
    enter(&mut script, "holder", 1, NOW);
    script.resize(&meter);
    reset(&mut script, "the policy that called last")?;
    script.resize(&windows);
    enter(&mut script, "holder", 1, NOW);
    script.resize(&meter);
    take(&mut script);
    reset(&mut script, "other policies")?;
    let permit = extensions::estimate(&mut script, Request::estimate(1), NOW)?;
    extensions::extend(&mut script, &permit, NOW)?;
    reset(&mut script, "an extended permit")?;
    for number in [1, 2] {
        script.resize(&[other(Kind::Window, number)]);
        take(&mut script);
    }
    reset(&mut script, "another window")?;
    take(&mut script);
    let key = key(&mut script, ":s:");
    script.raw.execute(&[&b"SET"[..], &key, b"damaged"]);
    reset(&mut script, "a damaged state")?;
    script.raw.execute(&[&b"RPUSH"[..], &key, b"theirs"]);
    reset(&mut script, "a state of a foreign type")?;
    for foreign in [" w%9".to_owned(), " w".repeat(20_000)] {
        script.raw.execute(&[&b"SET"[..], &key, foreign.as_bytes()]);
        reset(&mut script, "a foreign text")?;
    }
    for number in 0..4 {
        script.resize(&(0..8).map(|i| other(Kind::Window, 8 * number + i + 1)).collect::<Vec<_>>());
        take(&mut script);
    }
    script.resize(&meter);
    reset(&mut script, "32 windows")
}

/// Checks that the state lives so many milliseconds for the sake of other policies.
fn check_life(script: &mut Script, milliseconds: i64) -> Result<(), String> {
    let key = key(script, ":s:");
    let ttl = script.raw.ttl(&key);
    let is_right = (milliseconds + 7_000..=milliseconds + 10_000).contains(&ttl);
    if is_right { Ok(()) } else { Err(format!("the state expires in {ttl} ms, not in {milliseconds}")) }
}

fn runtime_state(script: &mut Script, command: AdminCommand<'_>, at: u64) -> Result<RuntimeState, String> {
    match script.answer(Operation::Admin { command }, at)? {
        Answer::RuntimeState(runtime_state) => Ok(*runtime_state),
        other => Err(format!("not a runtime state: {other:?}")),
    }
}

fn set(script: &mut Script, limits: &[Spec], expires: Option<Deadline>) -> Result<RuntimeState, String> {
    let changes: Vec<LimitOverride> = limits.iter().map(|spec| LimitOverride::Set(library::limit(spec))).collect();
    runtime_state(script, AdminCommand::Override { changes: &changes, expires }, NOW)
}

fn labels(limits: &[Limit]) -> Vec<String> {
    limits.iter().map(|limit| limit.label().to_string()).collect()
}

/// Checks overrides and learned limits of labels that the policy of a call does not have.
pub(super) fn overrides(port: u16, text: &str) -> Result<(), String> {
    let quarter = 90 * 86_400_000_i64;
    let (leaky, window) = ([limit(Kind::Leaky, 5)], [other(Kind::Window, 1)]);
    let label = library::limit(&window[0]).label().clone();
    for (learns, is_with_id) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut script = Script::new(port, text, if learns { &window } else { &leaky });
        if learns {
            let learned = Some(library::limit(&Spec { amount: 4, ..window[0] }));
            let budgets = [BudgetUpdate { limit: learned, ..BudgetUpdate::new(label.clone()) }];
            let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
            script.answer(Operation::ApplyReport { report }, NOW)?;
            script.resize(&leaky);
        } else {
            set(&mut script, &window, None)?;
        }
        // The time of the report is kept for some minutes only.
        let at = NOW + 400_000_000;
        let request = if is_with_id { Request::estimate(1) } else { Request::cost(1) };
        script.decision(Operation::Acquire(request), at)?;
        check_life(&mut script, quarter)?;
        let kept = runtime_state(&mut script, AdminCommand::Get, at)?;
        let list = if learns { &kept.learned } else { &kept.overrides };
        if labels(list) != [label.to_string()] {
            return Err(format!("{kept:?} after a call of another policy"));
        }
    }
    // What was taken under an override with an end counts again afterwards, for an hour at most.
    let mut script = Script::new(port, text, &leaky);
    set(&mut script, &window, Some(Deadline::After(Micros(HOUR))))?;
    take(&mut script);
    check_life(&mut script, 2 * 3_600_000)?;
    // A limit that is overridden twice, and learned, is listed once.
    let mut script = Script::new(port, text, &leaky);
    for amount in [3, 4] {
        set(&mut script, &[Spec { amount, ..leaky[0] }], None)?;
    }
    let learned = Some(library::limit(&Spec { amount: 2, ..leaky[0] }));
    let budgets = [BudgetUpdate { limit: learned, ..BudgetUpdate::new(library::limit(&leaky[0]).label().clone()) }];
    let report = UpstreamReport { budgets: &budgets, ..UpstreamReport::default() };
    script.answer(Operation::ApplyReport { report }, NOW)?;
    take(&mut script);
    let listed = runtime_state(&mut script, AdminCommand::Get, NOW)?;
    if labels(&listed.overrides) != ["leaky"]
        || labels(&listed.learned) != ["leaky"]
        || listed.overrides[0].amount() != 4
    {
        return Err(format!("{listed:?} is not one override of 4"));
    }
    // Each of two limits of a kind has its own override.
    let both = [limit(Kind::Leaky, 5), other(Kind::Leaky, 1)];
    let mut script = Script::new(port, text, &both);
    set(&mut script, &[Spec { amount: 2, ..both[1] }], None)?;
    let peek = script.decision(Operation::Peek(Request::cost(0)), NOW)?;
    if peek.remaining != Some(2) {
        return Err(format!("{peek:?} under an override of the second limit"));
    }
    for (changes, left) in [
        (vec![LimitOverride::Remove(library::limit(&both[1]).label().clone())], vec!["leaky"]),
        (vec![LimitOverride::RemoveAll], vec![]),
    ] {
        set(&mut script, &both, None)?;
        let command = AdminCommand::Override { changes: &changes, expires: None };
        let after = runtime_state(&mut script, command, NOW)?;
        if labels(&after.overrides) != left {
            return Err(format!("{after:?} after {changes:?}"));
        }
    }
    Ok(())
}

/// Checks that leases of all labels have one fencing token that rises.
pub(super) fn fencing_tokens(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[other(Kind::Concurrency, 0)]);
    let mut tokens = Vec::new();
    for number in [0, 1, 0] {
        script.resize(&[other(Kind::Concurrency, number)]);
        tokens.push(script.decision(Operation::Acquire(Request::cost(1)), NOW)?.fencing_token);
    }
    if tokens == [NOW, NOW + 1, NOW + 2].map(Some) { Ok(()) } else { Err(format!("{tokens:?}")) }
}

/// Checks that every call beside another policy adds its limiter to the list.
pub(super) fn list(port: u16, text: &str) -> Result<(), String> {
    let (leaky, window) = ([limit(Kind::Leaky, 5)], [limit(Kind::Window, 5)]);
    let mut script = Script::new(port, text, &leaky);
    take(&mut script);
    let list = script.raw.keys(":limiters").pop().ok_or("no list")?;
    script.raw.execute(&[&b"DEL"[..], &list]);
    script.resize(&window);
    take(&mut script);
    match script.raw.execute(&[&b"ZCARD"[..], &list]) {
        Reply::Integer(1) => Ok(()),
        other => Err(format!("{other:?} limiters in the list")),
    }
}

/// Checks that a peek, a refusal and a call of cost 0 beside another policy write nothing.
pub(super) fn nothing_written(port: u16, text: &str) -> Result<(), String> {
    let mut script = Script::new(port, text, &[limit(Kind::Leaky, 5)]);
    take(&mut script);
    script.resize(&[limit(Kind::Window, 5), other(Kind::Leaky, 1)]);
    script.acquire(NOW, &Units::All(4), false);
    let before = state(&mut script);
    for units in [0, 2] {
        script.acquire(NOW + 1, &Units::All(units), false);
        // An estimate of 0 is a grant.
        if units > 0 {
            script.acquire(NOW + 1, &Units::All(units), true);
        }
        script.peek(NOW + 1, &Units::All(units));
        if state(&mut script) != before {
            return Err(format!("a call of cost {units} changed {before}"));
        }
    }
    Ok(())
}

/// Checks that a waiter that calls again under another policy waits for the limits of that policy.
pub(super) fn tags_of_tickets(port: u16, text: &str) -> Result<(), String> {
    let first = [limit(Kind::Leaky, 5)];
    let second = [other(Kind::Leaky, 1), other(Kind::Window, 2), other(Kind::Concurrency, 3)];
    let mut script = Script::new(port, text, &first);
    for policy in [&first[..], &second] {
        script.resize(policy);
        script.acquire(NOW, &Units::All(5), false);
        enter(&mut script, "waiter", 1, NOW);
    }
    let tickets = key(&mut script, ":t:");
    match script.raw.execute(&[&b"HGET"[..], &tickets, b"waiter"]) {
        Reply::Text(ticket) if ticket.ends_with(b" 1 c,l:limit-1,w:limit-2 ") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Checks that a call under another label does not wake a waiter for a lease. Its channel has no subscriber, so that a
/// message would remove it.
pub(super) fn woken_tickets(port: u16, text: &str) -> Result<(), String> {
    let single = |kind, number| Spec { amount: 1, ..other(kind, number) };
    let mut script = Script::new(port, text, &[single(Kind::Leaky, 1), single(Kind::Concurrency, 0)]);
    enter(&mut script, "holder", 1, NOW);
    let wait = Wait { channel: "nobody", ..Wait::up_to(paddlegate::MAX_SPAN) };
    script.run(Operation::AcquireWithId { request: Request::cost(1), id: "waiter", wait: Some(wait) }, NOW);
    // Leases of another label are the same limit.
    script.resize(&[single(Kind::Concurrency, 2)]);
    script.run(Operation::Cancel { id: "other", gave_up: false }, NOW);
    let queue = script.raw.keys(":q:mutant");
    if queue.len() != 1 {
        return Err("a call without an effect wakes a waiter".into());
    }
    Ok(())
}

/// Checks that tags are compared as a whole: `l:small` is not `l`, although it begins and ends like that.
pub(super) fn similar_tags(port: u16, text: &str) -> Result<(), String> {
    let store = open_whole(&format!("redis://127.0.0.1:{port}"), Some(&clock()));
    let mut client = ScriptClient::new(port, text);
    let hourly = || Limit::leaky(4, Duration::from_secs(3_600)).expect("a limit");
    let limiter = |limit| store.limiter("mutant", Policy::new([limit]).expect("a policy")).expect("a limiter");
    let plain = limiter(hourly());
    let others = [limiter(hourly().labelled("small").expect("a label"))];
    set_clock(NOW);
    client.run(&plain, Operation::Reset)?;
    client.run(&plain, Operation::Acquire(Request::cost(4)))?;
    let waits = Operation::AcquireWithId {
        request: Request::cost(4),
        id: "waiter",
        wait: Some(Wait::up_to(paddlegate::MAX_SPAN)),
    };
    client.run(&plain, waits)?;
    for other in &others {
        match client.run(other, Operation::AcquireWithId { request: Request::cost(1), id: "other", wait: None })? {
            Answer::Decision(decision) if decision.allowed() => {}
            waits => return Err(format!("{waits:?} behind a ticket of another policy")),
        }
    }
    Ok(())
}
