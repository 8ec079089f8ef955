//! `RecordedCall`: what a record says of one call, from its first decision to its release.

use std::collections::HashMap;

use crate::base::micros::Micros;
use crate::model::limit::Kind;
use crate::model::permit::Settlement;
use crate::model::policy::Policy;
use crate::model::recorded_decision::{RecordedDecision, RecordedOutcome, RecordedVerb};

/// Units of each limit, by label.
type Units = [(Box<str>, u64)];

/// One call.
#[derive(Clone, Debug)]
pub(super) struct RecordedCall<'a> {
    /// The place of its first decision in the record.
    pub(super) first: usize,
    /// Microseconds since 1970; never before the call above.
    pub(super) at: u64,
    pub(super) units: &'a Units,
    pub(super) max_wait: Option<Micros>,
    pub(super) was_granted: Option<bool>,
    pub(super) waited: u64,
    pub(super) extended: Vec<Extended<'a>>,
    pub(super) corrected: Option<(Ended, &'a Units)>,
    pub(super) released: Option<Ended>,
}

/// More units for a granted call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extended<'a> {
    pub(super) end: Ended,
    pub(super) units: &'a Units,
    /// What the id says that was charged before: the units are added to that.
    pub(super) charged: &'a str,
}

/// When something happened to a granted call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Microseconds after the grant.
    pub(super) after: u64,
    /// The place in the record.
    pub(super) place: usize,
    /// Whether the lease lasted until then.
    pub(super) was_held: bool,
}

/// Returns the calls of a record as CSV, as arrivals of a [`Scenario`](super::Scenario): exact times, costs by the labels of the
/// policy that was recorded, actual costs, and how long leases were held. Charges in any case (debits) are not among them.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Limit, Policy};
/// let policy = Policy::new([Limit::window(5, Duration::from_secs(60))?])?;
/// assert_eq!(paddlegate::simulate::recorded_arrivals(&policy, &[]), "at,cost.window,actual.window,work\n");
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn recorded_arrivals(policy: &Policy, decisions: &[RecordedDecision]) -> String {
    let counts_units = |kind: Kind| kind.has_state() && !matches!(kind, Kind::Throttle | Kind::Concurrency);
    let limits = policy.limits().iter().filter(|limit| counts_units(limit.kind()));
    let labels: Vec<&str> = limits.map(|limit| &**limit.label()).collect();
    let mut csv = "at".to_owned();
    for column in ["cost", "actual"] {
        for label in &labels {
            csv.extend([",", column, ".", label]);
        }
    }
    csv.push_str(",work\n");
    let seconds = |micros: u64| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    for call in calls_of(decisions) {
        csv.push_str(&seconds(call.at));
        let corrected = call.corrected.map(|(_, units)| units);
        for units in [Some(call.units), corrected] {
            for label in &labels {
                let of_label = units.and_then(|units| units.iter().find(|(own, _)| **own == **label));
                csv.push(',');
                csv.extend(of_label.map(|(_, units)| units.to_string()));
            }
        }
        csv.extend([",", &call.released.map_or_else(String::new, |end| seconds(end.after)), "\n"]);
    }
    csv
}

/// Returns the calls of a record.
pub(super) fn calls_of(decisions: &[RecordedDecision]) -> Vec<RecordedCall<'_>> {
    let mut calls: Vec<RecordedCall<'_>> = Vec::new();
    // The calls that wait, by their ids, and those that were granted, by their ids and the times of their grants.
    let (mut queued, mut granted) = (HashMap::new(), HashMap::new());
    // The last grant of an id, for a cancellation, which says no time.
    let mut last_grant: HashMap<&str, u64> = HashMap::new();
    let mut at = 0;
    for (place, decision) in decisions.iter().enumerate() {
        at = decision.at.0.max(at);
        let id = &*decision.id;
        match decision.verb {
            RecordedVerb::Acquire => {
                let number = match queued.remove(id) {
                    Some(number) if !id.is_empty() => number,
                    _ => {
                        calls.push(RecordedCall {
                            first: place,
                            at,
                            units: &decision.units,
                            max_wait: decision.max_wait,
                            was_granted: None,
                            waited: 0,
                            extended: Vec::new(),
                            corrected: None,
                            released: None,
                        });
                        calls.len() - 1
                    }
                };
                calls[number].waited = decision.waited.0;
                match decision.outcome {
                    RecordedOutcome::Queued => {
                        queued.insert(id, number);
                    }
                    RecordedOutcome::Granted => {
                        calls[number].was_granted = Some(true);
                        granted.insert((id, decision.at.0), (number, at));
                        last_grant.insert(id, decision.at.0);
                    }
                    _ => calls[number].was_granted = Some(false),
                }
            }
            RecordedVerb::Cancel => {
                if let Some(number) = queued.remove(id) {
                    (calls[number].was_granted, calls[number].waited) = (Some(false), decision.waited.0);
                } else if let Some(&(number, since)) = last_grant.get(id).and_then(|grant| granted.get(&(id, *grant))) {
                    let ended = Ended { after: at - since, place, was_held: true };
                    calls[number].released.get_or_insert(ended);
                }
            }
            RecordedVerb::Correct | RecordedVerb::Extend | RecordedVerb::Release => {
                let (id, charged) = if decision.verb == RecordedVerb::Release { (id, "") } else { parts(id) };
                let Some(granted_at) = decision.granted_at else { continue };
                // Of a grant before the record nothing is known.
                let Some(&(number, since)) = granted.get(&(id, granted_at.0)) else { continue };
                let call = &mut calls[number];
                let mut ended = Ended { after: at - since, place, was_held: true };
                match (decision.verb, decision.outcome) {
                    (RecordedVerb::Correct, RecordedOutcome::Closed(Settlement::Settled)) => {
                        call.corrected = Some((ended, &decision.units));
                    }
                    (RecordedVerb::Extend, RecordedOutcome::Granted | RecordedOutcome::Refused) => {
                        call.extended.push(Extended { end: ended, units: &decision.units, charged });
                    }
                    (RecordedVerb::Release, RecordedOutcome::Closed(settlement))
                        if settlement != Settlement::Unknown =>
                    {
                        ended.was_held = settlement == Settlement::Released;
                        call.released.get_or_insert(ended);
                    }
                    _ => {}
                }
            }
            RecordedVerb::Debit | RecordedVerb::Refund | RecordedVerb::Change => {}
        }
    }
    calls
}

/// Returns the caller's id in the id of a permit, which goes on with the time and ends with the charge.
pub(super) fn parts(permit: &str) -> (&str, &str) {
    let mut parts = permit.rsplitn(3, ':');
    let charged = parts.next().unwrap_or_default();
    (parts.nth(1).unwrap_or(permit), charged)
}
