//! State storage: in this process, or in Redis, shared by all processes.

pub(crate) mod fork_safe;
pub mod memory;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub(crate) mod refused_keys;
pub(crate) mod signal_handling;
