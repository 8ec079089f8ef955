//! The server of `paddlegate serve`: the limits of the core over HTTP.
//!
//! The core decides; a route converts a request, calls and maps the error. Each noun of the API is a module with a
//! `router()`, and [`routes`] merges them.

mod access;
mod app;
mod audit;
mod body;
mod connections;
mod count_news;
mod envoy;
mod failure;
mod files;
mod guard;
mod histogram;
mod index;
mod json;
mod limits_file;
mod metrics;
mod openapi;
mod options;
mod otlp;
mod pages;
mod problem;
mod refusal;
mod request;
mod routes;
mod samples;
mod server;
mod simulator;
mod store_times;
mod tls;
mod waits;
mod wall_clock;

pub use app::App;
pub use audit::{AuditEntry, AuditId, Author, ChangeLog, Made, Text as AuditText};
pub use failure::Failure;
pub use options::Options;
pub use otlp::Otlp;
pub use problem::Problem;
pub use server::{Server, serve};
