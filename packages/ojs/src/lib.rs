//! An [Open Job Spec](https://openjobspec.org) server whose rate limits are Paddlegate's.
//!
//! Jobs wait in memory or in Redis. A fetch checks a job's limits, assigns it to the worker and counts it in one step: a job is
//! active exactly when its limits have granted it. Every request first does what is due by now, so that no process needs a
//! timer, and any number of servers share one Redis.

mod counted;
mod definition;
mod enqueue;
mod event;
mod fault;
mod job;
mod lifecycle;
mod limits;
mod request;
mod retry;
mod routes;
mod server;
mod store;
#[cfg(test)]
mod testing;
mod time;

pub use routes::router;
pub use server::{Failure, KeyMetrics, Ojs};
