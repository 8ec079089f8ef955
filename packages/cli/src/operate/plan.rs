//! `plan`: what another policy would have done with a record.

mod rule;

use std::path::PathBuf;

use clap::Args;
use paddlegate::simulate::{JobOutcome, Scenario, Simulation, Totals, scenario_limits};
use paddlegate::{Kind, MAX_SPAN, Micros, period};
use serde_json::{Value, json};

use self::rule::Rule;
use super::{pretty, span};
use crate::failure::Failure;
use crate::human::{count, share};
use crate::policies::{self, Site};
use crate::print;
use crate::recording::Recording;
use crate::report;
use crate::source;

const RULES: &str = "\
A RULE is a name, > or >=, and a number, such as newly_refused>0. Names are
  newly_refused, newly_granted, refused   calls, or a share of them such as 0.5%
  wait_median, wait_p95, wait_longest     a SPAN such as 2s

The calls of an interval are replayed evenly in it, each with the mean of its
units; both policies begin with nothing taken.

Example:
  paddlegate plan --record calls.jsonl --candidate new.json --fail-on 'newly_refused>0'";

/// The arguments of `plan`.
#[derive(Args, Debug)]
#[command(after_help = RULES)]
pub(crate) struct Plan {
    /// A record of `paddlegate record`; - for standard input
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// A document with the limiter as it would be, of any format that Paddlegate reads
    #[arg(long, value_name = "FILE")]
    candidate: PathBuf,
    /// The name of the limiter in the document [default: that of the record]
    #[arg(long, value_name = "NAME")]
    limiter: Option<String>,
    /// How long callers wait for their turn before they are refused [default: they do not wait]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    wait: Option<Micros>,
    /// The label of the limit whose units were recorded; the others count calls [default: the points limit, otherwise all]
    #[arg(long, value_name = "LABEL")]
    units: Option<String>,
    /// Exit with 1 if this holds; see below; may be given several times
    #[arg(long, value_name = "RULE", value_parser = Rule::parse)]
    fail_on: Vec<Rule>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the two policies do with the same calls.
#[derive(Debug)]
struct Outcome {
    in_force: Totals,
    candidate: Totals,
    newly_refused: u64,
    newly_granted: u64,
}

/// Replays the record and compares.
pub(crate) fn run(order: &Plan) -> Result<(), Failure> {
    if source::is_stdin(&order.record) && source::is_stdin(&order.candidate) {
        let message = "the record and the candidate cannot both come from standard input, give a file for one of them";
        return Err(Failure::Input(message.to_owned()));
    }
    let record = Recording::open(&order.record)?;
    let outcome = replay(order, &record)?;
    let failed: Vec<&Rule> = order.fail_on.iter().filter(|rule| rule.holds(&outcome)).collect();
    print(&if order.json { pretty(&json(&record, &outcome, &failed)) } else { text(&record, &outcome, &failed) })?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Refused) }
}

fn replay(order: &Plan, record: &Recording) -> Result<Outcome, Failure> {
    let (file, name) = (source::name(&order.record), order.limiter.as_ref().unwrap_or(&record.limiter));
    if record.sum(|interval| interval.granted.saturating_add(interval.refused)) == 0 {
        return Err(Failure::Input(format!("{file}: has no call; record while programs make some")));
    }
    let site = Site { file: source::name(&order.candidate), path: "$".to_owned(), chooser: "--limiter NAME", most: 1 };
    let text = source::read(&order.candidate)?;
    let definition = policies::choose(&text, &[name], &site)?.into_iter().next();
    let definition = definition.ok_or_else(|| Failure::Input(format!("{}: defines no limiter", site.file)))?;
    let policy = |name: &str, limits: Value| {
        let mut policy = json!({ "name": name, "limits": limits });
        if let Some(wait) = order.wait {
            policy["retry"] = json!("wait");
            policy["wait"] = json!(period::show(wait.min(MAX_SPAN)));
        }
        policy
    };
    let points = record.limits.as_array().into_iter().flatten().find(|limit| limit["kind"] == Kind::Points.name());
    let points = points.and_then(|limit| limit["label"].as_str());
    let scenario = json!({
        "policies": [policy("in force", record.limits.clone()), policy("candidate", scenario_limits(&definition.policy))],
        "arrivals": { "kind": "times", "text": record.arrivals(order.units.as_deref().or(points)) },
    });
    let failed = |error: &paddlegate::Error| {
        let message = error.message();
        let place = if message.starts_with("at $.policies[1]") { &site.file } else { &file };
        Failure::of_core(error.kind(), format!("{place}: in the replay: {message}"))
    };
    let scenario = Scenario::from_json(&scenario).map_err(|error| failed(&error))?;
    let (in_force, was) = simulate(&scenario, 0, &failed)?;
    let (candidate, is) = simulate(&scenario, 1, &failed)?;
    let number = |wanted: (bool, bool)| was.iter().zip(&is).filter(|(was, is)| (**was, **is) == wanted).count() as u64;
    Ok(Outcome { in_force, candidate, newly_refused: number((true, false)), newly_granted: number((false, true)) })
}

/// Returns the totals of a policy, and of each call whether it was granted.
fn simulate(
    scenario: &Scenario,
    policy: usize,
    failed: &impl Fn(&paddlegate::Error) -> Failure,
) -> Result<(Totals, Vec<bool>), Failure> {
    let mut simulation = Simulation::new(scenario, policy).map_err(|error| failed(&error))?;
    while simulation.run(u64::MAX).map_err(|error| failed(&error))? {}
    let totals = simulation.totals();
    if totals.cut_off || totals.unrecorded > 0 {
        return Err(Failure::Other("the record is too long to compare each call; take a part of its lines".to_owned()));
    }
    let mut granted = vec![false; usize::try_from(totals.arrived).unwrap_or(0)];
    let timeline = simulation.timeline();
    for (job, outcome) in timeline.job.iter().zip(&timeline.outcome) {
        if let Some(granted) = usize::try_from(*job).ok().and_then(|job| granted.get_mut(job)) {
            *granted |= *outcome == JobOutcome::Granted as u8;
        }
    }
    Ok((totals, granted))
}

fn recorded(record: &Recording) -> [(&'static str, u64); 3] {
    [
        ("granted", record.sum(|interval| interval.granted)),
        ("refused", record.sum(|interval| interval.refused)),
        ("waited", record.sum(|interval| interval.waited)),
    ]
}

fn text(record: &Recording, outcome: &Outcome, failed: &[&Rule]) -> String {
    let Outcome { in_force, candidate, newly_refused, newly_granted } = outcome;
    let of_all =
        |number: u64| format!("{} of {} ({})", count(number), count(in_force.arrived), share(number, in_force.arrived));
    let mut lines = report::table(&[in_force.clone(), candidate.clone()]);
    lines.push(String::new());
    lines.push(format!("newly refused {}", of_all(*newly_refused)));
    lines.push(format!("newly granted {}", of_all(*newly_granted)));
    let recorded: Vec<String> =
        recorded(record).iter().map(|(name, number)| format!("{} {name}", count(*number))).collect();
    let replayed =
        format!("{} granted, {} refused", count(in_force.granted), count(in_force.arrived - in_force.granted));
    lines.push(format!("recorded {}; the replay of the policy in force has {replayed}", recorded.join(", ")));
    lines.extend(failed.iter().map(|rule| format!("failed: {rule}")));
    lines.join("\n") + "\n"
}

fn json(record: &Recording, outcome: &Outcome, failed: &[&Rule]) -> Value {
    let totals = |totals: &Totals| serde_json::from_str::<Value>(&totals.to_string()).unwrap_or_default();
    let recorded: serde_json::Map<_, _> =
        recorded(record).iter().map(|(name, number)| ((*name).to_owned(), json!(number))).collect();
    json!({
        "limiter": record.limiter,
        "recorded": recorded,
        "in_force": totals(&outcome.in_force),
        "candidate": totals(&outcome.candidate),
        "newly_refused": outcome.newly_refused,
        "newly_granted": outcome.newly_granted,
        "failed": failed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
