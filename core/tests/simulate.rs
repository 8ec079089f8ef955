//! Tests the totals and timelines of the simulator against models that are written in another way.

use paddlegate::simulate::{JobOutcome, Scalar, Scenario, Simulation, Totals};
use paddlegate::{Result, backoff};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One second in microseconds.
const S: u64 = 1_000_000;

fn scenario(value: &Value) -> Result<Scenario> {
    Scenario::from_json(value)
}

fn run(value: &Value, policy: usize) -> Simulation {
    let mut simulation = Simulation::new(&scenario(value).unwrap(), policy).unwrap();
    while simulation.run(1_000).unwrap() {}
    simulation
}

fn totals(value: &Value, policy: usize) -> Totals {
    run(value, policy).totals()
}

/// Returns the times of the grants in seconds.
fn granted(simulation: &Simulation) -> Vec<u64> {
    let timeline = simulation.timeline();
    let rows = (0..timeline.len()).filter(|row| timeline.outcome[*row] == JobOutcome::Granted as u8);
    rows.map(|row| timeline.at[row] / S).collect()
}

#[test]
fn the_boundary_burst_of_a_bucket_does_not_pass_a_window() {
    let value = json!({
        "policies": [
            { "name": "bucket", "limits": [{ "kind": "bucket", "limit": 100, "interval": "1m" }] },
            { "name": "window", "limits": [{ "kind": "window", "limit": 100, "interval": "1m" }] },
        ],
        "arrivals": { "kind": "times", "text": "at,count\n59.5,100\n60.5,100\n" },
    });
    let (bucket, window) = (totals(&value, 0), totals(&value, 1));
    assert_eq!((bucket.granted, bucket.refused, bucket.largest_burst), (200, 0, 200));
    assert_eq!((window.granted, window.refused, window.largest_burst), (100, 100, 100));
    assert_eq!((bucket.burst_interval, window.burst_interval), (60 * S, 60 * S));
    assert_eq!((bucket.utilisation_permille, window.utilisation_permille), (1_000, 500));
}

#[test]
fn ten_thousand_jobs_at_ten_a_minute_all_pass_with_tickets_and_half_give_up_without() {
    let bucket = json!([{ "kind": "bucket", "limit": 10, "interval": "1m" }]);
    let value = json!({
        "policies": [
            { "name": "tickets", "retry": "ticket", "limits": bucket },
            { "name": "linear", "retry": "linear", "limits": bucket },
        ],
        "arrivals": { "kind": "jobs", "count": 10_000 },
    });
    let (tickets, linear) = (totals(&value, 0), totals(&value, 1));
    assert_eq!((tickets.granted, tickets.gave_up, tickets.pending), (10_000, 0, 0));
    assert_eq!(tickets.drained_after, Some(999 * 60 * S), "ten in each minute, and the first at once");
    assert_eq!((tickets.utilisation_permille, tickets.largest_burst), (1_000, 10));
    assert_eq!(tickets.wait.max, 999 * 60 * S);
    // A job calls at most twice: once for a ticket, once at its turn.
    assert_eq!(tickets.decisions, 2 * 10_000 - 10);
    assert!(linear.gave_up > 4_000, "{linear}");
    assert_eq!(linear.granted + linear.gave_up, 10_000);
}

#[test]
fn a_long_queue_of_waiting_callers_takes_two_calls_of_each() {
    let value = json!({
        "policies": [{ "limits": [{ "kind": "window", "limit": 10, "interval": "1m" }], "retry": "wait" }],
        "arrivals": { "kind": "jobs", "count": 10_000 },
    });
    let totals = totals(&value, 0);
    assert_eq!((totals.granted, totals.decisions), (10_000, 2 * 10_000 - 10));
    assert_eq!(totals.wait.max, 999 * 60 * S);
}

#[test]
fn levels_change_between_decisions() {
    let value = json!({
        "policies": [
            { "limits": [{ "kind": "bucket", "limit": 100, "interval": "1m" }] },
            { "limits": [{ "kind": "window", "limit": 100, "interval": "1m" }] },
            { "limits": [{ "kind": "points", "limit": 1_000, "interval": "10s" }] },
            { "limits": [{ "kind": "concurrency", "limit": 300 }] },
        ],
        "arrivals": { "kind": "burst", "count": 100, "every": "2s", "for": "4s", "from": "59s" },
        "until": "2m", "work": "1s",
    });
    let over_time = |policy: usize| run(&value, policy).timeline().over_time.clone();
    let changes = |policy: usize| {
        let over_time = over_time(policy);
        let times = over_time.at.iter().map(|at| at / 1_000);
        times.zip(over_time.levels[0].iter().copied()).collect::<Vec<_>>()
    };
    assert_eq!(
        changes(0),
        [(0, 100), (59_000, 0), (60_000, 100), (60_000, 100), (61_000, 0), (62_000, 0), (120_000, 100)]
    );
    assert_eq!(changes(1), [(0, 100), (59_000, 0), (60_000, 0), (119_000, 100)]);
    // A hundred units in the ten seconds after each burst, a hundredth at a time.
    let points = over_time(2);
    let at = |ms: u64| points.levels[0][points.at.partition_point(|at| *at <= ms * 1_000) - 1];
    assert_eq!((at(58_999), at(59_000), at(61_000)), (1_000, 900, 900));
    assert!(at(59_500).abs_diff(950) <= 10 && at(60_500) == 1_000, "{points:?}");
    let leases = over_time(3);
    assert_eq!(leases.held, [0, 100, 0, 100, 0]);
    assert_eq!(leases.levels[0], [300, 200, 300, 200, 300]);
}

#[test]
fn linear_retries_are_those_of_core() {
    let value = json!({
        "policies": [{ "name": "linear", "retry": "linear", "attempts": 3,
            "limits": [{ "kind": "bucket", "limit": 1, "interval": "1d" }] }],
        "arrivals": { "kind": "jobs", "count": 2 },
    });
    let simulation = run(&value, 0);
    let timeline = simulation.timeline();
    let second: Vec<(u64, u8)> = (0..timeline.len())
        .filter(|row| timeline.job[*row] == 1)
        .map(|row| (timeline.at[row], timeline.outcome[row]))
        .collect();
    assert_eq!(second.iter().map(|(_, outcome)| *outcome).collect::<Vec<_>>(), [3, 3, 3, 4]);
    for (attempt, pair) in (1..).zip(second.windows(2)) {
        let gap = pair[1].0 - pair[0].0;
        assert!((backoff(attempt, 0).0..=backoff(attempt, 299).0).contains(&gap), "{attempt}: {gap}");
    }
}

#[test]
fn pessimistic_estimates_waste_what_is_not_corrected() {
    let points = json!([{ "kind": "points", "limit": 1_000, "interval": "20s" }]);
    let value = json!({
        "policies": [
            { "name": "corrected", "limits": points, "retry": "wait", "correct": true },
            { "name": "not corrected", "limits": points, "retry": "wait", "correct": false },
        ],
        "arrivals": { "kind": "poisson", "count": 4, "per": "1s", "for": "5m" },
        "cost": 100, "actual": [5, 20], "work": "200ms",
        "upstream": { "limits": points, "latency": "20ms" },
    });
    let (corrected, not) = (totals(&value, 0), totals(&value, 1));
    assert_eq!((corrected.throttled, not.throttled), (0, 0), "estimates are upper bounds");
    assert_eq!(corrected.granted, corrected.arrived);
    assert!(corrected.wait.p95 < not.wait.p95 / 10, "{corrected} {not}");
}

#[test]
fn upstream_throttles_clients_without_a_limiter() {
    let limits = |limit: u64| json!([{ "kind": "leaky", "limit": limit, "interval": "10s" }]);
    let value = |learn: bool| {
        json!({
            "policies": [{ "name": "too high", "limits": limits(1_000), "retry": "exponential", "attempts": 100 }],
            "arrivals": { "kind": "jobs", "count": 200 },
            "upstream": { "limits": limits(20), "learn": learn },
        })
    };
    let (without_learning, with_learning) = (totals(&value(false), 0), totals(&value(true), 0));
    assert_eq!((without_learning.granted, with_learning.granted), (200, 200));
    assert!(without_learning.throttled > 180, "{without_learning}");
    assert!(with_learning.throttled <= without_learning.throttled, "{with_learning}");
    assert!(with_learning.drained_after >= Some(89 * S), "180 more than fit at two a second: {with_learning}");
}

#[test]
fn a_call_that_upstream_never_allows_is_not_retried() {
    let value = json!({
        "policies": [{ "limits": [{ "kind": "unlimited" }], "retry": "ticket" }],
        "arrivals": { "kind": "jobs", "count": 3 },
        "cost": 7,
        "upstream": { "limits": [{ "kind": "leaky", "limit": 5, "interval": "1s" }], "learn": true },
    });
    let totals = totals(&value, 0);
    assert_eq!((totals.refused, totals.throttled, totals.decisions, totals.ended_at), (3, 3, 3, 0));
}

#[test]
fn no_job_waits_longer_than_its_maximum_wait() {
    let value = json!({
        "policies": [{ "limits": [{ "kind": "concurrency", "limit": 1 }], "retry": "wait", "wait": "2s" }],
        "arrivals": { "kind": "jobs", "count": 5 }, "work": "1s",
    });
    let simulation = run(&value, 0);
    assert_eq!(granted(&simulation), [0, 1, 2]);
    assert_eq!((simulation.totals().gave_up, simulation.totals().wait.max), (2, 2 * S));
}

#[test]
fn the_lease_of_a_dead_client_is_free_when_it_expires() {
    let value = json!({
        "policies": [{ "name": "leases", "retry": "wait",
            "limits": [{ "kind": "concurrency", "limit": 2, "interval": "30s" }] }],
        "arrivals": { "kind": "jobs", "count": 30 },
        "work": "10s", "clients": 3, "at_once": 1,
        "events": [{ "at": "15s", "do": "crash", "client": 0 }],
    });
    let simulation = run(&value, 0);
    let totals = simulation.totals();
    assert_eq!((totals.lost, totals.granted, totals.pending), (1, 29, 0), "{totals}");
    let times = granted(&simulation);
    // Two grants every 10 s. After the crash one, until the lost lease (from 10 s to 40 s) ends; then two again.
    assert_eq!(times[..10], [0, 0, 10, 10, 20, 30, 40, 40, 50, 50]);
    assert!(simulation.timeline().held.iter().all(|held| *held <= 2));
}

#[test]
fn admin_commands_take_effect_at_their_time() {
    let value = json!({
        "policies": [{ "name": "ordered", "limits": [{ "kind": "bucket", "limit": 3, "interval": "10s" }] }],
        "arrivals": { "kind": "steady", "count": 1, "per": "1s", "for": "60s" },
        "events": [
            { "at": "10s", "do": "pause", "for": "10s" },
            { "at": "15s", "do": "resume" },
            { "at": "20s", "do": "override", "limit": 5, "for": "10s" },
            { "at": "40s", "do": "pause", "for": "5s" },
        ],
    });
    let simulation = run(&value, 0);
    assert_eq!(granted(&simulation), [0, 1, 2, 15, 16, 17, 20, 21, 22, 23, 24, 30, 31, 32, 45, 46, 47, 50, 51, 52]);
    // A pause is reported with the index after the last limit.
    let timeline = simulation.timeline();
    let row = timeline.at.iter().position(|at| *at == 10 * S).unwrap();
    assert_eq!((timeline.limit[row], timeline.retry_after[row]), (1, 10 * S));
    assert_eq!(simulation.headers(row).last().unwrap(), &("Retry-After", "10".to_owned()));
}

#[test]
fn cancelled_steps_do_not_lengthen_the_simulation() {
    // The second job would retry after 5 s, but the release after 1 s wakes it.
    let value = json!({
        "policies": [{ "limits": [{ "kind": "concurrency", "limit": 1 }], "retry": "wait" }],
        "arrivals": { "kind": "jobs", "count": 2 }, "work": "1s",
    });
    let totals = totals(&value, 0);
    assert_eq!((totals.granted, totals.ended_at, totals.utilisation_permille), (2, 2 * S, 1_000));
    let value = json!({
        "policies": [{ "limits": [{ "kind": "window", "limit": 1, "interval": "1s" }] }],
        "arrivals": { "kind": "jobs", "count": 1 }, "work": "1h",
        "events": [{ "at": "20s", "do": "crash", "client": 0 }],
    });
    assert_eq!(run(&value, 0).totals().ended_at, 20 * S);
}

#[test]
fn leases_count_as_used_until_they_are_released_or_expire() {
    let used = |work: &str, rest: &Value| {
        let mut value = json!({
            "policies": [{ "limits": [{ "kind": "concurrency", "limit": 1, "interval": "30s" }] }],
            "arrivals": { "kind": "steady", "count": 2, "per": "1m", "for": "10m" }, "work": work, "until": "10m",
        });
        value.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        totals(&value, 0).utilisation_permille
    };
    let upstream = |limit: u64| json!({ "upstream": { "limits": [{ "kind": "window", "limit": limit, "interval": "1d" }], "latency": "9s" } });
    assert_eq!(used("15s", &json!({})), 500);
    assert_eq!(used("60s", &json!({})), 1_000, "it works for longer than its lease lasts");
    assert_eq!(used("6s", &upstream(20)), 500, "the way to upstream counts too");
    assert_eq!(used("6s", &upstream(10)), 400, "ten of 15 s, and ten of 9 s that upstream refuses");
    // The lease of a dead client counts until it ends.
    let crash = json!({ "events": [{ "at": "1s", "do": "crash", "client": 0 }], "until": "20s" });
    assert_eq!(used("15s", &crash), 1_000);
}

#[test]
fn calls_that_an_override_allows_count_as_allowed() {
    let value = |limit: &Value, amount: u64| {
        json!({
            "policies": [{ "limits": [limit], "retry": "wait" }],
            "arrivals": { "kind": "jobs", "count": 1_500 }, "until": "10s",
            "events": [{ "at": "1s", "do": "override", "limit": amount }],
        })
    };
    for limit in [
        json!({ "kind": "bucket", "limit": 10, "interval": "1s" }),
        json!({ "kind": "window", "limit": 10, "interval": "1s" }),
        json!({ "kind": "leaky", "limit": 10, "interval": "1s" }),
    ] {
        for amount in [100, 1] {
            let totals = totals(&value(&limit, amount), 0);
            // An override rounds the level of a meter up to whole units. Under a lower one what was taken drains first.
            let least = if limit["kind"] == "leaky" && amount == 1 { 650 } else { 920 };
            assert!((least..=1_000).contains(&totals.utilisation_permille), "{limit} {totals}");
        }
    }
    // Each of ten seconds has 50 arrivals; in two of the seconds the override allows 1,000.
    let value = json!({
        "policies": [{ "limits": [{ "kind": "bucket", "limit": 100, "interval": "1s" }] }],
        "arrivals": { "kind": "burst", "count": 50, "every": "1s", "for": "10s" }, "until": "10s",
        "events": [{ "at": "5s", "do": "override", "limit": 1_000, "for": "2s" }],
    });
    // 500 of 8 x 100 + 2 x 1000.
    assert_eq!(totals(&value, 0).utilisation_permille, 178);
}

#[test]
fn granted_units_of_crashed_clients_still_count() {
    let value = json!({
        "policies": [{ "limits": [{ "kind": "window", "limit": 10, "interval": "1m" }], "retry": "wait" }],
        "arrivals": { "kind": "jobs", "count": 12 }, "work": "1h",
        "events": [{ "at": "1s", "do": "crash", "client": 0 }],
    });
    let totals = totals(&value, 0);
    assert_eq!((totals.granted, totals.lost, totals.pending), (0, 12, 0));
    assert_eq!((totals.units, totals.largest_burst, totals.utilisation_permille), (10, 10, 1_000));
    assert_eq!((totals.waited, totals.wait.max, totals.drained_after), (0, 0, Some(0)));
}

#[test]
fn a_client_stays_dead_for_the_longest_of_its_crashes() {
    let value = |first: Value, second: Value| {
        json!({
            "policies": [{ "limits": [{ "kind": "unlimited" }] }],
            "arrivals": { "kind": "steady", "count": 1, "per": "1s", "for": "100s" },
            "events": [
                { "at": "10s", "do": "crash", "client": 0, "for": first },
                { "at": "12s", "do": "crash", "client": 0, "for": second },
            ],
        })
    };
    for (first, second, back) in [("5s", "60s", 72), ("60s", "5s", 70), ("2s", "5s", 17), ("3s", "1s", 13)] {
        let times = granted(&run(&value(json!(first), json!(second)), 0));
        assert_eq!((times.len(), times[9], times[10]), (100, 9, back), "{first} {second}");
    }
    for (first, second) in [(json!("5s"), Value::Null), (Value::Null, json!("5s"))] {
        let totals = totals(&value(first, second), 0);
        assert_eq!((totals.granted, totals.pending, totals.ended_at), (10, 90, 99 * S));
    }
}

#[test]
fn a_job_that_can_never_pass_names_its_limit_and_other_rows_leave_it_empty() {
    let value = json!({
        "policies": [{ "limits": [
            { "kind": "points", "limit": 1_000, "interval": "20s" },
            { "kind": "window", "limit": 5, "interval": "1m" },
        ] }],
        "arrivals": { "kind": "times", "text": "at,cost\n0,10\n1,3\n2,10\n3,1\n4,1\n" }, "work": "10s",
        "events": [
            { "at": "1.5s", "do": "override", "label": "window", "limit": 10, "for": "10s" },
            { "at": "2.5s", "do": "pause", "for": "1s" },
            { "at": "5s", "do": "crash", "client": 0 },
        ],
    });
    let simulation = run(&value, 0);
    let timeline = simulation.timeline();
    let rows: Vec<_> = (0..timeline.len())
        .map(|row| (timeline.outcome[row], timeline.limit[row], timeline.before[row], timeline.after[row]))
        .collect();
    let unknown = u64::MAX;
    // The rows: a cost above the limit, a grant, a refusal under the override, a pause, a grant, and then the lost
    // jobs.
    let expected = [(0, 1, 5, 5), (1, 1, 5, 2), (0, 1, 7, 7), (0, 2, unknown, unknown), (1, 1, 7, 6)];
    assert_eq!(rows[..5], expected);
    assert_eq!(rows[5..], [(5, 255, unknown, unknown), (5, 255, unknown, unknown)]);
    let lines = |row| {
        let mut csv = String::new();
        timeline.write_row(row, &mut csv);
        csv
    };
    assert_eq!(lines(3), "3000000,3,0,0,refused,1,0,2,500000,,,0,1\n");
    assert_eq!(lines(6), "5000000,4,0,0,lost,1,1000000,255,,,,0,0\n");
    // A paused policy has no state, and its remaining is 0.
    let paused = json!({
        "policies": [{ "limits": [{ "kind": "paused" }] }], "arrivals": { "kind": "jobs", "count": 1 },
    });
    let paused = run(&paused, 0);
    assert_eq!((&paused.timeline().after, &paused.timeline().levels[0]), (&vec![0], &vec![0]));
}

#[test]
fn arrivals_follow_their_description() {
    let times = |arrivals: Value| {
        let value = json!({ "policies": [{ "limits": [{ "kind": "unlimited" }] }], "arrivals": arrivals, "seed": 3 });
        run(&value, 0).timeline().at.clone()
    };
    assert_eq!(
        times(json!({ "kind": "steady", "count": 3, "per": "1s", "for": "2s" })),
        [0, 333_333, 666_666, 1_000_000, 1_333_333, 1_666_666]
    );
    assert_eq!(
        times(json!({ "kind": "burst", "count": 2, "every": "5s", "for": "11s", "from": "1s" })),
        [S, S, 6 * S, 6 * S, 11 * S, 11 * S]
    );
    // The rate rises from 0 to 10 per second within 10 s: arrival k comes at the time t with k = t^2 / 2.
    let ramp = times(json!({ "kind": "ramp", "count": 0, "to": 10, "per": "1s", "for": "10s" }));
    assert_eq!((ramp.len(), ramp[0], ramp[8], ramp[32]), (50, 0, 4 * S, 8 * S));
    let falling = times(json!({ "kind": "ramp", "count": 10, "to": 0, "per": "1s", "for": "10s" }));
    assert_eq!((falling.len(), falling[0], falling[42]), (50, 0, 6 * S));
    // 36,000 expected; the standard deviation is 190.
    let poisson = times(json!({ "kind": "poisson", "count": 10, "per": "1s", "for": "1h" })).len();
    assert!((35_000..37_000).contains(&poisson), "{poisson}");
    let daily = times(json!({ "kind": "daily", "count": 0, "to": 100, "per": "1m", "for": "2d" }));
    let between =
        |from: u64, to: u64| daily.iter().filter(|at| (from * 3_600 * S..to * 3_600 * S).contains(at)).count();
    assert!((140_000..148_000).contains(&daily.len()), "{}", daily.len());
    assert!(between(11, 13) > 10 * (between(0, 1) + between(23, 24)), "noon against midnight");
    assert!(between(35, 37) > 10 * between(23, 25));
    // The peak is at noon of the clock, whatever time the arrivals begin at.
    let late = times(json!({ "kind": "daily", "count": 0, "to": 100, "per": "1m", "for": "1d", "from": "6h" }));
    let between = |from: u64, to: u64| late.iter().filter(|at| (from * 3_600 * S..to * 3_600 * S).contains(at)).count();
    assert!(between(11, 13) > 10 * between(23, 25), "noon against midnight");
    assert!(between(0, 6) == 0 && between(29, 30) > 10 * between(24, 25));
}

#[test]
fn a_wrong_scenario_is_refused_with_the_path_of_the_fault() {
    let good = json!({
        "policies": [{ "name": "p", "limits": [{ "kind": "bucket", "limit": 1, "interval": "1s" }] }],
        "arrivals": { "kind": "jobs", "count": 1 },
    });
    assert!(scenario(&good).is_ok());
    let window = json!({ "kind": "window", "limit": 1, "interval": "1s" });
    for (pointer, value, path) in [
        ("/policies", json!([]), "policies"),
        ("/policies", json!(5), "policies"),
        ("/policies/0/limits", json!([]), "policies[0].limits"),
        ("/policies/0/limits/0/kind", json!("buckets"), "policies[0].limits[0].kind"),
        ("/policies/0/limits/0/limit", json!(0), "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/limit", json!(-1), "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/limit", json!(1.5), "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/limit", json!("1"), "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/limit", json!(1e300), "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/limit", Value::Null, "policies[0].limits[0].limit"),
        ("/policies/0/limits/0/interval", json!("1 s"), "policies[0].limits[0].interval"),
        ("/policies/0/limits/0/interval", json!("P1M"), "policies[0].limits[0].interval"),
        ("/policies/0/limits/0/interval", json!("0s"), "policies[0].limits[0].interval"),
        ("/policies/0/limits/0/interval", json!(1), "policies[0].limits[0].interval"),
        ("/policies/0/limits/0/offset", json!("1s"), "policies[0].limits[0].offset"),
        ("/policies/0/limits/0/limits", json!(1), "policies[0].limits[0].limits"),
        ("/policies/0/limits/0/label", json!("RPM"), "policies[0].limits[0].label"),
        ("/policies/0/limits/0/label", json!(1), "policies[0].limits[0].label"),
        ("/policies/0/limits", json!([{ "kind": "unlimited" }, window, window]), "policies[0].limits"),
        ("/policies/0/retry", json!("later"), "policies[0].retry"),
        ("/policies/0/name", json!(""), "policies[0].name"),
        ("/policies/0/correct", json!(1), "policies[0].correct"),
        ("/arrivals", json!({}), "arrivals.kind"),
        ("/arrivals", json!({ "kind": "jobs" }), "arrivals.count"),
        ("/arrivals", json!({ "kind": "jobs", "count": 1_000_001 }), "arrivals.count"),
        ("/arrivals", json!({ "kind": "steady", "count": 1_000, "per": "1s", "for": "1d" }), "arrivals"),
        ("/arrivals", json!({ "kind": "times", "text": "0\nx" }), "arrivals.text"),
        ("/arrivals/per", json!("1s"), "arrivals.per"),
        ("/cost", json!([1, 2, 3]), "cost"),
        ("/cost", json!([2, 1]), "cost"),
        ("/cost", json!(0), "cost"),
        ("/work", json!(["1s", "x"]), "work[1]"),
        ("/clients", json!(101), "clients"),
        ("/seed", json!("a"), "seed"),
        ("/until", json!("soon"), "until"),
        ("/upstream", json!({ "latency": "1s" }), "upstream.limits"),
        ("/events", json!([{ "at": "1s", "do": "crash", "client": 1 }]), "events[0].client"),
        ("/events", json!([{ "at": "1s", "do": "override", "limit": 1, "label": "a b" }]), "events[0].label"),
        ("/events", json!([{ "at": "1s", "do": "override", "limit": 1, "index": 0 }]), "events[0].index"),
        ("/events", json!([{ "do": "resume" }]), "events[0].at"),
        ("/events", json!([{ "at": "1s", "do": "pause" }]), "events[0].for"),
        ("/surprise", json!({ "a": [1] }), "surprise.a[0]"),
    ] {
        let mut bad = good.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[name] = value.clone();
        let error = scenario(&bad).unwrap_err();
        let start = format!("at $.{path}: ");
        assert!(
            error.argument() == Some("scenario") && error.message().starts_with(&start),
            "{pointer} {value}: {error}"
        );
    }
}

#[test]
fn an_event_that_cannot_happen_is_an_error_and_no_policy_is_beyond_the_last() {
    let value = json!({
        "policies": [{ "limits": [
            { "kind": "window", "limit": 1, "interval": "1s" },
            { "kind": "window", "label": "rpm", "limit": 9, "interval": "1m" },
        ] }],
        "arrivals": { "kind": "jobs", "count": 1 },
        "events": [{ "at": "1s", "do": "override", "label": "rpm" }, { "at": "2s", "do": "override", "limit": 1 }],
    });
    let error = |value: &Value| {
        let mut simulation = Simulation::new(&scenario(value).unwrap(), 0).unwrap();
        simulation.run(100).unwrap_err().message().to_owned()
    };
    assert!(error(&value).starts_with("at $.events[0]: give another limit"), "{}", error(&value));
    let mut second = value.clone();
    second["events"][0]["limit"] = json!(5);
    assert_eq!(error(&second), "at $.events[1].label: is missing; give one of window, rpm");
    assert_eq!(Simulation::new(&scenario(&value).unwrap(), 1).err().unwrap().argument(), Some("policy"));
}

#[test]
fn an_event_for_a_limit_that_a_policy_does_not_have_leaves_it_alone() {
    let window = json!({ "kind": "window", "label": "rpm", "limit": 1, "interval": "1m" });
    let limits = |limits: Value| json!({ "name": limits.to_string(), "limits": limits });
    let value = json!({
        "policies": [limits(json!([window])), limits(json!([{ "kind": "unlimited" }])), limits(json!([
            { "kind": "bucket", "limit": 3, "interval": "1m" }
        ]))],
        "arrivals": { "kind": "steady", "count": 1, "per": "1s", "for": "10s" },
        "events": [
            { "at": "1.5s", "do": "override", "label": "rpm", "limit": 2 },
            { "at": "4.5s", "do": "pause", "for": "1s" },
        ],
    });
    assert_eq!(granted(&run(&value, 0)), [0, 2]);
    assert_eq!(granted(&run(&value, 1)).len(), 10);
    assert_eq!(granted(&run(&value, 2)), [0, 1, 2]);
}

fn kinds() -> impl Strategy<Value = Value> {
    let amount = 1_u64..8;
    let interval = 1_u64..20;
    prop_oneof![
        (amount.clone(), interval.clone())
            .prop_map(|(n, s)| json!({ "kind": "bucket", "limit": n, "interval": format!("{s}s") })),
        (amount.clone(), interval.clone())
            .prop_map(|(n, s)| json!({ "kind": "window", "limit": n, "interval": format!("{s}s") })),
        (amount.clone(), interval.clone())
            .prop_map(|(n, s)| json!({ "kind": "leaky", "limit": n, "interval": format!("{s}s") })),
        (amount.clone(), interval.clone())
            .prop_map(|(n, s)| json!({ "kind": "points", "limit": n, "interval": format!("{s}s") })),
        interval.clone().prop_map(|s| json!({ "kind": "throttle", "interval": format!("{s}s") })),
        (amount, interval).prop_map(|(n, s)| json!({ "kind": "concurrency", "limit": n, "interval": format!("{s}s") })),
    ]
}

fn retries() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({ "retry": "none" })),
        Just(json!({ "retry": "linear", "attempts": 2 })),
        Just(json!({ "retry": "exponential", "attempts": 4, "cap": "20s" })),
        (0_u64..60).prop_map(|wait| json!({ "retry": "wait", "wait": format!("{wait}s") })),
        (0_u64..60).prop_map(|wait| json!({ "retry": "ticket", "wait": format!("{wait}s") })),
    ]
}

fn arrivals() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1_u64..40).prop_map(|count| json!({ "kind": "jobs", "count": count })),
        (1_u64..4).prop_map(|count| json!({ "kind": "poisson", "count": count, "per": "1s", "for": "30s" })),
        (1_u64..9).prop_map(|count| json!({ "kind": "burst", "count": count, "every": "7s", "for": "30s" })),
    ]
}

prop_compose! {
    fn scenarios()(
        limit in kinds(),
        retry in retries(),
        arrivals in arrivals(),
        cost in 1_u64..4,
        corrected: bool,
        work in 0_u64..8,
        clients in 1_u64..4,
        at_once in 0_u64..3,
        (crashes, comes_back) in any::<(bool, bool)>(),
        (throttles, learns, has_debts) in any::<(bool, bool, bool)>(),
        override_event in prop::option::of((prop::option::of(1_u64..8), 1_u64..20, any::<bool>())),
        until in prop::option::of(1_u64..60),
        seed: u32,
    ) -> Value {
        let is_throttle = limit["kind"] == "throttle";
        let mut policy = json!({ "name": "p", "limits": [limit] });
        policy.as_object_mut().unwrap().extend(retry.as_object().unwrap().clone());
        let mut scenario = json!({
            "policies": [policy], "arrivals": arrivals, "cost": [1, cost], "work": ["0s", format!("{work}s")],
            "clients": clients, "at_once": at_once, "seed": seed,
        });
        if corrected {
            scenario["actual"] = json!([0, cost]);
            if !has_debts {
                scenario["cost"] = json!(cost);
            }
        }
        let mut events = Vec::new();
        if crashes {
            let back = comes_back.then_some("5s");
            events.push(json!({ "at": "9s", "do": "crash", "client": 0, "for": back }));
        }
        if let Some((amount, interval, ends)) = override_event {
            let (amount, lasts) = (amount.filter(|_| !is_throttle), ends.then_some("7s"));
            let interval = format!("{interval}s");
            events.push(json!({ "at": "4s", "do": "override", "limit": amount, "interval": interval, "for": lasts }));
        }
        if !events.is_empty() {
            scenario["events"] = json!(events);
        }
        if throttles {
            let limits = json!([{ "kind": "leaky", "limit": 6, "interval": "3s" }]);
            scenario["upstream"] = json!({ "limits": limits, "latency": "500ms", "learn": learns });
        }
        if let Some(until) = until {
            scenario["until"] = json!(format!("{until}s"));
        }
        scenario
    }
}

/// Returns the number of random scenarios; `PADDLEGATE_CASES` multiplies it.
fn cases() -> u32 {
    std::env::var("PADDLEGATE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1) * 500
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Checks that every job is counted once, that no limit is exceeded, and that the step size does not matter.
    #[test]
    fn jobs_are_counted_once_and_limits_hold(value in scenarios(), step in 1_u64..50) {
        let whole = run(&value, 0);
        let totals = whole.totals();
        if let Some(wait) = value["policies"][0]["wait"].as_str() {
            let most = wait.strip_suffix('s').unwrap().parse::<u64>().unwrap() * S;
            // The wait begins with the job's first call, which comes later when the client is busy or dead.
            let is_put_off = value["at_once"] != 0 || !value["events"].is_null();
            prop_assert!(is_put_off || totals.wait.max <= most, "{}", &totals);
        }
        let ends = totals.granted + totals.refused + totals.gave_up + totals.lost + totals.pending;
        prop_assert_eq!(totals.arrived, ends, "{}", &totals);
        let timeline = whole.timeline();
        prop_assert!(timeline.at.is_sorted());
        let limit = &value["policies"][0]["limits"][0];
        let amount = limit["limit"].as_u64().unwrap_or(1);
        match limit["kind"].as_str().unwrap() {
            "window" if value["actual"].is_null() && value["events"].is_null() => prop_assert!(totals.largest_burst <= amount),
            "bucket" if value["actual"].is_null() && value["events"].is_null() => prop_assert!(totals.largest_burst <= 2 * amount),
            _ => {}
        }
        let ordered = |what: &str| value["events"].as_array().and_then(|events| events.iter().find(|e| e["do"] == what));
        let cost = value["cost"].as_u64().unwrap_or(1);
        // An estimate above the limit is lowered to it, and its correction charges the rest.
        let has_debts = value["actual"].is_array() && (value["cost"].is_array() || cost > amount);
        let is_ordered = ordered("override").is_some();
        let may_be_more = match limit["kind"].as_str().unwrap() {
            // A lease outlasts an override with a lower limit, and a meter drains at the new rate from its last grant
            // on.
            "concurrency" | "throttle" => is_ordered,
            // The next write clamps a count above a lowered limit to that limit, for example a correction or a ticket.
            "leaky" | "points" | "bucket" => has_debts || is_ordered,
            _ => has_debts,
        };
        prop_assert!(may_be_more || totals.utilisation_permille <= 1_000, "{}", &totals);
        if value["until"].is_null() {
            // A job that is neither granted nor gives up waits for a client that never returns.
            let all_dead = value["clients"] == 1 && ordered("crash").is_some_and(|crash| crash["for"].is_null());
            prop_assert!(totals.pending == 0 || all_dead, "{}", &totals);
        }
        let mut stepped = Simulation::new(&scenario(&value).unwrap(), 0).unwrap();
        while stepped.run(step).unwrap() {}
        prop_assert_eq!(stepped.totals(), totals.clone());
        prop_assert_eq!(&stepped.timeline().at, &timeline.at);
        prop_assert_eq!(&stepped.timeline().levels, &timeline.levels);
        prop_assert_eq!(&stepped.timeline().over_time, &timeline.over_time);
        let mut bare = Simulation::new(&scenario(&value).unwrap(), 0).unwrap().without_timeline();
        while bare.run(7).unwrap() {}
        prop_assert_eq!(bare.totals(), totals);
        prop_assert!(bare.timeline().is_empty());
    }

    /// Checks that a window without retries grants the same calls as a list of the last grants.
    #[test]
    fn a_window_decides_as_its_definition(
        mut times in prop::collection::vec(0_u64..300, 1..60),
        limit in 1_u64..6,
        interval in 1_u64..60,
    ) {
        times.sort_unstable();
        let text = times.iter().map(|at| format!("{}.{}", at / 10, at % 10)).collect::<Vec<_>>().join("\n");
        let value = json!({
            "policies": [{ "limits": [{ "kind": "window", "limit": limit, "interval": format!("{}.{}s", interval / 10, interval % 10) }] }],
            "arrivals": { "kind": "times", "text": text },
        });
        let mut passed: Vec<u64> = Vec::new();
        let mut outcomes = Vec::new();
        for at in times {
            let inside = passed.iter().filter(|earlier| at < **earlier + interval).count() as u64;
            outcomes.push(u8::from(inside < limit));
            if inside < limit {
                passed.push(at);
            }
        }
        let simulation = run(&value, 0);
        prop_assert_eq!(&simulation.timeline().outcome, &outcomes);
    }

    /// Checks that any input returns an error or runs to its end.
    #[test]
    fn extreme_numbers_are_an_error_or_the_simulation_ends(
        limit in prop::sample::select(vec![0, 1, 100_000, 1_000_000_000_000, u64::MAX]),
        interval in prop::sample::select(vec!["0s", "0.000001s", "1s", "3650d", "99999999d", "PT0.0000001S"]),
        kind in prop::sample::select(vec!["bucket", "window", "leaky", "points", "throttle", "concurrency"]),
        cost in prop::sample::select(vec![0, 1, 1_000_000_000_000, u64::MAX]),
        retry in prop::sample::select(vec!["none", "linear", "exponential", "wait", "ticket"]),
    ) {
        let mut values = vec![
            ("policies[0].limits[0].kind", Scalar::from(kind)),
            ("policies[0].limits[0].interval", Scalar::from(interval)),
            ("policies[0].retry", Scalar::from(retry)),
            ("policies[0].wait", Scalar::from("1h")),
            ("arrivals.kind", Scalar::from("burst")),
            ("arrivals.count", Scalar::Whole(2)),
            ("arrivals.every", Scalar::from("3649d")),
            ("arrivals.for", Scalar::from("3650d")),
            ("cost", Scalar::Whole(cost)),
            ("work", Scalar::from("3650d")),
            ("until", Scalar::from("3650d")),
        ];
        if kind != "throttle" {
            values.push(("policies[0].limits[0].limit", Scalar::Whole(limit)));
        }
        if let Ok(scenario) = Scenario::read(values) {
            let mut simulation = Simulation::new(&scenario, 0).unwrap();
            let mut rounds = 0;
            while simulation.run(1_000).unwrap() {
                rounds += 1;
                prop_assert!(rounds < 1_000);
            }
        }
    }
}
