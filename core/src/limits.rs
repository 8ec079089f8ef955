//! The rules: each kind of limit as a function from state, time and cost to a wait. They know neither names nor policies.

pub(crate) mod bucket;
pub(crate) mod check;
pub(crate) mod concurrency;
pub(crate) mod leaky;
pub(crate) mod quota;
pub(crate) mod window;
