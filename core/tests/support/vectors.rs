//! Reads `tests/vectors` and replays each case on an implementation of `Subject`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use paddlegate::QueuePosition;
use serde_json::Value;

use super::units::Units;

/// An implementation on which a case is replayed.
pub trait Subject {
    /// Replaces the limits; the name stays the same.
    fn limits(&mut self, limits: &[Value]);
    /// Runs an `acquire`. An error is the name of the invalid argument, here and below.
    fn acquire(&mut self, step: &Step) -> Result<Answer, String>;
    fn peek(&mut self, step: &Step) -> Result<Answer, String>;
    fn debit(&mut self, step: &Step) -> Result<Answer, String>;
    fn refund(&mut self, step: &Step) -> Result<Answer, String>;
    fn correct(&mut self, permit: &str, actual: &Units, at: u64) -> Result<String, String>;
    fn reset(&mut self);
    /// Returns the decision, or the settlement of a permit that is not open.
    fn extend(&mut self, _permit: &str, _units: &Units, _at: u64) -> Result<Answer, String> {
        panic!("extends nothing");
    }

    /// Only subjects that replay the files with leases and tickets implement this step and the ones below.
    fn enter(&mut self, _step: &Entry<'_>) -> Result<Answer, String> {
        panic!("has no tickets");
    }
    fn release(&mut self, _permit: &str, _at: u64) -> String {
        panic!("has no leases");
    }
    fn renew(&mut self, _permit: &str, _at: u64) -> String {
        panic!("has no leases");
    }
    fn cancel(&mut self, _id: &str, _gave_up: bool, _at: u64) -> String {
        panic!("has no tickets");
    }
    fn ready(&mut self, _count: u64, _at: u64) -> Result<String, String> {
        panic!("has no tickets");
    }
    fn statistics(&mut self, _at: u64) -> Result<String, String> {
        panic!("has no statistics");
    }
    fn history(&mut self, _at: u64) -> Result<String, String> {
        panic!("has no history");
    }
    fn admin(&mut self, _step: &Value, _at: u64) -> Result<String, String> {
        panic!("admin commands are not supported");
    }
    /// Looks into the limiter, or with `queue` at its tickets alone.
    fn inspect(&mut self, _step: &Value, _at: u64) -> Result<String, String> {
        panic!("inspects nothing");
    }
    fn report(&mut self, _step: &Value, _permit: Option<&str>, _at: u64) -> String {
        panic!("learns nothing");
    }
}

/// The arguments of an `enter` step.
pub struct Entry<'a> {
    pub id: &'a str,
    pub step: Step,
    pub max_wait: Option<u64>,
    pub claim_timeout: Option<u64>,
    pub position: QueuePosition,
}

/// The arguments of an `acquire`, `peek`, `debit` or `refund` step.
pub struct Step {
    pub at: u64,
    pub cost: Option<Units>,
    pub estimate: Option<Units>,
    pub settle_within: Option<u64>,
    /// How the call queues.
    pub priority: Option<u64>,
    pub share: Option<String>,
    pub weight: Option<u64>,
}

/// A decision in the form that the vectors compare, and its permit.
pub struct Answer {
    pub text: String,
    pub permit: Option<String>,
}

/// Returns the cases of one file.
pub fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    document["cases"].as_array().expect("cases").clone()
}

pub fn replay(case: &Value, subject: &mut impl Subject) {
    let mut permits = Permits::new();
    for (number, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let Some(got) = perform(step, subject, &mut permits) else { continue };
        if std::env::var_os("PADDLEGATE_PRINT").is_some() {
            println!("GOT {number} {got:?}");
            continue;
        }
        assert_eq!(got, expected(step), "step {number} of {}", case["title"]);
    }
}

/// The permits that steps keep under their labels.
pub type Permits = HashMap<String, String>;

/// Returns what a step expects.
pub fn expected(step: &Value) -> Result<String, String> {
    match step["error"].as_str() {
        Some(argument) => Err(argument.to_owned()),
        None => Ok(canonical(step.get("expect").expect("a step that returns something has `expect` or `error`"))),
    }
}

/// Runs a step and returns its result; `None` when nothing is compared.
pub fn perform(step: &Value, subject: &mut impl Subject, permits: &mut Permits) -> Option<Result<String, String>> {
    let label = step["permit"].as_str();
    let got = match step["do"].as_str().expect("do") {
        "limits" => {
            subject.limits(step["limits"].as_array().expect("limits"));
            return None;
        }
        "reset" => {
            subject.reset();
            return None;
        }
        "correct" => {
            let label = label.expect("permit");
            let permit = permits.get(label).map_or(label, String::as_str);
            let actual = Units::read(&step["actual"]).expect("actual");
            subject.correct(permit, &actual, integer(&step["at_us"]))
        }
        "extend" => {
            let label = label.expect("permit");
            let permit = permits.get(label).map_or(label, String::as_str);
            let answer = subject.extend(permit, &Units::read(&step["units"]).expect("units"), integer(&step["at_us"]));
            // The id of before the extension stays valid.
            keep(permits, step["as"].as_str().or(Some(label)), answer)
        }
        "release" | "renew" => {
            let label = label.expect("permit");
            let (permit, at) = (permits.get(label).map_or(label, String::as_str), integer(&step["at_us"]));
            Ok(if step["do"] == "release" { subject.release(permit, at) } else { subject.renew(permit, at) })
        }
        "cancel" => Ok(subject.cancel(
            step["id"].as_str().expect("id"),
            step["gave_up"].as_bool().unwrap_or(false),
            integer(&step["at_us"]),
        )),
        "pause" | "block" | "resume" | "mode" | "override" | "overrides" | "restore" | "controls" => {
            subject.admin(step, integer(&step["at_us"]))
        }
        "sync" | "learn" => {
            let permit = label.map(|label| permits.get(label).map_or(label, String::as_str));
            Ok(subject.report(step, permit, integer(&step["at_us"])))
        }
        "ready" => subject.ready(step["count"].as_u64().unwrap_or(100), integer(&step["at_us"])),
        "inspect" | "queue" => subject.inspect(step, integer(&step["at_us"])),
        "statistics" => subject.statistics(integer(&step["at_us"])),
        "history" => subject.history(integer(&step["at_us"])),
        "enter" => {
            let answer = subject.enter(&Entry {
                id: step["id"].as_str().expect("id"),
                step: parse(step),
                max_wait: step["patience_us"].as_u64(),
                claim_timeout: step["grace_us"].as_u64(),
                position: match &step["place"] {
                    Value::Number(_) => QueuePosition::Number(integer(&step["place"])),
                    Value::String(text) if text == "kept" => QueuePosition::Existing,
                    _ => QueuePosition::End,
                },
            });
            keep(permits, label, answer)
        }
        "refund" => {
            let units = Units::read(&step["units"]);
            let answer = subject.refund(&Step { cost: units, ..parse(step) });
            keep(permits, label, answer)
        }
        verb => {
            let parsed = parse(step);
            let mut answer = None;
            for _ in 0..step["times"].as_u64().unwrap_or(1) {
                answer = Some(match verb {
                    "peek" => subject.peek(&parsed),
                    "debit" => subject.debit(&parsed),
                    _ => subject.acquire(&parsed),
                });
            }
            keep(permits, label, answer.expect("times of at least 1"))
        }
    };
    Some(got)
}

/// Keeps the permit of an answer under its label, and returns the text.
fn keep(permits: &mut Permits, label: Option<&str>, answer: Result<Answer, String>) -> Result<String, String> {
    let answer = answer?;
    if let (Some(label), Some(permit)) = (label, answer.permit) {
        permits.insert(label.to_owned(), permit);
    }
    Ok(answer.text)
}

fn parse(step: &Value) -> Step {
    let units = |key| Units::read(&step[key]);
    let settle_within = step["settle_within_us"].as_u64();
    Step {
        at: integer(&step["at_us"]),
        cost: units("cost"),
        estimate: units("estimate"),
        settle_within,
        priority: step["priority"].as_u64(),
        share: step["share"].as_str().map(str::to_owned),
        weight: step["weight"].as_u64(),
    }
}

/// Returns the expected text of a step. Objects keep the key order of the file.
fn canonical(expect: &Value) -> String {
    match expect {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

pub fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a whole number: {value}"))
}
