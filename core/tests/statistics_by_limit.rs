//! Tests what statistics count by limit and by time: refusals by label, and the histogram of waits.

use std::time::Duration;

use crate::support::calls::{acquire, enter, statistics};
use crate::support::raw::Raw;
use crate::support::{memory_with_clock, redis, redis_with_clock, set_clock, test_url, unique};
use paddlegate::{
    Action, AdminCommand, Deadline, Durations, Label, Limit, Micros, Mode, OnLimit, Paddlegate, Policy, Request, Result,
};

const START: u64 = 1_700_000_000_000_000;
const MINUTE: Duration = Duration::from_secs(60);

fn on_both(test: impl Fn(&Paddlegate) -> Result<()>) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(START);
        test(&store).expect("a test");
    }
}

fn refused_by(counts: &[(&str, u64)]) -> Vec<(Label, u64)> {
    counts.iter().map(|(label, count)| (Label::new(label).expect("a label"), *count)).collect()
}

#[test]
fn each_limit_has_its_refusals_in_the_order_of_the_labels() {
    on_both(|store| {
        let minute = Limit::window(2, MINUTE)?.labelled("rpm")?;
        let hour = Limit::window(3, 60 * MINUTE)?;
        let daily = Limit::window(4, 1440 * MINUTE)?.labelled("daily")?;
        let api = store.limiter(&unique("by limit"), Policy::new([minute, hour, daily])?)?;
        assert_eq!(statistics(&api, START).refused_by, []);
        for _ in 0..4 {
            acquire(&api, Request::cost(1), START);
        }
        let at = START + 120_000_000;
        for _ in 0..4 {
            acquire(&api, Request::cost(1), at);
        }
        enter(&api, "job", 1, None, at);
        let at = START + 10_800_000_000;
        acquire(&api, Request::cost(1), at);
        acquire(&api, Request::cost(1), at);
        let counts = statistics(&api, at);
        assert_eq!(counts.refused_by, refused_by(&[("daily", 1), ("rpm", 2), ("window", 4)]));
        assert_eq!((counts.granted, counts.refused), (4, 7));
        Ok(())
    });
}

#[test]
fn a_pause_a_block_and_the_end_of_a_wait_refuse_without_a_limit() {
    on_both(|store| {
        let api = store.window(&unique("paused"), 1, MINUTE)?;
        let until = Deadline::After(Micros(60_000_000));
        for command in [AdminCommand::Pause(until), AdminCommand::Block(until)] {
            api.admin(command)?;
            acquire(&api, Request::cost(1), START);
            api.admin(AdminCommand::Resume)?;
        }
        acquire(&api, Request::cost(1), START);
        acquire(&api, Request::cost(1), START);
        let counts = statistics(&api, START);
        assert_eq!((counts.refused, counts.refused_by), (3, refused_by(&[("window", 1)])));
        Ok(())
    });
}

#[test]
fn shadow_refuses_nobody_by_a_limit() {
    on_both(|store| {
        let api = store.window(&unique("shadow"), 1, MINUTE)?.with_mode(Mode::Shadow)?;
        for id in ["a", "b", "c"] {
            acquire(&api, Request::cost(1), START);
            enter(&api, id, 1, None, START);
        }
        let counts = statistics(&api, START);
        assert_eq!((counts.shadow_refused, counts.refused, counts.refused_by), (5, 0, vec![]));
        Ok(())
    });
}

/// Each job waits behind the one before, and takes its turn so long after it joined the queue.
#[test]
fn a_wait_counts_below_the_next_power_of_two_of_a_millisecond() {
    on_both(|store| {
        let api = store.concurrent(&unique("waits"), 1, Duration::from_secs(7_200))?;
        let waits =
            [0, 999, 1_000, 1_999, 2_000, 4_000, 1_023_999, 1_024_000, 1_048_575_999, 1_048_576_000, 2_000_000_000];
        let mut permit = api.admit("first", Request::cost(1), OnLimit::Wait)?.decision.permit;
        let mut now = START;
        for (number, wait) in waits.into_iter().enumerate() {
            let job = format!("job {number}");
            let until = now + wait;
            loop {
                assert_eq!(api.admit(&job, Request::cost(1), OnLimit::Wait)?.action, Action::Wait);
                // A job that does not ask again loses its position.
                now = until.min(now + 60_000_000);
                set_clock(now);
                if now == until {
                    break;
                }
            }
            api.release(&permit.expect("a permit"))?;
            permit = api.admit(&job, Request::cost(1), OnLimit::Wait)?.decision.permit;
        }
        let counts = statistics(&api, now);
        let mut expected = [0; Durations::BUCKETS];
        for bucket in [0, 0, 1, 1, 2, 3, 10, 11, 20, 21, 21] {
            expected[bucket] += 1;
        }
        assert_eq!(counts.waits.counts(), expected);
        assert_eq!((counts.waited, counts.wait_time), (11, Micros(waits.iter().sum())));
        Ok(())
    });
}

#[test]
fn damaged_counts_are_none_and_those_of_an_unknown_kind_are_not_of_a_limit() {
    let store = redis();
    let name = unique("damaged");
    let api = store.window(&name, 1, MINUTE).expect("a limiter");
    api.try_acquire(Request::cost(1)).expect("a decision");
    let mut raw = Raw::open(&test_url());
    let keys = raw.keys(&name).into_iter().map(|key| String::from_utf8(key).expect("a text"));
    let key = keys.into_iter().find(|key| key.contains(":m:")).expect("statistics");
    for (field, count) in [
        ("granted", "x"),
        ("g", "7"),
        ("gx", "7"),
        ("g7", "y"),
        ("r:w", "-3"),
        ("r:?", "2"),
        ("r:w:UPPER", "4"),
        ("h22", "5"),
        ("h1", "6"),
    ] {
        raw.execute(&["HSET", &key, field, count]);
    }
    let counts = api.statistics().expect("statistics");
    assert_eq!((counts.granted, counts.refused, counts.waited), (1, 0, 6));
    assert_eq!(counts.refused_by, []);
}
