//! `plan`: what another policy would have done with a record.

mod rule;

use std::path::PathBuf;

use clap::Args;
use paddlegate::simulate::{ReplayedCall, Totals, replay};
use paddlegate::{Error, Micros, Policy, RecordedVerb};
use serde_json::{Value, json};

use self::rule::Rule;
use super::{pretty, span};
use crate::decisions::DecisionRecord;
use crate::failure::Failure;
use crate::human::{count, share};
use crate::policies::{self, Site};
use crate::print;
use crate::report;
use crate::source;

const RULES: &str = "\
A RULE is a name, > or >=, and a number, such as newly_refused>0. Names are
  newly_refused, newly_granted, refused   calls, or a share of them such as 0.5%
  wait_median, wait_p95, wait_longest     a SPAN such as 2s

Decisions are replayed at their times, with their units, corrections and
releases. Both policies begin with nothing taken.

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
    /// How long callers wait for their turn before they are refused [default: as recorded]
    #[arg(long, value_name = "SPAN", value_parser = span)]
    wait: Option<Micros>,
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
    /// How many calls the replay of the policy in force decides otherwise.
    unlike: u64,
    /// Whether decisions may lack.
    may_lack: bool,
    /// How often other numbers came into force.
    changes: u64,
}

/// Replays the record and compares.
pub(crate) fn run(order: &Plan) -> Result<(), Failure> {
    if source::is_stdin(&order.record) && source::is_stdin(&order.candidate) {
        let message = "the record and the candidate cannot both come from standard input, give a file for one of them";
        return Err(Failure::Input(message.to_owned()));
    }
    let record = DecisionRecord::open(&order.record)?;
    let outcome = compare(order, &record)?;
    let failed: Vec<&Rule> = order.fail_on.iter().filter(|rule| rule.holds(&outcome)).collect();
    print(&if order.json { pretty(&json(&record.limiter, &outcome, &failed)) } else { text(&outcome, &failed) })?;
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

fn compare(order: &Plan, record: &DecisionRecord) -> Result<Outcome, Failure> {
    let file = source::name(&order.record);
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
        return Err(Failure::Input(format!("{file}: has no call; record while programs make some")));
    }
    let number = |wanted: (bool, bool)| {
        let pairs = was.calls.iter().zip(&is.calls);
        pairs.filter(|(was, is)| (was.granted, is.granted) == wanted).count() as u64
    };
    let count = |is_one: fn(&ReplayedCall) -> bool| was.calls.iter().filter(|call| is_one(call)).count() as u64;
    let changes = record.decisions.iter().filter(|decision| decision.verb == RecordedVerb::Change).count() as u64;
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
        unlike: count(|call| call.was_granted.is_some_and(|granted| granted != call.granted)),
        may_lack: record.may_lack,
        changes,
    })
}

/// The names of the numbers of `Outcome::recorded`.
const RECORDED: [&str; 3] = ["granted", "refused", "waited"];

fn text(outcome: &Outcome, failed: &[&Rule]) -> String {
    let Outcome { in_force, candidate, newly_refused, newly_granted, recorded, unlike, may_lack, changes } = outcome;
    let of_all =
        |number: u64| format!("{} of {} ({})", count(number), count(in_force.arrived), share(number, in_force.arrived));
    let both = [in_force.clone(), candidate.clone()];
    let mut lines = report::table_of_replay(&both);
    lines.push(String::new());
    lines.push(format!("newly refused {}", of_all(*newly_refused)));
    lines.push(format!("newly granted {}", of_all(*newly_granted)));
    let recorded: Vec<String> =
        RECORDED.iter().zip(recorded).map(|(name, number)| format!("{} {name}", count(*number))).collect();
    let replayed =
        format!("{} granted, {} refused", count(in_force.granted), count(in_force.arrived - in_force.granted));
    lines.push(format!("recorded {}; the replay of the policy in force has {replayed}", recorded.join(", ")));
    lines.push(format!("the replay of the policy in force decides {} unlike the record", of_all(*unlike)));
    if *changes > 0 {
        lines.push(format!("not replayed: {} of pauses, overrides and learned limits", count(*changes)));
    }
    if *may_lack {
        lines.push("the record may lack decisions, or has no end".to_owned());
    }
    lines.extend(failed.iter().map(|rule| format!("failed: {rule}")));
    lines.join("\n") + "\n"
}

fn json(limiter: &str, outcome: &Outcome, failed: &[&Rule]) -> Value {
    let totals = |totals: &Totals| {
        let mut shown = serde_json::from_str::<Value>(&totals.to_string()).unwrap_or_default();
        if let Some(members) = shown.as_object_mut() {
            // A replay does not know the others.
            let known = ["name", "arrived", "granted", "refused", "gave_up", "decisions", "waited", "wait_us", "units"];
            members.retain(|name, _| known.contains(&name.as_str()));
        }
        shown
    };
    let recorded: serde_json::Map<_, _> =
        RECORDED.iter().zip(outcome.recorded).map(|(name, number)| ((*name).to_owned(), json!(number))).collect();
    json!({
        "limiter": limiter,
        "recorded": recorded,
        "in_force": totals(&outcome.in_force),
        "candidate": totals(&outcome.candidate),
        "newly_refused": outcome.newly_refused,
        "newly_granted": outcome.newly_granted,
        "failed": failed.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "unlike_the_record": outcome.unlike,
        "may_lack": outcome.may_lack,
        "changes": outcome.changes,
    })
}
