//! Tests changes on the condition of a version, and the log that processes share.

use std::time::Duration;

use crate::support::{redis, unique};
use paddlegate::{
    AdminCommand, Answer, Calendar, CalendarPeriod, Deadline, ErrorKind, Limit, Limiter, LimiterInfo, Micros,
    Operation, Paddlegate, Policy, Request,
};

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn pause(seconds: u64) -> Operation<'static> {
    Operation::Admin { command: AdminCommand::Pause(Deadline::After(Micros(seconds * 1_000_000))) }
}

/// Makes a change; the version after it, 0 after a reset, or `None`.
async fn change(limiter: &Limiter, operation: Operation<'_>, versions: &[u64]) -> Option<u64> {
    let change = limiter.prepare_if_version(operation, versions).unwrap();
    limiter.run_if_version(change).await.unwrap().map(|answer| match answer {
        Answer::RuntimeState(state) => state.version,
        Answer::Reset => 0,
        other => panic!("{other:?}"),
    })
}

fn limiters(store: &Paddlegate) -> Vec<Limiter> {
    let hour = Duration::from_secs(3_600);
    let quota = Limit::quota(5, Calendar::new(CalendarPeriod::Month)).unwrap();
    vec![
        store.bucket(&unique("if"), 5, hour).unwrap(),
        store.window(&unique("if"), 5, hour).unwrap(),
        store.concurrent(&unique("if"), 5, hour).unwrap(),
        store.limiter(&unique("if"), Policy::new([quota]).unwrap()).unwrap(),
        store.unlimited(&unique("if")).unwrap(),
        store.bucket(&unique("if"), 5, hour).unwrap().keyed().unwrap().with_key("alice").unwrap(),
    ]
}

#[test]
fn only_the_version_that_was_seen_is_changed() {
    run(async {
        for store in [Paddlegate::memory(), redis()] {
            for limiter in limiters(&store) {
                let name = limiter.name().to_owned();
                assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed());
                assert_eq!(change(&limiter, pause(60), &[1]).await, None, "{name}");
                assert!(limiter.try_acquire(Request::cost(1)).unwrap().allowed(), "{name}: nothing was changed");
                let first = change(&limiter, pause(60), &[7, 0]).await.unwrap();
                assert!(first > 0, "{name}");
                assert_eq!(change(&limiter, pause(90), &[0]).await, None, "{name}");
                let state = limiter.admin(AdminCommand::Get).unwrap();
                assert_eq!(state.version, first, "{name}");
                assert!(state.paused_for.unwrap() <= Micros(60_000_000), "{name}");
                let second = change(&limiter, pause(90), &[first]).await.unwrap();
                assert!(second > first, "{name}");
                if !limiter.policy().limits().is_empty() {
                    assert_eq!(change(&limiter, Operation::Reset, &[first]).await, None, "{name}");
                    assert_eq!(change(&limiter, Operation::Reset, &[second]).await, Some(0), "{name}");
                    assert_eq!(limiter.admin(AdminCommand::Get).unwrap().version, 0, "{name}");
                }
            }
        }
    });
}

#[test]
fn other_operations_have_no_version() {
    for store in [Paddlegate::memory(), redis()] {
        let limiter = &limiters(&store)[0];
        let refused = limiter.prepare_if_version(Operation::Acquire(Request::cost(1)), &[0]).err().unwrap();
        assert_eq!((refused.kind(), refused.argument()), (ErrorKind::Invalid, Some("operation")));
        assert!(limiter.prepare_if_version(pause(0), &[0]).is_err(), "it fails as the change does");
    }
}

#[test]
fn a_log_is_read_in_pages_and_capped() {
    run(async {
        let (one, other) = (redis(), redis());
        let log = unique("log").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        assert_eq!(one.end_of_log(&log).await.unwrap(), "0");
        let mut ids = Vec::new();
        for i in 0..25 {
            ids.push(one.append_to_log(&log, &format!("entry {i}"), 1_000).await.unwrap());
        }
        assert_eq!(other.end_of_log(&log).await.unwrap(), ids[24]);
        let (mut read, mut last) = (Vec::new(), "0".to_owned());
        loop {
            let page = other.read_log(&log, &last, 10).await.unwrap();
            assert!(page.len() <= 10);
            let Some(end) = page.last() else { break };
            last.clone_from(&end.id);
            read.extend(page);
        }
        assert_eq!(read.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(), ids);
        assert_eq!(read[24].text, "entry 24");
        for _ in 0..1_000 {
            other.append_to_log(&log, "more", 100).await.unwrap();
        }
        assert!(one.read_log(&log, "0", 1_000).await.unwrap().len() <= 300, "about 100 are kept");
        assert!(!one.limiters().unwrap().iter().any(|info: &LimiterInfo| info.name == log), "it is no limiter");
    });
}

#[test]
fn what_is_wrong_with_a_log_is_named() {
    run(async {
        let store = redis();
        for name in ["", "a b", "a:b", "a}", &"x".repeat(65)] {
            assert_eq!(store.end_of_log(name).await.unwrap_err().argument(), Some("log"), "{name:?}");
        }
        for after in ["", "x", "1-", "-1", "1-2-3", "(1"] {
            assert_eq!(store.read_log("a", after, 1).await.unwrap_err().argument(), Some("after"), "{after:?}");
        }
        let long = store.append_to_log("a", &"x".repeat(8_193), 1).await.unwrap_err();
        assert_eq!(long.argument(), Some("text"));
        assert_eq!(Paddlegate::memory().append_to_log("a", "b", 1).await.unwrap_err().argument(), Some("log"));
    });
}
