//! Against a server: one and many callers by redis-rs and by us, and a policy of three limits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use paddlegate::{Limit, Limiter, Paddlegate, Policy, Request};
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::measure::{Unit, compare};

const GCRA: &str = include_str!("../../gcra.lua");
const MANY: u32 = 64;
/// Nothing is refused: a refusal is less work.
const HUGE: u64 = 1_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
/// A busy machine may stop for a while; that is no failure here.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(url: &str) {
    let pg = Paddlegate::open(url, Some(PATIENCE)).unwrap();
    asynchronous(url, &pg);
    by_socket(url, &pg);
    composite(&pg);
    keyed(&pg);
}

fn asynchronous(url: &str, pg: &Paddlegate) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let limiter = pg.leaky("rust", HUGE, SECOND).unwrap();
    let (connection, digest) = runtime.block_on(connected(url));
    for (variant, tasks, unit) in [("one", 1, Unit::Microseconds), ("many", MANY, Unit::ThousandsPerSecond)] {
        compare(
            "rust",
            variant,
            unit,
            |calls| at_once(&runtime, tasks, || by_redis_rs(connection.clone(), digest.clone(), calls / tasks)),
            |calls| at_once(&runtime, tasks, || by_us(limiter.clone(), calls / tasks)),
        );
    }
}

async fn connected(url: &str) -> (MultiplexedConnection, String) {
    let client = redis::Client::open(url).unwrap();
    let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let mut connection = client.get_multiplexed_async_connection_with_config(&patient).await.unwrap();
    let digest = redis::cmd("SCRIPT").arg("LOAD").arg(GCRA).query_async(&mut connection).await.unwrap();
    (connection, digest)
}

fn at_once<F: Future<Output = ()> + Send + 'static>(runtime: &Runtime, tasks: u32, task: impl Fn() -> F) {
    runtime.block_on(async {
        if tasks == 1 {
            return task().await;
        }
        let mut set: JoinSet<()> = (0..tasks).map(|_| task()).collect();
        while let Some(ended) = set.join_next().await {
            ended.unwrap();
        }
    });
}

async fn by_redis_rs(mut connection: MultiplexedConnection, digest: String, calls: u32) {
    for _ in 0..calls {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&digest).arg(1).arg("gcra").arg(1).arg(1_000_000_000_000_u64);
        let (granted, _): (u64, u64) = command.query_async(&mut connection).await.unwrap();
        assert_eq!(granted, 1);
    }
}

async fn by_us(limiter: Limiter, calls: u32) {
    for _ in 0..calls {
        assert!(limiter.try_acquire_async(Request::default()).await.unwrap().allowed());
    }
}

/// A call on the caller's thread, against the same bytes of the reference on a socket: what no client can do without.
fn by_socket(url: &str, pg: &Paddlegate) {
    let limiter = pg.leaky("blocking", HUGE, SECOND).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (_, digest) = runtime.block_on(connected(url));
    let mut command = redis::cmd("EVALSHA");
    let bytes = command.arg(&digest).arg(1).arg("gcra").arg(1).arg(1_000_000_000_000_u64).get_packed_command();
    let mut socket = TcpStream::connect(url.trim_start_matches("redis://")).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut buffer = [0; 256];
    compare(
        "rust",
        "socket",
        Unit::Microseconds,
        |calls| {
            for _ in 0..calls {
                socket.write_all(&bytes).unwrap();
                assert!(socket.read(&mut buffer).unwrap() > 0);
                assert!(buffer.starts_with(b"*2\r\n:1\r\n"));
            }
        },
        |calls| (0..calls).for_each(|_| assert!(limiter.try_acquire(Request::default()).unwrap().allowed())),
    );
}

/// A call by key, against a limiter that is kept.
fn keyed(pg: &Paddlegate) {
    let kept = pg.leaky("kept", HUGE, SECOND).unwrap();
    let keyed = pg.leaky("keyed", HUGE, SECOND).unwrap().keyed().unwrap();
    let keys: Vec<String> = (0..1_000).map(|i| format!("user-{i}")).collect();
    let mut next = keys.iter().cycle();
    let take = |limiter: &Limiter| assert!(limiter.try_acquire(Request::default()).unwrap().allowed());
    compare(
        "rust",
        "keyed",
        Unit::Microseconds,
        |calls| (0..calls).for_each(|_| take(&kept)),
        |calls| (0..calls).for_each(|_| take(&keyed.with_key(next.next().unwrap()).unwrap())),
    );
}

/// Three limits in one call, against a call for each.
fn composite(pg: &Paddlegate) {
    let limits = [
        Limit::window(100_000, SECOND).unwrap(),
        Limit::leaky(HUGE, SECOND).unwrap(),
        Limit::bucket(HUGE, SECOND).unwrap(),
    ];
    let single = |(i, limit): (usize, &Limit)| {
        let policy = Policy::new([limit.clone()]).unwrap();
        pg.limiter(&format!("part {i}"), policy).unwrap()
    };
    let singles: Vec<Limiter> = limits.iter().enumerate().map(single).collect();
    let whole = pg.limiter("whole", Policy::new(limits).unwrap()).unwrap();
    let take = |limiter: &Limiter| assert!(limiter.try_acquire(Request::default()).unwrap().allowed());
    compare(
        "composite",
        "three",
        Unit::Microseconds,
        |calls| (0..calls).for_each(|_| singles.iter().for_each(take)),
        |calls| (0..calls).for_each(|_| take(&whole)),
    );
}
