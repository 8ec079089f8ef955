//! The WebAssembly binding of Paddlegate: converts arguments, calls core, maps errors. `packages/wasm` adds the
//! JavaScript idioms.
//!
//! It has the memory store only and never reads a clock: `wasm32-unknown-unknown` has none, so JavaScript passes every
//! time.

#[cfg(feature = "full")]
mod admission;
mod argument;
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
mod waiter;

#[cfg(feature = "full")]
pub use admission::Gate;
#[cfg(feature = "full")]
pub use document::policies;
pub use host::Host;
#[cfg(feature = "full")]
pub use learn::graphql_cost;
pub use limiter::{Channel, Limiter, statistics_names};
#[cfg(feature = "full")]
pub use simulation::{Simulation, column_names};
pub use store::{Limit, Store, kinds};
pub use waiter::Waiter;
