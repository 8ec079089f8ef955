//! The asynchronous transport: the same answers, one connection for all tasks, no call without an end.

mod support;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use paddlegate::{Answer, ErrorKind, Operation, Paddlegate, Request, Settlement};
use support::{redis, unique};
use tokio::runtime::{Builder, Runtime};

const HOUR: Duration = Duration::from_secs(3_600);

/// So that of a thousand units none comes back during a test.
const YEAR: Duration = Duration::from_secs(365 * 86_400);
const PATIENT: Duration = Duration::from_secs(30);

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn many_tasks_share_one_limit() {
    for runtime in [current_thread(), Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()] {
        let limiter = redis().leaky(&unique("aio"), 100, HOUR).unwrap();
        let granted = runtime.block_on(async {
            let tasks: Vec<_> = (0..200)
                .map(|_| {
                    let limiter = limiter.clone();
                    tokio::spawn(async move { limiter.acquire_async(Request::default()).await.unwrap().allowed() })
                })
                .collect();
            let mut granted = 0;
            for task in tasks {
                granted += i32::from(task.await.unwrap());
            }
            granted
        });
        assert_eq!(granted, 100);
    }
}

#[test]
fn permits_are_settled_once() {
    current_thread().block_on(async {
        let shop = redis().points(&unique("aio"), 1_000, YEAR).unwrap();
        let permit = shop.acquire_async(Request::estimate(200)).await.unwrap().permit.unwrap();
        assert_eq!(shop.correct_async(&permit, 50).await.unwrap(), Settlement::Settled);
        assert_eq!(shop.correct_async(&permit, 50).await.unwrap(), Settlement::Already);
        let peeked = shop.run_async(Operation::Peek(Request::cost(1))).await.unwrap();
        assert!(matches!(peeked, Answer::Decision(decision) if decision.remaining == Some(950)));
        assert_eq!(shop.run_async(Operation::Reset).await.unwrap(), Answer::Reset);
        assert_eq!(shop.correct_async(&permit, 0).await.unwrap(), Settlement::Unknown);
    });
}

#[test]
fn a_store_outlives_the_runtime_of_its_first_call() {
    let limiter = redis().leaky(&unique("aio"), 10, HOUR).unwrap();
    for left in [9, 8, 7] {
        let decision = current_thread().block_on(limiter.acquire_async(Request::default())).unwrap();
        assert_eq!(decision.remaining, Some(left));
    }
}

#[test]
fn a_memory_store_needs_no_runtime_of_ours() {
    let limiter = Paddlegate::memory().leaky("aio", 1, HOUR).unwrap();
    let first = current_thread().block_on(limiter.acquire_async(Request::default())).unwrap();
    assert!(first.allowed());
    assert!(!limiter.acquire(Request::default()).unwrap().allowed());
}

#[test]
fn a_server_that_never_answers_is_given_up_at_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let limiter = Paddlegate::open(&url, Some(Duration::from_millis(200))).unwrap().leaky("aio", 1, HOUR).unwrap();
    let is_in_time = |_| {
        let started = now();
        let error = current_thread().block_on(limiter.acquire_async(Request::default())).unwrap_err();
        let took = started.elapsed();
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, true));
        (Duration::from_millis(190)..Duration::from_millis(400)).contains(&took)
    };
    // A machine that stalls does not do so each time.
    assert!((0..3).any(is_in_time));
}

#[test]
fn a_refused_connection_fails_at_once_and_a_server_that_comes_is_found() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let limiter =
        Paddlegate::open(&format!("redis://127.0.0.1:{port}"), Some(PATIENT)).unwrap().leaky("aio", 5, HOUR).unwrap();
    let runtime = current_thread();
    let error = runtime.block_on(limiter.acquire_async(Request::default())).unwrap_err();
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));

    let mut server = Server::start(port);
    assert_eq!(runtime.block_on(limiter.acquire_async(Request::default())).unwrap().remaining, Some(4));
    server.stop();
    let mut server = Server::start(port);
    // The connection died between two calls, which no call may notice; the server has forgotten what it counted.
    assert_eq!(runtime.block_on(limiter.acquire_async(Request::default())).unwrap().remaining, Some(4));
    server.stop();
}

#[test]
fn a_cluster_is_followed() {
    let url = std::env::var("PADDLEGATE_TEST_CLUSTER_URL")
        .expect("PADDLEGATE_TEST_CLUSTER_URL is not set; run the tests under scripts/with-cluster.sh");
    let pg = Paddlegate::open(&url, Some(PATIENT)).unwrap();
    current_thread().block_on(async {
        for i in 0..30 {
            let limiter = pg.window(&unique(&format!("aio-{i}")), 2, HOUR).unwrap();
            for left in [1, 0] {
                assert_eq!(limiter.acquire_async(Request::default()).await.unwrap().remaining, Some(left));
            }
            assert!(!limiter.acquire_async(Request::default()).await.unwrap().allowed());
        }
    });
}

/// A server of this test alone.
struct Server(Child);

impl Server {
    fn start(port: u16) -> Self {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir", "/tmp"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server");
        let started = now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "redis-server does not come up");
            std::thread::yield_now();
        }
        Self(child)
    }

    fn stop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
