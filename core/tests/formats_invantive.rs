//! Tests the parsing of Invantive rate limit controls, and the choice of a slot for a request.

use crate::formats_support::{corpus, nearly};
use crate::support::sequence::config;
use paddlegate::formats::invantive::{Choice, Level, RateLimitControl, RequestAttributes};
use paddlegate::{Kind, Micros, OnLimit, Paddlegate, TestClock};
use proptest::prelude::*;
use serde_json::{Value, json};

/// 2026-06-01T00:00:00Z, the start of an hour.
const START: u64 = 1_780_272_000_000_000;
const SECOND: u64 = 1_000_000;
const SEEDS: &str = "proptest-regressions/formats_invantive.txt";

fn control(elements: &Value, slots: &Value) -> RateLimitControl {
    let document = json!({ "RateLimitControlList": elements, "RateLimitControlSlotList": slots });
    RateLimitControl::parse(&document.to_string()).expect("a control")
}

fn slot_of(control: &RateLimitControl, request: &RequestAttributes<'_>, at: u64) -> Option<String> {
    match control.choose(request, Micros(at)).expect("a choice") {
        Choice::Slot(slot) => Some(slot.name().expect("a name").to_owned()),
        Choice::Unmatched | Choice::Exempt => None,
    }
}

/// Returns whether a criterion matches a request.
fn matches(criterion: &Value, request: &RequestAttributes<'_>) -> bool {
    let mut element = criterion.clone();
    element["SlotName"] = json!("s");
    slot_of(&control(&json!([element]), &json!([{ "Name": "s" }])), request, START).is_some()
}

fn fault(document: &Value) -> String {
    let error = RateLimitControl::parse(&document.to_string()).expect_err("a fault");
    assert_eq!(error.argument(), Some("document"));
    error.message().to_owned()
}

#[test]
fn validity() {
    let valid = |from: Value, to: Value| {
        let elements = json!([{ "ValidFromUtc": from, "ValidToUtc": to, "SlotName": "a" }, { "SlotName": "b" }]);
        control(&elements, &json!([{ "Name": "a" }, { "Name": "b" }]))
    };
    let at = |control: &RateLimitControl, at: u64| slot_of(control, &RequestAttributes::default(), at).unwrap();
    let noon = START + 12 * 3_600 * SECOND;
    for from in ["2026-06-01T12:00:00Z", "2026-06-01T12:00:00", "2026-06-01T14:00:00+02:00", "2026-06-01 12:00:00.000"]
    {
        let control = valid(json!(from), json!(null));
        assert_eq!((at(&control, noon - 1), at(&control, noon)), ("b".to_owned(), "a".to_owned()), "{from}");
        let control = valid(json!(null), json!(from));
        assert_eq!((at(&control, noon - 1), at(&control, noon)), ("a".to_owned(), "b".to_owned()), "{from}");
    }
    let between = valid(json!("2026-06-01T12:00:00Z"), json!("2026-06-01T12:00:01Z"));
    let times = [noon - 1, noon, noon + SECOND - 1, noon + SECOND];
    assert_eq!(times.map(|time| at(&between, time)), ["b", "a", "a", "b"]);
    // A time finer than a microsecond takes effect at the first microsecond that is not before it.
    let fine = valid(json!("2026-06-01T12:00:00.0000001Z"), json!(null));
    assert_eq!((at(&fine, noon), at(&fine, noon + 1)), ("b".to_owned(), "a".to_owned()));
    let never = valid(json!("2026-06-01T12:00:00Z"), json!("2026-06-01T12:00:00Z"));
    assert_eq!(at(&never, noon), "b");
    for last in
        ["9999-12-31T23:59:59.9999999", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59+00:00", "9999-01-01T00:00:00"]
    {
        let always = valid(json!("0001-01-01T00:00:00Z"), json!(last));
        assert_eq!((at(&always, 0), at(&always, 1 << 52)), ("a".to_owned(), "a".to_owned()), "{last}");
    }

    let document =
        |from: &str, to: &str| json!({ "RateLimitControlList": [{ "ValidFromUtc": from, "ValidToUtc": to }] });
    let exchanged = fault(&document("2026-06-01T12:00:01Z", "2026-06-01T12:00:00Z"));
    assert!(exchanged.starts_with("at $.RateLimitControlList[0]:"), "{exchanged}");
    for wrong in [
        "",
        "now",
        "2026-06-01T00:00:00+99:99",
        "2026-06-01T00:00:00ZZ",
        "2026-06-01T00:00:00+02:00Z",
        "2026-06-01",
        "2026-06-31T00:00:00Z",
        "2026-06-01T25:00:00Z",
        "2026-06-01T00:00:00[Europe/Paris]",
    ] {
        let message = fault(&document(wrong, "2026-06-01T12:00:00Z"));
        assert!(message.starts_with("at $.RateLimitControlList[0].ValidFromUtc:"), "{message}");
    }
}

#[test]
fn networks() {
    let from = |network: &str, ip: &str| {
        matches(
            &json!({ "IpAddressClientCidr": network }),
            &RequestAttributes { ip: Some(ip), ..RequestAttributes::default() },
        )
    };
    for (network, inside, outside) in [
        ("1.2.3.4/5", "7.255.255.255", "8.0.0.0"),
        ("1.2.3.4", "1.2.3.4", "1.2.3.5"),
        ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.1.2.3"),
        ("::ffff:10.0.0.1/104", "10.9.9.9", "11.0.0.0"),
        ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"),
        ("2001:db8::1/32", "2001:db8:ffff::1", "2001:db9::"),
        ("fe80::1", "fe80::1%eth0", "fe80::2"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("::/0", "::1", "1.2.3.4"),
    ] {
        assert!(from(network, inside), "{inside} in {network}");
        assert!(!from(network, outside), "{outside} in {network}");
    }
    assert!(!matches(&json!({ "IpAddressClientCidr": "0.0.0.0/0" }), &RequestAttributes::default()), "no address");
    for wrong in ["", "1.2.3", "1.2.3.4/33", "1.2.3.4/-1", "::/129", "host", "1.2.3.4:80"] {
        let message = fault(&json!({ "RateLimitControlList": [{ "IpAddressClientCidr": wrong }] }));
        assert!(message.starts_with("at $.RateLimitControlList[0].IpAddressClientCidr:"), "{message}");
    }
    let none = control(&json!([]), &json!([]));
    for wrong in ["", "unknown", "1.2.3.4:80", "[::1]", "1.2.3.4, 5.6.7.8"] {
        let error =
            none.choose(&RequestAttributes { ip: Some(wrong), ..RequestAttributes::default() }, Micros(0)).unwrap_err();
        assert_eq!(error.argument(), Some("ip"), "{wrong}");
    }
}

#[test]
fn wildcards() {
    for (pattern, yes, no) in [
        ("abc*", vec!["abc", "abcd", "abc*"], vec!["ab", "Abc", "xabc"]),
        ("abc", vec!["abc"], vec!["abcd", "ABC", "", "abc*"]),
        ("*", vec!["", "anything"], vec![]),
        ("a*c", vec!["a*c"], vec!["abc", "a*cd"]),
        ("a**", vec!["a*", "a*b"], vec!["a", "ab"]),
        ("", vec![""], vec!["a"]),
    ] {
        for (values, expected) in [(&yes, true), (&no, false)] {
            for value in values {
                let request =
                    RequestAttributes { context: Some(value), url: Some(value), ..RequestAttributes::default() };
                assert_eq!(matches(&json!({ "Context": pattern }), &request), expected, "{pattern} {value}");
                assert_eq!(matches(&json!({ "Url": pattern }), &request), expected, "{pattern} {value}");
            }
        }
        assert!(!matches(&json!({ "Context": pattern }), &RequestAttributes::default()), "{pattern} without a context");
    }
    let star =
        RequestAttributes { log_on_code: Some("ab"), data_container_id: Some("ab"), ..RequestAttributes::default() };
    assert!(!matches(&json!({ "LogOnCode": "a*" }), &star));
    assert!(!matches(&json!({ "DataContainerId": "a*" }), &star));
}

#[test]
fn all_criteria_must_match() {
    let both = json!({ "LogOnCode": "u", "DataContainerId": "7" });
    let request = |log_on_code, data_container_id| RequestAttributes {
        log_on_code,
        data_container_id,
        ..RequestAttributes::default()
    };
    assert!(matches(&both, &request(Some("u"), Some("7"))));
    for (log_on_code, data_container_id) in
        [(Some("u"), Some("8")), (Some("v"), Some("7")), (Some("u"), None), (None, None)]
    {
        assert!(!matches(&both, &request(log_on_code, data_container_id)));
    }
}

#[test]
fn faults_name_their_path() {
    let slot = |slot: Value| json!({ "RateLimitControlSlotList": [{ "Name": "a" }, slot] });
    let element = |element: Value| json!({ "RateLimitControlList": [element] });
    for (document, path) in [
        (json!([]), "$:"),
        (json!({ "Slots": [] }), "$.Slots:"),
        (json!({ "a b": [] }), "$[\"a b\"]:"),
        (json!({ "RateLimitControlList": {} }), "$.RateLimitControlList:"),
        (json!({ "RateLimitControlSlotList": [null] }), "$.RateLimitControlSlotList[0]:"),
        (slot(json!({ "ActionsPerDay": 1 })), "$.RateLimitControlSlotList[1].ActionsPerDay:"),
        (slot(json!({ "ActionsPerSecond": "2" })), "$.RateLimitControlSlotList[1].ActionsPerSecond:"),
        (slot(json!({ "ActionsPerMinute": 2.5 })), "$.RateLimitControlSlotList[1].ActionsPerMinute:"),
        (slot(json!({ "ActionsPerHour": -1 })), "$.RateLimitControlSlotList[1].ActionsPerHour:"),
        (slot(json!({ "ActionsPerHour": 1e13 })), "$.RateLimitControlSlotList[1].ActionsPerHour:"),
        (slot(json!({ "ActionsPerHour": u64::MAX })), "$.RateLimitControlSlotList[1].ActionsPerHour:"),
        (slot(json!({ "DelayMsOnOverflowHour": -1 })), "$.RateLimitControlSlotList[1].DelayMsOnOverflowHour:"),
        (slot(json!({ "DelayMsOnOverflowHour": i64::MAX })), "$.RateLimitControlSlotList[1].DelayMsOnOverflowHour:"),
        (slot(json!({ "FailOnOverflowSecond": null })), "$.RateLimitControlSlotList[1].FailOnOverflowSecond:"),
        (slot(json!({ "FailOnOverflowHour": 1 })), "$.RateLimitControlSlotList[1].FailOnOverflowHour:"),
        (slot(json!({ "Name": 1 })), "$.RateLimitControlSlotList[1].Name:"),
        (slot(json!({ "Name": "" })), "$.RateLimitControlSlotList[1].Name:"),
        (slot(json!({ "Name": "a".repeat(512) })), "$.RateLimitControlSlotList[1].Name:"),
        (slot(json!({ "Description": [] })), "$.RateLimitControlSlotList[1].Description:"),
        (element(json!({ "Contexts": "a" })), "$.RateLimitControlList[0].Contexts:"),
        (element(json!({ "Context": 1 })), "$.RateLimitControlList[0].Context:"),
        (element(json!({ "Url": {} })), "$.RateLimitControlList[0].Url:"),
        (element(json!({ "LogOnCode": 1 })), "$.RateLimitControlList[0].LogOnCode:"),
        (element(json!({ "Description": true })), "$.RateLimitControlList[0].Description:"),
    ] {
        let message = fault(&document);
        assert!(message.starts_with(&format!("at {path}")), "{document}: {message}");
    }
    // JSON Schema counts 2.0 as an integer.
    let whole = control(&json!([]), &json!([{ "Name": "a", "ActionsPerSecond": 2.0 }]));
    assert_eq!(whole.definitions().unwrap()[0].policy.limits()[0].amount(), 2);
    assert!(RateLimitControl::parse("{").unwrap_err().message().starts_with("at $:"));
    assert!(RateLimitControl::parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn a_level_fails_by_default() {
    let control = control(&json!([]), &json!([{ "Name": "s", "ActionsPerSecond": 1 }]));
    let slot = &control.slots()[0];
    assert_eq!(slot.hard().unwrap().limits()[0].amount(), 1);
    assert_eq!(
        (slot.hard_level("second"), slot.hard_level("bucket"), slot.soft()),
        (Some(Level::Second), None, vec![])
    );
}

#[test]
fn names_of_slots() {
    let unknown =
        fault(&json!({ "RateLimitControlList": [{}, { "SlotName": "a" }], "RateLimitControlSlotList": [{}] }));
    assert!(unknown.starts_with("at $.RateLimitControlList[1].SlotName:") && unknown.contains("\"a\""), "{unknown}");
    let twice = fault(&json!({ "RateLimitControlSlotList": [{ "Name": "a" }, {}, { "Name": "a" }] }));
    assert!(twice.starts_with("at $.RateLimitControlSlotList[2]:"), "{twice}");
    let soft = json!({ "Name": "a", "ActionsPerSecond": 1, "FailOnOverflowSecond": false });
    // A slot that is named like a level of another slot has limiters of its own.
    let slots = json!([soft, { "Name": "a/second", "ActionsPerHour": 1 }, { "Name": "second/a", "ActionsPerHour": 1 }]);
    let definitions = control(&json!([]), &slots).definitions().unwrap();
    let names: Vec<_> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    assert_eq!(names, ["invantive/second/a", "invantive/fail/a/second", "invantive/fail/second/a"]);
    control(&json!([]), &json!([{ "Name": "a" }, { "Name": "A" }, {}, {}, { "Name": "a/second" }]));
}

#[test]
fn the_limiters_of_a_control() {
    let control = RateLimitControl::parse(&corpus("good-invantive-elements.json")).unwrap();
    let definitions = control.definitions().unwrap();
    let shown: Vec<_> = definitions
        .iter()
        .map(|definition| {
            let limits = definition.policy.limits().iter();
            let limits: Vec<_> =
                limits.map(|limit| (limit.kind(), limit.amount(), limit.interval().0 / SECOND)).collect();
            (definition.name.as_str(), definition.on_limit, limits)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("invantive/fail/s1", OnLimit::Raise, vec![(Kind::Bucket, 2, 1)]),
            ("invantive/fail/s2", OnLimit::Raise, vec![(Kind::Bucket, 100, 3_600)]),
            ("invantive/second/s2", OnLimit::Wait, vec![(Kind::Bucket, 2, 1)]),
            ("invantive/minute/s3", OnLimit::Wait, vec![(Kind::Bucket, 10, 60)]),
        ]
    );
}

proptest! {
    #![proptest_config(config(500, SEEDS))]

    #[test]
    fn nothing_panics(
        mut element in nearly(&[
            "Description", "Context", "Url", "SlotName", "ValidFromUtc", "ValidToUtc", "LogOnCode", "DataContainerId",
            "IpAddressClientCidr",
        ]),
        slot in nearly(&[
            "Name", "ActionsPerSecond", "ActionsPerMinute", "ActionsPerHour", "DelayMsOnOverflowSecond",
            "FailOnOverflowSecond", "FailOnOverflowMinute", "FailOnOverflowHour",
        ]),
        whole in nearly(&["RateLimitControlList", "RateLimitControlSlotList"]),
        text: String,
        facts in prop::collection::vec(prop::option::of("(a|1\\.2\\.3\\.4|::1|.{0,9})"), 5),
        at in 0..1_u64 << 52,
    ) {
        if let (Some(element), Some(name)) = (element.as_object_mut(), slot.get("Name")) {
            element.insert("SlotName".to_owned(), name.clone());
        }
        let document = json!({ "RateLimitControlList": [element, {}], "RateLimitControlSlotList": [slot] });
        let clock = TestClock::new(Micros(at)).expect("a clock");
        let fact = |index: usize| facts[index].as_deref();
        let request = RequestAttributes {
            context: fact(0), url: fact(1), log_on_code: fact(2), data_container_id: fact(3), ip: fact(4),
        };
        for text in [document.to_string(), whole.to_string(), text] {
            match RateLimitControl::parse(&text) {
                Ok(control) => {
                    prop_assert!(control.definitions().is_ok());
                    if let Err(error) = control.admit(&Paddlegate::memory_with_clock(&clock), &request) {
                        prop_assert_eq!(error.argument(), Some("ip"));
                    }
                }
                Err(error) => prop_assert!(error.message().starts_with("at $"), "{}", error),
            }
        }
    }
}
