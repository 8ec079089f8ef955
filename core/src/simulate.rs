//! `simulate`: the behaviour of policies on a virtual clock.
//!
//! A [`Scenario`] defines arrivals and the behaviour of callers; a [`Simulation`] runs one of its policies through the
//! production limiter, in memory and with the time passed in. The same seed gives the same decisions on every machine.
//!
//! ```
//! # use paddlegate::simulate::{Scalar, Scenario, Simulation};
//! let fields = [
//!     ("policies[0].name", Scalar::from("five a second")),
//!     ("policies[0].limits[0].kind", Scalar::from("window")),
//!     ("policies[0].limits[0].limit", Scalar::Whole(5)),
//!     ("policies[0].limits[0].interval", Scalar::from("1s")),
//!     ("arrivals.kind", Scalar::from("jobs")),
//!     ("arrivals.count", Scalar::Whole(8)),
//! ];
//! let scenario = Scenario::read(fields)?;
//! let mut simulation = Simulation::new(&scenario, 0)?;
//! while simulation.run(1_000)? {}
//! assert_eq!((simulation.totals().granted, simulation.totals().refused), (5, 3));
//! # Ok::<(), paddlegate::Error>(())
//! ```

mod arrivals;
mod candidate;
mod clients;
mod draw;
mod event;
mod fields;
mod job;
mod limit_history;
#[cfg(feature = "redis")]
mod recorded_calls;
#[cfg(feature = "redis")]
mod replay;
mod scenario;
#[cfg(feature = "documents")]
mod scenario_limits;
mod simulation;
mod timeline;
mod totals;
mod trace;
mod units;

pub use arrivals::MAX_ARRIVALS;
pub use clients::MAX_CLIENTS;
pub use fields::Scalar;
#[cfg(feature = "redis")]
pub use recorded_calls::recorded_arrivals;
#[cfg(feature = "redis")]
pub use replay::{Replay, ReplayedCall, replay};
pub use scenario::{MAX_POLICIES, Scenario};
#[cfg(feature = "documents")]
pub use scenario_limits::scenario_limits;
pub use simulation::{MAX_DECISIONS, Simulation};
pub use timeline::{JobOutcome, LevelsOverTime, MAX_ROWS, Timeline};
pub use totals::{Totals, Waits};
