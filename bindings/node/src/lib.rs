//! The native part of the npm package `paddlegate`: converts arguments, calls core, maps errors; nothing else.
//!
//! JavaScript owns the sockets, the timers and the promises. Functions called once per decision have no arguments: an
//! argument costs 70 ns to convert, a number in the shared buffer 3 ns.

#![warn(clippy::undocumented_unsafe_blocks)]

mod admin_request;
mod calls;
mod convert;
mod decision_limit;
mod decision_numbers;
pub mod discord;
mod gate;
mod history;
mod inspection;
mod link;
mod multi_step;
mod opcode;
mod sentinel;
mod shared_buffer;
mod statistics;
mod store;
mod stream_usage;
mod subscription;
mod test_clock;
mod waiter;
pub mod web;

use napi_derive::napi;
use paddlegate::{CostRules, JOB_CLAIM_TIMEOUT, Kind, Reason, WAIT_TIMEOUT};

use convert::{Code, thrown};

/// Returns the version of this library; the package rejects an addon of another version.
#[napi(catch_unwind)]
pub fn version() -> &'static str {
    paddlegate::VERSION
}

/// Returns the names of the reasons for a refusal; a reason's code is its index plus one. Codes that no reason has are empty.
#[napi(catch_unwind)]
pub fn reasons() -> Vec<&'static str> {
    let kinds = Kind::ALL.iter().map(|kind| Reason::from(*kind));
    let all: Vec<Reason> = kinds.chain([Reason::TooLarge, Reason::Blocked, Reason::Running]).collect();
    let codes = 1..=all.iter().map(|reason| reason.code()).max().unwrap_or_default();
    let name = |code| all.iter().find(|reason| reason.code() == code).map_or("", |reason| reason.name());
    codes.map(name).collect()
}

/// Returns the label with this code in the row of a decision.
#[napi(catch_unwind)]
pub fn label(code: u32) -> Option<String> {
    shared_buffer::label_of(code as usize)
}

/// Sends what this process has counted to the statistics; blocks. For the end of a process or of a thread.
#[napi(catch_unwind)]
pub fn send_counts() {
    paddlegate::store::redis::send_counts();
}

/// Returns a new id for a call.
#[napi(catch_unwind)]
pub fn new_id() -> napi::Result<String, Code> {
    paddlegate::new_id().map_err(|error| thrown(&error))
}

/// Returns the wait timeout in milliseconds: the given one, otherwise the default.
#[napi(catch_unwind)]
pub fn wait_timeout_ms(given: Option<f64>) -> napi::Result<f64, Code> {
    match given {
        Some(given) => convert::millis("wait_timeout", given).map(convert::to_millis).map_err(|error| thrown(&error)),
        None => Ok(convert::to_millis(WAIT_TIMEOUT)),
    }
}

/// Returns the pause after a connection for wake-ups was lost or could not be opened, after so many earlier ones.
#[napi(catch_unwind)]
pub fn reconnect_pause_ms(failures: u32) -> f64 {
    convert::to_millis(paddlegate::reconnect_pause(failures))
}

/// Returns the default claim timeout of jobs in milliseconds: how long a ticket keeps its position after its time.
#[napi(catch_unwind)]
pub fn job_claim_timeout_ms() -> f64 {
    convert::to_millis(JOB_CLAIM_TIMEOUT)
}

/// Returns the estimated cost of a GraphQL query. `variables` is JSON, or empty.
// napi passes strings by value.
#[allow(clippy::needless_pass_by_value)]
#[napi(catch_unwind)]
pub fn graphql_cost(
    query: String,
    variables: String,
    rules: Option<String>,
    operation: Option<String>,
) -> napi::Result<f64, Code> {
    let rules = rules.as_deref().map_or(Ok(CostRules::Shopify), CostRules::from_name);
    let cost = rules.and_then(|rules| paddlegate::graphql_cost(&query, &variables, operation.as_deref(), rules));
    cost.map(convert::number).map_err(|error| thrown(&error))
}

#[cfg(test)]
mod tests {
    /// A panic that leaves a function aborts the user's program.
    #[test]
    fn every_function_catches_panics() {
        let sources = [
            include_str!("discord.rs"),
            include_str!("multi_step.rs"),
            include_str!("gate.rs"),
            include_str!("lib.rs"),
            include_str!("sentinel.rs"),
            include_str!("store.rs"),
            include_str!("stream_usage.rs"),
            include_str!("subscription.rs"),
            include_str!("test_clock.rs"),
            include_str!("waiter.rs"),
            include_str!("web.rs"),
        ];
        let mut functions = 0;
        for source in sources {
            let mut attribute = "";
            for line in source.lines().map(str::trim) {
                if line.starts_with("#[napi") {
                    attribute = line;
                } else if line.starts_with("pub fn ") && !attribute.is_empty() {
                    assert!(attribute.contains("catch_unwind"), "{attribute} {line}");
                    functions += 1;
                } else if !line.starts_with("#[") && !line.starts_with("//") {
                    attribute = "";
                }
            }
        }
        assert!(functions > 40, "functions={functions}");
    }
}
