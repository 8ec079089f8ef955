//! Where state lives: in this process, or in Redis where all processes share it.

mod fork_safe;
pub mod memory;
#[cfg(feature = "redis")]
pub mod redis;
pub(crate) mod signal_handling;
