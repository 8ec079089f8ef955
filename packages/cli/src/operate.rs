//! The operator's verbs, which talk to Redis: `Verb` and `run`.

#[cfg(feature = "serve")]
mod author;
#[cfg(not(feature = "serve"))]
#[path = "operate/unrecorded.rs"]
mod author;
mod change;
mod doctor;
mod inspect;
mod json;
mod list;
#[cfg(feature = "serve")]
mod log;
mod plan;
mod record;
mod shown;
mod store;
mod target;
mod watch;

use clap::Subcommand;
use paddlegate::{Micros, period};
use serde_json::Value;

use crate::failure::Failure;

/// A verb of an operator.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the limiters that programs of all languages use
    List(list::List),
    /// Show what a limiter contains: limits, leases, queue, and what is in force
    Inspect(inspect::Inspect),
    /// Show live which limiters are full, refuse or let calls wait
    Watch(watch::Watch),
    /// Refuse every call for a time, in all programs
    Pause(change::Pause),
    /// End a pause and a block
    Resume(change::Resume),
    /// Set another limit, interval or mode, in all programs
    Override(change::Override),
    /// End overrides: the numbers of the programs rule again
    Restore(change::Restore),
    /// Forget what was taken: units, leases, tickets, statistics, overrides and a pause
    Reset(change::Reset),
    /// Show who changed what, and why: of the servers and of this command
    #[cfg(feature = "serve")]
    Log(log::Log),
    /// Record the decisions of a limiter, or what it counts, for plan and simulate
    Record(record::Record),
    /// Compare what another policy would have done with a record; a gate for changes of limits
    Plan(plan::Plan),
    /// Check the connection, the settings of Redis that matter, its clock, and what a limiter needs
    Doctor(doctor::Doctor),
}

/// Runs a verb.
pub(crate) fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(order) => list::run(&order),
        Verb::Inspect(order) => inspect::run(&order),
        Verb::Watch(order) => watch::run(&order),
        Verb::Pause(order) => change::pause(&order),
        Verb::Resume(order) => change::resume(&order),
        Verb::Override(order) => change::set_override(&order),
        Verb::Restore(order) => change::restore(&order),
        Verb::Reset(order) => change::reset(&order),
        #[cfg(feature = "serve")]
        Verb::Log(order) => log::run(&order),
        Verb::Record(order) => record::run(&order),
        Verb::Plan(order) => plan::run(&order),
        Verb::Doctor(order) => doctor::run(&order),
    }
}

/// Reads a span of a command line, such as `10s`.
pub(crate) fn span(text: &str) -> Result<Micros, String> {
    period::period(text).map_err(|error| error.message().to_owned())
}

/// Formats a JSON value as lines.
fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
