//! The WebAssembly binding of Paddlegate: converts arguments, calls core, maps errors. `packages/wasm` adds the
//! JavaScript idioms.
//!
//! It has the memory store only. `wasm32-unknown-unknown` has no clock, so each operation takes the time of JavaScript
//! or of a test.

#[cfg(feature = "full")]
mod admission;
mod argument;
mod clock;
#[cfg(feature = "full")]
mod document;
mod host;
#[cfg(feature = "full")]
mod learn;
mod limiter;
mod live;
#[cfg(feature = "full")]
mod simulation;
mod store;
#[cfg(feature = "full")]
mod stream_usage;
mod waiter;
mod web;

#[cfg(feature = "full")]
pub use admission::Gate;
pub use clock::TestClock;
#[cfg(feature = "full")]
pub use document::policies;
pub use host::Host;
#[cfg(feature = "full")]
pub use learn::graphql_cost;
pub use limiter::{Channel, Limiter};
#[cfg(feature = "full")]
pub use simulation::{Simulation, column_names};
pub use store::{Store, kinds};
#[cfg(feature = "full")]
pub use stream_usage::StreamUsage;
pub use waiter::Waiter;
pub use web::decision_headers;
#[cfg(feature = "full")]
pub use web::{caller_key, plain_key};
