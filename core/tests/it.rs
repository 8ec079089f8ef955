//! One program for nearly all tests, so that the library is linked once and tests that wait overlap.

mod formats_support;
#[path = "faults/proxy.rs"]
#[allow(dead_code)]
mod proxy;
#[path = "faults/sentinel.rs"]
mod sentinel;
#[path = "faults/server.rs"]
#[allow(dead_code)]
mod server;
mod support;

mod admission;
#[cfg(feature = "aio")]
mod aio;
mod all_keys;
#[cfg(feature = "documents")]
mod cases;
mod cluster;
mod decision_limits;
#[cfg(feature = "providers")]
mod discord;
#[cfg(feature = "documents")]
mod documents;
mod each;
mod faults;
#[cfg(feature = "documents")]
mod formats_conductor;
#[cfg(feature = "documents")]
mod formats_conductor_limits;
#[cfg(feature = "documents")]
mod formats_guild;
#[cfg(feature = "documents")]
mod formats_invantive;
#[cfg(feature = "documents")]
mod formats_invantive_gate;
#[cfg(feature = "documents")]
mod formats_names;
#[cfg(feature = "redis-rs")]
mod guard;
mod history;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod if_version;
mod inspect;
mod keyed;
mod keyed_at_once;
mod keys;
mod layers;
mod leases;
mod listed_changes;
mod modes;
mod most_refused;
mod oracle;
mod oracle_together;
mod queue;
mod quota;
mod recording;
mod runs_of_jobs;
#[cfg(feature = "schema")]
mod schema;
mod script_pieces;
#[cfg(all(feature = "documents", feature = "simulate"))]
mod simulate;
#[cfg(all(feature = "documents", feature = "simulate"))]
mod simulate_costs;
mod statistics;
mod statistics_by_limit;
mod statistics_of_grants;
#[cfg(feature = "documents")]
mod steps;
mod stores;
mod threads;
#[cfg(feature = "aio")]
mod timeouts;
mod together;
mod turns;
mod twins;
mod unavailable;
mod vectors;
mod waiter;
mod waiting;
mod warnings;
#[cfg(feature = "providers")]
mod web;
