//! Tests operations on connections of the `redis` crate: a single, a pooled, a multiplexed and a cluster connection.

mod support;

use std::time::Duration;

use paddlegate::{
    Answer, Cost, Decision, ErrorKind, Limiter, OnUnavailable, Operation, Paddlegate, Request, Settlement,
};
use redis::aio::ConnectionLike as AsyncConnectionLike;
use redis::cluster::ClusterClientBuilder;
use redis::{Client, ConnectionLike, Value, cmd};
use support::unique;
use tokio::runtime::Builder;

const HOUR: Duration = Duration::from_secs(3_600);
const LONG_TIMEOUT: Duration = Duration::from_secs(10);

fn decision(answer: Answer) -> Decision {
    match answer {
        Answer::Decision(decision) => decision,
        other => panic!("{other:?}"),
    }
}

fn url() -> String {
    std::env::var("PADDLEGATE_TEST_URL").unwrap()
}

fn cluster_url() -> String {
    std::env::var("PADDLEGATE_TEST_CLUSTER_URL").unwrap()
}

/// Returns the nodes of the cluster, each as a URL; the `redis` crate accepts no list of nodes in a URL.
fn cluster_nodes() -> Vec<String> {
    let url = cluster_url();
    let nodes = url.trim_start_matches("redis://").trim_end_matches('/').split(',');
    nodes.map(|node| format!("redis://{node}")).collect()
}

/// Uses up a limit of ten, settles permits, and checks that another connection reads the same state.
fn uses<C: ConnectionLike>(connection: &mut C, store: &Paddlegate) {
    let limiter = store.points(&unique("redis-rs"), 10, HOUR).unwrap();
    let other_policy = store.window(limiter.name(), 5, HOUR).unwrap();
    assert!(decision(other_policy.run_on(connection, Operation::Acquire(Request::cost(5))).unwrap()).allowed());
    let acquire = Operation::Acquire(Request::estimate(4));
    let [first, second, refused] = [(); 3].map(|()| decision(limiter.run_on(connection, acquire).unwrap()));
    assert_eq!((first.remaining, second.remaining, refused.remaining), (Some(6), Some(2), Some(2)));
    assert!(!refused.allowed());
    let permit = first.permit.unwrap();
    for expected in [Settlement::Settled, Settlement::Already] {
        let correct = Operation::Correct { permit: &permit, actual: Cost::Units(1) };
        assert_eq!(limiter.run_on(connection, correct).unwrap(), Answer::Settlement(expected));
    }
    assert!(matches!(limiter.run_on(connection, Operation::Statistics), Ok(Answer::Statistics(_))));
    assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(5), "the connection of this library");
    assert_eq!(limiter.run_on(connection, Operation::Reset).unwrap(), Answer::Reset);
    assert_eq!(
        other_policy.peek(Request::cost(1)).unwrap().remaining,
        Some(5),
        "a reset is of all policies of the name"
    );
}

async fn uses_async<C: AsyncConnectionLike>(connection: &mut C, store: &Paddlegate) {
    let limiter = store.concurrent(&unique("redis-rs"), 1, HOUR).unwrap();
    let acquire = Operation::Acquire(Request::default());
    let granted = decision(limiter.run_on_async(connection, acquire).await.unwrap());
    let refused = decision(limiter.run_on_async(connection, acquire).await.unwrap());
    assert!(granted.allowed() && !refused.allowed());
    let permit = granted.permit.unwrap();
    for expected in [Settlement::Released, Settlement::Unknown] {
        let release = Operation::Release { permit: &permit };
        assert_eq!(limiter.run_on_async(connection, release).await.unwrap(), Answer::Settlement(expected));
    }
    assert!(limiter.try_acquire(Request::default()).unwrap().allowed(), "the connection of this library");
}

#[test]
fn a_connection_and_a_pool() {
    let store = Paddlegate::open(&url(), Some(LONG_TIMEOUT)).unwrap();
    let client = Client::open(url()).unwrap();
    uses(&mut client.get_connection().unwrap(), &store);
    let pool = r2d2::Pool::builder().max_size(2).build(client).unwrap();
    uses(&mut *pool.get().unwrap(), &store);
}

#[test]
fn a_multiplexed_connection() {
    let store = Paddlegate::open(&url(), Some(LONG_TIMEOUT)).unwrap();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(Some(LONG_TIMEOUT));
        let client = Client::open(url()).unwrap();
        let connection = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
        uses_async(&mut connection.clone(), &store).await;

        let limiter = store.window(&unique("redis-rs"), 5, HOUR).unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let (limiter, mut connection) = (limiter.clone(), connection.clone());
                tokio::spawn(async move {
                    let acquire = Operation::Acquire(Request::default());
                    decision(limiter.run_on_async(&mut connection, acquire).await.unwrap()).allowed()
                })
            })
            .collect();
        let mut granted = 0;
        for task in tasks {
            granted += i32::from(task.await.unwrap());
        }
        assert_eq!(granted, 5);
    });
}

#[test]
fn connections_to_a_cluster() {
    let store = Paddlegate::open(&cluster_url(), Some(LONG_TIMEOUT)).unwrap();
    let client = ClusterClientBuilder::new(cluster_nodes()).retries(0).response_timeout(LONG_TIMEOUT).build().unwrap();
    let mut connection = client.get_connection().unwrap();
    connection.set_read_timeout(Some(LONG_TIMEOUT)).unwrap();
    // The limiters' slots are on different nodes.
    for _ in 0..10 {
        uses(&mut connection, &store);
    }
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut connection = client.get_async_connection().await.unwrap();
        for _ in 0..10 {
            uses_async(&mut connection, &store).await;
        }
    });
}

#[test]
fn a_connection_to_one_node_of_a_cluster_says_what_to_do() {
    let store = Paddlegate::open(&cluster_url(), Some(LONG_TIMEOUT)).unwrap();
    let mut connection = Client::open(cluster_nodes().remove(0)).unwrap().get_connection().unwrap();
    let results: Vec<_> = (0..30)
        .map(|_| {
            let limiter = store.bucket(&unique("redis-rs"), 1, HOUR).unwrap();
            limiter.run_on(&mut connection, Operation::Acquire(Request::default()))
        })
        .collect();
    assert!(results.iter().any(Result::is_ok));
    let error = results.into_iter().find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false));
    assert!(error.message().contains("cluster connection"), "{error}");
}

/// A connection with scripted replies.
struct Scripted(Vec<redis::RedisResult<Value>>);

impl ConnectionLike for Scripted {
    fn req_packed_command(&mut self, _: &[u8]) -> redis::RedisResult<Value> {
        self.0.remove(0)
    }
    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> redis::RedisResult<Vec<Value>> {
        unreachable!("each call is one command")
    }
    fn get_db(&self) -> i64 {
        0
    }
    fn check_connection(&mut self) -> bool {
        true
    }
    fn is_open(&self) -> bool {
        true
    }
}

fn io_error(kind: std::io::ErrorKind) -> redis::RedisError {
    std::io::Error::from(kind).into()
}

fn limiter() -> Limiter {
    Paddlegate::open(&url(), None).unwrap().bucket(&unique("redis-rs"), 5, HOUR).unwrap()
}

#[test]
fn a_missing_reply_may_have_counted() {
    use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, TimedOut};
    for (kind, may_have_counted) in [(TimedOut, true), (BrokenPipe, true), (ConnectionRefused, false)] {
        let mut connection = Scripted(vec![Err(io_error(kind))]);
        let error = limiter().run_on(&mut connection, Operation::Acquire(Request::default())).unwrap_err();
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, may_have_counted), "{error}");
        let open = limiter().with_on_unavailable(OnUnavailable::FailOpen);
        let mut connection = Scripted(vec![Err(io_error(kind))]);
        let granted = decision(open.run_on(&mut connection, Operation::Acquire(Request::default())).unwrap());
        assert!(granted.allowed() && granted.degraded);
    }
}

#[test]
fn replies_that_are_no_decision_are_errors() {
    for value in [Value::Nil, Value::Boolean(true), Value::Array(vec![]), Value::Double(1.0), Value::Okay] {
        let error = limiter().run_on(&mut Scripted(vec![Ok(value)]), Operation::Acquire(Request::default()));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Data);
    }
}

#[test]
fn a_server_without_the_script_gets_it() {
    let mut connection = Client::open(url()).unwrap().get_connection().unwrap();
    // Other tests may load the script at any time, so this test only checks that every call gets a reply.
    for _ in 0..20 {
        let limiter = limiter();
        cmd("SCRIPT").arg("FLUSH").exec(&mut connection).unwrap();
        assert!(decision(limiter.run_on(&mut connection, Operation::Acquire(Request::default())).unwrap()).allowed());
    }
}

#[test]
fn a_limiter_in_memory_needs_no_connection() {
    let limiter = Paddlegate::memory().bucket("api", 1, HOUR).unwrap();
    let acquire = Operation::Acquire(Request::default());
    assert!(decision(limiter.run_on(&mut Scripted(vec![]), acquire).unwrap()).allowed());
}

/// Returns limiters that have counts for a call to take along.
#[allow(clippy::disallowed_methods)] // They are due after a second of real time.
fn with_waiting_counts(count: usize) -> Vec<Limiter> {
    let store = Paddlegate::open(&url(), Some(LONG_TIMEOUT)).unwrap();
    let limiters: Vec<_> = (0..count).map(|_| store.bucket(&unique("redis-rs"), 5, HOUR).unwrap()).collect();
    for limiter in &limiters {
        for _ in 0..2 {
            limiter.try_acquire(Request::default()).unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(1_100));
    limiters
}

/// Returns the grants of all, as another process reads them when these have sent their counts.
fn granted(limiters: &[Limiter]) -> u64 {
    for limiter in limiters {
        limiter.statistics().unwrap();
    }
    let store = Paddlegate::open(&url(), Some(LONG_TIMEOUT)).unwrap();
    let granted = |limiter: &Limiter| store.bucket(limiter.name(), 5, HOUR).unwrap().statistics().unwrap().granted;
    limiters.iter().map(granted).sum()
}

#[test]
fn a_call_ends_with_the_first_count_that_gets_no_reply() {
    use std::io::ErrorKind::{BrokenPipe, ConnectionRefused, TimedOut};
    for (kind, lost) in [(TimedOut, 1), (BrokenPipe, 1), (ConnectionRefused, 0)] {
        let limiters = with_waiting_counts(3);
        // A second command would panic.
        let mut connection = Scripted(vec![Err(io_error(kind))]);
        let error = limiters[0].run_on(&mut connection, Operation::Acquire(Request::default())).unwrap_err();
        assert_eq!((error.kind(), error.may_have_counted()), (ErrorKind::Unavailable, false), "{error}");
        // Each limiter has one grant that the script has counted, and one that the process has: sent, or given back.
        assert_eq!(granted(&limiters), 6 - lost, "{kind:?}");
    }
}

#[test]
fn counts_that_the_server_refused_are_sent_again() {
    let limiters = with_waiting_counts(2);
    let refused = || Ok(redis::parse_redis_value(b"-OOM full\r\n").unwrap());
    let mut connection = Scripted(vec![refused(), refused(), refused()]);
    assert!(limiters[0].run_on(&mut connection, Operation::Acquire(Request::default())).is_err());
    assert_eq!(granted(&limiters), 4);
}

/// A connection that never replies.
struct Silent;

impl AsyncConnectionLike for Silent {
    fn req_packed_command<'a>(&'a mut self, _: &'a redis::Cmd) -> redis::RedisFuture<'a, Value> {
        Box::pin(std::future::pending())
    }
    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a redis::Pipeline,
        _: usize,
        _: usize,
    ) -> redis::RedisFuture<'a, Vec<Value>> {
        unreachable!("each call is one command")
    }
    fn get_db(&self) -> i64 {
        0
    }
}

#[test]
fn counts_of_a_call_that_its_caller_gave_up_are_not_sent_again() {
    let limiters = with_waiting_counts(3);
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut connection = Silent;
        let call = limiters[0].run_on_async(&mut connection, Operation::Acquire(Request::default()));
        tokio::time::timeout(Duration::from_millis(50), call).await.unwrap_err();
    });
    assert_eq!(granted(&limiters), 5, "one was sent, the others were given back");
}

#[test]
fn statistics_of_all_keys_have_what_waits_in_other_slots() {
    let store = Paddlegate::open(&cluster_url(), Some(LONG_TIMEOUT)).unwrap();
    let keyed = store.bucket(&unique("redis-rs"), 5, HOUR).unwrap().keyed().unwrap();
    let call_all = || {
        for key in 0..40 {
            let limiter = keyed.with_key(&key.to_string()).unwrap();
            for _ in 0..2 {
                assert!(limiter.try_acquire(Request::default()).unwrap().allowed());
            }
        }
    };
    call_all();
    // Now the store knows that the slots are on several nodes.
    assert_eq!(keyed.statistics().unwrap().granted, 80);
    call_all();
    let mut connection = ClusterClientBuilder::new(cluster_nodes()).build().unwrap().get_connection().unwrap();
    let Answer::Statistics(all) = keyed.run_on(&mut connection, Operation::Statistics).unwrap() else {
        panic!("no statistics")
    };
    assert_eq!(all.granted, 160);
}
