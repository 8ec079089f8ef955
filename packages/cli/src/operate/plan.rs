//! `plan`: what another policy would have done with a record.

mod rule;

use std::path::PathBuf;

use clap::Args;
use paddlegate::simulate::{JobOutcome, ReplayedCall, Scenario, Simulation, Totals, replay, scenario_limits};
use paddlegate::{Error, Kind, MAX_SPAN, Micros, Policy, RecordedVerb, period};
use serde_json::{Value, json};

use self::rule::Rule;
use super::{pretty, span};
use crate::decisions::DecisionRecord;
use crate::failure::Failure;
use crate::human::{count, share};
use crate::policies::{self, Site};
use crate::print;
use crate::recording::{Record, Recording};
use crate::report;
use crate::source;

const RULES: &str = "\
A RULE is a name, > or >=, and a number, such as newly_refused>0. Names are
  newly_refused, newly_granted, refused   calls, or a share of them such as 0.5%
  wait_median, wait_p95, wait_longest     a SPAN such as 2s

Decisions are replayed at their times, with their units, corrections and
releases. The calls of an interval of --sums are replayed evenly in it, each with
the mean of its units. Both policies begin with nothing taken.

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
    /// How long callers wait for their turn before they are refused [default: as recorded; of sums they do not wait]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    wait: Option<Micros>,
    /// Of a record of sums the label of the limit whose units were recorded; the others count calls [default: the points limit, otherwise all]
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
    /// How many calls were granted, refused and had waited in the record.
    recorded: [u64; 3],
    /// Of a record of decisions: how many calls the replay of the policy in force decides otherwise, whether decisions may lack,
    /// and how often other numbers came into force.
    decisions: Option<Fidelity>,
}

/// How far a record of decisions and its replay can be trusted.
#[derive(Clone, Copy, Debug)]
struct Fidelity {
    unlike: u64,
    may_lack: bool,
    changes: u64,
}

/// Replays the record and compares.
pub(crate) fn run(order: &Plan) -> Result<(), Failure> {
    if source::is_stdin(&order.record) && source::is_stdin(&order.candidate) {
        let message = "the record and the candidate cannot both come from standard input, give a file for one of them";
        return Err(Failure::Input(message.to_owned()));
    }
    let record = Record::open(&order.record)?;
    let (limiter, outcome) = match &record {
        Record::Sums(sums) => (&sums.limiter, replay_sums(order, sums)?),
        Record::Decisions(decisions) => (&decisions.limiter, replay_decisions(order, decisions)?),
    };
    let failed: Vec<&Rule> = order.fail_on.iter().filter(|rule| rule.holds(&outcome)).collect();
    print(&if order.json { pretty(&json(limiter, &outcome, &failed)) } else { text(&outcome, &failed) })?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Refused) }
}

/// Reads the policy of the document, and the name of its file.
fn candidate(order: &Plan, limiter: &str) -> Result<(Policy, String), Failure> {
    let name = order.limiter.as_deref().unwrap_or(limiter);
    let site = Site { file: source::name(&order.candidate), path: "$".to_owned(), chooser: "--limiter NAME", most: 1 };
    let text = source::read(&order.candidate)?;
    let definition = policies::choose(&text, &[name], &site)?.into_iter().next();
    let definition = definition.ok_or_else(|| Failure::Input(format!("{}: defines no limiter", site.file)))?;
    Ok((definition.policy, site.file))
}

fn has_no_call(file: &str) -> Failure {
    Failure::Input(format!("{file}: has no call; record while programs make some"))
}

fn replay_decisions(order: &Plan, record: &DecisionRecord) -> Result<Outcome, Failure> {
    let file = source::name(&order.record);
    if order.units.is_some() {
        let message = "--units: is for a record of sums; this one has the units of each limit, leave it out";
        return Err(Failure::Input(message.to_owned()));
    }
    let in_replay = |file: &str, error: &Error| {
        Failure::of_core(error.kind(), format!("{file}: in the replay: {}", error.message()))
    };
    let in_force = record.policy().map_err(|error| in_replay(&file, &error))?;
    let (candidate, candidate_file) = candidate(order, &record.limiter)?;
    let of = |policy: &Policy, file: &str| {
        replay(policy, &in_force, &record.decisions, order.wait).map_err(|error| in_replay(file, &error))
    };
    let (was, is) = (of(&in_force, &file)?, of(&candidate, &candidate_file)?);
    if was.calls.is_empty() {
        return Err(has_no_call(&file));
    }
    let number = |wanted: (bool, bool)| {
        let pairs = was.calls.iter().zip(&is.calls);
        pairs.filter(|(was, is)| (was.granted, is.granted) == wanted).count() as u64
    };
    let count = |is_one: fn(&ReplayedCall) -> bool| was.calls.iter().filter(|call| is_one(call)).count() as u64;
    let changes = record.decisions.iter().filter(|decision| decision.verb == RecordedVerb::Change).count() as u64;
    let fidelity = Fidelity {
        unlike: count(|call| call.was_granted.is_some_and(|granted| granted != call.granted)),
        may_lack: record.may_lack,
        changes,
    };
    Ok(Outcome {
        newly_refused: number((true, false)),
        newly_granted: number((false, true)),
        recorded: [
            count(|call| call.was_granted == Some(true)),
            count(|call| call.was_granted == Some(false)),
            count(|call| call.was_granted == Some(true) && call.had_waited.0 > 0),
        ],
        in_force: was.totals("in force"),
        candidate: is.totals("candidate"),
        decisions: Some(fidelity),
    })
}

fn replay_sums(order: &Plan, record: &Recording) -> Result<Outcome, Failure> {
    let file = source::name(&order.record);
    if record.sum(|interval| interval.granted.saturating_add(interval.refused)) == 0 {
        return Err(has_no_call(&file));
    }
    let (candidate, candidate_file) = candidate(order, &record.limiter)?;
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
        "policies": [policy("in force", record.limits.clone()), policy("candidate", scenario_limits(&candidate))],
        "arrivals": { "kind": "times", "text": record.arrivals(order.units.as_deref().or(points)) },
    });
    let failed = |error: &Error| {
        let message = error.message();
        let place = if message.starts_with("at $.policies[1]") { &candidate_file } else { &file };
        Failure::of_core(error.kind(), format!("{place}: in the replay: {message}"))
    };
    let scenario = Scenario::from_json(&scenario).map_err(|error| failed(&error))?;
    let (in_force, was) = simulate(&scenario, 0, &failed)?;
    let (candidate, is) = simulate(&scenario, 1, &failed)?;
    let number = |wanted: (bool, bool)| was.iter().zip(&is).filter(|(was, is)| (**was, **is) == wanted).count() as u64;
    let recorded = [
        record.sum(|interval| interval.granted),
        record.sum(|interval| interval.refused),
        record.sum(|interval| interval.waited),
    ];
    let (newly_refused, newly_granted) = (number((true, false)), number((false, true)));
    Ok(Outcome { in_force, candidate, newly_refused, newly_granted, recorded, decisions: None })
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

/// The names of the numbers of `Outcome::recorded`.
const RECORDED: [&str; 3] = ["granted", "refused", "waited"];

fn text(outcome: &Outcome, failed: &[&Rule]) -> String {
    let Outcome { in_force, candidate, newly_refused, newly_granted, recorded, decisions } = outcome;
    let of_all =
        |number: u64| format!("{} of {} ({})", count(number), count(in_force.arrived), share(number, in_force.arrived));
    let both = [in_force.clone(), candidate.clone()];
    let mut lines = if decisions.is_some() { report::table_of_replay(&both) } else { report::table(&both) };
    lines.push(String::new());
    lines.push(format!("newly refused {}", of_all(*newly_refused)));
    lines.push(format!("newly granted {}", of_all(*newly_granted)));
    let recorded: Vec<String> =
        RECORDED.iter().zip(recorded).map(|(name, number)| format!("{} {name}", count(*number))).collect();
    let replayed =
        format!("{} granted, {} refused", count(in_force.granted), count(in_force.arrived - in_force.granted));
    lines.push(format!("recorded {}; the replay of the policy in force has {replayed}", recorded.join(", ")));
    if let Some(Fidelity { unlike, may_lack, changes }) = decisions {
        lines.push(format!("the replay of the policy in force decides {} unlike the record", of_all(*unlike)));
        if *changes > 0 {
            lines.push(format!("not replayed: {} of pauses, overrides and learned limits", count(*changes)));
        }
        if *may_lack {
            lines.push("the record may lack decisions, or has no end".to_owned());
        }
    }
    lines.extend(failed.iter().map(|rule| format!("failed: {rule}")));
    lines.join("\n") + "\n"
}

fn json(limiter: &str, outcome: &Outcome, failed: &[&Rule]) -> Value {
    let totals = |totals: &Totals| {
        let mut shown = serde_json::from_str::<Value>(&totals.to_string()).unwrap_or_default();
        if let (Some(_), Some(members)) = (outcome.decisions, shown.as_object_mut()) {
            // A replay of decisions does not know the others.
            let known = ["name", "arrived", "granted", "refused", "gave_up", "decisions", "waited", "wait_us", "units"];
            members.retain(|name, _| known.contains(&name.as_str()));
        }
        shown
    };
    let recorded: serde_json::Map<_, _> =
        RECORDED.iter().zip(outcome.recorded).map(|(name, number)| ((*name).to_owned(), json!(number))).collect();
    let mut shown = json!({
        "limiter": limiter,
        "recorded": recorded,
        "in_force": totals(&outcome.in_force),
        "candidate": totals(&outcome.candidate),
        "newly_refused": outcome.newly_refused,
        "newly_granted": outcome.newly_granted,
        "failed": failed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Some(Fidelity { unlike, may_lack, changes }) = outcome.decisions {
        shown["unlike_the_record"] = json!(unlike);
        shown["may_lack"] = json!(may_lack);
        shown["changes"] = json!(changes);
    }
    shown
}
