//! The WebAssembly side of Paddlegate: converts, calls core, maps the error. `packages/wasm` puts the idiom around it.
//!
//! It holds the memory store only, and it never reads a clock: there is none on `wasm32-unknown-unknown`, so
//! JavaScript hands in every time.

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
