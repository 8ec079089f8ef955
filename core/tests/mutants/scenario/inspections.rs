//! Checks inspections against those of the memory store, and on damaged values.

use paddlegate::{
    AdminCommand, Answer, BlockAfter, BudgetUpdate, Deadline, Inspection, Kind, LimitOverride, Limiter, Micros, Mode,
    Operation, Paddlegate, Page, Request, SignalHandling, UpstreamReport, Wait,
};

use super::{HOUR, NOW, enter, expect_damage_error, key, limit, limiter_with_waiter};
use crate::script::Script;
use crate::support::library::{self, policy};
use crate::support::raw::Reply;
use crate::support::sequence::{Implementation, Spec};
use crate::support::{memory_with_clock, set_clock};

const SECOND: u64 = 1_000_000;

const WHOLE: Operation<'static> = Operation::Inspect { page: Page { offset: 0, count: 250 } };

/// A limiter on the script and one in memory.
struct Both {
    script: Script,
    memory: Paddlegate,
    vary: fn(Limiter) -> Limiter,
    limits: Vec<Spec>,
}

impl Both {
    fn new(port: u16, text: &str, limits: &[Spec]) -> Self {
        let mut script = Script::new(port, text, limits);
        script.raw.command("FLUSHALL");
        Self { script, memory: memory_with_clock(), vary: |limiter| limiter, limits: limits.to_vec() }
    }

    /// Goes on with another policy of the name.
    fn resize(&mut self, limits: &[Spec]) {
        self.script.resize(limits);
        self.limits = limits.to_vec();
    }

    /// Runs an operation on both, and compares the answers.
    fn run(&mut self, operation: Operation<'_>, at: u64) -> Result<(), String> {
        let on_script = (self.vary)(self.script.limiter().clone());
        let found = self.script.on(&on_script, operation, at)?;
        set_clock(at);
        let in_memory = (self.vary)(self.memory.limiter("mutant", policy(&self.limits)).expect("a limiter"));
        let expected = in_memory.run(operation, SignalHandling::Ignore).map_err(|error| error.to_string())?;
        if found == expected { Ok(()) } else { Err(format!("at {at}: {found:?} instead of {expected:?}")) }
    }

    fn enter(&mut self, id: &str, request: Request<'_>, waits: bool, at: u64) -> Result<(), String> {
        let wait = waits.then(|| Wait { claim_timeout: Micros(2 * SECOND), ..Wait::up_to(Micros(HOUR)) });
        self.run(Operation::AcquireWithId { request, id, wait }, at)
    }

    fn admin(&mut self, command: AdminCommand<'_>, at: u64) -> Result<(), String> {
        self.run(Operation::Admin { command }, at)
    }

    fn set(&mut self, change: LimitOverride, expires: Option<u64>, at: u64) -> Result<(), String> {
        let expires = expires.map(|us| Deadline::After(Micros(us)));
        self.admin(AdminCommand::Override { changes: &[change], expires }, at)
    }

    fn learn(&mut self, spec: &Spec, at: u64) -> Result<(), String> {
        let learned = library::limit(spec);
        let budgets = [BudgetUpdate { limit: Some(learned.clone()), ..BudgetUpdate::new(learned.label().clone()) }];
        self.run(Operation::ApplyReport { report: UpstreamReport { budgets: &budgets, ..Default::default() } }, at)
    }

    fn inspect(&mut self, at: u64) -> Result<(), String> {
        for (offset, count) in [(0, 100), (0, 0), (0, 2), (1, 2), (2, 1), (3, 250), (4, 1), (5, 2), (6, 2)] {
            self.run(Operation::Inspect { page: Page { offset, count } }, at)?;
        }
        Ok(())
    }
}

pub(super) fn leases(port: u16, text: &str) -> Result<(), String> {
    let mut both = Both::new(port, text, &[Spec { interval: 30 * SECOND, ..limit(Kind::Concurrency, 5) }]);
    both.inspect(NOW)?;
    for i in 0..5 {
        both.enter(&format!("job{i}"), Request::cost(1), false, NOW + 1_000 * i)?;
    }
    let permit = format!("job1:{}:1", NOW + 1_000);
    both.run(Operation::Renew { permit: &permit }, NOW + 10_000)?;
    // As seen by a policy with leases, and by one without.
    let (jobs, window) = (both.limits.clone(), [limit(Kind::Window, 5)]);
    let ends = NOW + 30 * SECOND;
    for at in [NOW + 10_000, ends - 1, ends, ends + 2_000, ends + 2_001, ends + 10_000] {
        for limits in [&jobs[..], &window] {
            both.resize(limits);
            both.inspect(at)?;
        }
    }
    Ok(())
}

pub(super) fn tickets(port: u16, text: &str) -> Result<(), String> {
    let mut both = Both::new(port, text, &[Spec { interval: 10 * SECOND, ..limit(Kind::Throttle, 1) }]);
    both.inspect(NOW)?;
    both.enter("first", Request::cost(1), false, NOW)?;
    both.enter("a", Request::cost(1), true, NOW + 1)?;
    both.enter("b", Request::cost(1), true, NOW + 2)?;
    for seconds in 0..=24 {
        for at in [NOW + 3, NOW + 4].map(|at| at + seconds * SECOND) {
            both.inspect(at)?;
        }
    }
    for at in [10, 12, 20, 22].into_iter().flat_map(|s| [NOW + s * SECOND - 1, NOW + s * SECOND, NOW + s * SECOND + 1])
    {
        both.inspect(at)?;
    }
    let mut both = Both::new(port, text, &[limit(Kind::Concurrency, 1)]);
    both.enter("run", Request::cost(1), false, NOW)?;
    for (i, (priority, share)) in
        [(0, ""), (5, ""), (0, "acme"), (5, "acme"), (0, "zed"), (9, "")].into_iter().enumerate()
    {
        let request = Request::cost(1).priority(priority);
        let request = if share.is_empty() { request } else { request.share(share, 2) };
        both.enter(&format!("t{i}"), request, true, NOW + i as u64)?;
    }
    both.inspect(NOW + 10)
}

pub(super) fn rulings(port: u16, text: &str) -> Result<(), String> {
    let limits = [limit(Kind::Window, 5), limit(Kind::Bucket, 5), limit(Kind::Leaky, 5)];
    let mut both = Both::new(port, text, &limits);
    both.enter("one", Request::cost(5), false, NOW)?;
    for (number, spec) in limits.iter().enumerate() {
        let other = Spec { amount: 3, interval: 60 * SECOND, ..*spec };
        if number < 2 {
            both.learn(&Spec { amount: 8, ..*spec }, NOW + number as u64)?;
            both.inspect(NOW + 2)?;
        }
        if number > 0 {
            both.set(LimitOverride::Set(library::limit(&other)), Some(10 * SECOND), NOW + 3)?;
        }
        for at in [NOW + 4, NOW + 10 * SECOND + 2, NOW + 10 * SECOND + 3] {
            both.inspect(at)?;
        }
    }
    let mut both = Both::new(port, text, &limits);
    both.vary = |limiter| {
        let rule = BlockAfter::of_micros(2, Micros(10 * SECOND), Micros(HOUR)).expect("a rule");
        limiter.with_block_after(rule).and_then(|limiter| limiter.with_mode(Mode::Shadow)).expect("one limiter")
    };
    both.inspect(NOW)?;
    for (command, at) in [
        (AdminCommand::Pause(Deadline::After(Micros(30 * SECOND))), NOW + 1),
        (AdminCommand::Resume, NOW + 2),
        (AdminCommand::Block(Deadline::After(Micros(30 * SECOND))), NOW + 3),
        (AdminCommand::Pause(Deadline::After(Micros(10 * SECOND))), NOW + 4),
    ] {
        both.admin(command, at)?;
        for at in [at, NOW + 10 * SECOND + 4, NOW + 30 * SECOND + 2, NOW + 30 * SECOND + 3] {
            both.inspect(at)?;
        }
    }
    both.admin(AdminCommand::Resume, NOW + 5)?;
    both.set(LimitOverride::Mode(Mode::Enforce), Some(20 * SECOND), NOW + 6)?;
    for at in 7..11 {
        both.run(Operation::Acquire(Request::cost(5)), NOW + at)?;
        both.inspect(NOW + at)?;
    }
    both.inspect(NOW + 20 * SECOND + 6)
}

pub(super) fn limits(port: u16, text: &str) -> Result<(), String> {
    let limits = [
        Spec { interval: 3 * SECOND, ..limit(Kind::Leaky, 2) },
        Spec { interval: 7 * SECOND, ..limit(Kind::Points, 300) },
        Spec { interval: 400_000, ..limit(Kind::Throttle, 3) },
        Spec { interval: 5 * SECOND, ..limit(Kind::Bucket, 10) },
        Spec { interval: 5 * SECOND, ..limit(Kind::Window, 10) },
        limit(Kind::Concurrency, 0),
    ];
    for chosen in limits.iter().map(std::slice::from_ref).chain([&limits[..5]]) {
        let mut both = Both::new(port, text, chosen);
        both.inspect(NOW)?;
        for step in 0..8 {
            let at = NOW + step * 333_333;
            if chosen[0].amount > 0 {
                both.enter(&format!("call{step}"), Request::cost(1), false, at)?;
            }
            both.inspect(at)?;
            both.inspect(at + 1)?;
        }
        if !matches!(chosen[0].kind, Kind::Throttle | Kind::Concurrency) {
            both.run(Operation::Debit(5_u64.into()), NOW + 3 * SECOND)?;
            for step in 0..8 {
                both.inspect(NOW + 3 * SECOND + step * 777_777)?;
            }
        }
    }
    Ok(())
}

fn inspection(script: &mut Script) -> Result<Inspection, String> {
    match script.answer(WHOLE, NOW)? {
        Answer::Inspection(inspection) => Ok(*inspection),
        other => Err(format!("no inspection: {other:?}")),
    }
}

/// A ticket that another limiter holds up is not ready, also when the time of its next try has come.
pub(super) fn suspended(port: u16, text: &str) -> Result<(), String> {
    for (units, is_ready) in [("1", true), ("0", false)] {
        let mut script = limiter_with_waiter(port, text);
        let records = key(&mut script, ":t:");
        let Reply::Text(record) = script.raw.execute(&[&b"HGET"[..], &records, b"waiter"]) else {
            return Err("no ticket".into());
        };
        let record = String::from_utf8_lossy(&record).into_owned();
        let mut words: Vec<&str> = record.split(' ').collect();
        let now = NOW.to_string();
        (words[2], words[4]) = (units, &now);
        script.raw.execute(&[&b"HSET"[..], &records, b"waiter", words.join(" ").as_bytes()]);
        let found = inspection(&mut script)?;
        if found.tickets[0].ready != is_ready {
            return Err(format!("{units} units: {:?}", found.tickets));
        }
    }
    Ok(())
}

pub(super) fn damaged(port: u16, text: &str) -> Result<(), String> {
    for bad_value in ["inf", "1e300", "9007199254740994", "2000000000000000.5"] {
        let mut script = Script::new(port, text, &[limit(Kind::Concurrency, 2)]);
        script.raw.command("FLUSHALL");
        enter(&mut script, "holder", 1, NOW);
        // A policy without leases does not look at their ends but in the page.
        script.resize(&[limit(Kind::Leaky, 2)]);
        let leases = key(&mut script, ":h:");
        script.raw.execute(&[&b"ZADD"[..], &leases, bad_value.as_bytes(), b"theirs"]);
        expect_damage_error(&script.run(WHOLE, NOW), bad_value)?;
    }
    for bad_value in [None, Some(""), Some("x"), Some("1 2"), Some("1 9007199254740994 1")] {
        let mut script = limiter_with_waiter(port, text);
        let records = key(&mut script, ":t:");
        match bad_value {
            None => script.raw.execute(&[&b"HDEL"[..], &records, b"\x1fholder"]),
            Some(bad) => script.raw.execute(&[&b"HSET"[..], &records, b"\x1fholder", bad.as_bytes()]),
        };
        let found = inspection(&mut script)?;
        let lease = &found.leases[0];
        if (lease.id.as_str(), lease.held_for, lease.fencing_token) != ("holder", None, None) {
            return Err(format!("{bad_value:?}: {lease:?}"));
        }
    }
    let mut script = limiter_with_waiter(port, text);
    let records = key(&mut script, ":t:");
    script.raw.execute(&[&b"HSET"[..], &records, b"waiter", b"x"]);
    expect_damage_error(&script.run(WHOLE, NOW), "a ticket")?;
    script.raw.execute(&[&b"HDEL"[..], &records, b"waiter"]);
    let found = inspection(&mut script)?;
    if !found.tickets.is_empty() || found.ticket_count != 1 {
        return Err(format!("a ticket without a record: {found:?}"));
    }
    Ok(())
}
