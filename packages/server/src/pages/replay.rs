//! `Recorded`: the calls of the last hour, as the simulator replays them.

use std::fmt::Write;

use paddlegate::simulate::{Scenario, Simulation, Totals, scenario_limits};
use paddlegate::{Error, HistoryEntry, InspectedLimit, Inspection, Kind, Limiter, Micros, Result, Statistics, period};
use serde_json::{Value, json};

/// The most calls that a request replays, in a fraction of a second.
pub(super) const MAX_CALLS: u64 = 50_000;

/// The most waiting calls for which it is estimated when the last is granted.
const MAX_WAITING: u64 = 1_000;

/// The most rows of a minute in a scenario for the simulator, so that it fits into a link.
const ROWS: u64 = 12;

const MINUTE: u64 = 60_000_000;

/// What the store has counted in the last hour. It has sums per minute and not each call.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    /// The oldest first; the last one has only begun.
    minutes: Vec<HistoryEntry>,
    /// The time of the store.
    at: Micros,
    /// How long leases were held, on average.
    work: Micros,
    /// The label of the limit whose units were counted; the others count calls.
    points: Option<String>,
}

impl Recorded {
    pub(super) fn new(minutes: &[HistoryEntry], statistics: &Statistics, inspection: &Inspection) -> Self {
        let ended = statistics.granted.saturating_sub(statistics.leases).max(1);
        let points = inspection.limits.iter().find(|limit| limit.kind == Kind::Points);
        Self {
            minutes: minutes.to_vec(),
            at: inspection.at,
            work: Micros(statistics.held_time.0 / ended),
            points: points.map(|limit| limit.label.to_string()),
        }
    }

    /// Returns the last minutes that a span reaches into, at least one.
    pub(super) fn last(&self, span: Micros) -> Self {
        let count = usize::try_from(span.0.div_ceil(MINUTE)).unwrap_or(usize::MAX).max(1);
        let from = self.minutes.len().saturating_sub(count);
        Self { minutes: self.minutes.get(from..).unwrap_or_default().to_vec(), ..self.clone() }
    }

    /// Returns the number of minutes.
    pub(super) fn span(&self) -> Micros {
        Micros(MINUTE * self.minutes.len() as u64)
    }

    /// Returns the number of calls.
    pub(super) fn calls(&self) -> u64 {
        self.minutes.iter().map(calls).fold(0, u64::saturating_add)
    }

    /// Returns the number of calls that were not granted at once.
    pub(super) fn recorded_not_granted(&self) -> u64 {
        self.minutes.iter().map(|minute| minute.refused.saturating_add(minute.waited)).fold(0, u64::saturating_add)
    }

    /// Returns the number of refused calls.
    pub(super) fn refused(&self) -> u64 {
        self.minutes.iter().map(|minute| minute.refused).fold(0, u64::saturating_add)
    }

    /// Returns the number of calls that limits would not grant at once. At most [`MAX_CALLS`] calls may be recorded.
    pub(super) fn not_granted(&self, limits: &Value) -> Result<u64> {
        // A limit that passes nothing counts no units, and has no column.
        let points = self.points.as_deref().filter(|label| counts(limits, label));
        let mut csv = points.map_or_else(|| "at,cost\n".to_owned(), |label| format!("at,cost.{label}\n"));
        let mean = self.mean();
        for minute in &self.minutes {
            let cost = minute.units.checked_div(minute.granted).unwrap_or(mean).max(1);
            let (count, lasts) = (calls(minute), self.lasts(minute));
            for call in 0..count {
                let at = minute.start.0 + lasts * (2 * call + 1) / (2 * count);
                // Writing to a `String` cannot fail.
                let _ = writeln!(csv, "{}.{:06},{cost}", at / 1_000_000, at % 1_000_000);
            }
        }
        let totals = run(&json!({
            "policies": [{ "limits": limits }],
            "arrivals": { "kind": "times", "text": csv },
            "work": period::show(self.work),
        }))?;
        Ok(totals.arrived - totals.granted)
    }

    /// Returns the calls and limits as a scenario for the simulator, short enough for a link; `None` without a call.
    pub(super) fn scenario(&self, name: &str, limits: &Value) -> Option<Value> {
        let first = self.minutes.iter().find(|minute| calls(minute) > 0)?.start.0;
        let mut csv = "at,count\n".to_owned();
        for minute in self.minutes.iter().filter(|minute| calls(minute) > 0) {
            let (count, lasts) = (calls(minute), self.lasts(minute));
            let rows = count.min(ROWS);
            for row in 0..rows {
                let at = minute.start.0 - first + lasts * (2 * row + 1) / (2 * rows);
                let part = count * (row + 1) / rows - count * row / rows;
                let _ = writeln!(csv, "{}.{},{part}", at / 1_000_000, at / 100_000 % 10);
            }
        }
        let mut scenario = json!({
            "policies": [{ "name": name, "limits": limits }],
            "arrivals": { "kind": "times", "text": csv },
        });
        let mean = self.mean();
        if mean > 1 {
            let points = self.points.as_deref().filter(|label| counts(limits, label));
            scenario["cost"] = points.map_or_else(|| json!(mean), |label| json!({ label: mean }));
        }
        if self.work.0 > 0 {
            scenario["work"] = json!(period::show(self.work));
        }
        Some(scenario)
    }

    /// Returns after how long the last of so many waiting calls is granted, if nobody comes before them: the replay begins
    /// with calls that take what is taken. `None` when that is not known.
    pub(super) fn last_granted(&self, limits: &Value, inspection: &Inspection) -> Result<Option<Micros>> {
        let mean = self.mean().max(1);
        let has_leases = inspection.limits.iter().any(|limit| limit.kind == Kind::Concurrency);
        // What is taken of a limit, in calls.
        let in_calls = |limit: &InspectedLimit| {
            let counts_units = self.points.as_deref().is_none_or(|label| *limit.label == *label);
            limit.taken / if counts_units && limit.kind != Kind::Concurrency { mean } else { 1 }
        };
        let taken = inspection.limits.iter().map(in_calls).min().unwrap_or(0);
        let jobs = taken.saturating_add(inspection.ticket_count);
        if inspection.ticket_count == 0 || jobs > MAX_WAITING || has_leases && self.work.0 == 0 {
            return Ok(None);
        }
        let points = self.points.as_deref().filter(|label| counts(limits, label));
        let cost = points.map_or_else(|| json!(mean), |label| json!({ label: mean }));
        let totals = run(&json!({
            "policies": [{ "limits": limits, "retry": "ticket" }],
            "arrivals": { "kind": "jobs", "count": jobs },
            "cost": if has_leases && points.is_none() { json!(1) } else { cost },
            "work": period::show(self.work),
        }))?;
        let pause = inspection.paused_for.or(inspection.blocked_for).unwrap_or_default();
        Ok(totals.drained_after.filter(|_| totals.granted == jobs).map(|after| Micros(after + pause.0)))
    }

    /// Returns the mean units of a granted call.
    fn mean(&self) -> u64 {
        let sum = |count: fn(&HistoryEntry) -> u64| self.minutes.iter().map(count).fold(0, u64::saturating_add);
        sum(|minute| minute.units) / sum(|minute| minute.granted).max(1)
    }

    /// Returns how much of a minute has passed.
    fn lasts(&self, minute: &HistoryEntry) -> u64 {
        self.at.0.saturating_sub(minute.start.0).clamp(1, MINUTE)
    }
}

fn calls(minute: &HistoryEntry) -> u64 {
    minute.granted.saturating_add(minute.refused)
}

/// Returns the totals of the only policy of a scenario.
fn run(scenario: &Value) -> Result<Totals> {
    let mut simulation = Simulation::new(&Scenario::from_json(scenario)?, 0)?.without_timeline();
    while simulation.run(u64::MAX)? {}
    let totals = simulation.totals();
    if totals.cut_off { Err(Error::internal("the replay was cut off")) } else { Ok(totals) }
}

/// Returns the limits of a limiter as they are in its policy.
pub(super) fn limits_of_policy(limiter: &Limiter) -> Value {
    scenario_limits(limiter.policy())
}

/// Returns the limits of a limiter with the numbers that rule.
pub(super) fn limits_in_force(limiter: &Limiter, inspection: &Inspection) -> Value {
    let mut limits = limits_of_policy(limiter);
    for ruling in &inspection.limits {
        set(&mut limits, &ruling.label, ruling.limit);
        let Some(limit) = found(&mut limits, &ruling.label) else { continue };
        if limit.get("interval").is_some() {
            limit["interval"] = json!(period::show(ruling.interval));
        }
    }
    limits
}

/// Sets the amount of a limit, of all when there is no label.
pub(super) fn set(limits: &mut Value, label: &str, amount: u64) {
    let Some(limit) = found(limits, label) else { return };
    if amount == 0 && limit["kind"] != Kind::Concurrency.name() {
        // A scenario has no other limit that passes nothing.
        *limit = json!({ "kind": Kind::Paused.name(), "label": label });
    } else if limit["kind"] != Kind::Paused.name() && limit["kind"] != Kind::Unlimited.name() {
        limit["limit"] = json!(amount);
    }
}

/// Returns the limits of a paused limiter.
pub(super) fn paused() -> Value {
    json!([{ "kind": Kind::Paused.name() }])
}

/// Returns whether a limit counts units.
fn counts(limits: &Value, label: &str) -> bool {
    let is_one = |limit: &Value| limit["label"] == label && limit["kind"] != Kind::Paused.name();
    limits.as_array().is_some_and(|limits| limits.iter().any(is_one))
}

fn found<'a>(limits: &'a mut Value, label: &str) -> Option<&'a mut Value> {
    limits.as_array_mut()?.iter_mut().find(|limit| limit["label"] == label)
}

#[cfg(test)]
mod tests {
    use paddlegate::{Label, LimitSource};

    use super::*;

    const START: u64 = 1_700_000_040_000_000;

    fn recorded(counts: &[(u64, u64, u64)]) -> Recorded {
        let minute = |(i, (granted, refused, units)): (u64, &(u64, u64, u64))| HistoryEntry {
            start: Micros(START + i * MINUTE),
            granted: *granted,
            refused: *refused,
            units: *units,
            ..HistoryEntry::default()
        };
        Recorded {
            minutes: (0..).zip(counts).map(minute).collect(),
            at: Micros(START + counts.len() as u64 * MINUTE),
            ..Recorded::default()
        }
    }

    fn window(limit: u64, interval: &str) -> Value {
        json!([{ "kind": "window", "label": "window", "limit": limit, "interval": interval }])
    }

    #[test]
    fn a_lower_limit_refuses_what_is_above_it() {
        let recorded = recorded(&[(10, 0, 10), (0, 0, 0), (30, 20, 30)]);
        assert_eq!((recorded.calls(), recorded.refused()), (60, 20));
        assert_eq!(recorded.not_granted(&window(60, "1h")).unwrap(), 0);
        assert_eq!(recorded.not_granted(&window(20, "1h")).unwrap(), 40);
        assert_eq!(recorded.not_granted(&window(8, "1m")).unwrap(), 2 + 42);
        assert_eq!(recorded.not_granted(&paused()).unwrap(), 60);
        assert_eq!(recorded.last(Micros(MINUTE)).not_granted(&paused()).unwrap(), 50);
    }

    #[test]
    fn calls_have_the_units_of_their_minute() {
        let recorded = recorded(&[(10, 10, 50)]);
        assert_eq!(recorded.not_granted(&window(50, "1h")).unwrap(), 10);
    }

    #[test]
    fn units_of_points_are_not_those_of_other_limits() {
        let points = json!({ "kind": "points", "label": "points", "limit": 100, "interval": "1h" });
        let limits = json!([points, { "kind": "window", "label": "window", "limit": 15, "interval": "1h" }]);
        let mut recorded = recorded(&[(10, 0, 50)]);
        recorded.points = Some("points".to_owned());
        assert_eq!(recorded.not_granted(&limits).unwrap(), 0);
        assert_eq!(recorded.not_granted(&paused()).unwrap(), 10);
        assert_eq!(recorded.scenario("api", &limits).unwrap()["cost"], json!({ "points": 5 }));
    }

    #[test]
    fn a_limit_of_zero_is_a_pause() {
        let mut limits = window(5, "1h");
        set(&mut limits, "other", 0);
        assert_eq!(limits, window(5, "1h"));
        set(&mut limits, "window", 0);
        assert_eq!(recorded(&[(3, 0, 3)]).not_granted(&limits).unwrap(), 3);
    }

    #[test]
    fn the_last_of_those_who_wait_is_estimated() {
        let inspected = |taken, ticket_count, paused_for| Inspection {
            at: Micros(START),
            limits: vec![InspectedLimit {
                label: Label::new("leaky").unwrap(),
                kind: Kind::Leaky,
                limit: 10,
                interval: Micros(10_000_000),
                source: LimitSource::Policy,
                taken,
                remaining: 10 - taken,
                next_after: None,
                reset_after: Micros(0),
            }],
            paused_for,
            blocked_for: None,
            mode: paddlegate::Mode::Enforce,
            leases: Vec::new(),
            lease_count: 0,
            tickets: Vec::new(),
            ticket_count,
        };
        let limits = json!([{ "kind": "leaky", "label": "leaky", "limit": 10, "interval": "10s" }]);
        let last = |taken, waiting, paused_for| {
            recorded(&[(1, 0, 1)]).last_granted(&limits, &inspected(taken, waiting, paused_for)).unwrap()
        };
        assert_eq!(last(10, 5, None), Some(Micros(5_000_000)), "one drains each second");
        assert_eq!(last(10, 5, Some(Micros(7))), Some(Micros(5_000_007)));
        assert_eq!(last(0, 5, None), Some(Micros(0)));
        assert_eq!(last(10, 0, None), None);
        assert_eq!(last(10, MAX_WAITING, None), None);
    }

    #[test]
    fn the_scenario_has_all_calls_and_is_short() {
        let recorded = recorded(&[(1_000_000, 3, 2_000_000); 60]);
        let scenario = recorded.scenario("api", &window(5, "1h")).unwrap();
        let text = scenario["arrivals"]["text"].as_str().unwrap();
        let counts = text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(counts.sum::<u64>(), recorded.calls());
        assert!(text.len() < 16_000, "{}", text.len());
        assert_eq!(scenario["cost"], 2);
        assert!(Recorded::default().scenario("api", &window(5, "1h")).is_none());
    }
}
