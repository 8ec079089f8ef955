//! `Learned`: the result of an upstream report.

use crate::base::micros::Micros;
use crate::model::label::Label;
use crate::model::permit::Settlement;

/// The result of an upstream report: which of its values changed the limiter, which did not, and why.
///
/// A value that the limiter already had is in neither list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// The settlement of the permit; `None` when the report had no actual cost of a permit.
    pub settlement: Option<Settlement>,
    /// What has changed: `limit`, `interval`, `remaining`, `reset` (the end of a bucket's interval) and `pause`. With
    /// several limits the label of the limit follows, as in `remaining[tokens]`.
    pub learned: Vec<String>,
    /// The values that changed nothing, with the reason: `remaining: calls are open`.
    pub ignored: Vec<String>,
    /// The actual cost of the call, as the response reports it.
    pub cost: Option<u64>,
    /// The pause that the response asks for.
    pub pause: Option<Micros>,
    /// The scope of a refusal: `user`, `shared`, or `global`, which applies to all limiters of this API. Only Discord
    /// reports it.
    pub scope: Option<&'static str>,
    /// The upstream's name of the budget that counted the call. Only Discord reports it.
    pub bucket: Option<String>,
}

/// The part of the result that the response alone determines, before a call to the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The values that no limit of the policy can learn, with the reason.
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

/// Returns the name of a property of a limit.
pub(crate) fn property(what: &str, label: &Label, limits: usize) -> String {
    if limits == 1 { what.to_owned() } else { format!("{what}[{label}]") }
}
