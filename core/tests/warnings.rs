//! Tests that an operator sees once that a limiter decides without its server because of its login or its rights.

use std::sync::Mutex;
use std::time::Duration;

use crate::server::Server;
use paddlegate::{OnUnavailable, Paddlegate, Request};

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn of(name: &str) -> Vec<String> {
    let all = WARNINGS.lock().expect("warnings");
    all.iter().filter(|warning| warning.contains(&format!("limiter={name:?}"))).cloned().collect()
}

#[test]
fn a_wrong_login_and_a_missing_right_are_told_once() {
    paddlegate::store::redis::warn_by(|message| WARNINGS.lock().expect("warnings").push(message.to_owned()));
    let server = Server::start();
    server.execute(&["ACL", "SETUSER", "app", "on", ">secret", "~pg2:*", "&*", "+@all", "-eval", "-evalsha"]);
    let second = Duration::from_secs(1);
    for (user, what) in [("app:secret", "NOPERM"), ("app:wrong", "WRONGPASS")] {
        let url = format!("redis://{user}@127.0.0.1:{}", server.port);
        let limiter = |name: &str, mode| {
            let store = Paddlegate::open(&url, Some(Duration::from_secs(10))).expect("a store");
            store.bucket(name, 5, second).expect("a limiter").with_on_unavailable(mode)
        };
        for mode in [OnUnavailable::FailOpen, OnUnavailable::FailClosed, OnUnavailable::Local { share_percent: 50 }] {
            let name = format!("{what} {}", mode.name());
            let limiter = limiter(&name, mode);
            for _ in 0..7 {
                assert!(limiter.try_acquire(Request::cost(1)).expect("a decision").degraded);
            }
            let told = of(&name);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains(what) && told[0].contains(mode.name()) && !told[0].contains("secret"), "{told:?}");
        }
        let raises = format!("{what} raise");
        limiter(&raises, OnUnavailable::Raise).try_acquire(Request::cost(1)).expect_err("it says so itself");
        assert!(of(&raises).is_empty());
    }
}
