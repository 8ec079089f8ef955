//! The script of a change on the condition that nobody has changed the limiter since.

/// The end of the script, behind the script of one limiter.
pub(crate) const SCRIPT: &str = include_str!("if_version.lua");
