//! The script of a decision between two functions of the caller.

/// The end of the script: what runs the functions and the decision of together.lua.
pub(crate) const SCRIPT: &str = include_str!("guard.lua");
