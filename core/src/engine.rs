//! The decisions: the state of a limiter and what each verb does to it, in Rust and, side by side, in Lua.

pub(crate) mod budget;
#[cfg(feature = "redis")]
pub(crate) mod compose;
pub(crate) mod counters;
mod describe;
#[cfg(feature = "redis-rs")]
mod guard;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod if_version;
pub(crate) mod loads;
pub(crate) mod overrides;
pub(crate) mod permits;
pub(crate) mod plain;
pub(crate) mod plain_state;
pub(crate) mod queue;
pub(crate) mod reply;
#[cfg(feature = "redis")]
pub(crate) mod script;
pub(crate) mod state;
pub(crate) mod together;
pub(crate) mod transaction;
