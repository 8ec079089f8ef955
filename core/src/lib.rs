//! One rate limiter for every language a company runs.
//!
//! A limiter is a name and a policy; a policy is one or more limits that are checked together. State lives in the
//! process or in Redis, where all processes that use the same limiter name share one state.
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

mod base;
mod client;
mod engine;
#[cfg(feature = "documents")]
pub mod formats;
mod limits;
mod model;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod store;
#[cfg(feature = "providers")]
pub mod upstream;

pub use base::bounds::{CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT};
pub use base::error::{Error, ErrorKind, Result};
pub use base::micros::{MAX_SPAN, MAX_TIME, Micros};
#[cfg(feature = "documents")]
pub use base::period;
#[cfg(feature = "providers")]
pub use client::admin_request::LearnOptions;
pub use client::admin_request::{AdminRequest, LimitNumbers};
pub use client::admission::{Action, Admission};
pub use client::batch::Batch;
pub use client::limiter::{Limiter, MAX_NAME, WAIT_TIMEOUT};
pub use client::local_fallback::Fallback;
pub use client::multi_step::MultiStep;
pub use client::paddlegate::Paddlegate;
pub use client::prepared::Prepared;
pub use client::reschedule::{RESCHEDULE, Reschedule, backoff};
pub use client::wakeup::WakeupListener;
pub use engine::queue::{MAX_TICKETS, RECHECK};
#[cfg(feature = "documents")]
pub use formats::document::Document;
#[cfg(feature = "documents")]
pub use formats::load::LoadedLimiter;
#[cfg(feature = "documents")]
pub use formats::procedure::{Procedure, ProcedureOutcome};
#[cfg(feature = "documents")]
pub use formats::{Definition, LoadOptions};
pub use model::budget::{BudgetUpdate, UpstreamReport};
pub use model::decision::{Decision, Status, Ticket};
pub use model::learned::{Learned, Notes};
pub use model::limit::{Kind, LOCK_TIMEOUT, Limit, MAX_CONCURRENCY, MAX_UNITS, MAX_WINDOW};
pub use model::limiter_info::{LimiterInfo, ListPage};
pub use model::on_limit::OnLimit;
pub use model::on_unavailable::OnUnavailable;
pub use model::operation::{Answer, Operation};
pub use model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};
pub use model::permit::{MAX_ID, MAX_PERMIT_ID, MAX_PERMITS, PERMIT_TIMEOUT, SETTLED_MEMORY, Settlement, new_id};
pub use model::policy::{MAX_LIMITS, Policy};
pub use model::request::{QueuePosition, Request, Wait};
pub use model::statistics::{DEFAULT_STATISTICS_TTL, Statistics};
pub use model::wakeup::Wakeup;
pub use store::signal_handling::SignalHandling;
#[cfg(feature = "providers")]
pub use upstream::graphql_cost::{CostRules, MAX_QUERY, MAX_QUERY_DEPTH, graphql_cost};
#[cfg(feature = "providers")]
pub use upstream::{Feedback, LEARNED_FACTOR, MAX_PAUSE, Provider};

/// The version of this library and of all its packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
