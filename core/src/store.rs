//! Where state lives: in this process, or in Redis where all processes share it.

mod heir;
pub mod memory;
#[cfg(feature = "redis")]
pub mod redis;
