//! Tests the history: what a limiter has counted in each minute and hour, in memory and in Redis.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::calls::{acquire, enter, longest_wait};
use crate::support::raw::{Raw, Reply};
use crate::support::{memory_with_clock, redis, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{History, HistoryEntry, Limiter, Paddlegate, Request, Result};

/// An hour begins here.
const START: u64 = 1_700_002_800_000_000;
const MINUTE: u64 = 60_000_000;
const HOUR: u64 = 60 * MINUTE;

fn on_both(test: impl Fn(&Paddlegate) -> Result<()>) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(START);
        test(&store).expect("a test");
    }
}

/// Returns the entries with counts: how many minutes or hours ago, granted, refused, waited, units.
fn counts(entries: &[HistoryEntry]) -> Vec<(usize, [u64; 4])> {
    let counted =
        |(ago, entry): (usize, &HistoryEntry)| (ago, [entry.granted, entry.refused, entry.waited, entry.units]);
    entries.iter().rev().enumerate().map(counted).filter(|(_, counts)| *counts != [0; 4]).collect()
}

fn history_at(limiter: &Limiter, at: u64) -> Result<History> {
    set_clock(at);
    limiter.history()
}

#[test]
fn each_minute_and_each_hour_has_its_counts() {
    on_both(|store| {
        let api = store.window(&unique("minutes"), 2, Duration::from_secs(30))?;
        let empty = api.history()?;
        assert_eq!((counts(&empty.minutes), counts(&empty.hours)), (vec![], vec![]));
        for (minute, calls) in [(0, 3), (1, 1), (59, 2), (60, 1), (90, 4), (120, 1)] {
            for _ in 0..calls {
                acquire(&api, Request::cost(1), START + minute * MINUTE + MINUTE - 1);
            }
        }
        let history = history_at(&api, START + 120 * MINUTE + 5)?;
        assert_eq!((history.minutes.len(), history.hours.len()), (60, 48));
        assert_eq!(history.minutes[59].start.0, START + 120 * MINUTE);
        assert_eq!(history.minutes[0].start.0, START + 61 * MINUTE);
        assert_eq!(history.hours[47].start.0, START + 2 * HOUR);
        assert_eq!(counts(&history.minutes), [(0, [1, 0, 0, 1]), (30, [2, 2, 0, 2])]);
        assert_eq!(counts(&history.hours), [(0, [1, 0, 0, 1]), (1, [3, 2, 0, 3]), (2, [5, 1, 0, 5])]);
        let statistics = api.statistics()?;
        assert_eq!((statistics.granted, statistics.refused, statistics.units), (9, 3, 9));
        assert_eq!(statistics.refused_by.len(), 1);

        let later = history_at(&api, START + 49 * HOUR)?;
        assert_eq!((counts(&later.minutes), counts(&later.hours)), (vec![], vec![(47, [1, 0, 0, 1])]));
        acquire(&api, Request::cost(1), START + 50 * HOUR);
        let after = history_at(&api, START + 50 * HOUR)?;
        assert_eq!((counts(&after.minutes), counts(&after.hours)), (vec![(0, [1, 0, 0, 1])], vec![(0, [1, 0, 0, 1])]));
        assert_eq!(api.statistics()?.granted, 10, "statistics forget nothing");
        Ok(())
    });
}

#[test]
fn waits_and_corrections_count_when_they_happen() {
    on_both(|store| {
        let api = store.leaky(&unique("corrected"), 100, Duration::from_secs(3_600))?;
        let estimated = acquire(&api, Request::estimate(60), START);
        let permit = estimated.permit.as_deref().unwrap();
        set_clock(START + MINUTE);
        api.correct(permit, 20)?;
        assert_eq!(counts(&api.history()?.minutes), [(1, [1, 0, 0, 60])], "40 were given back, and none charged");
        acquire(&api, Request::cost(50), START + MINUTE);
        assert_eq!(counts(&api.history()?.minutes), [(0, [1, 0, 0, 10]), (1, [1, 0, 0, 60])]);
        assert_eq!(counts(&api.history()?.hours), [(0, [2, 0, 0, 70])]);

        let workers = store.concurrent(&unique("workers"), 1, Duration::from_secs(600))?;
        let first = enter(&workers, "first", 1, None, START);
        for at in [START, START + 59_000_000] {
            // A job that does not ask again loses its position.
            assert!(!enter(&workers, "second", 1, Some(longest_wait()), at).allowed());
        }
        set_clock(START + MINUTE);
        workers.release(first.permit.as_deref().unwrap())?;
        assert!(enter(&workers, "second", 1, Some(longest_wait()), START + MINUTE).allowed());
        assert_eq!(counts(&workers.history()?.minutes), [(0, [1, 0, 1, 1]), (1, [1, 0, 0, 1])]);
        Ok(())
    });
}

#[test]
fn all_keys_have_one_history_and_a_reset_begins_that_of_a_limiter_anew() {
    on_both(|store| {
        let per_user = store.window(&unique("per user"), 5, Duration::from_secs(30))?.keyed()?;
        for (key, minute) in [("ada", 0), ("bob", 0), ("ada", 1), ("cleo", 62), ("ada", 2)] {
            acquire(&per_user.with_key(key)?, Request::cost(2), START + minute * MINUTE);
        }
        let history = history_at(&per_user, START + 62 * MINUTE)?;
        assert_eq!(counts(&history.hours), [(0, [1, 0, 0, 2]), (1, [4, 0, 0, 8])]);
        assert_eq!(per_user.with_key("ada")?.history().unwrap_err().argument(), Some("key"));

        let api = store.window(&unique("reset"), 5, Duration::from_secs(30))?;
        acquire(&api, Request::cost(2), START);
        acquire(&api, Request::cost(2), START + MINUTE);
        api.reset()?;
        assert_eq!(counts(&api.history()?.hours), []);
        let error = api.without_statistics()?.history().unwrap_err();
        assert_eq!(error.argument(), Some("statistics"));
        Ok(())
    });
}

#[test]
#[allow(clippy::disallowed_methods)] // The server's clock is the real one.
fn what_a_process_counts_of_its_plain_calls_has_the_minute_of_the_server() -> Result<()> {
    let name = unique("plain");
    let limiter = |store: &Paddlegate| store.leaky(&name, 1_000_000, Duration::from_secs(1));
    let (one, other) = (redis(), redis());
    let api = limiter(&one)?;
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs() * 1_000_000;
    let began = now() - now() % MINUTE;
    for _ in 0..100 {
        api.try_acquire(Request::cost(2))?;
    }
    one.close();
    let history = limiter(&other)?.history()?;
    let sums =
        history.minutes.iter().fold([0; 2], |[granted, units], entry| [granted + entry.granted, units + entry.units]);
    assert_eq!(sums, [100, 200]);
    let ended = now();
    let counted = history.minutes.iter().filter(|entry| entry.granted > 0);
    assert!(counted.map(|entry| entry.start.0).all(|start| (began..=ended).contains(&start)), "{history:?}");
    Ok(())
}

/// Returns the key of the statistics of a limiter that somebody has used.
fn statistics_key(raw: &mut Raw, name: &str) -> String {
    let keys = raw.keys(name).into_iter().map(|key| String::from_utf8(key).expect("a text"));
    keys.into_iter().find(|key| key.contains(":m:")).expect("statistics")
}

#[test]
fn the_late_counts_of_many_processes_have_one_entry_a_minute() -> Result<()> {
    set_clock(START);
    let name = unique("many");
    let limiter = || redis_with_clock().bucket(&name, 1_000_000, Duration::from_secs(3_600));
    let processes = (0..30).map(|_| limiter()).collect::<Result<Vec<_>>>()?;
    acquire(&processes[0], Request::cost(1), START);
    let mut raw = Raw::open(&test_url());
    let key = statistics_key(&mut raw, &name);
    for minute in 1..=125 {
        for (i, process) in (0..).zip(&processes) {
            // What a process has counted arrives with its next call, here a minute late, some two.
            let counted = START / MINUTE + minute - 1 - u64::from(i % 3 == 0 && minute > 1);
            for (field, count) in [("g", "100000"), ("r", "10000"), ("u", "-7")] {
                raw.execute(&["HINCRBY", &key, &format!("{field}{counted}"), count]);
            }
            acquire(process, Request::cost(1), START + minute * MINUTE);
        }
    }
    let history = history_at(&processes[0], START + 125 * MINUTE)?;
    let found = counts(&history.minutes);
    assert_eq!(found[2..].len(), 58);
    for (ago, [granted, refused, _, units]) in &found[2..] {
        assert_eq!([*granted, *refused, *units], [3_000_030, 300_000, 3_000_030 - 210], "{ago} minutes ago");
    }
    let all: u64 = history.hours.iter().map(|hour| hour.refused).sum();
    assert_eq!(all, 125 * 30 * 10_000);
    let Reply::Integer(length) = raw.execute(&["HSTRLEN", &key, "minutes"]) else { panic!("no length") };
    assert!(length < 3_000, "{length}");
    let Reply::Integer(length) = raw.execute(&["HSTRLEN", &key, "hours"]) else { panic!("no length") };
    assert!(length < 200, "{length}");
    Ok(())
}

#[test]
fn damaged_counts_stop_nothing_and_are_replaced() -> Result<()> {
    set_clock(START);
    let name = unique("damaged");
    let api = redis_with_clock().window(&name, 9, Duration::from_secs(30))?;
    acquire(&api, Request::cost(1), START);
    let mut raw = Raw::open(&test_url());
    let key = statistics_key(&mut raw, &name);
    let minute = START / MINUTE;
    let long = format!(";{minute} 1 1 1 1").repeat(2_000);
    let damaged = [
        ("g007", "1"),
        ("g8", "nan"),
        ("u9", "text"),
        ("w10:99", "5"),
        ("r11:w:UPPER", "2"),
        ("g99999999999999999999", "3"),
        ("hours", ";1 2;x;;3 1 1 1 -99999999999999999999"),
        ("minutes", &long),
    ];
    for (field, count) in damaged {
        raw.execute(&["HSET", &key, field, count]);
    }
    api.history()?;
    api.statistics()?;
    for minutes in 1..4 {
        // A new process registers the limiter.
        let api = redis_with_clock().window(&name, 9, Duration::from_secs(30))?;
        acquire(&api, Request::cost(1), START + minutes * MINUTE);
    }
    let history = history_at(&api, START + 3 * MINUTE)?;
    assert_eq!(counts(&history.minutes), (0..4).map(|ago| (ago, [1, 0, 0, 1])).collect::<Vec<_>>());
    let Reply::Text(minutes) = raw.execute(&["HGET", &key, "minutes"]) else { panic!("no text") };
    assert!(minutes.len() < 200, "{}", String::from_utf8_lossy(&minutes));
    Ok(())
}
