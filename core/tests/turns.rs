//! Tests hosts that sleep until the turn of a job comes, in memory and on Redis.
// The hosts sleep in real time.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, proptest};

use crate::server::Server;
use crate::support::{memory_with_clock, open, redis, redis_with_clock, set_clock, unique};
use paddlegate::{
    Action, ErrorKind, Limiter, MAX_POLL, Micros, OnLimit, Paddlegate, ReadyCalls, Request, Share, TurnsHost, Wakeup,
    WakeupListener,
};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);

fn on_both(test: impl Fn(&Paddlegate)) {
    for store in [memory_with_clock(), redis_with_clock()] {
        set_clock(START);
        test(&store);
    }
}

fn stores() -> [(&'static str, Paddlegate); 2] {
    [("memory", Paddlegate::memory()), ("redis", redis())]
}

/// Admits a job and returns its permit if it runs.
fn admit(limiter: &Limiter, job: &str) -> Option<String> {
    let admission = limiter.admit(job, Request::cost(1), OnLimit::Wait).expect("an admission");
    (admission.action == Action::Run).then(|| admission.decision.permit.unwrap_or_default())
}

fn ask(limiter: &Limiter, id: &str, listener: &WakeupListener) -> ReadyCalls {
    limiter.ready_for(100, TurnsHost { id, channel: listener.channel() }).expect("a list")
}

fn nothing(after: Micros) -> ReadyCalls {
    ReadyCalls { ids: Vec::new(), after }
}

fn listed(ids: &[&str], after: Micros) -> ReadyCalls {
    ReadyCalls { ids: ids.iter().map(ToString::to_string).collect(), after }
}

/// Returns the wake-ups that have arrived; the connection may be slower than the reply to a call.
fn wakeups(listener: &WakeupListener, at_least: usize) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for _ in 0..12_000 {
        all.extend(listener.receive().expect("wake-ups").into_iter().map(|Wakeup { id, delay }| (id, delay.0)));
        if all.len() >= at_least {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    all
}

fn told(id: &str, delay: u64) -> (String, u64) {
    (id.to_owned(), delay)
}

#[test]
fn one_host_is_told_of_each_release() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("turns"), 2, LOCK_TIMEOUT).unwrap();
        let listener = limiter.listen().unwrap();
        let [first, second] = ["a", "b"].map(|job| admit(&limiter, job).expect("a lease"));
        assert!(["c", "d", "e"].iter().all(|job| admit(&limiter, job).is_none()));
        assert_eq!(ask(&limiter, "one", &listener), nothing(MAX_POLL));
        assert_eq!(ask(&limiter, "two", &listener), nothing(MAX_POLL));
        limiter.release(&first).unwrap();
        limiter.release(&second).unwrap();
        assert_eq!(wakeups(&listener, 2), [told("one", 0), told("two", 0)]);
        assert_eq!(ask(&limiter, "one", &listener), listed(&["c", "d"], MAX_POLL));
        assert_eq!(ask(&limiter, "two", &listener), nothing(MAX_POLL), "the other has them");
        limiter.release(&admit(&limiter, "c").expect("a lease")).unwrap();
        assert_eq!(wakeups(&listener, 1), [told("one", 0)]);
    });
}

#[test]
fn a_host_is_told_when_the_first_job_queues_and_of_an_earlier_turn() {
    on_both(|store| {
        let limiter = store.throttle(&unique("turns"), Duration::from_secs(2)).unwrap();
        let listener = limiter.listen().unwrap();
        assert_eq!(ask(&limiter, "one", &listener), nothing(MAX_POLL));
        assert_eq!(ask(&limiter, "two", &listener), nothing(MAX_POLL));
        assert!(admit(&limiter, "a").is_some() && admit(&limiter, "b").is_none() && admit(&limiter, "c").is_none());
        assert_eq!(wakeups(&listener, 1), [told("one", 2 * SECOND)], "the others are told nothing");
        set_clock(START + SECOND);
        assert_eq!(ask(&limiter, "two", &listener), nothing(MAX_POLL), "one is enough for a turn");
        assert_eq!(ask(&limiter, "one", &listener), nothing(Micros(SECOND)));
        set_clock(START + 2 * SECOND);
        assert_eq!(ask(&limiter, "one", &listener), listed(&["b"], Micros(2 * SECOND)));
        assert!(admit(&limiter, "b").is_some());
        assert_eq!(listener.receive().unwrap(), [], "each asks in time");
    });
}

#[test]
fn a_call_that_comes_itself_wakes_no_host_for_its_own_turn() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("turns"), 2, Duration::from_secs(8)).unwrap();
        let listener = limiter.listen().unwrap();
        assert!(["a", "b"].iter().all(|job| admit(&limiter, job).is_some()));
        for id in ["one", "two", "three"] {
            assert_eq!(ask(&limiter, id, &listener), nothing(MAX_POLL));
        }
        assert!(["c", "d"].iter().all(|job| admit(&limiter, job).is_none()));
        assert_eq!(wakeups(&listener, 0), [], "each asks before a lease ends");
        set_clock(START + 8 * SECOND);
        assert!(admit(&limiter, "d").is_some(), "the leases have ended without a call");
        assert_eq!(wakeups(&listener, 2), [told("one", 0), told("two", 0)], "of c, before and after the grant");
        assert_eq!(ask(&limiter, "two", &listener), listed(&["c"], MAX_POLL));
    });
}

#[test]
fn hosts_that_are_gone_are_passed_over() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("turns"), 1, LOCK_TIMEOUT).unwrap();
        let listener = limiter.listen().unwrap();
        let first = admit(&limiter, "a").expect("a lease");
        assert!(admit(&limiter, "b").is_none());
        limiter.ready_for(100, TurnsHost { id: "gone", channel: "nobody" }).unwrap();
        ask(&limiter, "here", &listener);
        limiter.release(&first).unwrap();
        assert_eq!(wakeups(&listener, 1), [told("here", 0)]);
    });
}

#[test]
fn a_host_is_known_for_ten_seconds() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("turns"), 1, LOCK_TIMEOUT).unwrap();
        let listener = limiter.listen().unwrap();
        let first = admit(&limiter, "a").expect("a lease");
        ask(&limiter, "old", &listener);
        assert!(admit(&limiter, "b").is_none());
        set_clock(START + 5 * SECOND);
        ask(&limiter, "new", &listener);
        set_clock(START + 10 * SECOND);
        limiter.release(&first).unwrap();
        assert_eq!(wakeups(&listener, 1), [told("new", 0)]);
    });
}

#[test]
fn bad_arguments_name_themselves() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("turns"), 1, LOCK_TIMEOUT).unwrap();
        let host = TurnsHost { id: "host", channel: "somewhere" };
        for (argument, count, host) in [
            ("count", 0, host),
            ("count", 101, host),
            ("id", 1, TurnsHost { id: "", ..host }),
            ("id", 1, TurnsHost { id: "a\u{1f}b", ..host }),
            ("channel", 1, TurnsHost { channel: "", ..host }),
            ("channel", 1, TurnsHost { channel: "two words", ..host }),
        ] {
            let error = limiter.ready_for(count, host).unwrap_err();
            assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some(argument)), "{count} {host:?}");
        }
        let error = limiter.turns().unwrap().with_count(0).unwrap_err();
        assert_eq!(error.argument(), Some("count"));
        let error = limiter.turns().unwrap().with_wait_timeout(Duration::MAX).unwrap_err();
        assert_eq!(error.argument(), Some("wait_timeout"));
    });
}

/// Runs queued jobs as their turns come, each on a thread, until all have run; returns them in the order of their turns.
fn run_jobs(limiter: &Limiter, jobs: usize) -> Vec<String> {
    let mut started = Vec::new();
    thread::scope(|scope| {
        for job in limiter.turns().unwrap().with_wait_timeout(Duration::from_secs(60)).unwrap().take(jobs) {
            let job = job.expect("a turn");
            started.push(job.clone());
            scope.spawn(move || {
                let permit = admit(limiter, &job).expect("its turn");
                thread::sleep(Duration::from_millis(5));
                limiter.release(&permit).expect("a release");
            });
        }
    });
    started
}

#[test]
fn a_hundred_jobs_run_in_their_order_with_three_calls_each_and_a_release() {
    let server = Server::start();
    let evals = || {
        let text = server.execute(&["INFO", "commandstats"]);
        let calls = text.split("cmdstat_evalsha:calls=").nth(1).unwrap_or("0,");
        calls.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let limiter = open(&server.url(), None).concurrent("turns", 3, LOCK_TIMEOUT).unwrap();
    // A host is known before the first job queues.
    let first: Vec<String> = ["a", "b", "c"].map(|job| admit(&limiter, job).expect("a lease")).into();
    let before = evals();
    let jobs: Vec<String> = (0..100).map(|job| format!("job {job}")).collect();
    let started = thread::scope(|scope| {
        let host = scope.spawn(|| run_jobs(&limiter, 100));
        for job in &jobs {
            assert!(admit(&limiter, job).is_none());
        }
        for permit in &first {
            assert_eq!(limiter.release(permit).unwrap().name(), "released");
        }
        host.join().unwrap()
    });
    assert_eq!(started, jobs);
    let calls = evals() - before;
    println!("{calls} calls for 100 jobs, of which 103 are releases");
    // The host asks once more for each five seconds that a slow machine takes.
    assert!(calls <= 103 + 3 * 100 + 40, "{calls} calls");
}

#[test]
fn of_several_hosts_each_gets_other_jobs_and_all_run() {
    for (store, pg) in stores() {
        let limiter = pg.concurrent(&unique("hosts"), 2, LOCK_TIMEOUT).unwrap();
        let first = ["a", "b"].map(|job| admit(&limiter, job).expect("a lease"));
        let jobs: BTreeSet<String> = (0..60).map(|job| format!("job {job}")).collect();
        for job in &jobs {
            assert!(admit(&limiter, job).is_none());
        }
        let ran = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // A worker that runs each job itself.
                    let turns = limiter.turns().unwrap().with_count(1).unwrap();
                    for job in turns.with_wait_timeout(Duration::from_secs(6)).unwrap() {
                        let job = job.expect("a turn");
                        let permit = admit(&limiter, &job).expect("its turn");
                        ran.lock().unwrap().push(job);
                        limiter.release(&permit).expect("a release");
                    }
                });
            }
            for permit in &first {
                assert_eq!(limiter.release(permit).unwrap().name(), "released");
            }
        });
        let ran = ran.into_inner().unwrap();
        assert_eq!(ran.len(), 60, "{store}: each once");
        assert_eq!(ran.into_iter().collect::<BTreeSet<_>>(), jobs, "{store}");
    }
}

#[test]
fn the_iterator_ends_with_its_time() {
    for (store, pg) in stores() {
        let limiter = pg.concurrent(&unique("ends"), 1, LOCK_TIMEOUT).unwrap();
        let mut turns = limiter.turns().unwrap().with_wait_timeout(Duration::ZERO).unwrap();
        assert!(turns.next().is_none(), "{store}");
        let lease = admit(&limiter, "a").expect("a lease");
        assert!(admit(&limiter, "b").is_none());
        assert!(turns.next().is_none(), "{store}");
        limiter.release(&lease).unwrap();
        let mut turns = turns.with_wait_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(turns.next().expect("a turn").expect("a turn"), "b", "{store}");
    }
}

#[test]
fn the_iterator_says_that_the_store_is_closed() {
    let pg = redis();
    let mut turns = pg.concurrent(&unique("closed"), 1, LOCK_TIMEOUT).unwrap().turns().unwrap();
    let error = thread::scope(|scope| {
        let host = scope.spawn(move || turns.next());
        thread::sleep(Duration::from_millis(20));
        pg.close();
        host.join().unwrap().expect("an answer").unwrap_err()
    });
    assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("store")), "{error}");
}

#[test]
fn a_host_opens_another_connection_when_that_of_the_wakeups_is_lost() {
    let server = Server::start();
    let limiter = open(&server.url(), None).concurrent("lost", 1, LOCK_TIMEOUT).unwrap();
    let lease = admit(&limiter, "a").expect("a lease");
    assert!(admit(&limiter, "b").is_none());
    let mut turns = limiter.turns().unwrap();
    thread::scope(|scope| {
        let host = scope.spawn(move || turns.next());
        while !server.execute(&["PUBSUB", "CHANNELS"]).contains("pg2:hints:") {
            thread::sleep(Duration::from_millis(1));
        }
        server.execute(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        limiter.release(&lease).unwrap();
        assert_eq!(host.join().unwrap().expect("a turn").expect("a turn"), "b");
    });
}

/// Admits a job of a share and returns its permit if it runs.
fn admit_of(limiter: &Limiter, job: &str, share: Option<(&str, u32)>) -> Option<String> {
    let share = share.map(|(name, weight)| Share { name, weight });
    let admission = limiter.admit(job, Request { share, ..Request::cost(1) }, OnLimit::Wait).expect("an admission");
    (admission.action == Action::Run).then(|| admission.decision.permit.unwrap_or_default())
}

/// Returns how many of so many turns the first of two shares gets, which both always have `jobs` in the queue.
fn turns_of_first(store: &Paddlegate, weights: [u32; 2], turns: u32, jobs: u32) -> u32 {
    let limiter = store.concurrent(&unique("shares"), 1, LOCK_TIMEOUT).unwrap();
    let of = |job: &str| if job.starts_with('a') { Some(("a", weights[0])) } else { Some(("b", weights[1])) };
    let mut permit = admit(&limiter, "first").expect("a lease");
    for job in (0..jobs).flat_map(|i| [format!("a-{i}"), format!("b-{i}")]) {
        assert!(admit_of(&limiter, &job, of(&job)).is_none());
    }
    let mut of_first = 0;
    for turn in jobs..jobs + turns {
        limiter.release(&permit).unwrap();
        let job = limiter.ready(1).unwrap().remove(0);
        permit = admit_of(&limiter, &job, of(&job)).expect("its turn");
        of_first += u32::from(job.starts_with('a'));
        let next = format!("{}-{turn}", &job[..1]);
        assert!(admit_of(&limiter, &next, of(&next)).is_none());
    }
    of_first
}

/// Checks that each of two shares gets its part of 1,500 turns, but for 1 %.
fn assert_turns(store: &Paddlegate, weights: [u32; 2], jobs: u32) {
    let (of_first, due) = (turns_of_first(store, weights, 1_500, jobs), 1_500 * weights[0] / (weights[0] + weights[1]));
    assert!(of_first.abs_diff(due) <= 15, "{weights:?}, {jobs} jobs: {of_first} turns of 1500, not {due}");
}

#[test]
fn shares_get_turns_by_their_weights() {
    let memory = memory_with_clock();
    set_clock(START);
    for weights in [[100, 200], [300, 400], [7, 500], [900, 1_000], [999, 1_000], [1_000, 1_000]] {
        for jobs in [1, 3] {
            assert_turns(&memory, weights, jobs);
        }
    }
    let of_first = turns_of_first(&redis_with_clock(), [300, 400], 350, 1);
    assert!(of_first.abs_diff(150) <= 3, "{of_first} turns of 350, not 150");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn shares_of_any_weights_get_turns_by_them(first in 1_u32..=1_000, second in 1_u32..=1_000, jobs in 1_u32..4) {
        let memory = memory_with_clock();
        set_clock(START);
        assert_turns(&memory, [first, second], jobs);
    }
}

#[test]
fn the_first_job_of_the_greater_weight_is_the_first() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("shares"), 1, LOCK_TIMEOUT).unwrap();
        let permit = admit(&limiter, "first").expect("a lease");
        for share in [("four", 4), ("eight", 8)] {
            assert!(admit_of(&limiter, share.0, Some(share)).is_none());
        }
        limiter.release(&permit).unwrap();
        assert_eq!(limiter.ready(1).unwrap(), ["eight"]);
    });
}

#[test]
fn jobs_of_nobody_that_came_before_the_first_share_have_one_share() {
    on_both(|store| {
        let limiter = store.concurrent(&unique("shares"), 1, LOCK_TIMEOUT).unwrap();
        let mut permit = admit(&limiter, "first").expect("a lease");
        for job in ["n-1", "n-2", "n-3", "n-4"] {
            assert!(admit(&limiter, job).is_none());
        }
        for job in ["s-1", "s-2", "s-3", "s-4"] {
            assert!(admit_of(&limiter, job, Some(("s", 2))).is_none());
        }
        assert!(admit(&limiter, "n-5").is_none());
        let order: Vec<String> = (0..9)
            .map(|_| {
                limiter.release(&permit).unwrap();
                let job = limiter.ready(1).unwrap().remove(0);
                let share = job.starts_with('s').then_some(("s", 2));
                permit = admit_of(&limiter, &job, share).expect("its turn");
                job
            })
            .collect();
        assert_eq!(order, ["s-1", "n-1", "s-2", "s-3", "n-2", "s-4", "n-3", "n-4", "n-5"]);
    });
}
