//! `DecisionRecord`: the decisions of a limiter one by one, in lines of JSON.

use std::path::Path;

use paddlegate::simulate::{Scenario, recorded_arrivals};
use paddlegate::{Micros, Policy, RecordedDecision, RecordedOutcome, RecordedVerb, Settlement};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::source;

/// The version of the lines.
const VERSION: u64 = 2;

const VERBS: [RecordedVerb; 8] = [
    RecordedVerb::Acquire,
    RecordedVerb::Debit,
    RecordedVerb::Refund,
    RecordedVerb::Correct,
    RecordedVerb::Extend,
    RecordedVerb::Release,
    RecordedVerb::Cancel,
    RecordedVerb::Change,
];

const OUTCOMES: [RecordedOutcome; 12] = [
    RecordedOutcome::Granted,
    RecordedOutcome::Refused,
    RecordedOutcome::ShadowRefused,
    RecordedOutcome::Queued,
    RecordedOutcome::GaveUp,
    RecordedOutcome::Changed,
    RecordedOutcome::Closed(Settlement::Settled),
    RecordedOutcome::Closed(Settlement::Already),
    RecordedOutcome::Closed(Settlement::Late),
    RecordedOutcome::Closed(Settlement::Unknown),
    RecordedOutcome::Closed(Settlement::Released),
    RecordedOutcome::Closed(Settlement::Cancelled),
];

/// A record of decisions.
#[derive(Debug)]
pub(crate) struct DecisionRecord {
    /// The name of the limiter.
    pub(crate) limiter: String,
    /// The limits that ruled when the record began, as a scenario has them.
    pub(crate) limits: Value,
    pub(crate) decisions: Vec<RecordedDecision>,
    /// Whether it may lack decisions, or has no end.
    pub(crate) may_lack: bool,
}

impl DecisionRecord {
    /// Reads a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let text = source::read(path)?;
        Self::read(&text).map_err(|message| Failure::Input(format!("{}: {message}", source::name(path))))
    }

    /// Returns whether a text is a record.
    pub(crate) fn is_one(text: &str) -> bool {
        text.lines()
            .next()
            .is_some_and(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.get("record").is_some()))
    }

    /// Formats the first line of a record.
    pub(crate) fn head(limiter: &str, group: Option<&str>, limits: &Value) -> String {
        json!({ "record": VERSION, "limiter": limiter, "group": group, "limits": limits }).to_string() + "\n"
    }

    /// Reads a text; a fault names the line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(i, line)| {
            let value = serde_json::from_str::<Value>(line);
            (i + 1, value.map_err(|_| format!("line {}: not readable as JSON", i + 1)))
        });
        let (_, head) = lines.next().ok_or("is empty; write one by `paddlegate record`")?;
        let head = head?;
        if head["record"] != VERSION {
            return Err("line 1: is not the beginning of a record; write one by `paddlegate record`".to_owned());
        }
        let limiter = head["limiter"].as_str().ok_or("line 1: limiter: must be a text")?.to_owned();
        let mut record = Self { limiter, limits: head["limits"].clone(), decisions: Vec::new(), may_lack: false };
        let mut has_end = false;
        for (number, line) in lines {
            let line = match line {
                Ok(line) => line,
                // A recorder that was killed may have left a part of a line at the end.
                Err(_) if !has_end && number > 1 => {
                    record.may_lack = true;
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            if line.get("may_lack").is_some() || line.get("end").is_some() {
                has_end |= line.get("end").is_some();
                record.may_lack |= line["may_lack"] == true;
            } else {
                record.decisions.push(decision(&line).map_err(|fault| format!("line {number}: {fault}"))?);
            }
        }
        record.may_lack |= !has_end;
        Ok(record)
    }

    /// Returns the policy that ruled.
    pub(crate) fn policy(&self) -> paddlegate::Result<Policy> {
        policy(&self.limits)
    }

    /// Returns the arrivals as CSV, as `simulate` reads them.
    pub(crate) fn arrivals(&self) -> Result<String, String> {
        let policy = self.policy().map_err(|error| format!("line 1: limits: {}", error.message()))?;
        Ok(recorded_arrivals(&policy, &self.decisions))
    }
}

/// Reads the limits of a scenario as a policy.
fn policy(limits: &Value) -> paddlegate::Result<Policy> {
    let scenario = json!({ "policies": [{ "limits": limits }], "arrivals": { "kind": "jobs", "count": 1 } });
    let unnamed = |limit: &Value| limit["kind"] == "points";
    // A points limit must be named, which this scenario has no cost for.
    let costs: Map<String, Value> = (limits.as_array().into_iter().flatten())
        .filter(|limit| unnamed(limit))
        .filter_map(|limit| Some((limit["label"].as_str()?.to_owned(), json!(1))))
        .collect();
    let mut scenario = scenario;
    if !costs.is_empty() {
        scenario["cost"] = Value::Object(costs);
    }
    let scenario = Scenario::from_json(&scenario)?;
    scenario.policy(0).cloned().map_or_else(|| Policy::new([]), Ok)
}

/// Formats a decision as a line; what does not apply is left out.
pub(crate) fn line(decision: &RecordedDecision) -> String {
    let mut line = json!({
        "at_us": decision.at.0, "verb": decision.verb.name(), "outcome": decision.outcome.name(),
    });
    if !decision.units.is_empty() {
        line["units"] = decision.units.iter().map(|(label, units)| (label.to_string(), json!(units))).collect();
    }
    if let Some(label) = &decision.held_up_by {
        line["held_up_by"] = json!(label);
    }
    if !decision.id.is_empty() {
        line["id"] = json!(decision.id);
    }
    let times = [
        ("retry_after_us", decision.retry_after),
        ("waited_us", Some(decision.waited).filter(|waited| waited.0 > 0)),
        ("max_wait_us", decision.max_wait),
        ("granted_at_us", decision.granted_at),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            line[name] = json!(time.0);
        }
    }
    format!("{line}\n")
}

fn decision(line: &Value) -> Result<RecordedDecision, String> {
    let number = |name: &str| {
        let read = |value: &Value| value.as_u64().filter(|number| *number < 1 << 53);
        let fault = || format!("{name}: must be a whole number from 0 to 2^53");
        line.get(name).map(|value| read(value).map(Micros).ok_or_else(fault)).transpose()
    };
    let word = |name: &str| line[name].as_str().ok_or_else(|| format!("{name}: must be a text"));
    let (verb, outcome) = (word("verb")?, word("outcome")?);
    let units = line["units"].as_object().into_iter().flatten().map(|(label, units)| {
        let units = units.as_u64().filter(|units| *units <= paddlegate::MAX_UNITS);
        Ok((label.as_str().into(), units.ok_or("units: must be a whole number of each label")?))
    });
    Ok(RecordedDecision {
        at: number("at_us")?.ok_or("at_us: is missing")?,
        verb: VERBS.into_iter().find(|known| known.name() == verb).ok_or("verb: is unknown")?,
        outcome: OUTCOMES.into_iter().find(|known| known.name() == outcome).ok_or("outcome: is unknown")?,
        units: units.collect::<Result<_, String>>()?,
        held_up_by: line["held_up_by"].as_str().map(Into::into),
        retry_after: number("retry_after_us")?,
        waited: number("waited_us")?.unwrap_or_default(),
        max_wait: number("max_wait_us")?,
        id: line["id"].as_str().unwrap_or_default().into(),
        granted_at: number("granted_at_us")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named() {
        let head = DecisionRecord::head("api", None, &json!([]));
        assert!(DecisionRecord::is_one(&head) && !DecisionRecord::is_one("at\n1\n") && !DecisionRecord::is_one(""));
        for (text, fault) in [
            (String::new(), "is empty"),
            ("{}".to_owned(), "line 1: is not the beginning"),
            (r#"{"record": 1}"#.to_owned(), "line 1: is not the beginning"),
            (r#"{"record": 2}"#.to_owned(), "line 1: limiter"),
            (format!("{head}{{}}"), "line 2: verb: must be a text"),
            (format!("{head}{{\"end\":\"time\"}}\nx"), "line 3: not readable as JSON"),
        ] {
            assert!(DecisionRecord::read(&text).unwrap_err().starts_with(fault), "{text}");
        }
    }

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let plain = RecordedDecision {
            at: Micros(1_700_000_000_000_001),
            verb: RecordedVerb::Acquire,
            outcome: RecordedOutcome::Granted,
            units: vec![("rpm".into(), 1), ("tpm".into(), 900)],
            held_up_by: None,
            retry_after: None,
            waited: Micros(0),
            max_wait: None,
            id: "".into(),
            granted_at: None,
        };
        let all = RecordedDecision {
            held_up_by: Some("rpm".into()),
            retry_after: Some(Micros(5)),
            waited: Micros(6),
            max_wait: Some(Micros(0)),
            id: "a \"b\"".into(),
            granted_at: Some(Micros(8)),
            ..plain.clone()
        };
        for verb in VERBS {
            for outcome in OUTCOMES {
                for decision in [&plain, &all] {
                    let written = RecordedDecision { verb, outcome, ..decision.clone() };
                    let text = line(&written);
                    assert_eq!(super::decision(&serde_json::from_str(&text).unwrap()).unwrap(), written, "{text}");
                }
            }
        }
    }
}
