//! `Learned`: what became of a report, and of each thing that it said.

use crate::base::micros::Micros;
use crate::model::permit::Settlement;

/// What became of a report: which of the things that it said changed the limiter, and which did not, and why.
///
/// What the limiter knew already is in neither list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// What became of the permit; nothing when no cost of a permit was told.
    pub settlement: Option<Settlement>,
    /// What has changed: `limit`, `interval`, `remaining`, `reset` (when the interval of a bucket ends) and `pause`. With
    /// several limits the index of the limit follows, as in `remaining[1]`.
    pub learned: Vec<String>,
    /// What was said and changed nothing, with the reason: `remaining: calls are open`.
    pub ignored: Vec<String>,
    /// What the call did cost, as the answer says.
    pub cost: Option<u64>,
    /// How long the answer asks to pause.
    pub pause: Option<Micros>,
    /// Of whom a refusal is: `user`, `shared`, or `global`, which concerns all limiters of this API. Only Discord tells.
    pub scope: Option<&'static str>,
    /// What the upstream calls the budget that counted the call. Only Discord tells.
    pub bucket: Option<String>,
}

/// What is known of an answer before the store is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What no limit of the policy can learn, with the reason.
    pub ignored: Vec<String>,
    /// As in [`Learned::cost`].
    pub cost: Option<u64>,
    /// As in [`Learned::pause`].
    pub pause: Option<Micros>,
    /// As in [`Learned::scope`].
    pub scope: Option<&'static str>,
    /// As in [`Learned::bucket`].
    pub bucket: Option<String>,
}

/// A word for one thing of one limit.
pub(crate) fn label(what: &str, index: usize, limits: usize) -> String {
    if limits == 1 { what.to_owned() } else { format!("{what}[{index}]") }
}
