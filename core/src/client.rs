//! What a program holds: a store, its limiters, and what they do while a call waits or the store is away.

pub(crate) mod admin_request;
pub(crate) mod admission;
pub(crate) mod batch;
#[cfg(feature = "providers")]
pub(crate) mod caller_key;
pub(crate) mod circuit_breaker;
#[cfg(feature = "redis")]
pub(crate) mod hub;
pub(crate) mod last_known;
pub(crate) mod limiter;
pub(crate) mod local_fallback;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod log;
pub(crate) mod multi_step;
pub(crate) mod paddlegate;
pub(crate) mod prepared;
pub(crate) mod reschedule;
pub(crate) mod store;
#[cfg(feature = "redis")]
pub(crate) mod turns;
#[cfg(feature = "redis")]
pub(crate) mod wait;
pub(crate) mod waiter;
pub(crate) mod wakeup;
