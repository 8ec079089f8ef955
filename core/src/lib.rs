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
//! let decision = shop.try_acquire(Request::estimate(200))?;
//! assert_eq!(decision.remaining, Some(800));
//! shop.correct(&decision.permit.unwrap(), 50)?;
//! # Ok::<(), paddlegate::Error>(())
//! ```
//!
//! # What a limit means
//!
//! Each kind grants `limit` units, but counts them over another stretch of time. By the clock, with 60 units and a
//! minute, and callers that take all they can get:
//!
//! | kind | at 12:00:59 | at 12:01:00 | at 12:01:59 | the most in any minute |
//! |---|---|---|---|---|
//! | [`bucket`](Limit::bucket) | 60 | 60: a new interval begins | 0 | 120, across a boundary |
//! | [`window`](Limit::window) | 60 | 0: the minute before is full | 60 | 60, always |
//! | [`leaky`](Limit::leaky), [`points`](Limit::points) | 60: the burst | 1 | 59 | 119, after a pause |
//! | [`throttle`](Limit::throttle) of a second | 1 | 1 | 1 | 60, a second apart |
//! | [`concurrency`](Limit::concurrency) of 60 | 60 leases | as many as were released | the same | no limit |
//!
//! - The units of a bucket return all at once, at multiples of its interval since 1970. Many providers count like this.
//!   A [`quota`](Limit::quota) is the same for days, weeks, months, quarters and years of a [`Calendar`].
//! - A window never grants more than its limit, wherever a minute starts: each unit returns a minute after its use. It
//!   stores the time of each, so its limit is at most 100,000.
//! - A leaky limit is a meter. Empty, it takes a burst of 60; full, it takes one unit each second. A smaller capacity
//!   at the same rate means a smaller burst: `leaky(10, 10 s)` also averages 60 a minute, but takes at most 10 at once.
//!   `points` is the same meter for calls whose cost is known afterwards; see [`Limiter::correct`].
//! - A throttle has no burst. A lease of a concurrency limit counts while it is held, not over a time.
//!
//! Several limits in one [`Policy`] are charged together or not at all, and the tightest one decides.
//!
//! ```
//! # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
//! # use std::time::Duration;
//! let minute = Duration::from_secs(60);
//! // The units that are granted at 59, 60 and 119 seconds, one by one.
//! let granted = |limit: Limit| {
//!     let clock = TestClock::new(Micros(0))?;
//!     let limiter = Paddlegate::memory_with_clock(&clock).limiter("any", Policy::new([limit])?)?;
//!     let one = |_: &u8| limiter.try_acquire(Request::cost(1)).is_ok_and(|decision| decision.allowed());
//!     let all = |seconds: u64| {
//!         clock.set(Micros(seconds * 1_000_000))?;
//!         Ok::<_, paddlegate::Error>((0..200).take_while(one).count())
//!     };
//!     Ok::<_, paddlegate::Error>([all(59)?, all(60)?, all(119)?])
//! };
//! assert_eq!(granted(Limit::bucket(60, minute)?)?, [60, 60, 0]);
//! assert_eq!(granted(Limit::window(60, minute)?)?, [60, 0, 60]);
//! assert_eq!(granted(Limit::leaky(60, minute)?)?, [60, 1, 59]);
//! assert_eq!(granted(Limit::throttle(Duration::from_secs(1))?)?, [1, 1, 1]);
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
// A build without Redis encodes nothing.
#[cfg_attr(not(feature = "redis"), allow(dead_code))]
mod verbs;

pub use base::bounds::{ADMISSION_CLAIM_TIMEOUT, CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT, MAX_READY};
pub use base::error::{Error, ErrorKind, Result};
pub use base::micros::{MAX_SPAN, MAX_TIME, Micros};
#[cfg(feature = "documents")]
pub use base::period;
pub use base::process_id::process_id;
pub use base::test_clock::TestClock;
#[cfg(feature = "providers")]
pub use client::admin_request::LearnOptions;
pub use client::admin_request::{AdminRequest, LimitNumbers};
pub use client::admission::{Action, Admission};
pub use client::batch::Batch;
#[cfg(feature = "providers")]
pub use client::caller_key::{CallerOptions, IPV6_PREFIX, caller_key, plain_key};
#[cfg(all(feature = "redis-rs", feature = "aio"))]
pub use client::limiter::ChangeIfVersion;
#[cfg(feature = "redis")]
pub use client::limiter::KeyChange;
pub use client::limiter::{Limiter, MAX_KEY, MAX_NAME, WAIT_TIMEOUT};
#[cfg(feature = "redis")]
pub use client::limiter::{MAX_RECORDED, MAX_RECORDED_PAGE, RecordedPage, Recording};
pub use client::local_fallback::Fallback;
pub use client::multi_step::MultiStep;
pub use client::paddlegate::Paddlegate;
pub use client::prepared::Prepared;
pub use client::reschedule::{RESCHEDULE, Reschedule, backoff};
#[cfg(feature = "redis")]
pub use client::turns::Turns;
pub use client::waiter::{CANCEL_TIMEOUT, Waiter, reconnect_pause};
pub use client::wakeup::WakeupListener;
pub use engine::queue::{MAX_POLL, MAX_TICKETS, MIN_POLL, RECHECK};
#[cfg(feature = "documents")]
pub use formats::document::Document;
#[cfg(feature = "documents")]
pub use formats::load::LoadedLimiter;
#[cfg(feature = "documents")]
pub use formats::procedure::{Procedure, ProcedureOutcome};
#[cfg(feature = "documents")]
pub use formats::{Definition, LoadOptions};
pub use model::block_after::{BlockAfter, MAX_BLOCK, MAX_REFUSALS};
pub use model::budget::{BudgetUpdate, UpstreamReport};
pub use model::calendar::{Calendar, CalendarPeriod};
pub use model::cost::{Cost, LimiterUnits};
pub use model::decision::{Decision, DecisionLimit, Status, Ticket};
pub use model::durations::Durations;
pub use model::extension::Extension;
pub use model::headers::HeaderFields;
pub use model::history::{History, HistoryEntry};
pub use model::inspection::{
    InspectedLimit, Inspection, LeaseInfo, LimitSource, MAX_PAGE, MAX_PAGE_OFFSET, Page, TicketInfo,
};
#[cfg(feature = "redis")]
pub use model::key_page::{ChangedKeys, KeyPage};
pub use model::kind::Kind;
pub use model::label::{Label, MAX_LABEL, MAX_LABELS};
pub use model::learned::{Learned, Notes};
pub use model::limit::{LOCK_TIMEOUT, Limit, MAX_CONCURRENCY, MAX_UNITS, MAX_WINDOW};
pub use model::limiter_info::{LIMITERS_PER_PAGE, LimiterInfo, LimiterPage, ListPage};
pub use model::mode::Mode;
pub use model::on_limit::OnLimit;
pub use model::on_unavailable::OnUnavailable;
pub use model::operation::{Answer, Operation};
pub use model::overrides::{AdminCommand, Deadline, LimitOverride, RuntimeState};
pub use model::permit::{
    MAX_ID, MAX_PERMIT_ID, MAX_PERMIT_TIMEOUT, MAX_PERMITS, MAX_TOGETHER, PERMIT_TIMEOUT, SETTLED_MEMORY, Settlement,
    new_id, random_word,
};
pub use model::policy::{MAX_LIMITS, Policy};
pub use model::reason::Reason;
#[cfg(feature = "redis")]
pub use model::recorded_decision::{RecordedDecision, RecordedOutcome, RecordedVerb};
pub use model::refund::Refund;
#[cfg(feature = "redis")]
pub use model::refused_key::{MAX_REFUSED_KEYS, RefusedKey};
pub use model::request::{QueuePosition, Request, Wait};
pub use model::share::Share;
pub use model::statistics::{DEFAULT_STATISTICS_TTL, Statistics};
pub use model::turns::{ReadyCalls, TurnsHost};
pub use model::wakeup::Wakeup;
pub use store::signal_handling::SignalHandling;
#[cfg(feature = "providers")]
pub use upstream::graphql_cost::{CostRules, MAX_QUERY, MAX_QUERY_DEPTH, graphql_cost};
#[cfg(feature = "providers")]
pub use upstream::{Feedback, LEARNED_FACTOR, MAX_PAUSE, MAX_STREAM_USAGE, Provider, StreamUsage};

/// The version of this library and of all its packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
