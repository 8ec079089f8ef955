//! Tests that a recorded limiter decides as any other, that each decision is recorded, and that a replay decides the same again.

use crate::support;
use std::time::Duration;

use crate::support::calls::{acquire, cancel, correct, debit, enter, release, run};
use crate::support::library::Library;
use crate::support::raw::{Raw, Reply};
use crate::support::sequence::{
    COUNTING_KINDS, Implementation, NOTHING, Operation, Outcome, Run, Sequence, Spec, compare, composite, config,
    keep_only, keeps_state_and_clock, sequence, takes,
};
use crate::support::units::Units;
use crate::support::{memory_with_clock, on_own_database, open, redis_with_clock, set_clock, test_url, unique};
use paddlegate::simulate::replay;
use paddlegate::{
    AdminCommand, Deadline, Kind, Limit, Limiter, Micros, Operation as Call, Paddlegate, Policy, RecordedDecision,
    RecordedVerb, Recording, Request, Settlement, Status, Wait,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const SEEDS: &str = "proptest-regressions/recording.txt";
const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const LONG: Micros = paddlegate::MAX_SPAN;

thread_local! {
    static STORE: Paddlegate = redis_with_clock();
}

fn store() -> Paddlegate {
    STORE.with(Clone::clone)
}

/// Everything that was recorded and not yet read.
fn rest(recording: &mut Recording) -> Vec<RecordedDecision> {
    let mut all = Vec::new();
    loop {
        let page = recording.read(7).unwrap();
        assert!(!page.may_lack, "{page:?}");
        if page.decisions.is_empty() {
            return all;
        }
        all.extend(page.decisions);
    }
}

/// What a call did, as the record must have it: verb, outcome, time and units.
type Seen = (String, String, u64, Vec<(String, u64)>);

fn seen(decision: &RecordedDecision) -> Seen {
    let units = decision.units.iter().map(|(label, units)| (label.to_string(), *units)).collect();
    (decision.verb.name().to_owned(), decision.outcome.name().to_owned(), decision.at.0, units)
}

/// A limiter that is recorded from the beginning, and what its calls returned.
struct Recorded {
    library: Library,
    limits: Vec<Spec>,
    recording: Option<Recording>,
    expected: Vec<Seen>,
    read: Vec<RecordedDecision>,
}

impl Recorded {
    fn new(name: &str, sequence: &Sequence) -> Self {
        set_clock(sequence.start);
        let library = Library::new(&store(), name, &sequence.limits);
        let mut new =
            Self { library, limits: sequence.limits.clone(), recording: None, expected: Vec::new(), read: Vec::new() };
        new.start();
        new
    }

    fn start(&mut self) {
        self.recording = Some(self.library.limiter().record(LONG, 100_000).expect("a recording"));
    }

    /// Sequences last for longer than a recording.
    fn go_on(&mut self, at: u64) {
        set_clock(at);
        let recording = self.recording.as_ref().expect("a recording");
        if at >= recording.began().0 + LONG.0 / 2 {
            self.read();
            self.start();
        }
    }

    /// Reads what was recorded before it is lost.
    fn read(&mut self) {
        self.read.extend(self.recording.as_mut().map(rest).unwrap_or_default());
    }

    fn units(&self, units: &Units, is_taken: bool) -> Vec<(String, u64)> {
        let counts_calls = |limit: &Spec| matches!(limit.kind, Kind::Throttle | Kind::Concurrency);
        let each = self.limits.iter().map(|limit| {
            let units = if counts_calls(limit) { 1 } else { units.of(&limit.name()) };
            (limit.name(), units)
        });
        if is_taken { each.collect() } else { Vec::new() }
    }

    fn expect(&mut self, verb: &str, outcome: &str, at: u64, units: &Units) {
        let units = self.units(units, true);
        self.expected.push((verb.to_owned(), outcome.to_owned(), at, units));
    }
}

impl Implementation for Recorded {
    fn acquire(&mut self, at: u64, units: &Units, estimate: bool) -> Outcome {
        self.go_on(at);
        let outcome = self.library.acquire(at, units, estimate);
        if *units != NOTHING || estimate {
            self.expect("acquire", if outcome.allowed { "granted" } else { "refused" }, outcome.at, units);
        }
        outcome
    }

    fn peek(&mut self, at: u64, units: &Units) -> Outcome {
        self.library.peek(at, units)
    }

    fn debit(&mut self, at: u64, units: &Units) -> Outcome {
        self.go_on(at);
        let outcome = self.library.debit(at, units);
        if takes(&self.limits, units) {
            self.expect("debit", "granted", outcome.at, units);
        }
        outcome
    }

    fn refund(&mut self, at: u64, units: &Units) -> Outcome {
        self.go_on(at);
        let outcome = self.library.refund(at, units);
        if takes(&self.limits, units) {
            self.expect("refund", "granted", outcome.at, units);
        }
        outcome
    }

    fn extend(&mut self, permit: usize, is_first_id: bool, units: u64, at: u64) -> Result<Outcome, String> {
        self.go_on(at);
        let result = self.library.extend(permit, is_first_id, units, at);
        let (outcome, at) = match &result {
            Ok(outcome) => (if outcome.allowed { "granted" } else { "refused" }, outcome.at),
            Err(closed) => (closed.as_str(), 0),
        };
        self.expect("extend", outcome, at, &Units::All(units));
        result
    }

    fn correct(&mut self, permit: usize, actual: &Units, at: u64) -> String {
        self.go_on(at);
        let settlement = self.library.correct(permit, actual, at);
        self.expect("correct", &settlement, 0, actual);
        settlement
    }

    fn override_limits(&mut self, limits: Option<(&[Spec], Option<u64>)>, at: u64) {
        self.go_on(at);
        self.library.override_limits(limits, at);
        self.expected.push(("change".to_owned(), "changed".to_owned(), 0, Vec::new()));
    }

    fn resize(&mut self, limits: &[Spec]) {
        self.limits = limits.to_vec();
        self.library.resize(limits);
    }

    fn reset(&mut self) {
        self.read();
        self.library.reset();
        let page = self.recording.as_mut().expect("a recording").read(1).expect("a page");
        assert!(page.is_over && page.may_lack && page.decisions.is_empty(), "{page:?}");
        self.start();
    }

    fn lose_keys(&mut self) {
        self.reset();
    }

    fn inspect(&mut self, at: u64) -> Option<String> {
        self.library.inspect(at)
    }
}

fn decides_as_memory_and_is_recorded(sequence: &Sequence) -> TestCaseResult {
    let name = unique("recorded");
    let mut memory = Library::new(&memory_with_clock(), &name, &sequence.limits);
    let mut recorded = Recorded::new(&name, sequence);
    // A start is a use of the limiter: its clock does not go back before it.
    memory.override_limits(None, sequence.start);
    compare(sequence, &mut memory, &mut recorded)?;
    recorded.read();
    let read: Vec<Seen> = recorded.read.iter().map(seen).collect();
    prop_assert_eq!(read.len(), recorded.expected.len(), "{:#?} {:#?}", read, recorded.expected);
    for (read, expected) in read.iter().zip(&recorded.expected) {
        // A correction does not say its time, and names what it changes alone.
        if expected.0 == "correct" || expected.2 == 0 {
            prop_assert_eq!((&read.0, &read.1), (&expected.0, &expected.1));
        } else {
            prop_assert_eq!(read, expected);
        }
    }
    recorded.library.reset();
    Ok(())
}

/// Records random calls and replays them by the same policy.
fn is_replayed_exactly(sequence: &Sequence) -> TestCaseResult {
    let mut recorded = Recorded::new(&unique("replayed"), sequence);
    let mut run = Run::new(sequence);
    for operation in &sequence.operations {
        run.step(&mut recorded, operation);
    }
    recorded.read();
    let policy = recorded.library.limiter().policy();
    let replayed = replay(policy, policy, &recorded.read, None).unwrap();
    let expected: Vec<bool> =
        recorded.expected.iter().filter(|seen| seen.0 == "acquire").map(|seen| seen.1 == "granted").collect();
    let was: Vec<Option<bool>> = replayed.calls.iter().map(|call| call.was_granted).collect();
    prop_assert_eq!(was, expected.iter().copied().map(Some).collect::<Vec<_>>());
    prop_assert_eq!(
        replayed.calls.iter().map(|call| call.granted).collect::<Vec<_>>(),
        expected,
        "{:#?}",
        recorded.read
    );
    recorded.library.reset();
    Ok(())
}

proptest! {
    #![proptest_config(config(120, SEEDS))]

    #[test]
    fn a_recorded_limiter_decides_as_any_other(
        // Periods of quotas are longer than a recording.
        sequence in prop::collection::vec(prop::sample::select(&COUNTING_KINDS[..5]), 1..=4)
            .prop_flat_map(|kinds| sequence(kinds, 60))
    ) {
        let is_kept = |operation: &Operation| !matches!(operation, Operation::Reset | Operation::Lose | Operation::Learn(_));
        decides_as_memory_and_is_recorded(&keep_only(sequence, is_kept))?;
    }
}

proptest! {
    #![proptest_config(config(150, SEEDS))]

    #[test]
    fn one_limit_of_each_kind_is_replayed_exactly(
        sequence in prop::sample::select(&COUNTING_KINDS[..]).prop_flat_map(|kind| sequence(vec![kind], 80))
    ) {
        is_replayed_exactly(&keep_only(sequence, keeps_state_and_clock))?;
    }

    #[test]
    fn several_limits_are_replayed_exactly(sequence in composite(80)) {
        is_replayed_exactly(&keep_only(sequence, keeps_state_and_clock))?;
    }
}

/// A step of a limiter with leases: the place of a caller, how long after the step before, and what the caller does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(u64),
    Release,
    Correct(u64),
    Renew,
}

fn steps() -> impl Strategy<Value = Vec<(usize, u64, Step)>> {
    let step = prop_oneof![
        4 => (1..40_u64).prop_map(Step::Acquire),
        2 => Just(Step::Release),
        1 => (0..60_u64).prop_map(Step::Correct),
        1 => Just(Step::Renew),
    ];
    let after = prop_oneof![1..1_000_u64, 1..4 * SECOND, 10 * SECOND..60 * SECOND];
    prop::collection::vec((0..6_usize, after, step), 1..60)
}

fn leased(limits: &[Limit], steps: &[(usize, u64, Step)]) -> TestCaseResult {
    let limiter = store().limiter(&unique("leased"), Policy::new(limits.to_vec()).unwrap()).unwrap();
    let mut now = NOW;
    set_clock(now);
    let mut recording = limiter.record(LONG, 100_000).unwrap();
    let (mut expected, mut permits) = (Vec::new(), vec![None; 6]);
    for (number, (caller, after, step)) in steps.iter().enumerate() {
        now += after;
        match (step, permits[*caller].clone()) {
            (Step::Acquire(units), _) => {
                let id = format!("{caller} {number}");
                let request = Request::estimate(*units);
                let answer = run(&limiter, Call::AcquireWithId { request, id: &id, wait: None }, now);
                let paddlegate::Answer::Decision(decision) = answer else { panic!("{answer:?}") };
                expected.push(decision.allowed());
                if decision.allowed() {
                    permits[*caller] = decision.permit;
                }
            }
            (Step::Release, Some(permit)) => drop(release(&limiter, &permit, now)),
            (Step::Correct(actual), Some(permit)) => drop(correct(&limiter, &permit, *actual, now)),
            (Step::Renew, Some(permit)) => {
                // A replay renews a lease that was released after it would have ended.
                if matches!(run(&limiter, Call::Renew { permit: &permit }, now), paddlegate::Answer::Renewal(None)) {
                    permits[*caller] = None;
                }
            }
            _ => {}
        }
    }
    let read = rest(&mut recording);
    let replayed = replay(limiter.policy(), limiter.policy(), &read, None).unwrap();
    limiter.reset().unwrap();
    let granted: Vec<bool> = replayed.calls.iter().map(|call| call.granted).collect();
    prop_assert_eq!(granted, expected, "{:#?}", read);
    Ok(())
}

proptest! {
    #![proptest_config(config(150, SEEDS))]

    #[test]
    fn leases_and_corrections_are_replayed_exactly(
        leases in 1..4_u64,
        steps in steps().prop_map(|mut steps| {
            // What a renewal adds is known from a later release alone.
            steps.retain(|(.., step)| !matches!(step, Step::Renew));
            steps
        }),
    ) {
        let limits = [
            Limit::concurrency(leases, Duration::from_secs(30)).unwrap(),
            Limit::points(60, Duration::from_secs(60)).unwrap(),
            Limit::window(200, Duration::from_secs(60)).unwrap(),
        ];
        leased(&limits, &steps)?;
    }
}

fn api(limit: u64) -> Limiter {
    store().window(&unique("recorded"), limit, Duration::from_secs(60)).unwrap()
}

fn names(decisions: &[RecordedDecision]) -> Vec<(&'static str, &'static str)> {
    decisions.iter().map(|decision| (decision.verb.name(), decision.outcome.name())).collect()
}

#[test]
fn a_renewed_lease_is_renewed_in_the_replay() {
    let limits = [Limit::concurrency(1, Duration::from_secs(30)).unwrap()];
    let seconds = |seconds: u64| seconds * SECOND;
    leased(
        &limits,
        &[
            (0, 1, Step::Acquire(1)),
            (0, seconds(20), Step::Renew),
            (0, seconds(20), Step::Renew),
            (1, seconds(1), Step::Acquire(1)),
            (0, seconds(1), Step::Release),
            (1, seconds(1), Step::Acquire(1)),
            (2, seconds(31), Step::Acquire(1)),
        ],
    )
    .unwrap();
}

#[test]
fn waits_are_recorded_from_the_first_question_to_the_end() {
    let workers = store().concurrent(&unique("waits"), 1, Duration::from_secs(300)).unwrap();
    set_clock(NOW);
    let mut recording = workers.record(LONG, 1_000).unwrap();
    let wait = Some(Wait { claim_timeout: Micros(100 * SECOND), ..Wait::up_to(Micros(60 * SECOND)) });
    let first = enter(&workers, "first", 1, None, NOW + 1);
    for (id, at) in [("second", 2), ("third", 3), ("second", 4), ("fourth", 5)] {
        assert_eq!(enter(&workers, id, 1, wait, NOW + at).status, Status::Queued);
    }
    assert_eq!(cancel(&workers, "third", NOW + 6), Settlement::Cancelled);
    let gave_up = Call::Cancel { id: "fourth", gave_up: true };
    run(&workers, gave_up, NOW + 7);
    assert_eq!(release(&workers, first.permit.as_deref().unwrap(), NOW + 10 * SECOND), Settlement::Released);
    assert_eq!(enter(&workers, "second", 1, wait, NOW + 11 * SECOND).status, Status::Granted);
    assert_eq!(enter(&workers, "second", 1, wait, NOW + 12 * SECOND).status, Status::Granted, "the same lease");
    let read = rest(&mut recording);
    let expected = [
        ("acquire", "granted"),
        ("acquire", "queued"),
        ("acquire", "queued"),
        ("acquire", "queued"),
        ("cancel", "cancelled"),
        ("cancel", "gave_up"),
        ("release", "released"),
        ("acquire", "granted"),
    ];
    assert_eq!(names(&read), expected);
    assert_eq!((read[1].max_wait, read[1].held_up_by.as_deref()), (Some(Micros(60 * SECOND)), Some("concurrency")));
    assert_eq!((&*read[7].id, read[7].waited, read[5].waited), ("second", Micros(11 * SECOND - 2), Micros(2)));
    let replayed = replay(workers.policy(), workers.policy(), &read, None).unwrap();
    let calls: Vec<_> = replayed.calls.iter().map(|call| (call.was_granted, call.granted, call.waited.0)).collect();
    // The replay knows no caller that gives up earlier than it may.
    assert_eq!(
        calls[..2],
        [(Some(true), true, 0), (Some(true), true, 10 * SECOND - 2)],
        "as soon as the lease is free"
    );
    assert_eq!((calls[2].0, calls[3].0), (Some(false), Some(false)));
    let patient = replay(workers.policy(), workers.policy(), &read, Some(Micros(SECOND))).unwrap();
    assert_eq!(patient.calls.iter().map(|call| call.granted).collect::<Vec<_>>(), [true, false, false, false]);
    workers.reset().unwrap();
}

#[test]
fn a_recording_ends_by_its_time_by_a_command_and_by_a_reset() {
    let api = api(5);
    set_clock(NOW);
    let mut recording = api.record(Micros(10 * SECOND), 1_000).unwrap();
    assert_eq!((recording.began(), recording.ends()), (Micros(NOW), Micros(NOW + 10 * SECOND)));
    acquire(&api, Request::cost(1), NOW + 10 * SECOND - 1);
    assert!(!recording.read(1).unwrap().is_over);
    acquire(&api, Request::cost(1), NOW + 10 * SECOND);
    let page = recording.read(1_000).unwrap();
    assert_eq!((page.decisions.len(), page.is_over, page.may_lack), (0, true, false), "{page:?}");
    // The state still has its text.
    let inspected = run(&api, Call::Inspect { page: paddlegate::Page::default() }, NOW + 10 * SECOND);
    assert!(matches!(inspected, paddlegate::Answer::Inspection(_)));

    let first = api.record(Micros(100 * SECOND), 1_000).unwrap();
    let mut second = api.record(Micros(100 * SECOND), 1_000).unwrap();
    assert!(second.ends() > first.ends());
    first.end().unwrap();
    acquire(&api, Request::cost(1), NOW + 11 * SECOND);
    assert_eq!(rest(&mut second).len(), 1, "the end of the first does not end the second");
    second.end().unwrap();
    acquire(&api, Request::cost(1), NOW + 12 * SECOND);
    assert!(rest(&mut second).is_empty() && second.read(1).unwrap().is_over);
    second.end().unwrap();

    let mut third = api.record(Micros(100 * SECOND), 1_000).unwrap();
    acquire(&api, Request::cost(1), NOW + 13 * SECOND);
    api.reset().unwrap();
    let page = third.read(1).unwrap();
    assert!(page.is_over && page.may_lack && page.decisions.is_empty(), "{page:?}");
    assert!(Raw::open(&test_url()).keys(api.name()).is_empty(), "nothing is left");
}

#[test]
fn nothing_but_the_stream_is_left_of_it_and_that_expires() {
    let api = api(5);
    set_clock(NOW);
    let unrecorded = || {
        let state = run(&api, Call::Admin { command: AdminCommand::Get }, NOW + 1);
        let paddlegate::Answer::RuntimeState(state) = state else { panic!("{state:?}") };
        assert_eq!((state.version, state.overrides.len(), state.paused_for), (0, 0, None), "it is no override");
        state.in_use
    };
    assert!(!unrecorded());
    let recording = api.record(Micros(3_600 * SECOND), 1_000).unwrap();
    assert!(unrecorded());
    acquire(&api, Request::cost(1), NOW + 1);
    let mut raw = Raw::open(&test_url());
    let stream = raw.keys(&format!(":r:{}", api.name())).pop().expect("a stream");
    let ttl = raw.ttl(&stream);
    assert!((3_600_000..=3_900_000).contains(&ttl), "{ttl}");
    recording.end().unwrap();
    let ttl = raw.ttl(&stream);
    assert!((1..=300_000).contains(&ttl), "{ttl}");
    let state = raw.keys(&format!(":s:{}", api.name())).pop().expect("a state");
    let Reply::Text(text) = raw.execute(&[&b"GET"[..], &state]) else { panic!("no text") };
    assert!(!text.contains(&b';'), "{}", String::from_utf8_lossy(&text));
    // Without its stream nothing is recorded, and no key without an expiry is made.
    let recording = api.record(Micros(3_600 * SECOND), 1_000).unwrap();
    raw.execute(&[&b"DEL"[..], &stream]);
    acquire(&api, Request::cost(1), NOW + 2);
    assert!(raw.keys(&format!(":r:{}", api.name())).is_empty());
    recording.end().unwrap();
    api.reset().unwrap();
}

#[test]
fn it_lives_beside_overrides_a_pause_a_mode_and_a_queue() {
    let workers = store().concurrent(&unique("beside"), 1, Duration::from_secs(300)).unwrap();
    let wait = Some(Wait { claim_timeout: Micros(100 * SECOND), ..Wait::up_to(Micros(600 * SECOND)) });
    set_clock(NOW);
    let mut recording = workers.record(LONG, 1_000).unwrap();
    enter(&workers, "holder", 1, None, NOW);
    enter(&workers, "waiter", 1, wait, NOW + 1);
    let admin = |command: AdminCommand<'_>, at| {
        let paddlegate::Answer::RuntimeState(state) = run(&workers, Call::Admin { command }, at) else { panic!() };
        state
    };
    let paused = admin(AdminCommand::Pause(Deadline::After(Micros(500 * SECOND))), NOW + 2);
    assert_eq!((paused.version, paused.paused_for), (NOW + 2, Some(Micros(500 * SECOND))));
    let refused = enter(&workers, "other", 1, None, NOW + 3);
    assert_eq!(refused.reason.unwrap().name(), "paused");
    let again = workers.record(LONG, 1_000).unwrap();
    let state = admin(AdminCommand::Get, NOW + 4);
    assert_eq!(
        (state.version, state.paused_for),
        (NOW + 2, Some(Micros(500 * SECOND - 2))),
        "a start changes nothing else"
    );
    again.end().unwrap();
    let state = admin(AdminCommand::Get, NOW + 4);
    assert_eq!((state.version, state.paused_for), (NOW + 2, Some(Micros(500 * SECOND - 2))), "nor does the end");
    let inspected = run(&workers, Call::Inspect { page: paddlegate::Page::default() }, NOW + 4);
    let paddlegate::Answer::Inspection(inspected) = inspected else { panic!("{inspected:?}") };
    assert_eq!((inspected.lease_count, inspected.ticket_count), (1, 1), "the queue is kept");
    let read = rest(&mut recording);
    let expected = [("acquire", "granted"), ("acquire", "queued"), ("change", "changed"), ("acquire", "refused")];
    assert_eq!(names(&read), expected);
    assert_eq!(read[3].held_up_by.as_deref(), Some("paused"));
    workers.reset().unwrap();
}

#[test]
fn a_clock_that_runs_back_ends_no_recording_early_and_keeps_the_order() {
    let api = api(50);
    set_clock(NOW);
    let mut recording = api.record(Micros(20 * SECOND), 1_000).unwrap();
    for at in [NOW + 5 * SECOND, NOW - 3_600 * SECOND, NOW - 3_590 * SECOND, NOW - 3_586 * SECOND] {
        acquire(&api, Request::cost(1), at);
    }
    let read = rest(&mut recording);
    let at: Vec<u64> = read.iter().map(|decision| decision.at.0 - NOW).collect();
    assert_eq!(at, [5, 5, 15, 19].map(|seconds| seconds * SECOND), "the limiter's time goes on at its rate");
    acquire(&api, Request::cost(1), NOW - 3_585 * SECOND);
    assert!(rest(&mut recording).is_empty() && recording.read(1).unwrap().is_over);
    api.reset().unwrap();
}

#[test]
fn a_reader_that_is_too_slow_is_told() {
    let api = api(5);
    set_clock(NOW);
    let mut recording = api.record(LONG, 1).unwrap();
    acquire(&api, Request::cost(1), NOW + 1);
    assert_eq!(rest(&mut recording).len(), 1);
    for at in 0..1_000 {
        acquire(&api, Request::cost(1), NOW + 2 + at);
    }
    let page = recording.read(1_000).unwrap();
    assert!(page.may_lack && page.decisions.len() < 1_000, "{}", page.decisions.len());
    assert_eq!(page.decisions.last().unwrap().at, Micros(NOW + 1_001), "the newest are there");
    assert!(!recording.read(1_000).unwrap().may_lack, "once");
    api.reset().unwrap();
}

#[test]
fn a_user_without_the_right_to_append_gets_decisions() {
    let (store, mut raw) = on_own_database();
    let api = store.window(&unique("unappended"), 5, Duration::from_secs(60)).unwrap();
    set_clock(NOW);
    let mut recording = api.record(LONG, 1_000).unwrap();
    let user = unique("user");
    raw.command(&format!("ACL SETUSER {user} on >secret ~pg2:* &pg2:hints:* +@all -xadd"));
    let url = test_url().replace("redis://", &format!("redis://{user}:secret@"));
    let (url, _) = url.rsplit_once('/').filter(|(before, _)| before.contains('@')).unwrap_or((&url, ""));
    let other = open(&format!("{url}/11"), Some(&support::clock()));
    let same = other.window(api.name(), 5, Duration::from_secs(60)).unwrap();
    assert!(acquire(&same, Request::cost(1), NOW + 1).allowed());
    assert!(rest(&mut recording).is_empty());
    let error = same.record(LONG, 1_000).unwrap_err();
    assert!(error.message().contains("XADD") || error.message().contains("xadd"), "{error}");
    raw.command(&format!("ACL DELUSER {user}"));
    api.reset().unwrap();
}

#[test]
fn limiters_that_decide_together_are_recorded_each() {
    let group = unique("group");
    let limiter = |name: &str, limit| {
        store().window(&unique(name), limit, Duration::from_secs(60)).unwrap().with_group(&group).unwrap()
    };
    let (all, one) = (limiter("all", 5), limiter("one", 2));
    let both = store().together(&[&all, &one]).unwrap();
    set_clock(NOW);
    assert_eq!(both.record(LONG, 1_000).unwrap_err().argument(), Some("limiter"));
    let (mut of_all, mut of_one) = (all.record(LONG, 1_000).unwrap(), one.record(LONG, 1_000).unwrap());
    for at in 1..=3 {
        acquire(&both, Request::cost(1), NOW + at);
    }
    debit(&both, 1, NOW + 4);
    let granted = ("acquire", "granted");
    assert_eq!(names(&rest(&mut of_one)), [granted, granted, ("acquire", "refused"), ("debit", "granted")]);
    // The third call took nothing of it, and was refused by the other.
    assert_eq!(names(&rest(&mut of_all)), [granted, granted, ("debit", "granted")]);
    all.reset().unwrap();
    one.reset().unwrap();
}

#[test]
fn a_key_of_a_keyed_limiter_is_recorded_alone() {
    let per_user = store().window(&unique("keyed"), 5, Duration::from_secs(60)).unwrap().keyed().unwrap();
    set_clock(NOW);
    assert_eq!(per_user.record(LONG, 1_000).unwrap_err().argument(), Some("key"));
    let (ann, bob) = (per_user.with_key("ann").unwrap(), per_user.with_key("bob").unwrap());
    let mut recording = ann.record(LONG, 1_000).unwrap();
    acquire(&ann, Request::cost(2), NOW + 1);
    acquire(&bob, Request::cost(1), NOW + 2);
    let read = rest(&mut recording);
    assert_eq!((names(&read), read[0].units[0].1), (vec![("acquire", "granted")], 2));
    ann.reset().unwrap();
}

#[test]
fn a_limiter_in_a_cluster_is_recorded() {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL").expect("run the tests under scripts/with-cluster.sh");
    let cluster = open(&url, Some(&support::clock()));
    for _ in 0..4 {
        let api = cluster.window(&unique("clustered"), 2, Duration::from_secs(60)).unwrap();
        set_clock(NOW);
        let mut recording = api.record(LONG, 1_000).unwrap();
        for at in 1..=3 {
            acquire(&api, Request::cost(1), NOW + at);
        }
        let read = rest(&mut recording);
        assert_eq!(read.iter().filter(|decision| decision.outcome.name() == "granted").count(), 2, "{read:?}");
        assert_eq!(read.len(), 3);
        recording.end().unwrap();
        api.reset().unwrap();
    }
}

#[test]
fn wrong_arguments_are_named() {
    let api = api(5);
    let error = |lasts: u64, most| api.record(Micros(lasts), most).unwrap_err().argument();
    assert_eq!(
        [error(0, 1), error(u64::MAX, 1), error(1, 0), error(1, u64::MAX)],
        [Some("lasts"), Some("lasts"), Some("most"), Some("most")]
    );
    set_clock(NOW);
    let mut recording = api.record(LONG, 1).unwrap();
    assert_eq!([recording.read(0), recording.read(1_001)].map(|read| read.unwrap_err().argument()), [Some("count"); 2]);
    assert_eq!(store().unlimited("free").unwrap().record(LONG, 1).unwrap_err().argument(), Some("limiter"));
    assert_eq!(
        memory_with_clock().window("api", 1, Duration::from_secs(1)).unwrap().record(LONG, 1).unwrap_err().argument(),
        Some("store")
    );
    api.reset().unwrap();
}

#[test]
fn another_policy_takes_the_units_of_the_labels_that_it_has() {
    let minute = Duration::from_secs(60);
    let rpm = |limit| Limit::window(limit, minute).unwrap().labelled("rpm").unwrap();
    let tpm = |limit| Limit::points(limit, minute).unwrap().labelled("tpm").unwrap();
    let policy = |limits: &[Limit]| Policy::new(limits.to_vec()).unwrap();
    let recorded = policy(&[rpm(100), tpm(1_000)]);
    let llm = store().limiter(&unique("labels"), recorded.clone()).unwrap();
    set_clock(NOW);
    let mut recording = llm.record(LONG, 1_000).unwrap();
    for at in 1..=4 {
        acquire(&llm, Request::cost(&[("rpm", 1), ("tpm", 200)]), NOW + at);
    }
    let read = rest(&mut recording);
    llm.reset().unwrap();
    let granted = |candidate: &Policy| {
        replay(candidate, &recorded, &read, None).map(|replay| replay.calls.iter().filter(|call| call.granted).count())
    };
    assert_eq!(granted(&recorded).unwrap(), 4);
    assert_eq!(granted(&policy(&[rpm(100), tpm(500)])).unwrap(), 2);
    assert_eq!(granted(&policy(&[rpm(3), tpm(1_000)])).unwrap(), 3);
    assert_eq!(granted(&policy(&[tpm(100)])).unwrap(), 0, "a cost above the whole limit is refused");
    assert_eq!(
        granted(&policy(&[Limit::bucket(1, minute).unwrap()])).unwrap(),
        1,
        "a limit without units counts calls"
    );
    assert_eq!(granted(&policy(&[Limit::throttle(minute).unwrap()])).unwrap(), 1);
    assert_eq!(granted(&policy(&[Limit::unlimited()])).unwrap(), 4);
    assert_eq!(granted(&policy(&[Limit::paused()])).unwrap(), 0);
    let error = granted(&policy(&[Limit::points(500, minute).unwrap()])).unwrap_err();
    assert_eq!((error.argument(), error.message().contains("label=points")), (Some("policy"), true));
    assert!(read.iter().all(|decision| decision.verb == RecordedVerb::Acquire));
}
