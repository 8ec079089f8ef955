//! `RuntimeStateBody`: the pause, the block, the overrides and the learned limits of a limiter.

use std::collections::BTreeMap;

use paddlegate::{Limit, RuntimeState};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;

/// What is in force for a limiter, in all processes. Times are seconds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuntimeStateBody {
    /// A number that rises with every change, also the `ETag`; 0 when nothing is in force.
    version: u64,
    /// The time until the pause ends; null without a pause.
    #[schema(required)]
    paused_for: Option<f64>,
    /// The time until the block ends; null without a block.
    #[schema(required)]
    blocked_for: Option<f64>,
    /// The override of the mode; null without one.
    #[schema(required)]
    mode: Option<&'static str>,
    /// The overrides by their labels.
    overrides: BTreeMap<String, NumbersBody>,
    /// The time until the overrides end; null when they last until they are removed.
    #[schema(required)]
    expires_in: Option<f64>,
    /// The limits learned from the upstream by their labels; they apply where no override is active.
    learned: BTreeMap<String, NumbersBody>,
}

/// The numbers of one limit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NumbersBody {
    /// The kind.
    kind: &'static str,
    /// The limit or the capacity in units.
    amount: u64,
    /// The interval, the time to drain or refill fully, or the duration of a lease.
    interval: f64,
}

impl From<&RuntimeState> for RuntimeStateBody {
    fn from(state: &RuntimeState) -> Self {
        let by_label = |limits: &[Limit]| {
            limits.iter().map(|limit| (limit.label().to_string(), NumbersBody::from(limit))).collect()
        };
        Self {
            version: state.version,
            paused_for: state.paused_for.map(seconds),
            blocked_for: state.blocked_for.map(seconds),
            mode: state.mode.map(paddlegate::Mode::name),
            overrides: by_label(&state.overrides),
            expires_in: state.expires_after.map(seconds),
            learned: by_label(&state.learned),
        }
    }
}

impl From<&Limit> for NumbersBody {
    fn from(limit: &Limit) -> Self {
        Self { kind: limit.kind().name(), amount: limit.amount(), interval: seconds(limit.interval()) }
    }
}
