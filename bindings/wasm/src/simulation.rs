//! `Simulation`: runs one policy of a scenario on a virtual clock.

use paddlegate::simulate::{Scalar, Scenario, Timeline};
use wasm_bindgen::prelude::*;

use crate::argument;
use crate::host::{Host, Thrown, number};

/// The simulation of one policy of a scenario.
#[wasm_bindgen]
pub struct Simulation {
    simulation: paddlegate::simulate::Simulation,
    host: Host,
}

/// Returns the names of the timeline's columns in the order of [`Simulation::column`], with commas between them, without the
/// columns of remaining units that follow them, one per limit.
#[wasm_bindgen(js_name = columnNames)]
pub fn column_names() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

/// Reads a value of a row; `None` when it is unknown.
type Column = fn(&Timeline, usize) -> Option<f64>;

const COLUMNS: [(&str, Column); 14] = [
    ("at", |timeline, row| millis(timeline.at[row])),
    ("job", |timeline, row| Some(f64::from(timeline.job[row]))),
    ("client", |timeline, row| Some(f64::from(timeline.client[row]))),
    ("attempt", |timeline, row| Some(f64::from(timeline.attempt[row]))),
    ("outcome", |timeline, row| Some(f64::from(timeline.outcome[row]))),
    ("cost", |timeline, row| Some(number(timeline.cost[row]))),
    ("wait", |timeline, row| millis(timeline.wait[row])),
    ("limit", |timeline, row| Some(f64::from(timeline.limit[row]))),
    ("retryAfter", |timeline, row| millis(timeline.retry_after[row])),
    ("resetAfter", |timeline, row| millis(timeline.reset_after[row])),
    ("before", |timeline, row| known(timeline.before[row])),
    ("after", |timeline, row| known(timeline.after[row])),
    ("queue", |timeline, row| Some(f64::from(timeline.queue[row]))),
    ("held", |timeline, row| Some(f64::from(timeline.held[row]))),
];

#[wasm_bindgen]
impl Simulation {
    /// Creates a simulation from the paths and values of a scenario alternately, and the index of one of its policies.
    #[allow(clippy::needless_pass_by_value)] // wasm-bindgen passes lists by value
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host, fields: &JsValue, policy: &JsValue) -> Thrown<Self> {
        let made = || {
            let policy = usize::try_from(argument::whole("policy", policy)?).unwrap_or(usize::MAX);
            let scenario = Scenario::read(argument::members(fields).as_chunks().0.iter().map(field))?;
            paddlegate::simulate::Simulation::new(&scenario, policy)
        };
        let made = made().map_err(|error| host.error(error))?;
        Ok(Self { simulation: made, host })
    }

    /// Returns the simulation, which records no timeline from now on.
    #[must_use]
    #[wasm_bindgen(js_name = withoutTimeline)]
    pub fn without_timeline(self) -> Self {
        Self { simulation: self.simulation.without_timeline(), host: self.host }
    }

    /// Runs up to the given number of decisions. Returns whether there are more.
    pub fn run(&mut self, decisions: &JsValue) -> Thrown<bool> {
        let run = argument::whole("decisions", decisions).and_then(|decisions| self.simulation.run(decisions));
        run.map_err(|error| self.host.error(error))
    }

    /// Returns the approximate progress from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.simulation.progress()
    }

    /// Returns the number of rows of the timeline.
    pub fn rows(&self) -> usize {
        self.simulation.timeline().len()
    }

    /// Returns the number of limits of the policy.
    pub fn limits(&self) -> usize {
        self.simulation.timeline().levels.len()
    }

    /// Returns a column from the row `from` on: first the columns of [`column_names`], then the remaining units of each
    /// limit. Values are milliseconds and units; NaN where a value is unknown.
    pub fn column(&self, index: usize, from: usize) -> Vec<f64> {
        let timeline = self.simulation.timeline();
        if let Some((_, value)) = COLUMNS.get(index) {
            return (from..timeline.len()).map(|row| value(timeline, row).unwrap_or(f64::NAN)).collect();
        }
        let level = timeline.levels.get(index - COLUMNS.len());
        level.map_or_else(Vec::new, |level| level.iter().skip(from).map(|left| number(*left)).collect())
    }

    /// Returns a column of the changes over time: times in milliseconds, the queue, the running calls, then the remaining units of
    /// each limit.
    #[wasm_bindgen(js_name = overTime)]
    pub fn over_time(&self, index: usize) -> Vec<f64> {
        let changes = &self.simulation.timeline().over_time;
        match index {
            0 => changes.at.iter().map(|at| number(*at) / 1e3).collect(),
            1 => changes.queue.iter().map(|queue| f64::from(*queue)).collect(),
            2 => changes.held.iter().map(|held| f64::from(*held)).collect(),
            _ => changes
                .levels
                .get(index - 3)
                .map_or_else(Vec::new, |level| level.iter().map(|left| number(*left)).collect()),
        }
    }

    /// Returns the totals as JSON, the same text that the command line prints.
    pub fn totals(&self) -> String {
        self.simulation.totals().to_string()
    }

    /// Returns names and values of the headers of a row alternately.
    pub fn headers(&self, row: usize) -> Vec<String> {
        let mut flat = Vec::new();
        for (name, value) in self.simulation.headers(row) {
            flat.extend([name.to_owned(), value]);
        }
        flat
    }
}

fn millis(micros: u64) -> Option<f64> {
    known(micros).map(|micros| micros / 1e3)
}

fn known(value: u64) -> Option<f64> {
    (value < u64::MAX).then(|| number(value))
}

fn field([path, value]: &[JsValue; 2]) -> (String, Scalar) {
    (path.as_string().unwrap_or_default(), scalar(value))
}

fn scalar(value: &JsValue) -> Scalar {
    if let Some(flag) = value.as_bool() {
        return Scalar::Flag(flag);
    }
    match (argument::whole("value", value), value.as_string()) {
        (Ok(whole), _) => Scalar::Whole(whole),
        (_, Some(text)) => Scalar::Text(text),
        _ => Scalar::Other(argument::shown(value)),
    }
}
