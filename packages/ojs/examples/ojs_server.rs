//! dev server
use std::time::Duration;
use paddlegate::{Micros, Paddlegate, TestClock};
#[tokio::main]
async fn main() {
    let clock = std::env::var("CLOCK").ok().map(|at| TestClock::new(Micros(at.parse().unwrap())).unwrap());
    let ojs = match std::env::var("REDIS") {
        Ok(url) => {
            let pg = Paddlegate::open_with_clock(&url, None, clock.as_ref()).unwrap();
            paddlegate_ojs::Ojs::redis(pg, &url, Duration::from_secs(5), clock).await.unwrap()
        }
        Err(_) => {
            let pg = clock.as_ref().map_or_else(Paddlegate::memory, Paddlegate::memory_with_clock);
            paddlegate_ojs::Ojs::memory(pg, clock)
        }
    };
    let listener = tokio::net::TcpListener::bind(std::env::var("LISTEN").unwrap_or("127.0.0.1:0".into())).await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    axum::serve(listener, paddlegate_ojs::router(ojs)).await.unwrap();
}
