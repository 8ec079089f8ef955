//! `of`: the requested scenario, from options or from a file.

use std::path::Path;

use paddlegate::simulate::{MAX_POLICIES, Scenario, scenario_limits};
use serde_json::{Map, Value, json};

use crate::arrivals::{self, Arrivals};
use crate::command::Simulate;
use crate::decisions::DecisionRecord;
use crate::failure::Failure;
use crate::origins::Origins;
use crate::policies::{self, Site};
use crate::source;

/// The requested simulation.
pub(crate) struct Ordered {
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    /// Kept because some errors appear only during the simulation.
    pub(crate) origins: Origins,
}

pub(crate) fn of(order: &Simulate) -> Result<Ordered, Failure> {
    let (mut value, mut origins) = match &order.scenario {
        Some(file) => from_file(file)?,
        None => from_options(order)?,
    };
    for (name, given) in [("seed", order.seed.map(Value::from)), ("until", order.until.as_deref().map(Value::from))] {
        if let Some(given) = given {
            value[name] = given;
            origins.add(name, format!("--{name}"));
        }
    }
    let scenario = Scenario::from_json(&value).map_err(|error| origins.failure(&error))?;
    Ok(Ordered { scenario, seed: value["seed"].as_u64().unwrap_or(1), origins })
}

fn from_file(file: &Path) -> Result<(Value, Origins), Failure> {
    let name = source::name(file);
    let mut value =
        Scenario::json(&source::read(file)?).map_err(|error| Failure::Input(format!("{name}: {}", error.message())))?;
    if !value.is_object() {
        return Err(Failure::Input(format!("{name}: at $: must be a JSON object")));
    }
    // The simulator's page exports the totals with a scenario.
    if let Some(members) = value.as_object_mut() {
        members.remove("totals");
    }
    if let Some(list) = value.get_mut("policies").and_then(Value::as_array_mut) {
        for (i, policy) in list.iter_mut().enumerate() {
            resolve(policy, &name, i)?;
        }
    }
    Ok((value, Origins::of_file(name)))
}

/// Replaces a policy's document by its limits.
fn resolve(policy: &mut Value, file: &str, index: usize) -> Result<(), Failure> {
    let at = format!("$.policies[{index}]");
    let Some(members) = policy.as_object_mut() else { return Ok(()) };
    let Some(document) = members.remove("document").filter(|document| !document.is_null()) else { return Ok(()) };
    if members.get("limits").is_some_and(|limits| !limits.is_null()) {
        return Err(Failure::Input(format!("{file}: at {at}: has limits and a document, give one of them")));
    }
    let limiter = match members.remove("limiter") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(Failure::Input(format!("{file}: at {at}.limiter: must be a text"))),
    };
    let site = Site {
        file: file.to_owned(),
        path: format!("{at}.document"),
        chooser: "a member \"limiter\" beside it",
        most: 1,
    };
    let names: Vec<&str> = limiter.as_deref().into_iter().collect();
    for definition in policies::choose(&document.to_string(), &names, &site)? {
        members.insert("limits".to_owned(), scenario_limits(&definition.policy));
        if members.get("name").is_none_or(Value::is_null) {
            members.insert("name".to_owned(), json!(definition.name));
        }
    }
    Ok(())
}

fn from_options(order: &Simulate) -> Result<(Value, Origins), Failure> {
    // Without a scenario clap requires both.
    let (file, arrivals) = (order.policy.as_deref(), order.arrivals.as_deref());
    let (file, arrivals) = (file.unwrap_or(Path::new("-")), arrivals.unwrap_or_default());
    let arrivals = arrivals::parse(arrivals).map_err(|message| Failure::Input(format!("--arrivals: {message}")))?;
    if matches!(&arrivals, Arrivals::Times(times) if source::is_stdin(times) && source::is_stdin(file)) {
        let message = "the policy and the times cannot both come from standard input, give a file for one of them";
        return Err(Failure::Input(message.to_owned()));
    }
    let mut origins = Origins::default();
    let site = Site { file: source::name(file), path: "$".to_owned(), chooser: "--limiter NAME", most: MAX_POLICIES };
    let names: Vec<&str> = order.limiter.iter().map(String::as_str).collect();
    let definitions = policies::choose(&source::read(file)?, &names, &site)?;
    let behaviour = [
        ("retry", order.retry.as_deref().map(Value::from)),
        ("attempts", order.attempts.map(Value::from)),
        ("base", order.base.as_deref().map(Value::from)),
        ("cap", order.cap.as_deref().map(Value::from)),
        ("wait", order.wait.as_deref().map(Value::from)),
    ];
    let mut list = Vec::new();
    for (i, definition) in definitions.iter().enumerate() {
        let mut policy = json!({ "name": definition.name, "limits": scenario_limits(&definition.policy) });
        for (name, given) in &behaviour {
            policy[*name] = given.clone().into();
            origins.add(format!("policies[{i}].{name}"), format!("--{name}"));
        }
        list.push(policy);
    }
    origins.add("arrivals", "--arrivals");
    let arrivals = match arrivals {
        Arrivals::Shape(shape) => shape,
        Arrivals::Times(file) => {
            origins.add("arrivals.text", source::name(&file));
            let text = source::read(&file)?;
            let text = if DecisionRecord::is_one(&text) {
                let arrivals = DecisionRecord::read(&text).and_then(|record| record.arrivals());
                arrivals.map_err(|message| Failure::Input(format!("{}: {message}", source::name(&file))))?
            } else {
                text
            };
            // Spreadsheets put a byte order mark before the first column's name.
            json!({ "kind": "times", "text": text.strip_prefix('\u{feff}').unwrap_or(&text) })
        }
    };
    let mut value = json!({ "policies": list, "arrivals": arrivals });
    for (name, option, given) in [
        ("cost", "--cost", units("--cost", order.cost.as_deref())?),
        ("actual", "--actual", units("--actual", order.actual.as_deref())?),
        ("work", "--work", order.work.as_deref().map(spans)),
        ("clients", "--clients", order.clients.map(Value::from)),
        ("at_once", "--at-once", order.at_once.map(Value::from)),
    ] {
        value[name] = given.into();
        origins.add(name, option);
    }
    Ok((value, origins))
}

/// Parses `5`, `1..10`, or `tpm=100..900,rpm=1`.
fn units(option: &str, text: Option<&str>) -> Result<Option<Value>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let read = if text.contains('=') { by_label(text) } else { range(text) };
    let fault = || {
        let shown: String = text.chars().take(40).collect();
        let rule =
            "must be a whole number such as 5, or two such as 1..10, or such for each label, as in tpm=900,rpm=1";
        Failure::Input(format!("{option}: {rule}: value={shown:?}"))
    };
    read.ok_or_else(fault).map(Some)
}

fn range(text: &str) -> Option<Value> {
    let whole = |part: &str| part.parse::<u64>().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
    match text.split_once("..") {
        Some((least, most)) => whole(least).zip(whole(most)).map(|range| json!(range)),
        None => whole(text).map(Value::from),
    }
}

/// Returns the ranges by label; `None` also when a label is present twice.
fn by_label(text: &str) -> Option<Value> {
    let mut ranges = Map::new();
    for part in text.split(',') {
        let (label, units) = part.trim().split_once('=')?;
        if ranges.insert(label.to_owned(), range(units)?).is_some() {
            return None;
        }
    }
    Some(Value::Object(ranges))
}

/// Parses `2s` or `1s..3s`.
fn spans(text: &str) -> Value {
    text.split_once("..").map_or_else(|| json!(text), |range| json!(range))
}
