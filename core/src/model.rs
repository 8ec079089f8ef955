//! What callers write and read: limits, policies, requests, decisions, permits, overrides, budgets.

pub(crate) mod block_after;
pub(crate) mod budget;
pub(crate) mod calendar;
pub(crate) mod cost;
pub(crate) mod decision;
pub(crate) mod extension;
pub(crate) mod inspection;
pub(crate) mod kind;
pub(crate) mod label;
pub(crate) mod learned;
pub(crate) mod limit;
pub(crate) mod limiter_info;
pub(crate) mod mode;
pub(crate) mod on_limit;
pub(crate) mod on_unavailable;
pub(crate) mod operation;
pub(crate) mod overrides;
pub(crate) mod permit;
pub(crate) mod policy;
pub(crate) mod reason;
pub(crate) mod refund;
pub(crate) mod request;
pub(crate) mod share;
pub(crate) mod statistics;
pub(crate) mod turns;
pub(crate) mod wakeup;
