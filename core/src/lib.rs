//! One rate limiter for every language a company runs.
//!
//! A limiter is a name and a policy; a policy is one or more limits that are decided together. State lives in the
//! process or in Redis, where every process that names the same limiter gets the same answer.
//!
//! ```
//! use std::time::Duration;
//!
//! use paddlegate::{Paddlegate, Request};
//!
//! let pg = Paddlegate::memory();
//! let shop = pg.points("shopify-42", 1_000, Duration::from_secs(20))?;
//! let decision = shop.acquire(Request::estimate(200))?;
//! assert_eq!(decision.remaining, Some(800));
//! shop.correct(&decision.permit.unwrap(), 50)?;
//! # Ok::<(), paddlegate::Error>(())
//! ```

mod admission;
mod batch;
mod clock;
mod control;
#[cfg(any(feature = "documents", feature = "simulate"))]
mod decimal;
mod decision;
#[cfg(feature = "documents")]
pub mod dialect;
#[cfg(feature = "documents")]
mod document;
mod error;
#[cfg(feature = "providers")]
mod graphql_cost;
mod hints;
#[cfg(feature = "documents")]
mod json;
mod learn;
mod learned;
mod limit;
mod limiter;
mod micros;
mod on_limit;
mod operation;
mod paddlegate;
#[cfg(feature = "documents")]
pub mod period;
mod permit;
mod policy;
#[cfg(feature = "providers")]
pub mod provider;
mod queue;
mod ranked;
mod request;
mod reschedule;
#[cfg(feature = "simulate")]
pub mod simulate;
mod state;
mod statistics;
mod steps;
pub mod store;
mod unavailable;
mod verb;
#[cfg(feature = "redis")]
mod waiter;

pub use admission::{Action, Admission};
pub use batch::Batch;
pub use control::{Change, Control, Controls, Moment};
pub use decision::{Decision, Status, Ticket};
#[cfg(feature = "documents")]
pub use dialect::{Definition, LoadOptions};
#[cfg(feature = "documents")]
pub use document::Document;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "providers")]
pub use graphql_cost::{CostRules, MAX_QUERY, MAX_QUERY_DEPTH, graphql_cost};
pub use hints::{Hint, Hints};
pub use learn::{Report, Sync};
pub use learned::{Learned, Notes};
pub use limit::{Kind, LOCK_TIMEOUT, Limit, MAX_CONCURRENCY, MAX_UNITS, MAX_WINDOW};
pub use limiter::{Limiter, MAX_NAME, WAIT_TIMEOUT};
pub use micros::{MAX_SPAN, MAX_TIME, Micros};
pub use on_limit::OnLimit;
pub use operation::{Answer, Begun, Interrupt, Operation};
#[cfg(feature = "documents")]
pub use paddlegate::Loaded;
pub use paddlegate::{ListPage, Listed, Paddlegate};
pub use permit::{MAX_ID, MAX_PERMIT_ID, MAX_PERMITS, PERMIT_TIMEOUT, SETTLED_MEMORY, Settlement, new_id};
pub use policy::{MAX_LIMITS, Policy};
#[cfg(feature = "providers")]
pub use provider::{Feedback, LEARNED_FACTOR, MAX_PAUSE, Provider};
pub use queue::{CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT, MAX_TICKETS, RECHECK};
pub use request::{Place, Request, Wait};
pub use reschedule::{RESCHEDULE, Reschedule, backoff};
pub use statistics::{Statistics, TTL};
pub use steps::Steps;
pub use unavailable::{Fallback, OnUnavailable};

/// The version of this library and of all its packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
