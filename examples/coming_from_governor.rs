//! A quota of governor, `Quota::per_second(50).allow_burst(10)`, shared by two threads that could be two processes.
//!
//! Guide: docs/src/guides/coming-from-governor.md

use std::thread;
use std::time::{Duration, Instant};

use paddlegate::{Paddlegate, Request};

/// Calls until the deadline, as fast as the quota lets it: `until_ready` of governor.
fn call(url: Option<&str>, deadline: Instant) -> paddlegate::Result<u64> {
    let pg = url.map_or_else(|| Ok(Paddlegate::memory()), |url| Paddlegate::open(url, None))?;
    let api = pg.leaky("api", 10, Duration::from_millis(200))?;
    let mut calls = 0;
    while Instant::now() < deadline {
        if api.acquire(Request::default(), Duration::from_millis(100))?.allowed() {
            calls += 1;
        }
    }
    Ok(calls)
}

fn main() -> paddlegate::Result<()> {
    let url = std::env::var("PADDLEGATE_URL").ok();
    let began = Instant::now();
    let deadline = began + Duration::from_millis(500);
    let other = thread::spawn({
        let url = url.clone();
        move || call(url.as_deref(), deadline)
    });
    let calls = call(url.as_deref(), deadline)? + other.join().expect("the thread has ended")?;
    println!("{calls} calls in {:?}", began.elapsed());
    let processes = if url.is_some() { 1.0 } else { 2.0 };
    let most = processes * (10.0 + 50.0 * began.elapsed().as_secs_f64());
    println!("{}", u8::from(calls > 0 && calls as f64 <= most)); // 1: within the quota
    Ok(())
}
