//! Tests which requests the gate of an Invantive rate limit control allows, delays or refuses.

use crate::formats_support::corpus;
use crate::support::sequence::config;
use crate::support::{memory_with_clock, set_clock};
use paddlegate::formats::invantive::{Choice, Gate, GateDecision, Level, RateLimitControl, RequestAttributes};
use paddlegate::{Micros, Paddlegate};
use proptest::prelude::*;
use serde_json::{Value, json};

/// 2026-06-01T00:00:00Z, the start of an hour.
const START: u64 = 1_780_272_000_000_000;
const SEEDS: &str = "proptest-regressions/formats_invantive_gate.txt";

fn control(elements: &Value, slots: &Value) -> RateLimitControl {
    let document = json!({ "RateLimitControlList": elements, "RateLimitControlSlotList": slots });
    RateLimitControl::parse(&document.to_string()).expect("a control")
}

/// Returns a gate with one slot for all requests.
fn gate(slot: &Value) -> Gate {
    let mut slot = slot.clone();
    slot["Name"] = json!("s");
    control(&json!([{ "SlotName": "s" }]), &json!([slot])).gate(&memory_with_clock()).expect("a gate")
}

fn admit(gate: &Gate, time: u64) -> GateDecision {
    set_clock(START + time);
    gate.admit(&RequestAttributes::default()).expect("a decision")
}

/// Returns whether a request passes, its delay in milliseconds and its level, for each time in milliseconds.
fn admitted(gate: &Gate, times_ms: &[u64]) -> Vec<(bool, u64, Option<Level>)> {
    let admit = |time: &u64| admit(gate, time * 1_000);
    times_ms.iter().map(admit).map(|decision| (decision.allowed, decision.delay.0 / 1_000, decision.level)).collect()
}

fn slot_of(control: &RateLimitControl, request: &RequestAttributes<'_>, at: u64) -> Option<String> {
    match control.choose(request, Micros(at)).expect("a choice") {
        Choice::Slot(slot) => Some(slot.name().expect("a name").to_owned()),
        Choice::Unmatched | Choice::Exempt => None,
    }
}

const OK: (bool, u64, Option<Level>) = (true, 0, None);

#[test]
fn config_a() {
    let a = || RateLimitControl::parse(&corpus("good-invantive-a.json")).unwrap().gate(&memory_with_clock()).unwrap();
    let fail = |level| (false, 0, Some(level));
    assert_eq!(admitted(&a(), &[10_000, 10_000, 10_000]), [OK, OK, fail(Level::Second)], "T01");
    assert_eq!(admitted(&a(), &[10_900, 10_900, 11_000, 11_000]), [OK; 4], "T02");
    let times = [0, 0, 1_000, 1_000, 2_000, 2_000, 59_999, 60_000];
    let minute = fail(Level::Minute);
    assert_eq!(admitted(&a(), &times), [OK, OK, OK, OK, OK, minute, minute, OK], "T03");
    let gate = a();
    admitted(&gate, &[0, 0]);
    let refused = admit(&gate, 400_000);
    assert_eq!((refused.retry_after, refused.slot.as_deref()), (Some(Micros(600_000)), Some("s")));
    assert_eq!(admit(&a(), 0).retry_after, Some(Micros(0)));
}

#[test]
fn a_soft_level_delays() {
    let slot = json!({ "ActionsPerSecond": 2, "DelayMsOnOverflowSecond": 250, "FailOnOverflowSecond": false });
    let late = (true, 250, Some(Level::Second));
    assert_eq!(admitted(&gate(&slot), &[0, 0, 0, 999, 1_000]), [OK, OK, late, late, OK]);
}

#[test]
fn the_longest_delay_rules() {
    let slot = json!({
        "ActionsPerSecond": 1, "DelayMsOnOverflowSecond": 900, "FailOnOverflowSecond": false,
        "ActionsPerMinute": 1, "DelayMsOnOverflowMinute": 300, "FailOnOverflowMinute": false,
        "ActionsPerHour": 3,
    });
    let (second, minute) = ((true, 900, Some(Level::Second)), (true, 300, Some(Level::Minute)));
    // A failure is delayed by the levels that only delay, too.
    let hour = |delay| (false, delay, Some(Level::Hour));
    let times = [0, 0, 1_000, 1_000, 2_000, 60_000];
    assert_eq!(admitted(&gate(&slot), &times), [OK, second, minute, hour(900), hour(300), hour(0)]);
}

#[test]
fn the_longest_delay_of_several_levels_that_fail_rules() {
    for (second, minute) in [(900, 300), (300, 900), (0, 900), (900, 0)] {
        let slot = json!({
            "ActionsPerSecond": 1, "DelayMsOnOverflowSecond": second,
            "ActionsPerMinute": 1, "DelayMsOnOverflowMinute": minute, "ActionsPerHour": 5, "DelayMsOnOverflowHour": 5_000,
        });
        let delays: Vec<u64> = admitted(&gate(&slot), &[0, 0, 1_000]).iter().map(|one| one.1).collect();
        assert_eq!(delays, [0, 900, minute], "of the minute alone in the next second");
    }
}

#[test]
fn a_failing_answer_is_delayed_too() {
    let slot = json!({ "ActionsPerSecond": 2, "DelayMsOnOverflowSecond": 250, "FailOnOverflowSecond": true });
    assert_eq!(admitted(&gate(&slot), &[0, 0, 0]), [OK, OK, (false, 250, Some(Level::Second))]);
}

#[test]
fn the_first_element_that_applies() {
    let control = control(
        &json!([{ "Url": "https://x/a*", "SlotName": "s1" }, { "Url": "https://x/*", "SlotName": "s2" }, { "SlotName": "s3" }]),
        &json!([
            { "Name": "s1", "ActionsPerHour": 1 }, { "Name": "s2", "ActionsPerHour": 1 }, { "Name": "s3", "ActionsPerHour": 1 },
        ]),
    );
    let gate = control.gate(&memory_with_clock()).unwrap();
    set_clock(START);
    for (url, slot) in [("https://x/a/1", "s1"), ("https://x/b", "s2"), ("https://y", "s3")] {
        let request = RequestAttributes { url: Some(url), ..RequestAttributes::default() };
        assert_eq!(slot_of(&control, &request, START).as_deref(), Some(slot), "{url}");
        // Each slot allows one action: if the gate counted a second slot as well, a later request would fail.
        let decision = gate.admit(&request).unwrap();
        assert_eq!((decision.allowed, decision.slot.as_deref()), (true, Some(slot)), "{url}");
        assert!(!gate.admit(&request).unwrap().allowed, "{url}");
    }
}

#[test]
fn the_store_is_asked_for_the_time() {
    let slots = json!([{ "Name": "past", "ActionsPerHour": 0 }, { "Name": "now", "ActionsPerHour": 1_000 }]);
    let elements = json!([{ "ValidToUtc": "2001-01-01T00:00:00Z", "SlotName": "past" }, { "SlotName": "now" }]);
    let pg = Paddlegate::memory();
    let decision = control(&elements, &slots).admit(&pg, &RequestAttributes::default()).unwrap();
    assert_eq!((decision.allowed, decision.slot.as_deref()), (true, Some("now")));
    assert_eq!(pg.limiters().unwrap().len(), 1, "no limiter for the time alone");
    let elements = json!([{ "ValidToUtc": "2001-01-01T00:00:00Z", "SlotName": "past" }]);
    let decision = control(&elements, &slots).admit(&pg, &RequestAttributes::default()).unwrap();
    assert_eq!((decision.allowed, decision.slot), (true, None));
}

#[test]
fn elements_share_a_slot() {
    let elements = json!([{ "Context": "a", "SlotName": "s" }, { "Context": "b", "SlotName": "s" }]);
    let control = control(&elements, &json!([{ "Name": "s", "ActionsPerMinute": 3 }]));
    // Two processes would have one gate each.
    let pg = memory_with_clock();
    let gates = [control.gate(&pg).unwrap(), control.gate(&pg).unwrap()];
    let allowed: Vec<bool> = ["a", "b", "a", "b"]
        .into_iter()
        .zip(gates.iter().cycle())
        .map(|(context, gate)| {
            gate.admit(&RequestAttributes { context: Some(context), ..RequestAttributes::default() }).unwrap().allowed
        })
        .collect();
    assert_eq!(allowed, [true, true, true, false]);
}

#[test]
fn no_limiting() {
    for document in [json!({}), json!({ "RateLimitControlList": null, "RateLimitControlSlotList": null })] {
        let control = RateLimitControl::parse(&document.to_string()).unwrap();
        assert_eq!(control.choose(&RequestAttributes::default(), Micros(0)).unwrap(), Choice::Unmatched);
    }
    let empty = RateLimitControl::parse(&corpus("good-invantive-empty.json")).unwrap();
    let decision = empty.admit(&memory_with_clock(), &RequestAttributes::default()).unwrap();
    assert_eq!((decision.allowed, decision.delay, decision.slot), (true, Micros(0), None));
    assert_eq!(empty.definitions().unwrap(), []);
    // A level without a number sets no limit, whatever its other members say.
    let slot = json!({ "ActionsPerHour": null, "DelayMsOnOverflowHour": 500, "FailOnOverflowMinute": false });
    assert_eq!(admitted(&gate(&slot), &[0; 50]), [OK; 50]);
}

#[test]
fn no_element_matches() {
    let control = RateLimitControl::parse(&corpus("good-invantive-elements.json")).unwrap();
    let monitor =
        RequestAttributes { url: Some("https://x/a"), ip: Some("10.200.0.1"), ..RequestAttributes::default() };
    assert_eq!(control.choose(&monitor, Micros(START)).unwrap(), Choice::Exempt);
    let only =
        self::control(&json!([{ "Context": "a", "SlotName": "s" }]), &json!([{ "Name": "s", "ActionsPerHour": 0 }]));
    assert_eq!(only.choose(&RequestAttributes::default(), Micros(START)).unwrap(), Choice::Unmatched);
    let gate = only.gate(&memory_with_clock()).unwrap();
    assert_eq!(admitted(&gate, &[0; 10]), [OK; 10]);
}

#[test]
fn zero_actions() {
    let hard = json!({ "ActionsPerSecond": 5, "ActionsPerMinute": 0, "DelayMsOnOverflowMinute": 40 });
    let decision = admit(&gate(&hard), 0);
    assert_eq!((decision.allowed, decision.delay, decision.level), (false, Micros(40_000), Some(Level::Minute)));
    assert_eq!(decision.retry_after, None);
    let closed = json!({
        "ActionsPerSecond": 0, "DelayMsOnOverflowSecond": 40, "ActionsPerMinute": 0, "DelayMsOnOverflowMinute": 900,
    });
    assert_eq!(admit(&gate(&closed), 0).delay, Micros(900_000), "the longest of all levels");
    let soft = json!({ "ActionsPerMinute": 0, "DelayMsOnOverflowMinute": 40, "FailOnOverflowMinute": false });
    assert_eq!(admitted(&gate(&soft), &[0, 60_000]), [(true, 40, Some(Level::Minute)); 2]);
}

#[test]
fn a_refused_request_counts_nowhere() {
    let slot = json!({
        "ActionsPerSecond": 1,
        "ActionsPerMinute": 3,
        "ActionsPerHour": 2, "FailOnOverflowHour": false, "DelayMsOnOverflowHour": 7,
    });
    let (gate, fail) = (gate(&slot), (false, 0, Some(Level::Second)));
    assert_eq!(admitted(&gate, &[0, 0, 0, 0]), [OK, fail, fail, fail]);
    let late = (true, 7, Some(Level::Hour));
    assert_eq!(admitted(&gate, &[1_000, 2_000, 3_000]), [OK, late, (false, 7, Some(Level::Minute))]);
}

proptest! {
    #![proptest_config(config(500, SEEDS))]

    /// Compares a gate with a simple count: at most `limit` requests pass in each second.
    #[test]
    fn a_slot_admits_no_more_than_its_limit(limit in 1..6_u64, mut times in prop::collection::vec(0..4_000_u64, 1..60)) {
        times.sort_unstable();
        let gate = gate(&json!({ "ActionsPerSecond": limit }));
        let mut counts = [0; 4];
        for time in times {
            let count = &mut counts[usize::try_from(time / 1_000).unwrap()];
            *count += 1;
            prop_assert_eq!(admit(&gate, time * 1_000).allowed, *count <= limit);
        }
    }
}
