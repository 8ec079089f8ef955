//! `scenario_limits`: a policy as a scenario has it.

use serde_json::{Value, json};

use crate::base::period;
use crate::model::limit::{Kind, Limit};
use crate::model::policy::Policy;
use crate::model::refund::Refund;

/// Returns the `limits` of a scenario's policy: what [`Scenario::from_json`](super::Scenario::from_json) reads as this policy.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Limit, Policy};
/// # use std::time::Duration;
/// let policy = Policy::new([Limit::window(5, Duration::from_secs(60))?])?;
/// let limits = paddlegate::simulate::scenario_limits(&policy);
/// let expected = serde_json::json!([{ "kind": "window", "label": "window", "interval": "PT60S", "limit": 5 }]);
/// assert_eq!(limits, expected);
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn scenario_limits(policy: &Policy) -> Value {
    match policy.limits() {
        [] => json!([{ "kind": Kind::Unlimited.name() }]),
        limits => limits.iter().map(limit).collect(),
    }
}

fn limit(limit: &Limit) -> Value {
    let kind = limit.kind();
    let mut shown = json!({ "kind": kind.name(), "label": &**limit.label() });
    if let Some(calendar) = limit.calendar() {
        shown["per"] = json!(calendar.per().name());
        shown["timezone"] = json!(calendar.timezone());
        shown["starts"] = json!(calendar.starts());
        shown["limit"] = json!(limit.amount());
    } else if !matches!(kind, Kind::Unlimited | Kind::Paused) {
        shown["interval"] = json!(period::show(limit.interval()));
        // A throttle of one start is shown with its interval alone.
        if kind != Kind::Throttle || limit.amount() > 1 {
            shown["limit"] = json!(limit.amount());
        }
    }
    if limit.offset().0 > 0 {
        shown["offset"] = json!(period::show(limit.offset()));
    }
    if limit.refund() != Refund::Full {
        shown["refund"] = json!(limit.refund().name());
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::calendar::Calendar;
    use crate::simulate::Scenario;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Every kind is written so that the core reads it again.
    #[test]
    fn limits_of_every_kind_are_read_again() {
        let made = [
            Limit::bucket_with_offset(5, MINUTE, Duration::from_millis(1_500)),
            Limit::window(5, MINUTE),
            Limit::leaky(5, Duration::from_micros(1)),
            Limit::points(5, MINUTE),
            Limit::leaky(5, MINUTE).unwrap().with_refund(Refund::Undrained),
            Limit::points(5, MINUTE).unwrap().with_refund(Refund::Undrained),
            Limit::throttle(MINUTE),
            Limit::window(5, MINUTE).unwrap().labelled("per-minute"),
            Limit::concurrency(0, MINUTE),
            Limit::quota(5, Calendar::month().in_timezone("Europe/Berlin").unwrap().starting("15").unwrap()),
            Ok(Limit::unlimited()),
            Ok(Limit::paused()),
        ];
        for made in made {
            let policy = Policy::new([made.unwrap()]).unwrap();
            let scenario = json!({
                "policies": [{ "limits": scenario_limits(&policy) }],
                "arrivals": { "kind": "jobs", "count": 1 },
            });
            let read = Scenario::from_json(&scenario).unwrap_or_else(|error| panic!("{scenario}: {error}"));
            assert_eq!(read.policies[0].policy, policy, "{scenario}");
        }
    }
}
