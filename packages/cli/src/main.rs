//! `paddlegate`: tests, serves and operates rate limits.
//!
//! `simulate` runs policies of the core on a virtual clock, as the page of `packages/simulator` does; the same scenario and seed
//! give the same totals, byte for byte. `serve` runs the server of `packages/server`. The operator's verbs talk to Redis.

mod arrivals;
mod command;
mod decisions;
mod failure;
mod human;
mod hush;
mod operate;
mod origins;
mod pages;
mod policies;
mod report;
mod run;
mod scenario;
#[cfg(feature = "serve")]
mod serve;
mod source;
mod table;
mod timelines;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use paddlegate::simulate::Totals;

use crate::command::{Command, Paddlegate, Simulate};
use crate::failure::Failure;
use crate::hush::hush;
use crate::run::Bar;
use crate::timelines::Timelines;

fn main() -> ExitCode {
    let command = match Paddlegate::try_parse() {
        Ok(order) => order.command,
        Err(error) => return told(&error),
    };
    let done = match command {
        Command::Simulate(order) => simulate(&order),
        #[cfg(feature = "serve")]
        Command::Serve(order) => serve::serve(*order),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { folder } => pages::man(folder.as_deref()),
        Command::Operate(verb) => operate::run(*verb),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message() {
                // Standard error may be closed.
                let _ = writeln!(io::stderr(), "error: {}", hush(message));
            }
            failure.code()
        }
    }
}

/// Prints the message of a wrong command line, or the help, and returns the exit code. An argument may be a URL.
fn told(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() && hush(&text) != text {
        let _ = write!(io::stderr(), "{}", hush(&text));
    } else {
        // With colours, where there is a terminal.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn simulate(order: &Simulate) -> Result<(), Failure> {
    let ordered = scenario::of(order)?;
    // Before the simulation, so that an unwritable file fails before a long run.
    let timelines = order.csv.as_deref().map(Timelines::create).transpose()?;
    let bar = Bar::new(!order.json && io::stderr().is_terminal(), ordered.scenario.policies());
    let totals = run::run(&ordered, &bar, timelines)?;
    let text = if order.json { json_array(&totals) } else { report::report(&totals, ordered.seed) };
    print(&text)
}

/// Writes a result to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Failure::write("the result", &error))
}

/// Formats the totals; each line is the text that the browser shows for the same policy.
fn json_array(totals: &[Totals]) -> String {
    let lines: Vec<String> = totals.iter().map(ToString::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}
