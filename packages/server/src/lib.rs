//! The server of `paddlegate serve`: the limits of the core over HTTP.
//!
//! The core decides; a route converts a request, calls and maps the error. Each noun of the API is a module with a
//! `router()`, and [`routes`] merges them.

mod app;
mod connections;
mod failure;
mod limits_file;
mod options;
mod problem;
mod routes;
mod server;

pub use app::App;
pub use failure::Failure;
pub use options::Options;
pub use problem::Problem;
pub use server::{Server, serve};
