//! The native part of the packages for the JVM and for Swift: converts arguments, calls the core, maps its errors. The idiom and
//! the sleep of a waiting call are in `packages/kotlin`.
//!
//! No call waits for more than one round trip to the store, except `NativeWakeups::receive`, which a thread for all waiters calls.
//! Times are microseconds. Names of kinds, reasons and the like are those of the core.

// UniFFI writes the functions that other languages call.
#![allow(unsafe_code)]
// `packages/kotlin` documents what its users see.
#![allow(missing_docs)]
// UniFFI passes values, not references.
#![allow(clippy::needless_pass_by_value)]

pub mod clock;
pub mod decision;
pub mod error;
pub mod gate;
pub mod inspection;
pub mod jobs;
pub mod limit;
pub mod limiter;
pub mod live;
pub mod request;
pub mod statistics;
pub mod store;
pub mod stream_usage;
pub mod upstream;
pub mod waiter;
pub mod wakeups;
pub mod web;

mod number;

uniffi::setup_scaffolding!("paddlegate");

/// Returns the version of this library.
#[uniffi::export]
pub fn version() -> String {
    paddlegate_core::VERSION.to_owned()
}

/// Returns a new id for a call: 32 bytes that begin with host and process.
#[uniffi::export]
pub fn new_id() -> Result<String, error::NativeException> {
    Ok(paddlegate_core::new_id()?)
}

/// Sends what this process has counted to the statistics. For the end of a process.
#[uniffi::export]
pub fn send_counts() {
    paddlegate_core::store::redis::send_counts();
}
